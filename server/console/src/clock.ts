// The time of the server, from which the clock of the browser can differ.

/** A difference that the seconds of the header and the time of a response can cause. */
const TOLERANCE = 5_000;
let difference = 0;

/** Compares the clocks. `date` is the header of a response that arrived just now. */
export function compareClocks(date: string | null): void {
  const found = Date.parse(date ?? "") - Date.now();
  if (!Number.isNaN(found)) difference = Math.abs(found) > TOLERANCE ? found : 0;
}

/** Returns the time of the server in milliseconds. */
export function now(): number {
  return Date.now() + difference;
}

/** Returns how many whole days ago a time was. */
export function elapsedDays(value: string): number {
  return Math.max(0, Math.floor((now() - Date.parse(value)) / 86_400_000));
}
