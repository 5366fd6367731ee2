import { useSignal } from "@preact/signals";
import { call } from "../../api/client.ts";
import type { DailyStatistics } from "../../api/types.ts";
import { now } from "../../clock.ts";
import { Part } from "../../components/part.tsx";
import { type Loaded, useLoaded } from "../../load.ts";
import { address, go, withQuery } from "../../router.ts";
import { day as dayText, monthDay, named, number, t } from "../../texts.ts";
import { type Day, period, place, scaleOf } from "./chart_layout.ts";

const DAYS = 90;
// In pixels: the plot, and the row of dates below it.
const HEIGHT = 160;
const DATES = 20;
const LOST = ["unsubscribed", "bounced", "complained", "deleted"] as const;

/** Loads what changed on each of the last 90 days. */
export function useDays(): Loaded<DailyStatistics[]> {
  return useLoaded(async (signal) => {
    const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
    const query = { ...period(new Date(now()), DAYS), timeZone };
    return (await call("GET /api/statistics/daily", { query, signal })).days;
  });
}

/** How many people were created, lost and imported on each day, as a chart or a table. */
export function Growth({ of: loaded }: { of: Loaded<DailyStatistics[]> }) {
  const isTable = address.value.query.get("show") === "table";
  return (
    <section class="block" aria-labelledby="growth">
      <header>
        <h2 id="growth">{t("growth.title")}</h2>
        <button
          type="button"
          aria-pressed={isTable}
          onClick={() => go(withQuery({ show: isTable ? "" : "table" }), { replace: true })}
        >
          {t("growth.table")}
        </button>
      </header>
      <div class="growth">
        <Part of={loaded} bars={5}>
          {(days) => (isTable ? <Table days={days} /> : <Chart days={days.map(summarize)} />)}
        </Part>
      </div>
    </section>
  );
}

function summarize(day: DailyStatistics): Day {
  const lost = LOST.reduce((sum, each) => sum + day[each], 0);
  return { date: day.date, created: day.created, lost, imported: day.imported };
}

function sum(days: Day[], of: "created" | "lost" | "imported"): number {
  return days.reduce((total, day) => total + day[of], 0);
}

function Chart({ days }: { days: Day[] }) {
  const pointed = useSignal(-1);
  const scale = scaleOf(days);
  const width = 100 / days.length;
  const y = (value: number) => HEIGHT * place(value, scale);
  const all = { created: sum(days, "created"), lost: sum(days, "lost"), imported: sum(days, "imported") };
  const at = days[pointed.value];
  const { created, lost, imported } = at ?? all;
  return (
    <figure>
      <figcaption>
        <span>{at ? dayText(at.date) : t("growth.days")}</span>
        <span class="key gain">{t("growth.created", { count: number(created) })}</span>
        <span class="key loss">{t("growth.lost", { count: number(lost) })}</span>
        {imported > 0 && <span class="key imported">{t("growth.imported", { count: number(imported) })}</span>}
      </figcaption>
      <div class="plot">
        <svg class="axis" height={HEIGHT + DATES} aria-hidden="true">
          {scale.ticks.map((tick) => (
            <text key={tick} x="100%" y={y(tick) + 8} text-anchor="end">
              {number(Math.abs(tick))}
            </text>
          ))}
        </svg>
        <svg
          class="days"
          height={HEIGHT + DATES}
          role="img"
          aria-label={t("growth.summary", {
            created: number(all.created),
            lost: number(all.lost),
            imported: number(all.imported),
          })}
          onPointerMove={(event) => {
            const box = event.currentTarget.getBoundingClientRect();
            pointed.value = Math.floor(((event.clientX - box.left) / box.width) * days.length);
          }}
          onPointerLeave={() => (pointed.value = -1)}
        >
          {/* An area without content would not receive the pointer. */}
          <rect width="100%" height="100%" fill="transparent" />
          {at && <rect class="pointed" x={`${pointed.value * width}%`} y="0" width={`${width}%`} height={HEIGHT + 8} />}
          {scale.ticks.map((tick) => (
            <line key={tick} class={tick ? "" : "zero"} x1="0" x2="100%" y1={y(tick) + 4} y2={y(tick) + 4} />
          ))}
          {days.map((day, index) => (
            <g key={day.date}>
              <Bar class="gain" x={(index + 0.15) * width} width={width * 0.7} from={y(day.created)} to={y(0)} />
              <Bar class="loss" x={(index + 0.15) * width} width={width * 0.7} from={y(0)} to={y(-day.lost)} />
              {day.imported > 0 && <circle class="imported" cx={`${(index + 0.5) * width}%`} cy={Math.max(4, y(day.created) - 4)} r="3" />}
              {day.date.endsWith("-01") && <DateMark date={day.date} x={index * width} />}
            </g>
          ))}
        </svg>
      </div>
    </figure>
  );
}

/** A bar; one that is not empty is at least 2 pixels high. */
function Bar(bar: { class: string; x: number; width: number; from: number; to: number }) {
  if (bar.to <= bar.from) return null;
  const height = Math.max(2, bar.to - bar.from);
  const y = bar.class === "gain" ? bar.to - height : bar.from;
  return <rect class={bar.class} x={`${bar.x}%`} y={y + 4} width={`${bar.width}%`} height={height} />;
}

function DateMark({ date, x }: { date: string; x: number }) {
  const isLate = x > 88;
  return (
    <>
      <line x1={`${x}%`} x2={`${x}%`} y1={HEIGHT + 4} y2={HEIGHT + 8} />
      <text x={`${x}%`} y={HEIGHT + DATES} text-anchor={isLate ? "end" : "start"}>
        {monthDay(date)}
      </text>
    </>
  );
}

const COLUMNS = ["created", "imported", "confirmed", ...LOST] as const;

function columnTitle(column: (typeof COLUMNS)[number]): string {
  const status = column.toUpperCase();
  const title = named("status", status);
  return title === status ? named("daily", column) : title;
}

function Table({ days }: { days: DailyStatistics[] }) {
  return (
    <div class="scroll" role="region" aria-label={t("growth.days")} tabIndex={0}>
      <table class="table records">
        <thead>
          <tr>
            <th scope="col">{t("growth.day")}</th>
            {COLUMNS.map((column) => (
              <th key={column} scope="col" class="number">
                {columnTitle(column)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {days.toReversed().map((day) => (
            <tr key={day.date}>
              <th scope="row">{dayText(day.date)}</th>
              {COLUMNS.map((column) => (
                <td key={column} class={day[column] ? "number" : "number zero"}>
                  {number(day[column])}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
