import { href, withQuery } from "../../router.ts";
import { named, number, t } from "../../texts.ts";
import { type Counts, type Status, STATUSES } from "./list.ts";

/** The statuses with the numbers of the current filter, as links. */
export function StatusTabs({ counts, status }: { counts: Counts | undefined; status: Status | "" }) {
  const all = counts && Object.values(counts).reduce((sum, each) => sum + each, 0);
  return (
    <nav class="tabs" aria-label={t("column.status")}>
      <Tab status="" text={t("status.all")} count={all} isCurrent={status === ""} />
      {STATUSES.map((each) => (
        <Tab key={each} status={each} text={named("status", each)} count={counts?.[each]} isCurrent={status === each} />
      ))}
    </nav>
  );
}

function Tab({
  status,
  text,
  count,
  isCurrent,
}: {
  status: string;
  text: string;
  count: number | undefined;
  isCurrent: boolean;
}) {
  return (
    <a
      href={href(withQuery({ status }, "/subscribers"))}
      aria-current={isCurrent ? "true" : undefined}
      title={status ? named("statusMeaning", status) : undefined}
    >
      {text} <small>{count === undefined ? "" : number(count)}</small>
    </a>
  );
}
