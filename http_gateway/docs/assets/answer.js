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

function laidOut(text, space) {
  try {
    return JSON.stringify(JSON.parse(text), null, space);
  } catch {
    return text;
  }
}

// A block of an answer. It may scroll by itself, and a keyboard has to reach it.
function block(name, lines, kind = "lines") {
  const reached = { class: kind, tabindex: "0", role: "group", "aria-label": name };
  return element("pre", reached, element("code", {}, ...coloured(lines.join("\n"))));
}

function headersAsShown(response) {
  const headers = element("dl");
  for (const name of TOLD_HEADERS) {
    const value = response.headers.get(name);
    if (value) headers.append(element("dt", {}, name), element("dd", {}, value));
  }
  return headers;
}

function status(text, quality) {
  return element("p", { class: "told" }, element("span", { class: `status ${quality}` }, text));
}

// Shows that a call is on its way, with what ends it. The button goes when the call has ended.
function showPending(place, cancel) {
  const button = element("button", { type: "button", class: "cancel" }, "Cancel");
  button.addEventListener("click", cancel);
  place.append(status("Sending…", "pending"), button);
  announce("Sending…");
  return button;
}

// Shows an answer and returns what there is to say of it. `isReading` tells that the call
// changes nothing.
async function showAnswer(place, response, milliseconds, isReading) {
  const code = `${response.status} ${response.statusText}`.trim();
  const told = status(code, response.ok ? "good" : "bad");
  told.append(element("span", {}, `${milliseconds} ms`));
  one(".told", place).replaceWith(told);
  place.append(headersAsShown(response));
  const type = response.headers.get("Content-Type") ?? "";
  if (response.body && !type.startsWith("application/json")) {
    const outcomes = await showRecords(place, response, isReading);
    return outcomes ? `Answered ${code}: ${outcomes}` : `Answered ${code}`;
  }
  const text = laidOut(await response.text(), 2);
  if (text) place.append(block("What was answered", [text], ""));
  return `Answered ${code}`;
}

function showFailure(place, text) {
  place.append(status(text, "bad"));
  announce(text);
}
