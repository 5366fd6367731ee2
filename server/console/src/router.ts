// The address of the view: its path below the console, query and fragment, as signals.

import { signal } from "@preact/signals";

export interface Address {
  /** Begins with a slash and does not contain the path of the console. */
  path: string;
  query: URLSearchParams;
  hash: string;
}

/** The path of the console, which ends with a slash. Assets are in a folder below it. */
export const base = new URL("..", import.meta.url).pathname;
/** How many paths have their last address. */
const MOST_SHOWN = 100;
/** The last address of each path that this tab has shown; the one of now is at the end. */
const shown = new Map<string, string>();
export const address = signal<Address>(current());

function current(): Address {
  const path = location.pathname.startsWith(base) ? location.pathname.slice(base.length - 1) : "/";
  shown.delete(path);
  shown.set(path, path + location.search + location.hash);
  for (const oldest of [...shown.keys()].slice(0, -MOST_SHOWN)) shown.delete(oldest);
  return { path, query: new URLSearchParams(location.search), hash: location.hash.slice(1) };
}

/** Returns the URL of an address of the console, such as /subscribers. */
export function href(to: string): string {
  return base + to.slice(1);
}

/** Returns the last address with one of these paths that this tab has shown; by default the first path. */
export function lastShown(...paths: string[]): string {
  return shown.get([...shown.keys()].findLast((path) => paths.includes(path)) ?? "") ?? paths[0] ?? "/";
}

/** Forgets all addresses but that of now. */
export function forgetShown(): void {
  shown.clear();
  address.value = current();
}

/** Shows an address, in a new entry of the history unless it replaces the current one. */
export function go(to: string, { replace = false } = {}): void {
  const url = href(to);
  if (url === location.pathname + location.search + location.hash) return;
  if (replace) history.replaceState(null, "", url);
  else history.pushState(null, "", url);
  address.value = current();
}

/** Returns an address with changed parameters of the query; empty ones are removed. */
export function withQuery(changes: Record<string, string | undefined>, path = address.value.path): string {
  const query = new URLSearchParams(address.value.query);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

/** Returns whether a click opens a link elsewhere, such as in a new tab. */
export function isModified(event: MouseEvent): boolean {
  return event.button > 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
}

/** Follows links within the console without loading the page again. */
export function followLinks(): void {
  addEventListener("popstate", () => (address.value = current()));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || isModified(event) || event.defaultPrevented || link.target || link.download) return;
    const url = new URL(link.href);
    if (url.origin !== location.origin || !url.pathname.startsWith(base)) return;
    event.preventDefault();
    go(url.pathname.slice(base.length - 1) + url.search + url.hash);
  });
}
