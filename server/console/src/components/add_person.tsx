import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { notify } from "../announce.ts";
import { ApiError, call, callTagged } from "../api/client.ts";
import { go, href } from "../router.ts";
import { t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";
import { Problem } from "./form_dialog.tsx";

/** A form that adds one person. Consent is recorded with how the person gave it. */
export function AddPerson({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const agreed = useSignal(false);
  const busy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const email = useSignal("");
  // The person of an attempt whose second request failed.
  const added = useRef({ email: "", id: "", etag: "" });

  async function add(form: FormData): Promise<void> {
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const consentSource = text("consent");
    busy.value = true;
    error.value = undefined;
    email.value = text("email");
    try {
      if (added.current.email !== email.value) {
        const body = { email: email.value, firstName: text("firstName"), lastName: text("lastName") };
        const found = await callTagged("POST /api/subscribers", { body });
        added.current = { email: email.value, id: found.body.subscriber.id, etag: found.etag };
      }
      const { id, etag } = added.current;
      if (agreed.value) {
        const body = { status: "CONFIRMED", consentSource } as const;
        // The person can have opted out since the attempt before.
        await call("PUT /api/subscribers/{id}/status", { path: { id }, body, etag });
      }
      notify(t("addPerson.added"), { text: t("open"), run: () => go(`/subscribers/${id}`) });
      onAdded();
      onClose();
    } catch (problem) {
      error.value = problem;
    }
    busy.value = false;
  }

  const code = error.value instanceof ApiError ? error.value.code : "";
  const isThere = code === "SubscriberAlreadyExists" || code === "PreconditionFailed";
  const leads = isThere ? "/subscribers/" : code === "SubscriberSuppressed" ? "/suppressions?email=" : "";
  return (
    <Dialog title={t("addPerson.title")} onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          void add(new FormData(event.currentTarget));
        }}
      >
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
        <Problem error={error.value} />
        {leads && (
          <a
            href={href(leads + encodeURIComponent(email.value))}
            onClick={() => {
              // An attempt whose answer was lost can have added the person.
              onAdded();
              onClose();
            }}
          >
            {t("show")}
          </a>
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            {t("cancel")}
          </button>
          <button class="main" disabled={busy.value}>
            {t("addPerson.title")}
          </button>
        </div>
      </form>
    </Dialog>
  );
}
