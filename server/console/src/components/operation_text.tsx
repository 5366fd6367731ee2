import type { Operation } from "../api/types.ts";
import { jobText } from "./operation_words.ts";
import { named, number, parts, plural, t } from "../texts.ts";

/** What an operation does, in words. */
export function OperationTitle({ operation }: { operation: Operation }) {
  const { action, replay, dryRun } = operation;
  const job = jobText(operation);
  const text = job ?? (replay
    ? t("doing.replay")
    : action?.addTags
      ? parts("doing.addTags", { tags: <Names of={action.addTags} /> })
      : action?.removeTags
        ? parts("doing.removeTags", { tags: <Names of={action.removeTags} /> })
        : action?.changeStatus
          ? t("doing.changeStatus", { status: named("status", action.changeStatus) })
          : action?.delete
            ? t("doing.delete")
            : parts("doing.setFields", { fields: <Names of={Object.keys(action?.setCustomFields ?? {})} /> }));
  return <>{dryRun ? parts("doing.dryRun", { operation: <>{text}</> }) : text}</>;
}

function Names({ of: names }: { of: string[] }) {
  return <bdi dir="auto">{names.join(", ")}</bdi>;
}

/** What an operation has done so far: its progress, or its result. */
export function operationResult(operation: Operation): string {
  const { done, processed, total, changed, wouldChange, failed, replay } = operation;
  if (!done) return t("doing.progress", { processed: number(processed), total: number(total) });
  const count = replay ? replay.deliveries : (changed ?? wouldChange ?? processed);
  const result = plural(replay ? "doing.sent" : wouldChange === undefined ? "doing.changed" : "doing.would", count);
  const failures = failed.reduce((sum, each) => sum + each.total, 0);
  return failures ? `${result}, ${plural("doing.failed", failures)}` : result;
}
