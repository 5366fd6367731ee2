import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { announce } from "../../announce.ts";
import type { UnrecognizedCells } from "../../api/types.ts";
import { go, withQuery } from "../../router.ts";
import { named, number, parts, plural, pluralParts, quoted, t } from "../../texts.ts";
import type { ImportModel } from "./model.ts";
import { Reasons } from "./reasons.tsx";
import { Numbers, Work } from "./result.tsx";
import { Waits } from "./waits.tsx";
import { goTo, type StepProps } from "./wizard.tsx";

const STATUSES = ["CONFIRMED", "UNCONFIRMED", "UNSUBSCRIBED", "BOUNCED", "COMPLAINED"] as const;

/** The third step: what the import would do, of which nothing is stored yet. */
export function CheckStep({ model, job }: StepProps) {
  const isBusy = useSignal(false);
  const { summary, state } = job;
  const isRunning = state === "RUNNING";
  const counted = state === "READY" && job.dryRun && summary ? summary : null;
  const isComplete = counted !== null && job.processed >= job.rows;
  const main = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (!isComplete) return;
    announce(document.getElementById("numbers")?.textContent ?? "");
    if ([null, document.body, document.getElementById("step")].includes(document.activeElement as HTMLElement)) {
      main.current?.focus();
    }
  }, [isComplete]);

  async function start(dryRun: boolean): Promise<void> {
    isBusy.value = true;
    try {
      if (!(await model.settled())) return goTo(1);
      await model.start(dryRun);
      if (!dryRun) go(withQuery({ step: "", text: "" }), { replace: true });
    } catch {
      // The view shows the error.
    } finally {
      isBusy.value = false;
    }
  }

  if (isRunning) {
    return (
      <div class="step">
        <h2 id="step" tabIndex={-1}>
          {t("import.checking")}
        </h2>
        <p class="hint">{t("import.nothingStored")}</p>
        <Work
          job={job}
          onCancel={() => {
            void model.cancel().then(() => goTo(2), () => {});
          }}
        />
      </div>
    );
  }
  const people = counted ? counted.created + counted.updated : 0;
  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        void start(!isComplete);
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
          <Repairs model={model} cells={counted.unrecognizedCells} onCheck={() => void start(true)} />
          <Reasons reasons={counted.reasons} />
          {counted.createdFields.length > 0 && (
            <p>
              {parts("import.newFields", { fields: <bdi dir="auto">{counted.createdFields.join(", ")}</bdi> })}
            </p>
          )}
          <Waits job={job} />
        </>
      )}
      {!counted && model.isSaving.value && <p class="hint">{t("import.reading")}</p>}
      <div class="step-actions">
        {isComplete && <span class="hint">{t("batch.undoable")}</span>}
        <button type="button" onClick={() => goTo(2)}>
          {t("import.back")}
        </button>
        <button ref={main} class="main" disabled={isBusy.value || (isComplete && !people)}>
          {isComplete ? plural("import.start", people) : t("import.check")}
        </button>
      </div>
    </form>
  );
}

/** Cells with words or dates that are not known, each with what they can mean. */
function Repairs({
  model,
  cells,
  onCheck,
}: {
  model: ImportModel;
  cells: UnrecognizedCells[];
  onCheck: () => void;
}) {
  const options = model.options.value;
  if (!cells.length) return null;
  return (
    <ul class="repairs">
      {cells.map(({ column, rows, example, hint }) => (
        <li key={column}>
          <span>
            {pluralParts("import.unknownCells", rows, {
              count: number(rows),
              column: <b dir="auto">{column}</b>,
              example: quoted(<bdi dir="auto">{example}</bdi>),
            })}
          </span>
          {hint?.includes("dateFormat") ? (
            <select
              aria-label={t("import.dates")}
              onChange={(event) => {
                const dateFormat = event.currentTarget.value as "DMY" | "MDY" | "YMD";
                void model.choose({ ...options, dateFormat }).then(onCheck);
              }}
            >
              <option value="">{t("import.choosePlease")}</option>
              {(["DMY", "MDY", "YMD"] as const).map((order) => (
                <option key={order} value={order}>
                  {t(`import.dates.${order}`)}
                </option>
              ))}
            </select>
          ) : hint ? (
            <select
              aria-label={t("import.means", { example })}
              onChange={(event) => {
                const entry = `${example}=${event.currentTarget.value}`;
                void model.choose({ ...options, statusMap: [...(options.statusMap ?? []), entry] }).then(onCheck);
              }}
            >
              <option value="">{t("import.choosePlease")}</option>
              {STATUSES.map((status) => (
                <option key={status} value={status}>
                  {named("status", status)}
                </option>
              ))}
            </select>
          ) : null}
        </li>
      ))}
    </ul>
  );
}
