// The live region, in which screen readers announce results and progress, and short notices.

import { signal } from "@preact/signals";

const INTERVAL = 2_000;
/** A dialog that closes meanwhile would hide the text from screen readers. */
const DELAY = 100;
const SHOWN = 6_000;

export const announced = signal("");
/** The same while a dialog is open: some screen readers do not read what is behind it. */
export const announcedInDialog = signal("");
/** How many dialogs with a live region are open. */
export const dialogs = { open: 0 };
/** A notice at the lower edge, with an action such as Undo. */
export const notice = signal<{ text: string; action?: { text: string; run: () => void } } | null>(null);

let next = "";
let timer: ReturnType<typeof setTimeout> | undefined;
let emptying: ReturnType<typeof setTimeout> | undefined;
let hiding: ReturnType<typeof setTimeout> | undefined;

/** Announces a text politely, at most one in two seconds: the last one. */
export function announce(text: string): void {
  if (!text) return;
  next = text;
  timer ??= setTimeout(flush, DELAY);
}

/** Returns what an element shows, with a pause between its lines. */
export function linesOf(element: HTMLElement | null): string {
  const lines = element?.innerText.split(/\s*\n\s*/).filter(Boolean) ?? [];
  return lines.join(", ").replaceAll(/([.:,;?!]),/g, "$1");
}

function flush(): void {
  timer = undefined;
  if (!next) return;
  // The same text is announced again only if it differs.
  show([announced.peek(), announcedInDialog.peek()].includes(next) ? `${next}\u00a0` : next);
  next = "";
  timer = setTimeout(flush, INTERVAL);
}

/** Shows a text in the region that screen readers read now, for some seconds: after that, it can be wrong. */
function show(text: string): void {
  announced.value = dialogs.open ? "" : text;
  announcedInDialog.value = dialogs.open ? text : "";
  clearTimeout(emptying);
  emptying = setTimeout(empty, SHOWN);
}

/** Empties the regions. A text that a dialog hides would be announced again when the dialog closes. */
export function empty(): void {
  announced.value = announcedInDialog.value = "";
}

/** Shows a notice for some seconds, and announces it. */
export function notify(text: string, action?: { text: string; run: () => void }): void {
  notice.value = action ? { text, action } : { text };
  announce(text);
  clearTimeout(hiding);
  hiding = setTimeout(() => (notice.value = null), action ? 2 * SHOWN : SHOWN);
}
