import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, linesOf } from "../../announce.ts";
import type { CustomField, ImportOptions } from "../../api/types.ts";
import { go, withQuery } from "../../router.ts";
import { parts, plural, t } from "../../texts.ts";
import { decisions, fieldOf, ignored } from "./columns.ts";
import { Repairs } from "./repairs.tsx";
import { Failed, Numbers, Work } from "./result.tsx";
import { Waits } from "./waits.tsx";
import { goTo, type StepProps } from "./wizard.tsx";

/** The third step: what the import would do, of which nothing is stored yet. */
export function CheckStep({ model, job, fields }: StepProps & { fields: CustomField[] }) {
  const isBusy = useSignal(false);
  const isChecking = useSignal(false);
  // Choices that the next check applies.
  const chosen = useSignal<ImportOptions | null>(null);
  useLayoutEffect(() => () => {
    // Another step is shown.
    if (chosen.value) void model.choose(chosen.value);
  }, []);
  const { summary, state } = job;
  const isRunning = state === "RUNNING";
  const counted = state === "READY" && job.dryRun && summary ? summary : null;
  const isComplete = counted !== null && job.processed >= job.rows;
  const main = useRef<HTMLButtonElement>(null);
  useLayoutEffect(() => {
    if (!isComplete) return;
    announce(linesOf(document.getElementById("numbers")));
    if ([null, document.body, document.getElementById("step")].includes(document.activeElement as HTMLElement)) {
      main.current?.focus();
    }
  }, [isComplete]);

  async function start(dryRun: boolean): Promise<void> {
    isBusy.value = true;
    isChecking.value = dryRun;
    try {
      const options = chosen.value;
      chosen.value = null;
      if (options) await model.choose(options);
      // The view shows what is left to decide, or the error.
      if (!(await model.settled())) return;
      await model.start(dryRun);
      if (!dryRun) go(withQuery({ step: "" }), { replace: true });
    } catch {
      // The view shows the error.
    } finally {
      isBusy.value = false;
      isChecking.value = false;
    }
  }

  if (isRunning || isChecking.value) {
    return (
      <div class="step">
        <h2 id="step" tabIndex={-1}>
          {t("import.checking")}
        </h2>
        <p class="hint">{t("import.nothingStored")}</p>
        <Work
          job={job}
          onCancel={
            isRunning
              ? () => {
                  void model.cancel().then(() => goTo(2), () => {});
                }
              : undefined
          }
        />
      </div>
    );
  }
  const lost = ignored(decisions(job, model.options.value, fields), model.options.value);
  const people = counted ? counted.created + counted.updated : 0;
  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        void start(!isComplete || chosen.value !== null);
      }}
    >
      <h2 id="step" tabIndex={-1}>
        {t(isComplete ? "import.checked" : "import.notChecked")}
      </h2>
      {counted && isComplete && (
        <>
          <div id="numbers">
            <Numbers summary={counted} />
          </div>
          <Repairs
            cells={counted.unrecognizedCells}
            options={chosen.value ?? model.options.value}
            onChoose={(options) => (chosen.value = options)}
          />
          <Failed job={job} summary={counted} />
          {counted.createdFields.length > 0 && (
            <p>
              {parts("import.newFields", { fields: <bdi dir="auto">{counted.createdFields.map((key) => fieldOf(job, key, fields).label).join(", ")}</bdi> })}
            </p>
          )}
          {lost.length > 0 && (
            <p>
              {plural("import.ignores", lost.length)}: <bdi dir="auto">{lost.map(({ column }) => column.name).join(", ")}</bdi>
            </p>
          )}
          <Waits job={job} />
        </>
      )}
      {!counted && model.isSaving.value && <p class="hint">{t("import.reading")}</p>}
      <div class="step-actions">
        {isComplete && people > 0 && <span class="hint">{t("batch.undoable")}</span>}
        <button type="button" onClick={() => goTo(2)}>
          {t("import.back")}
        </button>
        <button ref={main} class="main" disabled={isBusy.value || (isComplete && !people && !chosen.value)}>
          {chosen.value ? t("import.checkAgain") : isComplete ? plural("import.start", people) : t("import.check")}
        </button>
      </div>
    </form>
  );
}
