// Keys that move between the rows of tables and lists, which have a link or a button each.

import type { Shortcut } from "./keys.ts";

const ROWS = "#main :is(tbody tr, .entries > li, .cards > li)";
const CONTROL = "a[href], button:not(:disabled), summary";

function rows(): HTMLElement[] {
  return [...document.querySelectorAll<HTMLElement>(ROWS)].filter((row) => row.offsetParent && row.querySelector(CONTROL));
}

/** Returns the index of the row with the focus; -1 without one. */
function current(all = rows()): number {
  return all.findIndex((row) => row.contains(document.activeElement));
}

function move(to: (at: number, last: number) => number): void {
  const all = rows();
  const last = all.length - 1;
  const index = Math.max(0, Math.min(to(current(all), last), last));
  all[index]?.querySelector<HTMLElement>(CONTROL)?.focus();
}

const hasRows = () => rows().length > 0;
// Elsewhere these keys scroll the page.
const isInRow = () => current() >= 0;

export const TABLE_KEYS: Shortcut[] = [
  { keys: ["j"], text: "keys.next", when: hasRows, run: () => move((at) => at + 1) },
  { keys: ["k"], text: "keys.previous", when: hasRows, run: () => move((at) => at - 1) },
  { keys: ["ArrowDown"], when: isInRow, run: () => move((at) => at + 1) },
  { keys: ["ArrowUp"], when: isInRow, run: () => move((at) => at - 1) },
  { keys: ["Home"], when: isInRow, run: () => move(() => 0) },
  { keys: ["End"], when: isInRow, run: () => move((_, last) => last) },
];
