import type { DailyStatistics, GetStatisticsResponse } from "../../api/types.ts";
import { Part } from "../../components/part.tsx";
import type { Loaded } from "../../load.ts";
import { href } from "../../router.ts";
import { number, signed, t } from "../../texts.ts";

const LOST = "status = (UNSUBSCRIBED OR BOUNCED OR COMPLAINED)";

/** The days of the growth, which has imported people in it. */
const GROWTH_DAYS = 30;

/** Three numbers, which lead to the people they count. */
export function Numbers({
  of: loaded,
  days = [],
}: {
  of: Loaded<GetStatisticsResponse>;
  /** What changed on the last days. */
  days: DailyStatistics[] | undefined;
}) {
  const imported = days.slice(-GROWTH_DAYS).reduce((sum, day) => sum + day.imported, 0);
  const counts = loaded.data?.byStatus;
  const lost = counts && counts.unsubscribed + counts.bounced + counts.complained;
  return (
    <>
      {loaded.error ? (
        <Part of={{ ...loaded, data: undefined }}>{() => null}</Part>
      ) : null}
      <ul class="numbers">
        <li>
          <Count to="/subscribers?status=CONFIRMED" count={counts?.confirmed} title={t("home.mailable")} />
          <small>
            {t("home.growth", { count: signed(loaded.data?.netGrowth ?? 0) })}
            {imported > 0 && ` · ${t("growth.imported", { count: number(imported) })}`}
          </small>
        </li>
        <li>
          <Count to="/subscribers?status=UNCONFIRMED" count={counts?.unconfirmed} title={t("status.UNCONFIRMED")} />
          <small>{t("home.unconfirmed")}</small>
        </li>
        <li>
          <Count to={`/subscribers?filter=${encodeURIComponent(LOST)}`} count={lost} title={t("home.lost")} />
          <a class="small" href={href("/suppressions")}>
            {t("suppressions.question")}
          </a>
        </li>
      </ul>
    </>
  );
}

function Count({ to, count, title }: { to: string; count: number | undefined; title: string }) {
  return (
    <a href={href(to)} aria-busy={count === undefined}>
      <strong>{count === undefined ? <span class="skeleton" /> : number(count)}</strong>
      {title}
    </a>
  );
}
