import type { ComponentChildren } from "preact";
import type { Actor } from "../../api/types.ts";
import { parts, t } from "../../texts.ts";

/** Who made a change, such as: key “shop backend”. */
export function actorText(actor: Actor | undefined): ComponentChildren {
  if (!actor) return t("actor.unknown");
  if (actor.type === "PERSON") return t("actor.PERSON");
  return parts(`actor.${actor.type}`, { name: <bdi>{actor.name ?? actor.id ?? ""}</bdi> });
}
