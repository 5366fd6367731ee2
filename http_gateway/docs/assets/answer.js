// Shows a response: its status, duration, headers, and its formatted and highlighted body.

const SHOWN_HEADERS = [
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

// Returns a code block that scrolls and can be focused with the keyboard.
function block(name, lines, kind = "lines") {
  const reached = { class: kind, tabindex: "0", role: "group", "aria-label": name };
  return element("pre", reached, element("code", {}, ...coloured(lines.join("\n"))));
}

function headersAsShown(response) {
  const headers = element("dl");
  for (const name of SHOWN_HEADERS) {
    const value = response.headers.get(name);
    if (value) headers.append(element("dt", {}, name), element("dd", {}, value));
  }
  return headers;
}

function status(text, quality) {
  return element("p", { class: "told" }, element("span", { class: `status ${quality}` }, text));
}

// Shows that a request is running and returns its cancel button, which the caller removes.
function showPending(place, cancel) {
  const button = element("button", { type: "button", class: "cancel" }, "Cancel");
  button.addEventListener("click", cancel);
  place.append(status("Sending…", "pending"), button);
  announce("Sending…");
  return button;
}

// Shows a response and returns the text to announce. `isReading` is true if the request changes
// nothing.
async function showAnswer(place, response, milliseconds, isReading) {
  const code = `${response.status} ${response.statusText}`.trim();
  const told = status(code, response.ok ? "good" : "bad");
  told.append(element("span", {}, `${milliseconds} ms`));
  one(".told", place).replaceWith(told);
  place.append(headersAsShown(response));
  const type = response.headers.get("Content-Type") ?? "";
  if (response.body && !type.startsWith("application/json")) {
    const outcomes = await showRecords(place, response, isReading);
    return outcomes ? `Response ${code}: ${outcomes}` : `Response ${code}`;
  }
  const text = laidOut(await response.text(), 2);
  if (text) place.append(block("Response", [text], ""));
  return `Response ${code}`;
}

function showFailure(place, text) {
  place.append(status(text, "bad"));
  announce(text);
}
