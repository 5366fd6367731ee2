// Values that follow typing after a pause.

import { useSignal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

export const PAUSE = 400;

/** Returns the value that was current before the last pause in its changes. */
export function useDebounced(value: string): string {
  const settled = useSignal(value);
  useLayoutEffect(() => {
    const timer = setTimeout(() => (settled.value = value), PAUSE);
    return () => clearTimeout(timer);
  }, [value]);
  return settled.value;
}
