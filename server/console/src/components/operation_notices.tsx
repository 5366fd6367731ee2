import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import type { Operation } from "../api/types.ts";
import { cancel, dismiss, fileUrl, followed, resume } from "../operations.ts";
import { number, t } from "../texts.ts";
import { Icon } from "./icon.tsx";
import { what } from "./operation_text.tsx";
import { doneText } from "./operation_words.ts";
import { canUndo, UndoDialog } from "./undo_dialog.tsx";

/** The progress and results of the operations that this person started. They stay until they are closed. */
export function OperationNotices() {
  const undone = useSignal<Operation | null>(null);
  useLayoutEffect(() => {
    void resume().catch(() => {});
  }, []);
  const { value } = undone;
  return (
    <>
      {followed.value.length > 0 && (
        <section class="progress-notices" aria-label={t("batch.notices")}>
          {followed.value.map((operation) => (
            <Line key={operation.id} operation={operation} onUndo={() => (undone.value = operation)} />
          ))}
        </section>
      )}
      {value && (
        <UndoDialog
          operation={value}
          onStart={() => dismiss(value.id)}
          onClose={() => (undone.value = null)}
        />
      )}
    </>
  );
}

function Line({ operation, onUndo }: { operation: Operation; onUndo: () => void }) {
  const { id, done, processed, total } = operation;
  if (!done) {
    return (
      <div class="progress-notice">
        <div>
          <p id={id} dir="auto">
            {what(operation)}
          </p>
          <progress value={processed} max={total || 1} aria-labelledby={id} />
          <small>{t("progress", { processed: number(processed), total: number(total) })}</small>
        </div>
        <button type="button" aria-describedby={id} onClick={() => void cancel(operation)}>
          {t("cancel")}
        </button>
      </div>
    );
  }
  return (
    <div class="progress-notice">
      <p id={id} dir="auto">
        {doneText(operation)}
      </p>
      {fileUrl(operation) && (
        <a class="button" aria-describedby={id} href={fileUrl(operation)} download="">
          {t("export.download")}
        </a>
      )}
      {canUndo(operation) && (
        <button type="button" aria-describedby={id} onClick={onUndo}>
          {t("undo")}
        </button>
      )}
      <button type="button" class="plain" aria-label={t("close")} aria-describedby={id} onClick={() => dismiss(id)}>
        <Icon name="close" />
      </button>
    </div>
  );
}
