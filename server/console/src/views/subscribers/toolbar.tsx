import { notify } from "../../announce.ts";
import { Icon } from "../../components/icon.tsx";
import { href, withQuery } from "../../router.ts";
import { named, number, plural, t } from "../../texts.ts";
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

/** How many rows are selected, and what can be done with them. */
export function SelectionBar({
  selected,
  addresses,
  onClear,
}: {
  selected: ReadonlySet<string>;
  addresses: () => string[];
  onClear: () => void;
}) {
  if (!selected.size) return null;
  return (
    <div class="selection" role="toolbar" aria-label={t("selection.title")}>
      <strong>{plural("selection.count", selected.size)}</strong>
      <button
        type="button"
        onClick={() => {
          const copied = addresses();
          void navigator.clipboard
            .writeText(copied.join("\n"))
            .then(() => notify(plural("selection.copied", copied.length)));
        }}
      >
        <Icon name="copy" />
        {t("selection.copy")}
      </button>
      <button type="button" class="plain" onClick={onClear}>
        {t("selection.clear")}
      </button>
    </div>
  );
}

/** What an empty list says: how to begin, or how to see people again. */
export function Empty({ isFiltered, address }: { isFiltered: boolean; address: string }) {
  if (!isFiltered) {
    return (
      <div class="empty">
        <h2>{t("empty.title")}</h2>
        <p>{t("empty.text")}</p>
        <a href={`${href("/")}../docs/guides/imports`} target="_blank" rel="noreferrer">
          {t("empty.guide")}
        </a>
      </div>
    );
  }
  return (
    <div class="empty">
      <h2>{t("noMatch.title")}</h2>
      {address && (
        <p>
          <a href={href(`/subscribers/${encodeURIComponent(address)}`)}>{t("noMatch.address")}</a>
        </p>
      )}
      <a href={href("/subscribers")}>{t("noMatch.all")}</a>
    </div>
  );
}
