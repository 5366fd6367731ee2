// Elements that the scripts make, and the colours of what stands in them.

// More than this is not coloured.
const COLOURED_CHARACTERS = 100_000;
const WORDS_OF_JSON =
  /(?<name>"(?:[^"\\]|\\.)*"(?=:))|(?<string>"(?:[^"\\]|\\.)*")|(?<word>\b(?:true|false|null)\b)|(?<number>-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)/g;

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
}

// Text becomes nodes, never markup: an answer may hold anything.
function coloured(text) {
  if (text.length > COLOURED_CHARACTERS) return [text];
  const nodes = [];
  let end = 0;
  for (const match of text.matchAll(WORDS_OF_JSON)) {
    const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    nodes.push(text.slice(end, match.index), element("span", { class: `t-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  return [...nodes, text.slice(end)];
}

