// Syntax highlighting of JSON.

// Longer text is not highlighted.
const HIGHLIGHTED_CHARACTERS = 100_000;
const JSON_TOKENS =
  /(?<name>"(?:[^"\\]|\\.)*"(?=:))|(?<string>"(?:[^"\\]|\\.)*")|(?<keyword>\b(?:true|false|null)\b)|(?<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/g;

// Returns text nodes, never markup, because a response can contain anything.
function highlighted(text) {
  if (text.length > HIGHLIGHTED_CHARACTERS) return [text];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(JSON_TOKENS)) {
    const [kind] = Object.entries(match.groups).find(([, token]) => token !== undefined);
    nodes.push(text.slice(end, match.index), element("span", { class: `t-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)];
}
