// What a person chose in this browser. Nothing secret is stored.

import { signal } from "@preact/signals";

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

/** Themes; the empty one is that of the system. */
export const THEMES = ["", "light", "dark"] as const;
export const theme = signal(preference("theme") as (typeof THEMES)[number]);

/** Shows a theme, and stores the choice. */
export function chooseTheme(chosen: (typeof THEMES)[number]): void {
  theme.value = chosen;
  setPreference("theme", chosen);
  showTheme();
}

export function showTheme(): void {
  if (theme.value) document.documentElement.dataset.theme = theme.value;
  else delete document.documentElement.dataset.theme;
}
