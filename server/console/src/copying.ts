// The clipboard, and commands that do with curl what the console does.

import { notify } from "./announce.ts";
import { base } from "./router.ts";
import { t } from "./texts.ts";

/** Copies a text and says so. Returns whether that worked: browsers permit it over HTTPS only. */
export async function copy(text: string, done = t("copied")): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    notify(done);
    return true;
  } catch {
    notify(t("copyFailed"));
    return false;
  }
}

/** Returns a command that calls the API with the key in ROSTER_API_KEY. */
export function apiCommand(method: string, path: string, body?: unknown): string {
  const url = new URL(`..${path}`, location.origin + base).href;
  const lines = [`curl -X ${method} ${quoted(url)}`, `-H "Authorization: Bearer $ROSTER_API_KEY"`];
  if (body !== undefined) {
    lines.push(`-H "Content-Type: application/json"`, `-d ${quoted(JSON.stringify(body))}`);
  }
  return lines.join(" \\\n  ");
}

/** Returns a text as one word of a shell, also if it contains quotes. */
export function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
