// The parts of a filter that are joined by AND, without I/O. The grammar is that of the server.

const FIELD = String.raw`(?!(?:AND|OR|NOT)\b)[A-Za-z_]\w*(?:\.\w+)*`;
const STRING = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`;
const VALUE = String.raw`[A-Za-z_]\w*\([^()"'<>=!:,]*\)|[^\s()"'<>=!:,\\]+|${STRING}`;
const TOKEN = new RegExp(
  String.raw`\s*(?:((?:AND|OR|NOT)\b|[()-])|${FIELD}\s*(?:<=|>=|!=|=|<|>|:)\s*(?:(?=(\())|${VALUE}))`,
  "sy",
);
const LISTED = new RegExp(String.raw`${STRING}|[()]`, "gs");
const MAX_DEPTH = 32;

/** A text was found that is not part of a filter. */
class Invalid extends Error {}

/** Returns the parts of a filter, in which each OR is in parentheses; null if it is not valid. */
export function partsOf(filter: string): string[] | null {
  if (!filter.trim()) return [];
  try {
    return new Parser(filter).whole();
  } catch (error) {
    if (error instanceof Invalid) return null;
    throw error;
  }
}

/** Returns the filter with these parts. */
export function joined(parts: readonly string[]): string {
  return parts.join(" AND ");
}

/** Returns a filter with parentheses around each OR, which binds more tightly than AND. */
export function withParentheses(filter: string): string {
  const parts = partsOf(filter);
  return parts ? joined(parts) : filter.trim();
}

class Parser {
  readonly #text: string;
  #end = 0;
  /** A sign, or a comparison, or null at the end. */
  #token: { sign: string; text: string } | null = null;

  constructor(text: string) {
    this.#text = text;
    this.#next();
  }

  whole(): string[] {
    const parts = this.#expression(0);
    if (this.#token) throw new Invalid();
    return parts;
  }

  #next(): void {
    if (!this.#text.slice(this.#end).trim()) {
      this.#token = null;
      return;
    }
    TOKEN.lastIndex = this.#end;
    const found = TOKEN.exec(this.#text);
    if (!found) throw new Invalid();
    const start = this.#end;
    this.#end = found[2] ? this.#endOfList(TOKEN.lastIndex) : TOKEN.lastIndex;
    this.#token = { sign: found[1] ?? "", text: this.#text.slice(start, this.#end).trim() };
  }

  /** Returns the end of the values in parentheses that begin here. */
  #endOfList(start: number): number {
    let depth = 0;
    LISTED.lastIndex = start;
    for (let found = LISTED.exec(this.#text); found; found = LISTED.exec(this.#text)) {
      if (found[0] === "(") depth += 1;
      else if (found[0] === ")") depth -= 1;
      if (!depth) return LISTED.lastIndex;
    }
    throw new Invalid();
  }

  #takes(sign: string): boolean {
    if (this.#token?.sign !== sign) return false;
    this.#next();
    return true;
  }

  #expression(depth: number): string[] {
    if (depth > MAX_DEPTH) throw new Invalid();
    const parts = this.#factor(depth);
    while (this.#token && this.#token.sign !== ")") {
      this.#takes("AND");
      parts.push(...this.#factor(depth));
    }
    return parts;
  }

  #factor(depth: number): string[] {
    const terms = [this.#term(depth)];
    while (this.#takes("OR")) terms.push(this.#term(depth));
    return terms.length > 1 ? [`(${terms.map(enclosed).join(" OR ")})`] : (terms[0] ?? []);
  }

  #term(depth: number): string[] {
    return this.#takes("NOT") || this.#takes("-")
      ? [`NOT ${enclosed(this.#simple(depth))}`]
      : this.#simple(depth);
  }

  #simple(depth: number): string[] {
    if (this.#takes("(")) {
      const parts = this.#expression(depth + 1);
      if (!this.#takes(")")) throw new Invalid();
      return parts;
    }
    const token = this.#token;
    if (!token || token.sign) throw new Invalid();
    this.#next();
    return [token.text];
  }
}

function enclosed(parts: string[]): string {
  return parts.length > 1 ? `(${joined(parts)})` : (parts[0] ?? "");
}
