// A stream of the server, which one tab reads at a time: browsers limit the connections of all tabs.

const LOCK = "roster.stream";

/** Reads a stream in the tab that was used last, while it is shown. Returns a function that ends it. */
export function oneStream(read: (signal: AbortSignal) => Promise<void>): () => void {
  let current: AbortController | null = null;
  async function begin(): Promise<void> {
    if (document.hidden) current?.abort();
    if (document.hidden || (current && !current.signal.aborted)) return;
    const own = new AbortController();
    current = own;
    const run = () => read(own.signal);
    // Browsers have locks over HTTPS only. A tab that takes the lock ends the request of the other.
    await (navigator.locks?.request(LOCK, { steal: true }, run) ?? run()).catch(() => {});
    own.abort();
  }
  const onUse = () => void begin();
  document.addEventListener("visibilitychange", onUse);
  addEventListener("focus", onUse);
  onUse();
  return () => {
    document.removeEventListener("visibilitychange", onUse);
    removeEventListener("focus", onUse);
    current?.abort();
  };
}
