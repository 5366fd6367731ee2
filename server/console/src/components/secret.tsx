import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { t } from "../texts.ts";
import { OnceDialog } from "./once_dialog.tsx";

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
  return (
    <OnceDialog
      title={title}
      text={secret}
      action={
        <button type="button" onClick={() => (isShown.value = !isShown.value)}>
          {t(isShown.value ? "secret.hide" : "secret.show")}
        </button>
      }
      onClose={onClose}
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
    </OnceDialog>
  );
}
