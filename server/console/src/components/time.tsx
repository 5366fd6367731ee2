import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";
import { repeat } from "../load.ts";
import { ago, agoLasts, date, dateTime } from "../texts.ts";

/** A time in the time zone of the person; UTC is in its title and is copied with it. */
export function Time({ value, as = "time" }: { value: string; as?: "date" | "time" | "ago" }) {
  const text = { date, time: dateTime, ago }[as](value);
  const shown = useSignal(text);
  void shown.value;
  useLayoutEffect(() => {
    if (as !== "ago") return undefined;
    return repeat(async () => {
      shown.value = ago(value);
      return agoLasts(value);
    });
  }, [value, as]);
  return (
    <time dateTime={value} title={value}>
      {text}
    </time>
  );
}
