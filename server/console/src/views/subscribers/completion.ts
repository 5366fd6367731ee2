// What can follow the text before the cursor in a filter, without I/O.

/** What is completed, from `start` on; `text` is what is there of it. */
export type Completion = { start: number; text: string } & (
  | { kind: "field" }
  | { kind: "operator"; field: string }
  | { kind: "value"; field: string; isQuoted: boolean }
  | { kind: "and" }
);

const STRING = /"(?:[^"\\]|\\.)*"/gs;
const VALUE = /([A-Za-z][\w.]*)\s*(?:<=|>=|!=|[=<>:])\s*(?:\([^()"]*?)?(?:"((?:[^"\\]|\\.)*)|([^\s()"]*))$/s;
const WORD = /(?:^|[\s(-])([A-Za-z][\w.]*)(\s*)$/;
const BEFORE_FIELD = /(?:^|\(|-|\b(?:AND|OR|NOT)\b)\s*$/;
const COMPARED = /(?:<=|>=|!=|[=<>:])\s*(?:[^\s()<>=!:]+|\(.*\))\s+$/s;

/** Returns what can be completed at the end of a text; null in a name or at another place. */
export function completionOf(before: string, fields: readonly { name: string }[]): Completion | null {
  // The content of strings that end before the cursor does not matter.
  const masked = before.replace(STRING, (found) => "_".repeat(found.length));
  const value = VALUE.exec(masked);
  const isKnown = (name: string | undefined) => fields.some((each) => each.name === name);
  if (value && isKnown(value[1])) {
    const text = value[2] ?? value[3] ?? "";
    const isQuoted = value[2] !== undefined;
    const start = before.length - text.length - (isQuoted ? 1 : 0);
    // A string that ends here is complete.
    if (!isQuoted && before.endsWith('"')) return null;
    return { kind: "value", field: value[1] ?? "", isQuoted, start, text: before.slice(start + (isQuoted ? 1 : 0)) };
  }
  if (COMPARED.test(masked)) return { kind: "and", start: before.length, text: "" };
  const word = WORD.exec(masked);
  const name = word?.[1] ?? "";
  const space = word?.[2] ?? "";
  const start = before.length - name.length - space.length;
  if (!name || !BEFORE_FIELD.test(masked.slice(0, start))) return null;
  if (!space) return { kind: "field", start, text: name };
  return isKnown(name) ? { kind: "operator", field: name, start: before.length, text: "" } : null;
}
