import { useLayoutEffect } from "preact/hooks";
import { call } from "../api/client.ts";
import type { Operation } from "../api/types.ts";
import { now } from "../clock.ts";
import { loadFields } from "../filter_fields.ts";
import { canWrite, isAdmin } from "../session.ts";
import { plural, t } from "../texts.ts";
import { kindOf, objectOf } from "./operation_words.ts";
import { PlanDialog } from "./plan_dialog.tsx";

/** Returns whether this person can undo an operation now. */
export function canUndo(
  operation: Pick<Operation, "action" | "undoOf" | "undoExpiresAt" | "changed">,
): boolean {
  const { undoExpiresAt, changed } = operation;
  if (!undoExpiresAt || Date.parse(undoExpiresAt) < now() || !changed) return false;
  return kindOf(operation) === "status" ? isAdmin.value : canWrite.value;
}

/** Undoes an operation, after the numbers of a dry run. */
export function UndoDialog({
  operation,
  onStart,
  onClose,
}: {
  operation: Pick<Operation, "id" | "type" | "action" | "undoOf" | "changed">;
  onStart: (undo: Operation) => void;
  onClose: () => void;
}) {
  const object = objectOf(operation);
  const hasFields = operation.action?.setCustomFields !== undefined;
  useLayoutEffect(() => {
    if (hasFields) void loadFields().catch(() => {});
  }, []);
  return (
    <PlanDialog
      title={t("undo.title")}
      verb={(count, counted) => {
        const changed = counted?.wouldChange ?? count;
        return plural(changed > 0 && counted?.deleted === changed ? "batch.button.delete" : "undo.verb", changed);
      }}
      // People whom an import added are deleted.
      danger={(counted) => Boolean(counted?.deleted)}
      keep={t("undo.keep")}
      plan={operation.id}
      counts="now"
      size={operation.changed ?? 0}
      isExact={false}
      start={async ({ dryRun, idempotencyKey }) => {
        const path = { id: operation.id };
        const body = { dryRun };
        return (await call("POST /api/operations/{id}/undo", { path, body, idempotencyKey })).operation;
      }}
      numbers={({ wouldChange = 0, deleted = 0, unchanged = 0 }) => (
        <>
          {deleted > 0 && <p>{plural("undo.deletes", deleted)}</p>}
          {wouldChange > deleted && <p>{plural("undo.text", wouldChange - deleted)}</p>}
          {unchanged > 0 && <p>{plural("batch.same.undo", unchanged)}</p>}
        </>
      )}
      onStart={onStart}
      onClose={onClose}
    >
      {operation.type === "SUBSCRIBERS_IMPORT" ? (
        <p>{t("import.undoText")}</p>
      ) : (
        <p dir="auto">{plural(`batch.done.${kindOf(operation)}`, operation.changed ?? 0, { object })}</p>
      )}
    </PlanDialog>
  );
}
