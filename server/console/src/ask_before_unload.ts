import { useLayoutEffect } from "preact/hooks";

/** Makes the browser ask before the page is closed or loaded again, while something would be lost. */
export function useAskBeforeUnload(isLost: boolean): void {
  useLayoutEffect(() => {
    if (!isLost) return;
    const ask = (event: Event) => event.preventDefault();
    addEventListener("beforeunload", ask);
    return () => removeEventListener("beforeunload", ask);
  }, [isLost]);
}
