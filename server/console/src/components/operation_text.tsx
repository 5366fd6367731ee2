import type { Operation } from "../api/types.ts";
import { named, number, parts, plural, t } from "../texts.ts";

/** What an operation does, in words. */
export function OperationTitle({ operation: { action, replay, dryRun } }: { operation: Operation }) {
  const text = replay
    ? t("operation.replay")
    : action?.addTags
      ? parts("operation.addTags", { tags: <Names of={action.addTags} /> })
      : action?.removeTags
        ? parts("operation.removeTags", { tags: <Names of={action.removeTags} /> })
        : action?.changeStatus
          ? t("operation.changeStatus", { status: named("status", action.changeStatus) })
          : action?.delete
            ? t("operation.delete")
            : parts("operation.setFields", { fields: <Names of={Object.keys(action?.setCustomFields ?? {})} /> });
  return <>{dryRun ? parts("operation.dryRun", { operation: <>{text}</> }) : text}</>;
}

function Names({ of: names }: { of: string[] }) {
  return <bdi dir="auto">{names.join(", ")}</bdi>;
}

/** What an operation has done so far: its progress, or its result. */
export function operationResult(operation: Operation): string {
  const { done, processed, total, changed, wouldChange, failed, replay } = operation;
  if (!done) return t("operation.progress", { processed: number(processed), total: number(total) });
  const count = replay ? replay.deliveries : (changed ?? wouldChange ?? processed);
  const result = plural(replay ? "operation.sent" : wouldChange === undefined ? "operation.changed" : "operation.would", count);
  const failures = failed.reduce((sum, each) => sum + each.total, 0);
  return failures ? `${result}, ${plural("operation.failed", failures)}` : result;
}
