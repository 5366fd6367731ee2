// Dialogs of what cannot be undone: deletion and erasure.

import { signal, useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { FormDialog } from "../../components/form_dialog.tsx";
import { Part } from "../../components/part.tsx";
import { OnceDialog } from "../../components/once_dialog.tsx";
import type { Subscriber } from "../../api/types.ts";
import { useLoaded } from "../../load.ts";
import { session } from "../../session.ts";
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

const receipts = signal<readonly string[]>([]);

/** The receipts of erasures, one after the other, which stay in all views until they are closed. */
export function Receipt() {
  // Not for another account.
  useLayoutEffect(() => () => void (receipts.value = []), []);
  const [receipt] = receipts.value;
  if (!receipt) return null;
  return (
    <OnceDialog key={receipt} title={t("erase.done")} text={receipt} onClose={() => (receipts.value = receipts.value.slice(1))}>
      <p>{t("erase.keepReceipt", { time: dateTime(Date.now()) })}</p>
      <pre class="receipt">
        <bdi dir="auto">{receipt}</bdi>
      </pre>
    </OnceDialog>
  );
}

/** Erases a person after the address is typed, which leads to a receipt. */
export function EraseDialog({ data, subscriber, onClose, onGone }: Props) {
  const preview = useLoaded(() => data.erasurePreview());
  const typed = useSignal("");
  return (
    <FormDialog
      title={parts("erase.title", { email: <bdi dir="auto">{subscriber.email}</bdi> })}
      verb={t("erase.button")}
      danger
      disabled={typed.value.trim().toLowerCase() !== subscriber.email.toLowerCase()}
      onClose={onClose}
      onSubmit={async () => {
        const account = session.peek()?.account?.id;
        const request = await data.delete(true);
        // Not for an account that has signed in meanwhile.
        if (session.peek()?.account?.id !== account) return;
        const { email, id } = subscriber;
        receipts.value = [...receipts.value, t("erase.receipt", { email, id, time: new Date().toISOString(), request })];
        // The receipt says so.
        onGone("");
      }}
    >
      <p>{t("erase.text")}</p>
      <Part of={preview} bars={1}>
        {({ historyEntries, events, receivers, suppressesAddress }) => (
          <p>
            {t("erase.found", { history: number(historyEntries), events: number(events) })}{" "}
            {suppressesAddress && t("erase.stays")} {receivers.length > 0 && plural("erase.receivers", receivers.length)}
            {receivers.map(({ webhookId, url }) => (
              <small key={webhookId} class="below">
                <bdi dir="ltr">{url}</bdi>
              </small>
            ))}
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
