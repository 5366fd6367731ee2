// The scale of the chart of days, without I/O.

export interface Day {
  date: string;
  created: number;
  lost: number;
  imported: number;
}

export interface Scale {
  /** The values at the upper and the lower end. */
  top: number;
  bottom: number;
  /** The values with a line, from the upper one; those below zero are lost people. */
  ticks: number[];
}

/** Returns a scale with few lines at round values. One unit is as high above zero as below. */
export function scaleOf(days: readonly Day[]): Scale {
  const created = Math.max(0, ...days.map((day) => day.created));
  const lost = Math.max(0, ...days.map((day) => day.lost));
  const step = roundStep((created + lost) / 4);
  const top = Math.max(1, Math.ceil(created / step)) * step;
  const bottom = Math.ceil(lost / step) * step;
  const ticks = [];
  for (let tick = top; tick >= -bottom; tick -= step) ticks.push(tick);
  return { top, bottom, ticks };
}

/** Returns the place of a value as a part of the height, from the upper end. */
export function place(value: number, { top, bottom }: Scale): number {
  return (top - value) / (top + bottom);
}

/** Returns the next of 1, 2, 5, 10, 20 and so on. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= least) ?? power;
}

/** Returns the first and the last day of the given number of days up to a day. */
export function period(last: Date, count: number): { from: string; to: string } {
  const first = new Date(last.getFullYear(), last.getMonth(), last.getDate() - count + 1);
  return { from: isoDay(first), to: isoDay(last) };
}

/** Returns the day of a time in the time zone of the browser. */
function isoDay(value: Date): string {
  const parts = [value.getFullYear(), value.getMonth() + 1, value.getDate()];
  return parts.map((part) => String(part).padStart(2, "0")).join("-");
}
