import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useAskBeforeUnload } from "../ask_before_unload.ts";
import { copy } from "../copying.ts";
import { t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/**
 * Shows a text that is not shown again. Until it was copied, only a button closes the dialog: Escape and a click on the
 * backdrop say so, and the browser asks before the page is closed.
 */
export function OnceDialog({
  title,
  text,
  action,
  children,
  onClose,
}: {
  title: string;
  text: string;
  action?: ComponentChildren;
  children: ComponentChildren;
  onClose: () => void;
}) {
  const isCopied = useSignal(false);
  // A number, so that each attempt to close the dialog shows it again.
  const attempts = useSignal(0);
  useAskBeforeUnload(!isCopied.value);
  return (
    <Dialog
      title={title}
      attempts={attempts.value}
      onClose={() => (isCopied.value ? onClose() : (attempts.value += 1))}
    >
      {children}
      {attempts.value > 0 && !isCopied.value && (
        <p role="alert" class="error" key={attempts.value}>
          {t("secret.notCopied")}
        </p>
      )}
      <div class="actions">
        {action}
        <button
          type="button"
          class="main"
          onClick={() => void copy(text).then((done) => (isCopied.value = done))}
        >
          {t(isCopied.value ? "copied" : "copy")}
        </button>
        <button type="button" onClick={onClose}>
          {t(isCopied.value ? "close" : "secret.close")}
        </button>
      </div>
    </Dialog>
  );
}
