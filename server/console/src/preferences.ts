// What a person chose in this browser. Nothing secret is stored.

const PREFIX = "console-";

/** Returns a stored choice; empty if there is none, or if storage is disabled. */
export function preference(name: string): string {
  try {
    return localStorage.getItem(PREFIX + name) ?? "";
  } catch {
    return "";
  }
}

export function setPreference(name: string, value: string): void {
  try {
    if (value) localStorage.setItem(PREFIX + name, value);
    else localStorage.removeItem(PREFIX + name);
  } catch {
    // The choice lasts until the page is closed.
  }
}

export type Theme = "" | "light" | "dark";

/** Shows a theme; without one, that of the system. */
export function showTheme(theme: Theme): void {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}
