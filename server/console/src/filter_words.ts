// Filters in words, without I/O: the names of fields, operators and values in a language.

/** Returns the word for a name of a group, such as `or` of `filter`; the name itself if there is none. */
export type Say = (group: "filter" | "status", name: string) => string;

const TOKEN = /"(?:[^"\\]|\\.)*"|[\w.]+\*?|!=|<=|>=|[=<>:()]|\S/g;
const OPERATORS = new Set(["=", "!=", ":", "<", "<=", ">", ">="]);

/** Returns a filter in words, such as: status is Confirmed and tags include “vip”. */
export function filterWords(filter: string, say: Say): string {
  const tokens = filter.match(TOKEN) ?? [];
  let field = "";
  const words = tokens.map((token, index) => {
    if (token.startsWith('"')) return value(token, field, say);
    if (OPERATORS.has(tokens[index + 1] ?? "") && /^[\w.]/.test(token)) {
      field = token;
      return say("filter", token).replace(/^customFields\./, "");
    }
    if (token === ":") return say("filter", field === "tags" ? "include" : "contains");
    if (token === "=" || token === "!=") return say("filter", token);
    if (["AND", "OR", "NOT"].includes(token)) return say("filter", token);
    return field === "status" ? say("status", token) : token;
  });
  return words.join(" ").replaceAll("( ", "(").replaceAll(" )", ")");
}

function value(token: string, field: string, say: Say): string {
  const text = token.slice(1, -1).replace(/\\(.)/g, "$1");
  return field === "status" ? say("status", text) : say("filter", "quote").replace("{text}", () => text);
}

/** Returns a text that begins with a capital letter. */
export function capitalized(text: string): string {
  return text.replace(/^[("“„]*\p{Ll}/u, (first) => first.toUpperCase());
}
