// Placeholders of texts, without I/O.

const PLACEHOLDER = /\{(\w+)\}/;

/** Returns the parts of a text, with values in place of placeholders such as {name}. */
export function fill<Value>(text: string, values: Record<string, Value>): (string | Value)[] {
  return text
    .split(PLACEHOLDER)
    .map((part, index) => (index % 2 ? (values[part] ?? `{${part}}`) : part))
    .filter((part) => part !== "");
}

/** Returns the names of the placeholders in a text, sorted. */
export function placeholders(text: string): string[] {
  return [...text.matchAll(new RegExp(PLACEHOLDER, "g"))].map((found) => found[1] ?? "").sort();
}
