import type { Actor } from "../api/types.ts";
import { parts, t } from "../texts.ts";

/** Who did something: a session by its name, a key, the command line, or the server itself. */
export function ActorName({ actor }: { actor: Actor | undefined }) {
  if (!actor) return <>{t("actor.none")}</>;
  const name = <bdi dir="auto">{actor.name}</bdi>;
  if (actor.type === "SESSION") return name;
  return <>{parts(`actor.${actor.type}`, { name })}</>;
}
