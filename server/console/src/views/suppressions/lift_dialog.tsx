import type { ComponentChildren } from "preact";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import { FormDialog, textOf } from "../../components/form_dialog.tsx";
import { parts, t } from "../../texts.ts";

/** Lifts a suppression, which is given by address or hash, with the reason for it. */
export function LiftDialog({
  id,
  name,
  onClose,
  onLifted,
}: {
  id: string;
  name: ComponentChildren;
  onClose: () => void;
  onLifted: () => void;
}) {
  return (
    <FormDialog
      danger
      title={parts("lift.title", { email: name })}
      verb={t("lift.button")}
      onClose={onClose}
      onSubmit={async (form) => {
        const query = { reason: textOf(form, "reason") };
        await call("DELETE /api/suppressions/{id}", { path: { id }, query });
        notify(t("lift.done"));
        onLifted();
      }}
    >
      <p>{t("lift.text")}</p>
      <label class="field">
        {t("lift.reason")}
        <input name="reason" required maxLength={200} dir="auto" autocomplete="off" />
      </label>
    </FormDialog>
  );
}
