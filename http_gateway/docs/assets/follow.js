// Updates the code samples of an operation from the values in its form.

// Longer bodies are not copied into the samples.
const FOLLOWED_CHARACTERS = 20_000;

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const quoted = JSON.stringify;

// How a language writes headers, a row and values. Without a style, values are written unchanged.
const LANGUAGES = {
  curl: {
    header: (name, value) => ` \\\n  -H ${quoted(`${name}: ${value}`).replace(/[$\x60]/g, "\\$&")}`,
  },
  python: {
    header: (name, value) => `\n        "${name}": ${quoted(value)},`,
    row: "json.dumps(row)",
    style: { spaces: 4, words: { null: "None", true: "True", false: "False" }, name: quoted },
  },
  javascript: {
    header: (name, value) => `\n    "${name}": ${quoted(value)},`,
    row: "JSON.stringify(row)",
    style: { spaces: 2, words: {}, name: (name) => (PLAIN_NAME.test(name) ? name : quoted(name)) },
  },
};

// Returns a value in a style; lines after the first are indented by at least `depth` steps.
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
  const [inner, edge] = [depth + 1, depth].map((steps) => `\n${" ".repeat(style.spaces * steps)}`);
  return `${opening}${items.map((item) => `${inner}${item},`).join("")}${edge}${closing}`;
}

// Returns the value of a body, or its rows; undefined if the body cannot be parsed.
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

// Returns the texts of a sample by placeholder; placeholders with undefined are left unchanged.
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
