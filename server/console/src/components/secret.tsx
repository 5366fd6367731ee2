import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { copy } from "../copying.ts";
import { t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/** Shows a secret once, hidden at first, so that it is on no screenshot by accident. */
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
  return (
    <Dialog title={title} onClose={onClose}>
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
          {t("close")}
        </button>
      </div>
    </Dialog>
  );
}
