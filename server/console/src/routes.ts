// Patterns of paths, such as /subscribers/:id?, without I/O.

export type Parameters = Record<string, string>;

/** Returns the values of a pattern's names if it matches the path. A name with ? may be absent. */
export function match(pattern: string, path: string): Parameters | null {
  const expected = segments(pattern);
  const actual = segments(path);
  if (actual.length > expected.length) return null;
  const found: Parameters = {};
  for (const [index, segment] of expected.entries()) {
    const value = actual[index];
    if (segment.startsWith(":")) {
      if (value !== undefined) found[segment.slice(1).replace("?", "")] = value;
      else if (!segment.endsWith("?")) return null;
    } else if (segment !== value) return null;
  }
  return found;
}

function segments(path: string): string[] {
  return path.split("/").filter(Boolean).map(decode);
}

/** Decodes a segment; one that is malformed stays as it is. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
