// What the text of the search box means, without I/O.

import { quoted } from "./conditions.ts";
import { joined, partsOf } from "./filter_parts.ts";

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

/**
 * Returns the filter that finds each word of a search anywhere in addresses and names.
 *
 * It is empty without a search, and for an address, which is found as a whole.
 */
export function anywhere({ filter, q }: Search): string {
  if (isAddress(q)) return "";
  const words = q.split(/\s+/).filter(Boolean).map((word) => quoted(word));
  if (!words.length) return "";
  return joined([...(partsOf(filter) ?? [filter]), ...words.map((word) => `(email:${word} OR name:${word})`)]);
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
