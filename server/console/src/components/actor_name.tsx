import type { Actor } from "../api/types.ts";
import { parts, t } from "../texts.ts";

/** Who did something: a session by its name, a key, the command line, or the server itself. */
export function ActorName({ actor }: { actor: Actor | undefined }) {
  if (!actor) return <>{t("actor.none")}</>;
  return <>{parts(`actor.${actor.type}`, { name: <bdi dir="auto">{actor.name ?? actor.id}</bdi> })}</>;
}
