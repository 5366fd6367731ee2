import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { announce, linesOf } from "../../announce.ts";
import type { CustomField, ImportJob, ImportOptions } from "../../api/types.ts";
import { Problem } from "../../components/form_dialog.tsx";
import { Select } from "../../components/select.tsx";
import { language, parts, plural, t } from "../../texts.ts";
import { ColumnList } from "./column_list.tsx";
import { type Decided, decided, decisions, hasProblem, ignored, orderOf, suggested, unclearDates } from "./columns.ts";
import { ORDERS, UnclearDates } from "./repairs.tsx";
import { Sample } from "./sample.tsx";
import { goTo, type StepProps } from "./wizard.tsx";
import { SERVICES } from "./words.tsx";

/** Encodings, with languages that are written in them. */
const CHARSETS: Record<string, string> = {
  "": "",
  "windows-1252": "de fr es",
  "windows-1250": "pl cs hu",
  "windows-1251": "ru uk",
  "windows-1253": "el",
  "windows-1254": "tr",
  "windows-1255": "he",
  "windows-1256": "ar",
  shift_jis: "ja",
  gb18030: "zh",
  "mac-roman": "",
};

function charsetText(name: string): string {
  const names = new Intl.DisplayNames(language.value, { type: "language" });
  const languages = CHARSETS[name]?.split(" ").filter(Boolean).map((code) => names.of(code)).join(", ");
  return languages ? `${languages} (${name})` : name || "Unicode";
}

const DELIMITERS = ["COMMA", "SEMICOLON", "TAB", "VERTICAL_BAR", "COLON"] as const;

/** The first step: what the columns of the file become. */
export function ColumnsStep({
  model,
  job,
  fields,
  fieldsAreKnown,
}: StepProps & { fields: CustomField[]; fieldsAreKnown: boolean }) {
  const isBusy = useSignal(false);
  const error = useSignal<unknown>(undefined);
  const options = model.options.value;
  const all = decisions(job, options, fields);
  const undecided = all.filter(({ choice }) => choice === "");
  const lost = ignored(all, options).length;
  const order = useRef<number[] | null>(null);
  const isFirstRead = order.current === null || order.current.length !== all.length;
  if (isFirstRead && fieldsAreKnown) {
    const foreseen = decisions(job, suggested(all, options, job.format), fields);
    const lost = ignored(foreseen, options);
    const rank = (one: Decided) => {
      const needsAnswer = one.choice === "" || (one.choice === all[one.index]?.choice && hasProblem(job, one.column));
      return needsAnswer ? 0 : lost.includes(one) ? 1 : one.column.filled ? 2 : 3;
    };
    order.current = foreseen.toSorted((a, b) => rank(a) - rank(b) || a.index - b.index).map(({ index }) => index);
  }

  const unclear = unclearDates(all, fields, options);
  // The question stays while it is answered.
  const asksOrder = useRef(false);
  // After the check, the order can be chosen for dates of other fields only. In JSON, dates have one form.
  const lacksOrder =
    job.format !== "json" && !options.dateFormat && all.some(({ choice, column }) => choice.startsWith("customFields.") && unclear.includes(column));
  if (unclear.length && !options.dateFormat) asksOrder.current = true;

  function choose(changes: ImportOptions): void {
    // It is shown, and can be changed.
    if (changes.dateFormat && !options.dateFormat) asksOrder.current = true;
    void model.choose(changes);
  }

  function chooseColumn(index: number, choice: string): void {
    const one = all[index];
    if (!one) return;
    let changed = decided(options, one, choice, job.format);
    const order = orderOf(one.column.examples);
    if (!options.dateFormat && order && unclearDates([{ ...one, choice }], fields, options).length) {
      changed = { ...changed, dateFormat: order };
    }
    choose(changed);
  }

  function chooseRest(choice: string): void {
    choose(
      undecided
        // Opt-outs would be lost.
        .filter(({ column }) => !column.looksLikeConsent)
        .reduce((changed, one) => decided(changed, one, choice, job.format), options),
    );
  }

  useLayoutEffect(() => {
    const isNew = !options.columnMap?.length && !options.ignoreColumns?.length && !options.newFields?.length;
    if (!isNew || job.state !== "READY" || job.format === "json" || !fieldsAreKnown) return;
    const next = suggested(all, options, job.format);
    const order = orderOf(unclearDates(decisions(job, next, fields), fields, next).flatMap(({ examples }) => examples));
    if (order && !options.dateFormat) choose({ ...next, dateFormat: order });
    else if (next !== options) choose(next);
  }, [job.state, fieldsAreKnown]);

  async function proceed(): Promise<void> {
    if (missing || isWrong) {
      const place = all.some(({ choice, column }) => !choice || hasProblem(job, column)) ? ".open" : lacksOrder ? ".repairs" : isMisread ? ".reading" : "";
      document.querySelector<HTMLElement>(`.step ${place || ".column-list"} select`)?.focus();
      return announce(missing || linesOf(document.querySelector(".step [role=alert]")) || t("import.notReady"));
    }
    isBusy.value = true;
    error.value = undefined;
    try {
      if (await model.settled()) goTo(2);
      else announce(t("import.notReady"));
    } catch (problem) {
      error.value = problem;
    }
    isBusy.value = false;
  }

  const others = job.problems.filter(
    (problem) => !job.columns.some(({ name }) => name === problem.field) && problem.code !== "REQUIRED",
  );
  const lacksHeader = job.columns.some(({ name }) => /^\S+@\S+\.\S+$/.test(name.trim()));
  const lacksEmail = job.problems.some(({ field, code }) => field === "email" && code === "REQUIRED");
  // The delimiter may be another one.
  const isMisread = others.length > 0 || (lacksEmail && job.columns.length === 1);
  const isWrong = !model.isSaving.value && job.problems.length > 0;
  const missing = undecided.length
    ? plural("import.undecided", undecided.length)
    : lacksOrder && `${t("import.dates")}: ${t("import.choosePlease")}`;
  return (
    <form
      class="step"
      onSubmit={(event) => {
        event.preventDefault();
        void proceed();
      }}
    >
      <h2 id="step" tabIndex={-1}>
        <FileWords job={job} />
      </h2>
      <Reading job={job} options={options} onChoose={choose} isOpen={isMisread} />
      {others.map(({ field, message }) => (
        <p key={`${field} ${message}`} class="part-error" role="alert">
          {problemText(`${field} ${message}`.trim())}
        </p>
      ))}
      {job.format !== "json" && (
        <UnclearDates
          columns={options.dateFormat && !asksOrder.current ? [] : unclear}
          options={options}
          onChoose={choose}
        />
      )}
      {lacksEmail && (
        <p class="warning" role="alert">
          {t(lacksHeader ? "import.noHeader" : "import.noEmail")}
        </p>
      )}
      {job.sample.length > 0 && <Sample job={job} fields={fields} isOld={model.isSaving.value} />}
      {job.columns.length > 0 && (
        <ColumnList
          job={job}
          order={order.current ?? []}
          decisions={all}
          options={options}
          fields={fields}
          onChoose={chooseColumn}
          onChooseRest={chooseRest}
        />
      )}
      <Problem error={error.value} />
      <div class="step-actions">
        {missing ? (
          <span id="missing" class="amber">
            {missing}
          </span>
        ) : (
          <span class="hint">
            {lost > 0 && `${plural("import.ignores", lost)}.`}
          </span>
        )}
        <button class="main" aria-describedby={missing ? "missing" : undefined} disabled={isBusy.value}>
          {t(isBusy.value ? "import.reading" : "import.continue")}
        </button>
      </div>
    </form>
  );
}

/** The sentence for a file that cannot be read. */
function problemText(message: string): string {
  if (/UTF-8/.test(message)) return t("import.charsetWrong");
  const files = /archive with \d+ data files: (.*)\. /s.exec(message)?.[1];
  return files ? t("import.severalFiles", { files }) : t("import.unreadable", { message });
}

/** The format of the file, or the service that it comes from and the people in it. */
function FileWords({ job }: Pick<StepProps, "job">) {
  const {
    preset,
    statuses: [only],
    rows,
    format,
    delimiter,
  } = job;
  const count = <b>{plural("import.rows", rows)}</b>;
  if (preset) {
    const service = SERVICES[preset];
    if (only?.rows === rows) {
      return <>{parts("import.looksLikeOf", { service, status: <b>{t(`status.${only.status}`)}</b>, count })}</>;
    }
    return <>{parts("import.looksLike", { service, count })}</>;
  }
  if (format === "json") return <>{parts("import.json", { count })}</>;
  if (!rows) return <>{t("import.noRows")}</>;
  const separator = { ";": "semicolon", "\t": "tab", ",": "comma" }[delimiter] ?? "other";
  return <>{parts(`import.csv.${separator}` as "import.csv.comma", { count })}</>;
}

/** Options for reading the file, for those that were not recognized. */
function Reading({
  job,
  options,
  onChoose,
  isOpen,
}: {
  job: ImportJob;
  options: ImportOptions;
  onChoose: (options: ImportOptions) => void;
  isOpen: boolean;
}) {
  // It stays open while options are chosen.
  const opened = useRef(false);
  opened.current ||= isOpen;
  const charset = options.charset ?? "";
  return (
    <details class="reading" open={opened.current}>
      <summary>
        {t("import.charsetIs", { charset: charsetText(charset) })} <span class="amend">{t("import.amend")}</span>
      </summary>
      <div class="filters">
        <Select
          label={t("import.charset")}
          value={charset}
          choices={Object.keys({ ...CHARSETS, [charset]: "" }).map((name) => [name, charsetText(name)])}
          // The labels of new fields are from the names before.
          onChoose={(charset) => onChoose({ ...options, charset, newFields: [] })}
        />
        {job.format === "csv" && (
          <Select
            label={t("import.delimiter")}
            value={options.delimiter ?? ""}
            choices={[["", t("import.recognize")], ...DELIMITERS.map((name) => [name, t(`import.delimiter.${name}`)] as const)]}
            onChoose={(name) => {
              const delimiter = (name || null) as ImportOptions["delimiter"];
              // The columns are others.
              onChoose({ ...options, delimiter, columnMap: [], ignoreColumns: [], newFields: [] });
            }}
          />
        )}
        <Select
          label={t("import.service")}
          value={options.preset ?? ""}
          choices={[["", t("import.recognize")], ...Object.entries(SERVICES)]}
          onChoose={(preset) => onChoose({ ...options, preset: (preset || null) as ImportOptions["preset"] })}
        />
        <Select
          label={t("import.dates")}
          value={options.dateFormat ?? ""}
          choices={[["", "2024-12-31"], ...ORDERS.map((order) => [order, t(`import.dates.${order}`)] as const)]}
          onChoose={(order) => onChoose({ ...options, dateFormat: (order || null) as ImportOptions["dateFormat"] })}
        />
      </div>
    </details>
  );
}
