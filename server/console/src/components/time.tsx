import { signal } from "@preact/signals";
import { ago, date, dateTime } from "../texts.ts";

// A component with the same props is not rendered again, so what time it is is a signal.
const second = signal(0);
setInterval(() => (second.value += 1), 1000);

/** A time in the time zone of the person; UTC is in its title and is copied with it. */
export function Time({ value, as = "time" }: { value: string; as?: "date" | "time" | "ago" }) {
  if (as === "ago") void second.value;
  const text = { date, time: dateTime, ago }[as](value);
  return (
    <time dateTime={value} title={value}>
      {text}
    </time>
  );
}
