import type { ComponentChildren } from "preact";
import type { ImportOptions, UnrecognizedCells } from "../../api/types.ts";
import { STATUSES } from "../subscribers/list.ts";
import { named, number, parts, pluralParts, quoted, t } from "../../texts.ts";

export const ORDERS = ["DMY", "MDY", "YMD"] as const;
/** The server gives no more words of a column. */
const MOST_WORDS = 3;

interface Choosing {
  options: ImportOptions;
  onChoose: (options: ImportOptions) => void;
}

/** Cells with words or dates that are not known, each with what they can mean. */
export function Repairs({ cells, ...choosing }: Choosing & { cells: UnrecognizedCells[] }) {
  if (!cells.length) return null;
  return (
    <ul class="repairs">
      {cells.map(({ column, rows, examples, hint }) => (
        <li key={column}>
          {hint?.includes("statusMap") ? (
            <>
              <span>{counted("import.unknownCells", rows, column, examples)}</span>
              {examples.map((word) => (
                <Word key={word} word={word} {...choosing} />
              ))}
            </>
          ) : (
            <>
              <span>{counted("import.unreadableCells", rows, column, examples)}</span>
              {hint && <DateOrder {...choosing} />}
            </>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Dates whose order of day and month has to be chosen, with the column in which they are. */
export function UnclearDates({
  columns,
  ...choosing
}: Choosing & { columns: { name: string; examples: string[] }[] }) {
  if (!columns.length) return null;
  return (
    <ul class="repairs">
      <li>
        <span>
          {columns.map(({ name, examples }) => (
            <>
              <b dir="auto">{name}</b>: {listed(examples)}{" "}
            </>
          ))}
        </span>
        <DateOrder {...choosing} />
      </li>
    </ul>
  );
}

function counted(
  key: "import.unknownCells" | "import.unreadableCells",
  rows: number,
  column: string,
  examples: string[],
): ComponentChildren {
  const values = { count: number(rows), column: <b dir="auto">{column}</b>, examples: listed(examples) };
  if (key === "import.unknownCells" && examples.length >= MOST_WORDS) return parts("import.someUnknownCells", values);
  return pluralParts(key, rows, values);
}

export function listed(examples: string[]): ComponentChildren {
  return examples.map((text, index) => [index ? ", " : "", quoted(<bdi dir="auto">{text}</bdi>)]);
}

function DateOrder({ options, onChoose }: Choosing) {
  return (
    <label>
      {t("import.dates")}
      <select
        value={options.dateFormat ?? ""}
        onChange={(event) => onChoose({ ...options, dateFormat: event.currentTarget.value as (typeof ORDERS)[number] })}
      >
        <option value="" disabled>
          {t("import.choosePlease")}
        </option>
        {ORDERS.map((order) => (
          <option key={order} value={order}>
            {t(`import.dates.${order}`)}
          </option>
        ))}
      </select>
    </label>
  );
}

function Word({ word, options, onChoose }: Choosing & { word: string }) {
  const start = `${word}=`;
  const map = options.statusMap ?? [];
  const chosen = map.find((entry) => entry.startsWith(start))?.slice(start.length);
  return (
    <label>
      <bdi dir="auto">{t("import.means", { example: word })}</bdi>
      <select
        value={chosen ?? ""}
        onChange={(event) => {
          const others = map.filter((entry) => !entry.startsWith(start));
          onChoose({ ...options, statusMap: [...others, start + event.currentTarget.value] });
        }}
      >
        <option value="" disabled>
          {t("import.choosePlease")}
        </option>
        {STATUSES.map((status) => (
          <option key={status} value={status}>
            {named("status", status)}
          </option>
        ))}
      </select>
    </label>
  );
}
