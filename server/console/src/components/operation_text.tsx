import type { ComponentChildren } from "preact";
import type { Operation, ReasonCount } from "../api/types.ts";
import { customFieldTitle, filterable } from "../filter_fields.ts";
import { capitalized } from "../filter_words.ts";
import { href } from "../router.ts";
import { named, number, parts, plural, t } from "../texts.ts";
import { filterText } from "../views/subscribers/condition_words.ts";
import { EVERYONE } from "../views/subscribers/selection.ts";
import type { IconName } from "./icon.tsx";
import { counts, jobText } from "./operation_words.ts";
import { StateLabel } from "./state_label.tsx";

/** Names that operations refer to by identifiers: of segments and files of imports, and URLs of endpoints. */
export type Names = Map<string, string>;

const NONE: Names = new Map();
const STATES: Record<Operation["state"], [IconName, string]> = {
  RUNNING: ["clock", "busy"],
  SUCCEEDED: ["check", "good"],
  CANCELLED: ["stop", "idle"],
  FAILED: ["warning", "bad"],
};

/** The state of an operation as a color, a shape and a word. */
export function OperationLabel({ operation }: { operation: Operation }) {
  const [icon, kind] = STATES[operation.state];
  return (
    <StateLabel icon={icon} kind={kind}>
      {t(`operation.${operation.state}`)}
    </StateLabel>
  );
}

/** Returns the title of an operation, such as `Add tags: vip`. */
export function what(operation: Operation, names = NONE): ComponentChildren {
  const { action, replay } = operation;
  const job = jobText(operation);
  const file = names.get(operation.importId ?? "");
  if (job && file) return [`${job}: `, <bdi dir="auto">{file}</bdi>];
  if (job) return job;
  if (replay) {
    const url = names.get(replay.webhookId);
    return url ? parts("operation.replay", { url: <bdi dir="auto">{url}</bdi> }) : t("replay.verb");
  }
  if (action?.delete) return t("operation.delete");
  if (action?.changeStatus) {
    return parts("operation.status", { status: <b>{named("status", action.changeStatus)}</b> });
  }
  if (action?.setCustomFields) {
    const values = Object.entries(action.setCustomFields).map(([key, value]) =>
      value === null ? t("operation.cleared", { key: customFieldTitle(key) }) : `${customFieldTitle(key)} = ${String(value)}`,
    );
    return parts("operation.set", { values: <bdi dir="auto">{values.join(", ")}</bdi> });
  }
  const [key, tags] = action?.removeTags
    ? (["operation.untag", action.removeTags] as const)
    : (["operation.tag", action?.addTags ?? []] as const);
  return parts(key, { tags: <bdi dir="auto">{tags.join(", ")}</bdi> });
}

/** Returns the address of an operation: an import that is not deleted yet has one of its own. */
export function operationHref({ id, importId }: Operation, names = NONE): string {
  return href(importId && names.has(importId) ? `/import/${importId}` : `/activity/${id}`);
}

/** Returns the selection of people of an operation in words. */
export function selection(operation: Operation, names: Names): ComponentChildren {
  const { action, filter, q, segmentId, replay, undoOf } = operation;
  if (replay) return replay.eventTypes.length ? replay.eventTypes.join(", ") : t("events.all");
  if (undoOf || (!action && !filter && !q && !segmentId)) return null;
  if (filter === EVERYONE && !q && !segmentId) return t("batch.everyone");
  const found: string[] = [];
  if (segmentId) found.push(t("selection.segment", { name: names.get(segmentId) ?? segmentId }));
  if (filter) found.push(filterText(filter, filterable.value));
  if (q) found.push(t("selection.search", { q }));
  if (!found.length) found.push(t("selection.picked"));
  return <bdi dir="auto">{found.map(capitalized).join(" · ")}</bdi>;
}

/** Returns the result of an operation in numbers. */
export function result(operation: Operation): string {
  const { changed, wouldChange, unchanged, replay, failed, processed, type } = operation;
  const failures = failed.reduce((sum, { total }) => sum + total, 0);
  if (type === "SUBSCRIBERS_EXPORT") return plural("subscribers.found", processed);
  if (type === "IMPORT_INSPECTION") return plural("import.rows", processed);
  if (type === "SUBSCRIBERS_IMPORT") {
    return counts({ created: changed ?? wouldChange ?? 0, updated: 0, skipped: unchanged ?? 0, failed: failures }).join(" · ");
  }
  return [
    changed !== undefined && plural("result.changed", changed),
    wouldChange !== undefined && plural("result.wouldChange", wouldChange),
    replay && plural("result.deliveries", replay.deliveries),
    Boolean(unchanged) && plural("result.unchanged", unchanged ?? 0),
    failures > 0 && plural("result.failed", failures),
  ]
    .filter(Boolean)
    .join(" · ");
}

/** Progress of an operation. */
export function Progress({ operation }: { operation: Operation }) {
  const { processed, total } = operation;
  const text = t("progress", { processed: number(processed), total: number(Math.max(total, processed)) });
  return (
    <span class="progress">
      {!operation.done && <progress max={total || 1} value={processed} aria-label={text} />}
      <small>{text}</small>
    </span>
  );
}

/** Numbers of people who were not changed by reason, with some of them as examples. */
export function Failures({ failed }: { failed: ReasonCount[] }) {
  return (
    <ul class="reasons">
      {failed.map(({ reason, total, examples }) => (
        <li key={reason}>
          <b>{number(total)}</b> {named("reason", reason)}{" "}
          {examples.map((id, index) => (
            <a key={id} href={href(`/subscribers/${id}`)}>
              {t("result.example", { number: number(index + 1) })}
            </a>
          ))}
        </li>
      ))}
    </ul>
  );
}
