// An answer as it is shown: status, time, headers, and the body laid out and coloured.

const TOLD_HEADERS = [
  "Content-Type",
  "X-Request-Id",
  "Idempotency-Replayed",
  "Link",
  "RateLimit",
  "RateLimit-Policy",
  "Retry-After",
  "Allow",
];
// More than this of a stream is not asked for, and more of a body is not coloured.
const SHOWN_RECORDS = 200;
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
  const code = element("code");
  if (text.length > COLOURED_CHARACTERS) {
    code.append(text);
    return code;
  }
  let end = 0;
  for (const match of text.matchAll(WORDS_OF_JSON)) {
    const [kind] = Object.entries(match.groups).find(([, found]) => found !== undefined);
    code.append(text.slice(end, match.index), element("span", { class: `t-${kind}` }, match[0]));
    end = match.index + match[0].length;
  }
  code.append(text.slice(end));
  return code;
}

function laidOut(text, space) {
  try {
    return JSON.stringify(JSON.parse(text), null, space);
  } catch {
    return text;
  }
}

// Returns the records of a stream that has not ended, so far as they are shown.
async function firstRecords(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  const lines = [""];
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return lines.join("\n");
    const [rest, ...more] = value.split("\n");
    lines[lines.length - 1] += rest;
    lines.push(...more);
    if (lines.length > SHOWN_RECORDS) {
      await reader.cancel();
      return [...lines.slice(0, SHOWN_RECORDS), "… and more, which the page did not ask for"].join("\n");
    }
  }
}

async function bodyOf(response) {
  const type = response.headers.get("Content-Type") ?? "";
  if (type.startsWith("application/json")) return coloured(laidOut(await response.text(), 2));
  const text = await firstRecords(response);
  return type.startsWith("application/x-ndjson") ? coloured(text) : element("code", {}, text);
}

async function showAnswer(place, response, milliseconds) {
  const quality = response.ok ? "good" : "bad";
  const status = `${response.status} ${response.statusText}`.trim();
  const headers = element("dl");
  for (const name of TOLD_HEADERS) {
    const value = response.headers.get(name);
    if (value) headers.append(element("dt", {}, name), element("dd", {}, value));
  }
  place.replaceChildren(
    element(
      "p",
      { class: "told" },
      element("span", { class: `status ${quality}` }, status),
      element("span", {}, `${milliseconds} ms`),
    ),
    headers,
  );
  place.hidden = false;
  const body = await bodyOf(response);
  if (body.textContent) {
    // It may scroll by itself, and a keyboard has to reach it.
    const reached = { tabindex: "0", role: "group", "aria-label": "What was answered" };
    place.append(element("pre", reached, body));
  }
  announce(`Answered ${status}`);
}

function showFailure(place, text) {
  place.replaceChildren(element("p", { class: "told" }, element("span", { class: "status bad" }, text)));
  place.hidden = false;
  announce(text);
}
