// The examples make the call that the form beside them makes: what is filled in stands in them.

// Whoever pastes more has no use for it in an example.
const FOLLOWED_CHARACTERS = 20_000;

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const quoted = JSON.stringify;

// How a language writes headers, the text of a row, and values; without a style, as they are.
const LANGUAGES = {
  curl: {
    header: (name, value) => ` \\\n  -H ${quoted(`${name}: ${value}`).replace(/[$\x60]/g, "\\$&")}`,
  },
  python: {
    header: (name, value) => `\n        "${name}": ${quoted(value)},`,
    row: "json.dumps(row)",
    style: { blanks: 4, words: { null: "None", true: "True", false: "False" }, name: quoted },
  },
  javascript: {
    header: (name, value) => `\n    "${name}": ${quoted(value)},`,
    row: "JSON.stringify(row)",
    style: { blanks: 2, words: {}, name: (name) => (PLAIN_NAME.test(name) ? name : quoted(name)) },
  },
};

// Returns a value in a style, whose lines after the first begin at least `depth` steps in.
function written(value, style, depth) {
  const within = (item) => written(item, style, depth + 1);
  if (Array.isArray(value)) {
    const isLong = value.some((item) => item instanceof Object);
    return isLong ? overLines("[", value.map(within), "]", style, depth) : `[${value.map(within).join(", ")}]`;
  }
  if (value instanceof Object && Object.keys(value).length) {
    const members = Object.entries(value).map(([name, item]) => `${style.name(name)}: ${within(item)}`);
    return overLines("{", members, "}", style, depth);
  }
  return style.words[quoted(value)] ?? quoted(value);
}

function overLines(opening, items, closing, style, depth) {
  const [inner, edge] = [depth + 1, depth].map((steps) => `\n${" ".repeat(style.blanks * steps)}`);
  return `${opening}${items.map((item) => `${inner}${item},`).join("")}${edge}${closing}`;
}

// Returns the value of a body, or the rows of one that has them; undefined while it is none.
function valueOfBody(form) {
  const type = valueOf(form, "type");
  const text = valueOf(form, "body");
  if (text.length > FOLLOWED_CHARACTERS) return undefined;
  const rows = text.split("\n").filter(Boolean);
  try {
    if (type === "application/json") return JSON.parse(text);
    return type === "application/x-ndjson" ? rows.map((row) => JSON.parse(row)) : rows;
  } catch {
    return undefined;
  }
}

function bodyIn(language, form) {
  const value = valueOfBody(form);
  if (value === undefined) return undefined;
  const isJson = valueOf(form, "type") === "application/json";
  const { style } = LANGUAGES[language];
  if (style) return written(value, style, language === "python" && !isJson ? 0 : 1);
  const text = valueOf(form, "body").trimEnd();
  return isJson ? text.replaceAll("'", "'\\''").replaceAll("\n", "\n  ") : text;
}

// Returns the texts of a call by the names of their places; what is undefined stays as it is.
function textsOf(language, form) {
  const { header, row } = LANGUAGES[language];
  const method = valueOf(form, "method");
  const type = valueOf(form, "type");
  return {
    method: language === "python" ? method.toLowerCase() : method,
    target: targetOf(form),
    headers: ownHeadersOf(form).map(([name, value]) => header(name, value)).join(""),
    type,
    row: type === "text/csv" ? "row" : row,
    body: bodyIn(language, form),
  };
}

function follow(form) {
  for (const sample of all(".sample", form.closest(".shown"))) {
    const texts = textsOf(sample.dataset.language, form);
    for (const place of all("[data-own]", sample)) {
      const { own } = place.dataset;
      const text = texts[own];
      if (text !== undefined) place.replaceChildren(...(own === "body" ? coloured(text) : [text]));
    }
  }
}
