// Copies texts about a person to the clipboard.

import { notify } from "../../announce.ts";
import { url } from "../../api/client.ts";
import { errorText, t } from "../../texts.ts";

export function copyText(text: string): void {
  navigator.clipboard.writeText(text).then(
    () => notify(t("copied")),
    () => notify(t("copyFailed")),
  );
}

/** Copies a command that reads the person. Its key is a variable. */
export function copyCurl(id: string): void {
  const target = location.origin + url("/api/subscribers/{id}", { id }, { view: "FULL" });
  copyText(`curl '${target}' -H "Authorization: Bearer $ROSTER_API_KEY"`);
}

/** Copies a text that is requested first. */
export async function copyLater(read: () => Promise<string>): Promise<void> {
  try {
    copyText(await read());
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
