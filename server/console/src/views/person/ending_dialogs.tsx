// Dialogs of what cannot be undone: deletion, erasure, and lifting a suppression.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { notify } from "../../announce.ts";
import type { GetSubscriberErasurePreviewResponse, Subscriber } from "../../api/types.ts";
import { Dialog } from "../../components/dialog.tsx";
import { dateTime, errorText, number, parts, plural, t } from "../../texts.ts";
import { copyText } from "./copy.ts";
import type { PersonData } from "./person_data.ts";

interface Props {
  data: PersonData;
  subscriber: Subscriber;
  onClose: () => void;
  onGone: (text: string) => void;
}

export function DeleteDialog({ data, subscriber, onClose, onGone }: Props) {
  const error = useSignal("");
  async function run(): Promise<void> {
    try {
      await data.delete(false);
      onGone(t("delete.done"));
    } catch (problem) {
      error.value = errorText(problem);
    }
  }
  return (
    <Dialog title={parts("delete.title", { email: <bdi dir="auto">{subscriber.email}</bdi> })} onClose={onClose}>
      <p>{t("delete.text")}</p>
      <Failure text={error.value} />
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("cancel")}
        </button>
        <button type="button" class="main danger" onClick={() => void run()}>
          {t("delete.button")}
        </button>
      </div>
    </Dialog>
  );
}

/** Erases a person after the address is typed, and shows a receipt. */
export function EraseDialog({ data, subscriber, onClose, onGone }: Props) {
  const preview = useSignal<GetSubscriberErasurePreviewResponse | null>(null);
  const typed = useSignal("");
  const error = useSignal("");
  const receipt = useSignal("");
  const isBusy = useSignal(false);
  useEffect(() => {
    data.erasurePreview().then(
      (found) => (preview.value = found),
      (problem) => (error.value = errorText(problem)),
    );
  }, []);

  async function erase(event: Event): Promise<void> {
    event.preventDefault();
    isBusy.value = true;
    try {
      const requestId = await data.delete(true);
      receipt.value = t("erase.receipt", {
        email: subscriber.email,
        id: subscriber.id,
        time: new Date().toISOString(),
        request: requestId,
      });
    } catch (problem) {
      error.value = errorText(problem);
    }
    isBusy.value = false;
  }

  if (receipt.value) {
    const close = () => onGone(t("erase.done"));
    return (
      <Dialog title={t("erase.done")} onClose={close}>
        <p>{t("erase.keepReceipt", { time: dateTime(Date.now()) })}</p>
        <pre class="receipt">
          <bdi dir="auto">{receipt.value}</bdi>
        </pre>
        <div class="actions">
          <button type="button" onClick={() => copyText(receipt.value)}>
            {t("erase.copyReceipt")}
          </button>
          <button type="button" class="main" onClick={close}>
            {t("close")}
          </button>
        </div>
      </Dialog>
    );
  }
  const found = preview.value;
  const receivers = found?.receivers.length ?? 0;
  return (
    <Dialog title={parts("erase.title", { email: <bdi dir="auto">{subscriber.email}</bdi> })} onClose={onClose}>
      {found && (
        <p>
          {t("erase.text", { history: number(found.historyEntries), events: number(found.events) })}{" "}
          {receivers > 0 && plural("erase.receivers", receivers)} {found.suppressesAddress && t("erase.stays")}{" "}
          {t("erase.final")}
        </p>
      )}
      <form class="dialog-form" onSubmit={(event) => void erase(event)}>
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
        <Failure text={error.value} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button class="main danger" disabled={isBusy.value || typed.value.trim() !== subscriber.email}>
            {t("erase.button")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Lifts the suppression of an address, with a reason for the records. */
export function LiftDialog({ data, email, onClose }: { data: PersonData; email: string; onClose: () => void }) {
  const reason = useSignal("");
  const error = useSignal("");
  async function lift(event: Event): Promise<void> {
    event.preventDefault();
    try {
      await data.liftSuppression(email, reason.value.trim());
      notify(t("lift.done"));
      onClose();
    } catch (problem) {
      error.value = errorText(problem);
    }
  }
  return (
    <Dialog title={parts("lift.title", { email: <bdi dir="auto">{email}</bdi> })} onClose={onClose}>
      <p>{t("lift.text")}</p>
      <form class="dialog-form" onSubmit={(event) => void lift(event)}>
        <label class="field">
          {t("lift.reason")}
          <input
            dir="auto"
            required
            maxLength={200}
            value={reason.value}
            onInput={(event) => (reason.value = event.currentTarget.value)}
          />
        </label>
        <Failure text={error.value} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button class="main danger">{t("lift.button")}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Failure({ text }: { text: string }) {
  if (!text) return null;
  return (
    <p class="error" role="alert">
      {text}
    </p>
  );
}
