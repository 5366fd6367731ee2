import type { ComponentChildren } from "preact";
import { callFirst, FIRST } from "../../api/client.ts";
import type { ImportFailure, ImportJob, ReasonCount } from "../../api/types.ts";
import { useLoaded } from "../../load.ts";
import { named, number, plural, pluralParts, t } from "../../texts.ts";
import { listed } from "./repairs.tsx";

/** The number of characters that are shown of a value. */
const MOST_CHARACTERS = 80;

/** Why rows fail, with the lines of the first ones; of a file with columns also their values. */
export function Reasons({ job, reasons }: { job?: ImportJob; reasons: ReasonCount[] }) {
  const failures = reasons.filter(({ reason }) => reason !== "FILTERED");
  const rows = useLoaded<ImportFailure[]>(
    async (signal) =>
      job && job.format !== "json" ? await callFirst("GET /api/imports/{id}/failures", { path: { id: job.id }, signal }) : [],
    job?.startedAt,
  );
  if (!failures.length) return null;
  const rowAt = (line: string) => rows.data?.find((row) => row.line === Number(line));
  const lacksValues = rows.data?.length === FIRST && !failures.every(({ examples }) => examples.every(rowAt));
  return (
    <ul class="row-reasons">
      {failures.map(({ reason, total, examples }) => (
        <li key={reason}>
          <b>{plural("import.rows", total)}</b>: {named("rowReason", reason)}{" "}
          <small>
            {pluralParts("import.lines", examples.length, {
              lines: examples.map((line, index) => [
                index ? ", " : "",
                number(Number(line)),
                job && valueOf(job, rowAt(line)),
              ]),
            })}
            {total > examples.length && ` ${plural("import.more", total - examples.length)}`}
          </small>
        </li>
      ))}
      {lacksValues && <li>{t("import.firstFailed", { count: number(FIRST) })}</li>}
    </ul>
  );
}

/** The value because of which a row fails, with its column. */
function valueOf({ columns }: ImportJob, row?: ImportFailure): ComponentChildren {
  const index = columns.findIndex(({ target }, at) => row?.cells[at] && row.field && target.split("+").includes(row.field));
  const value = row?.cells[index];
  if (!value) return null;
  const shown = value.length > MOST_CHARACTERS ? `${value.slice(0, MOST_CHARACTERS)}…` : value;
  return [" (", <bdi dir="auto">{columns[index]?.name}</bdi>, " ", listed([shown]), ")"];
}
