import type { ComponentChildren } from "preact";
import { notify } from "../../announce.ts";
import { call } from "../../api/client.ts";
import { FormDialog, textOf } from "../../components/form_dialog.tsx";
import { TextField } from "../../components/text_field.tsx";
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
      <TextField label={t("lift.reason")} name="reason" max={200} />
    </FormDialog>
  );
}
