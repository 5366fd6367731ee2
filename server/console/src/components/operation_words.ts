// What operations on many subscribers do and did, in words.

import type { ImportSummary, Operation } from "../api/types.ts";
import { customFieldTitle } from "../filter_fields.ts";
import { named, number, plural, t } from "../texts.ts";

export type Kind = "tag" | "untag" | "status" | "field" | "delete" | "undo";

export function kindOf({ action, undoOf }: Pick<Operation, "action" | "undoOf">): Kind {
  if (undoOf) return "undo";
  if (action?.addTags?.length) return "tag";
  if (action?.removeTags?.length) return "untag";
  if (action?.changeStatus) return "status";
  return action?.delete ? "delete" : "field";
}

/** Whether an operation changes nothing and is a part of another one. */
export function isTrial({ dryRun, type }: Operation): boolean {
  return dryRun || type === "IMPORT_INSPECTION";
}

const JOBS = ["SUBSCRIBERS_IMPORT", "SUBSCRIBERS_EXPORT", "IMPORT_INSPECTION"] as const;

/** Returns what an operation without an action does, such as an import; null if it has one. */
export function jobText({ type, undoOf }: Operation): string | null {
  if (undoOf) return t("operation.undo");
  const job = JOBS.find((each) => each === type);
  return job ? t(`job.${job}`) : null;
}

/** Returns the tags, the status or the fields of an operation. */
export function objectOf({ action }: Pick<Operation, "action">): string {
  if (action?.changeStatus) return named("status", action.changeStatus);
  const names = action?.addTags ?? action?.removeTags ?? Object.keys(action?.setCustomFields ?? {}).map(customFieldTitle);
  return names.join(", ");
}

/** Returns the numbers of an import that are not 0. */
export function counts({
  created,
  updated,
  skipped,
  failed,
}: Pick<ImportSummary, "created" | "updated" | "skipped" | "failed">): string[] {
  return [
    created + updated > 0 && plural("import.done", created + updated),
    skipped > 0 && plural("import.skipped", skipped),
    failed > 0 && plural("import.failed", failed),
  ].filter((text) => text !== false);
}

/** The reasons of an operation that a change of a tag, field or segment ended. */
const OF_FILTER = /^(TAG|CUSTOM_FIELD|SEGMENT)_NOT_FOUND|^SELECTION_CHANGED/;

/** Returns what an operation did, in sentences. */
export function doneText(operation: Operation): string {
  const { state, changed = 0, deleted = 0, processed, total, type } = operation;
  const values = { object: objectOf(operation) };
  const job = type === "SUBSCRIBERS_EXPORT" && `${t(`job.${type}`)}: ${plural("subscribers.found", processed)}.`;
  const texts = job ? [job] : deleted ? [plural("batch.done.delete", deleted)] : [];
  if (!job && (changed > deleted || !deleted)) {
    texts.push(plural(`batch.done.${kindOf(operation)}`, changed - deleted, values));
  }
  if (state === "CANCELLED") texts.unshift(t("batch.canceled", { processed: number(processed), total: number(total) }));
  if (state === "FAILED") {
    const isOfFilter = !job && OF_FILTER.test(operation.error?.reason ?? "");
    texts.unshift(isOfFilter ? t("batch.failed") : `${t("operation.FAILED")}.`);
  }
  if (job && state === "SUCCEEDED") texts.push(t("export.kept"));
  if (operation.unchanged) texts.push(plural(`batch.same.${kindOf(operation)}`, operation.unchanged));
  return [...texts, ...failures(operation)].join(" ");
}

/** Returns for each reason how many people were not changed. */
export function failures({ failed }: Operation): string[] {
  return failed
    .filter((each) => each.total)
    .map((each) => t("batch.kept", { count: number(each.total), reason: named("reason", each.reason) }));
}
