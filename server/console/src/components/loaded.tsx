// What a view loads: it stays shown while it is loaded again, and an error has a way to try again.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import { ApiError } from "../api/client.ts";
import { restored } from "../connection.ts";
import { errorText, t } from "../texts.ts";

export interface Loaded<Value> {
  data: Value | undefined;
  error: unknown;
  isBusy: boolean;
  reload: () => void;
}

/**
 * Loads values, and again when `key` changes or the connection is restored.
 *
 * `seconds` states after how many seconds they are loaded again; not for 0.
 */
export function useLoaded<Value>(
  key: string,
  load: (signal: AbortSignal) => Promise<Value>,
  seconds: (data: Value | undefined) => number = () => 0,
): Loaded<Value> {
  const state = useSignal<{ data?: Value; error?: unknown; isBusy: boolean }>({ isBusy: true });
  const count = useSignal(0);
  useEffect(() => {
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    async function run(): Promise<void> {
      try {
        const data = await load(controller.signal);
        if (controller.signal.aborted) return;
        state.value = { data, isBusy: false };
      } catch (error) {
        if (controller.signal.aborted) return;
        state.value = { ...state.value, error, isBusy: false };
      }
      const wait = seconds(state.value.data);
      if (wait) timer = setTimeout(again, wait * 1000);
    }
    function again(): void {
      if (document.hidden) document.addEventListener("visibilitychange", again, { once: true });
      else if (!controller.signal.aborted) void run();
    }
    state.value = { ...state.value, isBusy: true };
    void run();
    return () => {
      controller.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", again);
    };
  }, [key, restored.value, count.value]);
  const { data, error, isBusy } = state.value;
  return { data, error, isBusy, reload: () => (count.value += 1) };
}

/** The loaded values, what stands in for them, or why there are none. */
export function Shown<Value>({
  loaded,
  rows = 3,
  children,
}: {
  loaded: Loaded<Value>;
  rows?: number;
  children: (data: Value) => ComponentChildren;
}) {
  const { data, error, reload } = loaded;
  return (
    <>
      {error !== undefined && (
        <p class="failed" role="alert">
          <span>{errorText(error)}</span>
          <button type="button" onClick={reload}>
            {t("retry")}
          </button>
        </p>
      )}
      {data === undefined && error === undefined && (
        <div class="skeletons" aria-hidden="true">
          {Array.from({ length: rows }, (_, index) => (
            <span key={index} />
          ))}
        </div>
      )}
      {data !== undefined && !(error instanceof ApiError) && children(data)}
    </>
  );
}
