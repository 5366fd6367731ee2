// Whether the server responds. While it does not, it is asked every few seconds.

import { signal } from "@preact/signals";
import { base } from "./router.ts";

const RETRY_SECONDS = 5;

/** The time of the last response before the connection was lost; null while it works. */
export const lostSince = signal<number | null>(null);
/** The number of times that the connection was restored: views load again when it changes. */
export const restored = signal(0);
let lastResponse = Date.now();
let timer: ReturnType<typeof setTimeout> | undefined;

export function connectionWorks(): void {
  lastResponse = Date.now();
  if (lostSince.value === null) return;
  clearTimeout(timer);
  lostSince.value = null;
  restored.value += 1;
}

export function connectionLost(): void {
  lostSince.value ??= lastResponse;
  clearTimeout(timer);
  timer = setTimeout(retry, RETRY_SECONDS * 1000);
}

async function retry(): Promise<void> {
  try {
    const response = await fetch(`${base}../readyz`, { cache: "no-store" });
    if (response.ok) connectionWorks();
    else connectionLost();
  } catch {
    connectionLost();
  }
}
