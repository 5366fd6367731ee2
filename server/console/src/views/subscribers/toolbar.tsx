import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Dialog } from "../../components/dialog.tsx";
import { Icon } from "../../components/icon.tsx";
import { StatusLabel } from "../../components/status.tsx";
import { href, withQuery } from "../../router.ts";
import { named, number, t } from "../../texts.ts";
import { type Counts, type Status, STATUSES } from "./list.ts";

/** The statuses with the numbers of the current filter, as links, and what they mean. */
export function StatusTabs({ counts, status }: { counts: Counts | undefined; status: Status | "" }) {
  const all = counts && Object.values(counts).reduce((sum, each) => sum + each, 0);
  const explains = useSignal(false);
  const row = useRef<HTMLElement>(null);
  // On a narrow screen the tabs scroll.
  useLayoutEffect(() => row.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "nearest" }), [status, !counts]);
  return (
    <div class="tabs-line">
      <nav ref={row} class="choices-row tabs" aria-label={t("column.status")}>
        <Tab status="" text={t("status.all")} count={all} isCurrent={status === ""} />
        {STATUSES.map((each) => (
          <Tab key={each} status={each} text={named("status", each)} count={counts?.[each]} isCurrent={status === each} />
        ))}
      </nav>
      <button
        type="button"
        class="plain"
        aria-label={t("legend.title")}
        title={t("legend.title")}
        onClick={() => (explains.value = true)}
      >
        <Icon name="help" />
      </button>
      {explains.value && <Legend onClose={() => (explains.value = false)} />}
    </div>
  );
}

/** What each status means, and who may be mailed. */
function Legend({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={t("legend.title")} onClose={onClose}>
      <p>{t("legend.text")}</p>
      <dl class="legend">
        {STATUSES.map((each) => (
          <div key={each}>
            <dt>
              <StatusLabel status={each} />
            </dt>
            <dd>{named("statusMeaning", each)}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button type="button" onClick={onClose}>
          {t("close")}
        </button>
      </div>
    </Dialog>
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
