// Dialogs of what cannot be undone: deletion and erasure.

import { useSignal } from "@preact/signals";
import { Dialog } from "../../components/dialog.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Part } from "../../components/part.tsx";
import { copy } from "../../copying.ts";
import type { Subscriber } from "../../api/types.ts";
import { useLoaded } from "../../load.ts";
import { dateTime, number, parts, plural, t } from "../../texts.ts";
import type { PersonData } from "./person_data.ts";

interface Props {
  data: PersonData;
  subscriber: Subscriber;
  onClose: () => void;
  onGone: (text: string) => void;
}

export function DeleteDialog({ data, subscriber, onClose, onGone }: Props) {
  return (
    <FormDialog
      title={parts("delete.title", { email: <bdi dir="auto">{subscriber.email}</bdi> })}
      verb={t("delete.button")}
      danger
      onClose={onClose}
      onSubmit={async () => {
        await data.delete(false);
        onGone(t("delete.done"));
      }}
    >
      <p>{t("delete.text")}</p>
    </FormDialog>
  );
}

/** Erases a person after the address is typed, and shows a receipt. */
export function EraseDialog({ data, subscriber, onClose, onGone }: Props) {
  const preview = useLoaded(() => data.erasurePreview());
  const typed = useSignal("");
  const receipt = useSignal("");
  if (receipt.value) {
    const close = () => onGone(t("erase.done"));
    return (
      <Dialog title={t("erase.done")} onClose={close}>
        <p>{t("erase.keepReceipt", { time: dateTime(Date.now()) })}</p>
        <pre class="receipt">
          <bdi dir="auto">{receipt.value}</bdi>
        </pre>
        <div class="actions">
          <button type="button" onClick={() => void copy(receipt.value)}>
            {t("erase.copyReceipt")}
          </button>
          <button type="button" class="main" onClick={close}>
            {t("close")}
          </button>
        </div>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title={parts("erase.title", { email: <bdi dir="auto">{subscriber.email}</bdi> })}
      verb={t("erase.button")}
      danger
      disabled={typed.value.trim().toLowerCase() !== subscriber.email.toLowerCase()}
      onClose={onClose}
      onSubmit={async () => {
        receipt.value = t("erase.receipt", {
          email: subscriber.email,
          id: subscriber.id,
          time: new Date().toISOString(),
          request: await data.delete(true),
        });
        return false;
      }}
    >
      <Part of={preview} bars={1}>
        {({ historyEntries, events, receivers, suppressesAddress }) => (
          <p>
            {t("erase.text", { history: number(historyEntries), events: number(events) })}{" "}
            {receivers.length > 0 && plural("erase.receivers", receivers.length)}{" "}
            {suppressesAddress && t("erase.stays")} {t("erase.final")}
          </p>
        )}
      </Part>
      <label class="field">
        {t("erase.type")}
        <input
          autocomplete="off"
          spellcheck={false}
          dir="auto"
          value={typed.value}
          onInput={(event) => (typed.value = event.currentTarget.value)}
        />
      </label>
    </FormDialog>
  );
}
