// Copies texts about a person to the clipboard.

import { notify } from "../../announce.ts";
import { apiCommand, copy } from "../../copying.ts";
import { errorText } from "../../texts.ts";

/** Copies a command that reads the person. Its key is a variable. */
export function copyCurl(id: string): void {
  void copy(apiCommand("GET", `/api/subscribers/${encodeURIComponent(id)}?view=FULL`));
}

/** Copies a text that is requested first. */
export async function copyLater(read: () => Promise<string>): Promise<void> {
  try {
    await copy(await read());
  } catch (error) {
    notify(errorText(error));
  }
}

/** Saves JSON as a file. */
export function saveJson(value: unknown, name: string): void {
  const blob = new Blob([JSON.stringify(value, null, 2)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
