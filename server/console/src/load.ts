// Loads the data of a part of a view.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { restored } from "./connection.ts";

export interface Loaded<Data> {
  /** Undefined until it is loaded. While it loads again, the previous data stays. */
  data: Data | undefined;
  error: unknown;
  reload: () => void;
  /** Shows other data, such as that of a response. */
  replace: (data: Data) => void;
}

/** Loads data, and again if the key changes or the connection is restored. */
export function useLoaded<Data>(load: (signal: AbortSignal) => Promise<Data>, key = ""): Loaded<Data> {
  const loaded = useSignal<{ key: string; data: Data } | null>(null);
  const failed = useSignal<{ key: string; error: unknown } | null>(null);
  const version = useSignal(0);
  useEffect(() => {
    const request = new AbortController();
    load(request.signal)
      .then((data) => {
        if (request.signal.aborted) return;
        loaded.value = { key, data };
        failed.value = null;
      })
      .catch((error: unknown) => {
        if (!request.signal.aborted) failed.value = { key, error };
      });
    return () => request.abort();
  }, [key, version.value, restored.value]);
  return {
    data: loaded.value?.key === key ? loaded.value.data : undefined,
    error: failed.value?.key === key ? failed.value.error : null,
    reload: () => {
      failed.value = null;
      version.value += 1;
    },
    replace: (data) => (loaded.value = { key, data }),
  };
}
