// Addresses in a pasted text, without I/O.

/** Returns the different addresses of a text, which are separated by spaces, commas or semicolons. */
export function addressesIn(text: string): string[] {
  // A list of a mail program has names, with the addresses in angle brackets.
  const inBrackets = [...text.matchAll(/<([^<>\s]+@[^<>\s]+)>/g)].map((found) => found[1] ?? "");
  const all = inBrackets.length ? inBrackets : text.split(/[\s,;]+/);
  return [...new Set(all.map((each) => each.replace(/^["'<]+|["'>]+$/g, "")).filter(Boolean))];
}
