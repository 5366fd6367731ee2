import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { notify } from "../announce.ts";
import { ApiError, call, callTagged } from "../api/client.ts";
import { go, href, isModified } from "../router.ts";
import { t } from "../texts.ts";
import { FormDialog, textOf } from "./form_dialog.tsx";

/** A form that adds one person. Consent is recorded with how the person gave it. */
export function AddPerson({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const agreed = useSignal(false);
  const email = useRef("");
  // The person of an attempt whose second request failed.
  const added = useRef({ email: "", id: "", etag: "" });

  async function add(form: FormData): Promise<void> {
    email.current = textOf(form, "email");
    if (added.current.email !== email.current) {
      const names = { firstName: textOf(form, "firstName"), lastName: textOf(form, "lastName") };
      const found = await callTagged("POST /api/subscribers", { body: { email: email.current, ...names } });
      added.current = { email: email.current, id: found.body.subscriber.id, etag: found.etag };
    }
    const { id, etag } = added.current;
    if (agreed.value) {
      const body = { status: "CONFIRMED", consentSource: textOf(form, "consent") } as const;
      // The person can have opted out since the attempt before.
      await call("PUT /api/subscribers/{id}/status", { path: { id }, body, etag });
    }
    notify(t("addPerson.added"), { text: t("open"), run: () => go(`/subscribers/${id}`) });
    onAdded();
  }

  /** A link to the reason for an error. */
  function reason(error: unknown) {
    const code = error instanceof ApiError ? error.code : "";
    const isThere = code === "SubscriberAlreadyExists" || code === "PreconditionFailed";
    const leads = isThere ? "/subscribers/" : code === "SubscriberSuppressed" ? "/suppressions?email=" : "";
    return (
      leads && (
        <a
          href={href(leads + encodeURIComponent(email.current))}
          onClick={(event) => {
            // An attempt whose answer was lost can have added the person.
            onAdded();
            if (!isModified(event)) onClose();
          }}
        >
          {t("show")}
        </a>
      )
    );
  }

  return (
    <FormDialog title={t("addPerson.title")} verb={t("addPerson.title")} onClose={onClose} onSubmit={add} reason={reason}>
      <label class="field">
        {t("column.email")}
        <input name="email" type="email" required autocomplete="off" maxLength={320} dir="auto" />
      </label>
      <div class="pair">
        <label class="field">
          {t("addPerson.first")}
          <input name="firstName" autocomplete="off" maxLength={100} dir="auto" />
        </label>
        <label class="field">
          {t("addPerson.last")}
          <input name="lastName" autocomplete="off" maxLength={100} dir="auto" />
        </label>
      </div>
      <label class="option">
        <input
          type="checkbox"
          checked={agreed.value}
          onChange={(event) => (agreed.value = event.currentTarget.checked)}
        />
        {t("addPerson.agreed")}
      </label>
      {agreed.value ? (
        <label class="field">
          {t("addPerson.how")} <small>{t("required")}</small>
          <input name="consent" required autocomplete="off" maxLength={200} dir="auto" />
        </label>
      ) : (
        <p class="hint">{t("addPerson.unconfirmed")}</p>
      )}
    </FormDialog>
  );
}
