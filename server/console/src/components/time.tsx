import { ago, date, dateTime } from "../texts.ts";

/** A time in the time zone of the person; UTC is in its title and is copied with it. */
export function Time({ value, as = "time" }: { value: string; as?: "date" | "time" | "ago" }) {
  const text = { date, time: dateTime, ago }[as](value);
  return (
    <time dateTime={value} title={value}>
      {text}
    </time>
  );
}
