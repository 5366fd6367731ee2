import { call } from "../../api/client.ts";
import { PlanDialog } from "../../components/plan_dialog.tsx";
import { plural, t } from "../../texts.ts";

/** Undoes an import, after the numbers of a dry run. */
export function UndoImport({
  id,
  people,
  onStart,
  onClose,
}: {
  id: string;
  /** The number of people that the import added or updated. */
  people: number;
  onStart: () => void;
  onClose: () => void;
}) {
  return (
    <PlanDialog
      title={t("import.undoTitle")}
      verb={(count, counted) => plural("undo.verb", counted?.wouldChange ?? count)}
      keep={t("undo.keep")}
      plan={id}
      counts="now"
      size={people}
      isExact={false}
      start={async ({ dryRun, idempotencyKey }) => {
        const request = { path: { id }, body: { dryRun }, idempotencyKey };
        return (await call("POST /api/imports/{id}/undo", request)).operation;
      }}
      numbers={({ wouldChange, unchanged }) => (
        <>
          {Boolean(wouldChange) && <p>{plural("import.undoText", wouldChange ?? 0)}</p>}
          {Boolean(unchanged) && <p>{plural("batch.same.undo", unchanged ?? 0)}</p>}
        </>
      )}
      onStart={onStart}
      onClose={onClose}
    >
      <p>{t("import.undoHint")}</p>
    </PlanDialog>
  );
}
