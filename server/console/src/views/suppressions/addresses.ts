// Addresses in a pasted text, without I/O.

/** Returns the different addresses of a text, which are separated by spaces, commas or semicolons. */
export function addressesIn(text: string): string[] {
  // Lines of a mail program have names, with the addresses in angle brackets. Names can contain commas in quotes.
  const parts = text.replaceAll(/"[^"\n]*"\s*(?=<)/g, "").split(/[\n,;]/);
  const all = parts.flatMap((part) => {
    // What is no address stays, so that the server reports it.
    if (!part.includes("@")) return [part.trim()];
    const words = part.replaceAll(/[<>]/g, " ").split(/\s+/);
    const found = part.includes("<") ? words.filter((each) => each.includes("@")) : words;
    return found.map((each) => each.replace(/^["'<]+|["'>]+$/g, ""));
  });
  return [...new Set(all.filter(Boolean))];
}
