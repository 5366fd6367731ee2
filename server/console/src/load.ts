// Loads the data of a part of a view.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { restored } from "./connection.ts";

export interface Loaded<Data> {
  /** Undefined until it is loaded. While it loads again, the previous data stays. */
  data: Data | undefined;
  error: unknown;
  reload: () => void;
  /** Shows other data, such as that of a response. */
  replace: (data: Data) => void;
}

/** The shortest wait of hidden pages in milliseconds. Browsers run their timers once a minute or more often. */
const HIDDEN_WAIT = 30_000;
/** After an hour, a hidden page waits until it is shown: a session that no one uses has to end. */
const MOST_HIDDEN = 3_600_000;
let hiddenSince = Date.now();
globalThis.document?.addEventListener("visibilitychange", () => (hiddenSince = Date.now()));

/**
 * Runs work, and again after the milliseconds that it returns; not for 0. Hidden pages wait for 30 seconds at least. When
 * they are shown, they run it at once if the milliseconds have passed.
 *
 * Returns a function that ends it.
 */
export function repeat(work: () => Promise<number>): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  // When the next run is due; 0 during a run and after the last one.
  let due = 0;
  async function run(): Promise<void> {
    due = 0;
    const wait = await work();
    if (!wait || isOver) return;
    due = Date.now() + wait;
    schedule();
  }
  function schedule(): void {
    clearTimeout(timer);
    if (!due || (document.hidden && Date.now() > hiddenSince + MOST_HIDDEN)) return;
    timer = setTimeout(run, Math.max(due - Date.now(), document.hidden ? HIDDEN_WAIT : 0));
  }
  document.addEventListener("visibilitychange", schedule);
  void run();
  return () => {
    isOver = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", schedule);
  };
}

/**
 * Loads data, and again if the key changes or the connection is restored.
 *
 * `seconds` returns after how many seconds it loads again, as a repetition; never for 0.
 */
export function useLoaded<Data>(
  load: (signal: AbortSignal, isRepetition: boolean) => Promise<Data>,
  key = "",
  seconds: (data: Data | undefined) => number = () => 0,
): Loaded<Data> {
  const loaded = useSignal<{ key: string; data: Data } | null>(null);
  const failed = useSignal<{ key: string; error: unknown } | null>(null);
  const version = useSignal(0);
  const shown = useRef({ key, replaced: 0 });
  shown.current.key = key;
  const current = () => (loaded.value?.key === key ? loaded.value.data : undefined);
  useLayoutEffect(() => {
    const request = new AbortController();
    let isRepetition = false;
    const end = repeat(async () => {
      const { replaced } = shown.current;
      try {
        const reading = load(request.signal, isRepetition);
        isRepetition = true;
        const found = await reading;
        if (request.signal.aborted) return 0;
        // What was asked for before it was replaced can be older.
        if (replaced === shown.current.replaced) loaded.value = { key, data: found };
        failed.value = null;
      } catch (error) {
        if (request.signal.aborted) return 0;
        failed.value = { key, error };
      }
      return seconds(current()) * 1000;
    });
    return () => {
      request.abort();
      end();
    };
  }, [key, version.value, restored.value]);
  return {
    data: current(),
    error: failed.value?.key === key ? failed.value.error : null,
    reload: () => {
      failed.value = null;
      version.value += 1;
    },
    replace: (changed) => {
      if (shown.current.key !== key) return;
      shown.current.replaced += 1;
      loaded.value = { key, data: changed };
    },
  };
}
