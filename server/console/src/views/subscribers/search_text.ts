// What the text of the search box means, without I/O.

/** A comparison such as `status = CONFIRMED` or `tags:"vip"`, with NOT or a parenthesis before. */
const COMPARISON = /(^|[\s(-])[A-Za-z][\w.]*\s*(!=|<=|>=|[=<>:])/;
const ADDRESS = /^[^\s@<>()]+@[^\s@<>()]+\.[^\s@<>()]+$/;

export interface Search {
  /** An expression, or the beginning of an address or a name. */
  filter: string;
  q: string;
}

/** Reads a text as an expression if it has a comparison. */
export function readSearch(text: string): Search {
  const trimmed = text.trim();
  if (isAddress(trimmed)) return { filter: "", q: trimmed };
  return COMPARISON.test(trimmed) ? { filter: trimmed, q: "" } : { filter: "", q: trimmed };
}

export function isAddress(text: string): boolean {
  return ADDRESS.test(text);
}

/** Returns the address in a pasted text such as `Ada <ada@example.com>`; empty without one. */
export function pastedAddress(text: string): string {
  const trimmed = text.trim().replace(/^mailto:/i, "");
  const inner = /<([^<>]+)>$/.exec(trimmed)?.[1] ?? trimmed;
  return inner.length <= 320 && isAddress(inner) ? inner : "";
}

/** Returns the column, from 1, that the message about an expression names; 0 without one. */
export function columnOf(message: string): number {
  return Number(/\(column (\d+)\)/.exec(message)?.[1] ?? 0);
}
