import type { GetStatisticsResponse } from "../../api/types.ts";
import { Part } from "../../components/part.tsx";
import type { Loaded } from "../../load.ts";
import { href } from "../../router.ts";
import { number, signed, t } from "../../texts.ts";

const LOST = "status = (UNSUBSCRIBED OR BOUNCED OR COMPLAINED)";

/** Three numbers, which lead to the people they count. */
export function Numbers({ of: loaded }: { of: Loaded<GetStatisticsResponse> }) {
  const counts = loaded.data?.byStatus;
  const isLoading = !loaded.data && !loaded.error;
  const lost = counts && counts.unsubscribed + counts.bounced + counts.complained;
  return (
    <>
      {loaded.error ? (
        <Part of={{ ...loaded, data: undefined }}>{() => null}</Part>
      ) : null}
      <ul class="numbers">
        <li>
          <Count to="/subscribers?status=CONFIRMED" count={counts?.confirmed} isLoading={isLoading} title={t("home.mailable")} />
          <small>
            {loaded.data ? t("home.growth", { count: signed(loaded.data.netGrowth ?? 0) }) : isLoading && <span class="skeleton" />}
          </small>
        </li>
        <li>
          <Count to="/subscribers?status=UNCONFIRMED" count={counts?.unconfirmed} isLoading={isLoading} title={t("status.UNCONFIRMED")} />
          <small>{t("home.unconfirmed")}</small>
        </li>
        <li>
          <Count to={`/subscribers?filter=${encodeURIComponent(LOST)}`} count={lost} isLoading={isLoading} title={t("home.lost")} />
          <a class="small" href={href("/suppressions")}>
            {t("suppressions.question")}
          </a>
        </li>
      </ul>
    </>
  );
}

interface CountProps {
  to: string;
  /** Undefined while it is loaded, and if that failed. */
  count: number | undefined;
  isLoading: boolean;
  title: string;
}

function Count({ to, count, isLoading, title }: CountProps) {
  return (
    <a href={href(to)} aria-busy={isLoading}>
      <strong>{count === undefined ? isLoading && <span class="skeleton" /> : number(count)}</strong>
      {title}
    </a>
  );
}
