import { useSignal } from "@preact/signals";
import { notify } from "../announce.ts";
import { ApiError, call } from "../api/client.ts";
import { go, href } from "../router.ts";
import { errorText, t } from "../texts.ts";
import { Dialog } from "./dialog.tsx";

/** A form that adds one person. Consent is recorded with how the person gave it. */
export function AddPerson({ onClose, onAdded }: { onClose: () => void; onAdded: () => void }) {
  const agreed = useSignal(false);
  const busy = useSignal(false);
  const error = useSignal<unknown>(null);
  const email = useSignal("");

  async function add(form: FormData): Promise<void> {
    const text = (name: string) => String(form.get(name) ?? "").trim();
    const consentSource = text("consent");
    busy.value = true;
    error.value = null;
    email.value = text("email");
    try {
      const body = { email: email.value, firstName: text("firstName"), lastName: text("lastName") };
      const { id } = (await call("POST /api/subscribers", { body })).subscriber;
      if (agreed.value) {
        const change = { status: "CONFIRMED", consentSource } as const;
        await call("PUT /api/subscribers/{id}/status", { path: { id }, body: change });
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
  const leads = code === "SubscriberAlreadyExists" ? "/subscribers/" : code === "SubscriberSuppressed" ? "/suppressions?email=" : "";
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
            {t("addPerson.how")}
            <input name="consent" required autocomplete="off" maxLength={200} dir="auto" />
          </label>
        ) : (
          <p class="hint">{t("addPerson.unconfirmed")}</p>
        )}
        {error.value ? (
          <p class="error" role="alert">
            {errorText(error.value)}{" "}
            {leads && <a href={href(leads + encodeURIComponent(email.value))}>{t("show")}</a>}
          </p>
        ) : null}
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
