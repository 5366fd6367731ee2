import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import type { ImportJob } from "../../api/types.ts";
import { Choices } from "../../components/form_dialog.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { href } from "../../router.ts";
import { named, number, parts, plural, pluralParts, t } from "../../texts.ts";
import { hasDateOnly, statesConsent } from "./columns.ts";
import { goTo, type StepProps } from "./wizard.tsx";

/** Leaves out people who opted out elsewhere. */
const WITHOUT_OPT_OUTS = "status = CONFIRMED OR status = UNCONFIRMED";
const NEEDS_CONSENT = "needs-consent";

/** The second step: who the people are, and what happens to opt-outs and to people without consent. */
export function PeopleStep({ model, job }: StepProps) {
  const isBusy = useSignal(false);
  // The tag and the source that are typed; the import is read again meanwhile.
  const typed = useSignal<string | null>(null);
  const typedSource = useSignal<string | null>(null);
  const options = model.options.value;
  const tags = options.addTags ?? [];
  const optOuts = countOf(job, "UNSUBSCRIBED", "BOUNCED", "COMPLAINED");
  const unconfirmed = countOf(job, "UNCONFIRMED");
  const invalid = job.invalid.reduce((sum, { total }) => sum + total, 0);
  const isUnknown = tags.includes(NEEDS_CONSENT);
  const isStated = options.isConfirmed || Boolean(options.consentSource);
  // What was stated stays visible if a column of consent is chosen later.
  const stated = statesConsent(job);
  // In a file of another service, rows without a status are unconfirmed, with any answer.
  const hasAll = stated && Boolean(job.preset) && job.preset !== "ROSTER";
  // The question stays while it is answered.
  const isAsked = useRef(false);
  if (isStated || (unconfirmed > 0 && !stated)) isAsked.current = true;
  const asksConsent = isAsked.current && !hasAll;
  const filter = options.filter ?? "";
  const otherTags = tags.filter((tag) => tag !== NEEDS_CONSENT);

  async function check(): Promise<void> {
    isBusy.value = true;
    try {
      if (await model.settled()) {
        await model.start(true);
        goTo(3);
      } else announce(t("import.notReady"));
    } catch {
      // The view shows the error.
    }
    isBusy.value = false;
  }

  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        void check();
      }}
    >
      <h2 id="step" tabIndex={-1}>
        {plural("import.people", job.rows - invalid, { rows: plural("import.rows", job.rows) })}
      </h2>
      <ul class="people-counts">
        {job.statuses.map(({ status, rows }) => (
          <li key={status}>
            <b>{number(rows)}</b>
            <StatusLabel status={status} />
            <small>{named("statusMeaning", status)}</small>
          </li>
        ))}
        {job.invalid.map(({ reason, total }) => (
          <li key={reason}>
            <b>{number(total)}</b>
            <span class="error">{t("import.notImported")}</span>
            <small>{named("rowReason", reason)}</small>
          </li>
        ))}
      </ul>
      {optOuts > 0 && (filter === "" || filter === WITHOUT_OPT_OUTS) && (
        <div class="choice-box">
          <p>{pluralParts("import.optOuts", optOuts, { count: <b>{number(optOuts)}</b> })}</p>
          <Choices
            legend={t("import.optOutsQuestion")}
            value={filter ? "skip" : "take"}
            choices={[
              { value: "take", text: t("import.takeOptOuts"), hint: t("import.takeOptOutsHint") },
              { value: "skip", text: t("import.skipOptOuts"), hint: t("import.skipOptOutsHint") },
            ]}
            onChoose={(value) => void model.choose({ ...options, filter: value === "skip" ? WITHOUT_OPT_OUTS : "" })}
          />
        </div>
      )}
      {stated && (asksConsent || unconfirmed > 0) && (
        <p class="hint">
          {hasDateOnly(job)
            ? t("import.confirmedAlone", { field: t("target.consentAt") })
            : t(asksConsent ? "import.consentElse" : "import.consentStated")}
        </p>
      )}
      {asksConsent && (
        <div class="choice-box">
          <Choices
            legend={t("import.consentQuestion")}
            value={options.isConfirmed ? "confirmed" : isUnknown ? "unknown" : "yes"}
            choices={[
              { value: "confirmed", text: t("import.consentConfirmed"), hint: t("import.consentConfirmedHint") },
              { value: "yes", text: t("import.consentYes"), hint: t("import.consentYesHint") },
              { value: "unknown", text: t("import.consentUnknown"), hint: t("import.consentUnknownHint") },
            ]}
            onChoose={(value) => {
              const addTags = value === "unknown" ? [...otherTags, NEEDS_CONSENT] : otherTags;
              const known = value === "unknown" ? { consentSource: "" } : {};
              void model.choose({ ...options, ...known, addTags, isConfirmed: value === "confirmed" });
            }}
          />
          <p class="hint">
            {parts("import.allOptedOut", { block: <a href={href("/suppressions")}>{t("block.title")}</a> })}
          </p>
          {(!isUnknown || isStated) && (
            <label class="field narrow">
              {t("target.consentSource")}
              <input
                dir="auto"
                autocomplete="off"
                maxLength={200}
                placeholder={t("import.consentSourceExample")}
                value={typedSource.value ?? options.consentSource ?? ""}
                onInput={(event) => (typedSource.value = event.currentTarget.value)}
                onChange={(event) => {
                  typedSource.value = null;
                  void model.choose({ ...options, consentSource: event.currentTarget.value.trim() });
                }}
              />
            </label>
          )}
        </div>
      )}
      <div class="choice-box">
        <Choices
          legend={t("import.existing")}
          value={options.onConflict === "SKIP" ? "SKIP" : "UPDATE"}
          choices={[
            { value: "UPDATE", text: t("import.update"), hint: t("import.updateHint") },
            { value: "SKIP", text: t("import.skip") },
          ]}
          onChoose={(value) => void model.choose({ ...options, onConflict: value as "UPDATE" | "SKIP" })}
        />
      </div>
      <label class="field narrow">
        {t("import.addTag")}
        <input
          dir="auto"
          autocomplete="off"
          maxLength={100}
          placeholder={t("optional")}
          value={typed.value ?? otherTags[0] ?? ""}
          onInput={(event) => (typed.value = event.currentTarget.value)}
          onChange={(event) => {
            const tag = event.currentTarget.value.trim();
            const kept = [...otherTags.slice(1), ...tags.filter((each) => each === NEEDS_CONSENT)];
            void model.choose({ ...options, addTags: tag ? [tag, ...kept] : kept });
          }}
        />
      </label>
      <div class="step-actions">
        <button type="button" onClick={() => goTo(1)}>
          {t("import.back")}
        </button>
        <button class="main" disabled={isBusy.value || !job.rows}>
          {t(isBusy.value && model.isSaving.value ? "import.reading" : "import.check")}
        </button>
      </div>
    </form>
  );
}

function countOf(job: ImportJob, ...wanted: ImportJob["statuses"][number]["status"][]): number {
  return job.statuses.filter(({ status }) => wanted.includes(status)).reduce((sum, { rows }) => sum + rows, 0);
}
