import { call } from "../api/client.ts";
import type { Operation } from "../api/types.ts";
import { now } from "../clock.ts";
import { useLoaded } from "../load.ts";
import { canWrite, isAdmin } from "../session.ts";
import { number, plural, t } from "../texts.ts";
import { kindOf, objectOf, undoneImports } from "./operation_words.ts";
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
  operation: Pick<Operation, "id" | "type" | "action" | "undoOf" | "changed" | "importId">;
  onStart: (undo: Operation) => void;
  onClose: () => void;
}) {
  const object = objectOf(operation);
  const importId = operation.importId ?? "";
  // People whom the import added are deleted.
  const summary = useLoaded(async (signal) => {
    if (!importId) return null;
    return (await call("GET /api/imports/{id}", { path: { id: importId }, signal })).import.summary ?? null;
  }, importId).data;
  const deletes = Boolean(summary?.created);
  const deletesAll = deletes && !summary?.updated;
  return (
    <PlanDialog
      title={t("undo.title")}
      verb={(count, counted) => plural(deletesAll ? "batch.button.delete" : "undo.verb", counted?.wouldChange ?? count)}
      danger={deletes}
      keep={t("undo.keep")}
      plan={operation.id}
      counts="now"
      size={operation.changed ?? 0}
      isExact={false}
      start={async ({ dryRun, idempotencyKey }) => {
        if (!dryRun && summary) undoneImports.set(operation.id, summary);
        const path = { id: operation.id };
        const body = { dryRun };
        return (await call("POST /api/operations/{id}/undo", { path, body, idempotencyKey })).operation;
      }}
      numbers={({ wouldChange, unchanged }) => (
        <>
          {Boolean(wouldChange) && (
            <p>
              {summary && deletes && !deletesAll
                ? plural("undo.both", wouldChange ?? 0, { created: number(summary.created), updated: number(summary.updated) })
                : plural(deletesAll ? "undo.deletes" : "undo.text", wouldChange ?? 0)}
            </p>
          )}
          {Boolean(unchanged) && <p>{plural("batch.same.undo", unchanged ?? 0)}</p>}
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
