// Updates the code samples of an operation with the values of its form.

// Longer bodies are not copied into the samples.
const MAX_BODY_CHARACTERS = 20_000;

const PLAIN_NAME = /^[A-Za-z_]\w*$/;
const quoted = JSON.stringify;

// The syntax of headers, rows and values. Without a style, values are inserted unchanged.
const JSON_STYLE = { spaces: 2, words: {}, name: quoted, lastComma: "" };
const LANGUAGES = {
  curl: {
    header: (name, value) => ` \\\n  -H ${quoted(`${name}: ${value}`).replace(/[$\x60]/g, "\\$&")}`,
  },
  python: {
    header: (name, value) => `\n        "${name}": ${quoted(value)},`,
    row: "json.dumps(row)",
    style: {
      spaces: 4,
      words: { null: "None", true: "True", false: "False" },
      name: quoted,
      lastComma: ",",
    },
  },
  javascript: {
    header: (name, value) => `\n    "${name}": ${quoted(value)},`,
    row: "JSON.stringify(row)",
    style: {
      spaces: 2,
      words: {},
      name: (name) => (PLAIN_NAME.test(name) ? name : quoted(name)),
      lastComma: ",",
    },
  },
};

// Formats a value; lines after the first are indented by at least `depth` levels.
function formattedIn(value, style, depth) {
  const within = (item) => formattedIn(item, style, depth + 1);
  if (Array.isArray(value)) {
    const isLong = value.some((item) => item instanceof Object);
    return isLong ? multiline("[", value.map(within), "]", style, depth) : `[${value.map(within).join(", ")}]`;
  }
  if (value instanceof Object && Object.keys(value).length) {
    const members = Object.entries(value).map(([name, item]) => `${style.name(name)}: ${within(item)}`);
    return multiline("{", members, "}", style, depth);
  }
  return style.words[quoted(value)] ?? quoted(value);
}

function multiline(opening, items, closing, style, depth) {
  const [inner, outer] = [depth + 1, depth].map((level) => `\n${" ".repeat(style.spaces * level)}`);
  return `${opening}${inner}${items.join(`,${inner}`)}${style.lastComma}${outer}${closing}`;
}

// Returns the value of a body, or its rows; undefined if the body cannot be parsed.
function valueOfBody(form) {
  const type = valueOf(form, "type");
  const text = valueOf(form, "body");
  if (text.length > MAX_BODY_CHARACTERS) return undefined;
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
  if (style) return formattedIn(value, style, language === "python" && !isJson ? 0 : 1);
  const text = valueOf(form, "body").trimEnd();
  return isJson ? inQuotes(text) : text;
}

// Returns text for a single-quoted word of an indented shell command.
function inQuotes(text) {
  return text.replaceAll("'", "'\\''").replaceAll("\n", "\n  ");
}

// Whether samples contain bodies of a media type.
function isInSamples(type) {
  return /json$/.test(type) || type === "text/csv";
}

// Returns the request message on gRPC; undefined if the body cannot be parsed.
function messageOf(form) {
  const message = {};
  for (const field of all('[data-location="path"], [data-location="query"]', form)) {
    const value = field.value || field.dataset.example;
    if (value) message[field.name] = valueOfKind(field.dataset.kind, value);
  }
  if (!form.elements.namedItem("body") || !isInSamples(valueOf(form, "type"))) return message;
  const body = valueOfBody(form);
  if (body === undefined || valueOf(form, "type") === "text/csv") return undefined;
  const { bodyField, mask } = form.dataset;
  if (bodyField) return { ...message, [bodyField]: body };
  return { ...message, ...body, ...(mask && { [mask]: { paths: Object.keys(body).map(protoName) } }) };
}

function protoName(jsonName) {
  return jsonName.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function valueOfKind(kind, text) {
  if (kind.startsWith("array")) return [text];
  if (!/^(integer|number|boolean)/.test(kind)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

// Returns the texts of a sample by placeholder; placeholders with undefined are left unchanged.
function textsOf(language, form) {
  if (language === "grpc") {
    const message = messageOf(form);
    return { message: message && inQuotes(formattedIn(message, JSON_STYLE, 0)) };
  }
  const { header, row } = LANGUAGES[language];
  const method = valueOf(form, "method");
  const type = valueOf(form, "type");
  return {
    method: language === "python" ? method.toLowerCase() : method,
    target: targetOf(form),
    headers: customHeadersOf(form).map(([name, value]) => header(name, value)).join(""),
    type,
    row: type === "text/csv" ? "row" : row,
    body: bodyIn(language, form),
  };
}

function updateSamples(form) {
  for (const sample of all(".sample", form.closest(".examples"))) {
    const texts = textsOf(sample.dataset.language, form);
    for (const place of all("[data-placeholder]", sample)) {
      const { placeholder } = place.dataset;
      const text = texts[placeholder];
      if (text === undefined) continue;
      const isCode = placeholder === "body" || placeholder === "message";
      place.replaceChildren(...(isCode ? highlighted(text) : [text]));
    }
  }
}
