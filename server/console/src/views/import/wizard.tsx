import { useLayoutEffect } from "preact/hooks";
import { call } from "../../api/client.ts";
import type { CustomField, ImportJob } from "../../api/types.ts";
import { Part } from "../../components/part.tsx";
import { useLoaded } from "../../load.ts";
import { pages } from "../../pages.ts";
import { address, go, href, withQuery } from "../../router.ts";
import { type Key, t } from "../../texts.ts";
import { CheckStep } from "./check_step.tsx";
import { ColumnsStep } from "./columns_step.tsx";
import type { ImportModel } from "./model.ts";
import { PeopleStep } from "./people_step.tsx";
import { Waits } from "./waits.tsx";

export type Step = 1 | 2 | 3;
const STEPS: [Step, Key][] = [
  [1, "import.step.columns"],
  [2, "import.step.people"],
  [3, "import.step.check"],
];

export interface StepProps {
  model: ImportModel;
  job: ImportJob;
}

/** Shows a step, in a new entry of the history. */
export function goTo(step: Step): void {
  go(withQuery({ step: step === 1 ? "" : String(step) }));
}

/** The steps between the upload of a file and its import. The address has the step. */
export function Wizard({ model, job }: StepProps) {
  const wanted = Number(address.value.query.get("step") ?? 1);
  // A dry run can have been started in another tab.
  const isChecking = job.state === "RUNNING";
  const step = isChecking ? 3 : job.problems.length && !model.isSaving.value ? 1 : wanted;
  const fields = useLoaded(
    (signal) =>
      pages(async (query) => {
        const { customFields, total = 0 } = await call("GET /api/custom-fields", { query, signal });
        return { items: customFields, total };
      }),
  );
  useLayoutEffect(() => {
    // The first step is shown when the file has been read: a person can have begun something else.
    const { activeElement } = document;
    if (activeElement?.closest(".import, nav") && !activeElement.closest(".step-actions, .wizard-steps")) return;
    document.getElementById("step")?.focus();
  }, [step]);
  if (fields.error && !fields.data) return <Part of={fields}>{() => null}</Part>;
  return (
    <>
      <ol class="wizard-steps" aria-label={t("import.steps")}>
        {STEPS.map(([number, title]) => (
          <li key={number} aria-current={number === step ? "step" : undefined} class={number < step ? "past" : ""}>
            {number < step && !isChecking ? (
              <a href={href(withQuery({ step: number === 1 ? "" : String(number) }))}>{t(title)}</a>
            ) : (
              <span>{t(title)}</span>
            )}
          </li>
        ))}
      </ol>
      {job.state === "INSPECTING" && !job.processed && <Waits job={job} />}
      {step === 3 ? (
        <CheckStep model={model} job={job} fields={fields.data ?? NO_FIELDS} />
      ) : step === 2 ? (
        <PeopleStep model={model} job={job} />
      ) : (
        <ColumnsStep model={model} job={job} fields={fields.data ?? NO_FIELDS} fieldsAreKnown={Boolean(fields.data)} />
      )}
    </>
  );
}

const NO_FIELDS: CustomField[] = [];
