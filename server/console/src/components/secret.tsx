import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { copy } from "../copying.ts";
import { t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/**
 * Shows a secret once, hidden at first, so that it is on no screenshot by accident. Until it was copied, only a button
 * closes the dialog: Escape and a click on the backdrop say so.
 */
export function SecretDialog({
  title,
  label,
  secret,
  children,
  onClose,
}: {
  title: string;
  label: string;
  secret: string;
  children?: ComponentChildren;
  onClose: () => void;
}) {
  const isShown = useSignal(false);
  const isCopied = useSignal(false);
  // A number, so that each attempt to close the dialog shows it again.
  const attempts = useSignal(0);
  return (
    <Dialog
      title={title}
      attempts={attempts.value}
      onClose={() => (isCopied.value ? onClose() : (attempts.value += 1))}
    >
      <p>{t("secret.once")}</p>
      {children}
      <label class="field">
        {label}
        {isShown.value ? (
          <input class="mono" readOnly value={secret} />
        ) : (
          <input class="mono" type="password" readOnly autocomplete="off" value={secret} />
        )}
      </label>
      {attempts.value > 0 && !isCopied.value && (
        <p role="alert" class="error" key={attempts.value}>
          {t("secret.notCopied")}
        </p>
      )}
      <div class="actions">
        <button type="button" onClick={() => (isShown.value = !isShown.value)}>
          {t(isShown.value ? "secret.hide" : "secret.show")}
        </button>
        <button
          type="button"
          class="main"
          onClick={() => void copy(secret).then((done) => (isCopied.value = done))}
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
