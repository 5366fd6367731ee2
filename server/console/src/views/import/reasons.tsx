import type { ReasonCount } from "../../api/types.ts";
import { named, number, plural } from "../../texts.ts";

/** Why rows fail, with the lines of the first ones. */
export function Reasons({ reasons }: { reasons: ReasonCount[] }) {
  const failures = reasons.filter(({ reason }) => reason !== "FILTERED");
  if (!failures.length) return null;
  return (
    <ul class="row-reasons">
      {failures.map(({ reason, total, examples }) => (
        <li key={reason}>
          <b>{plural("import.rows", total)}</b>: {named("rowReason", reason)}{" "}
          <small>
            {plural("import.lines", examples.length, { lines: examples.map((line) => number(Number(line))).join(", ") })}
            {total > examples.length && ` ${plural("import.more", total - examples.length)}`}
          </small>
        </li>
      ))}
    </ul>
  );
}
