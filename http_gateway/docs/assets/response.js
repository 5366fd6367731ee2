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

function formatted(text, space) {
  try {
    return JSON.stringify(JSON.parse(text), null, space);
  } catch {
    return text;
  }
}

// Returns a code block that scrolls and can be focused with the keyboard.
function block(name, lines, kind = "lines") {
  const attributes = { class: kind, tabindex: "0", role: "group", "aria-label": name };
  return element("pre", attributes, element("code", {}, ...highlighted(lines.join("\n"))));
}

function headerList(response) {
  const headers = element("dl");
  for (const name of SHOWN_HEADERS) {
    const value = response.headers.get(name);
    if (value) headers.append(element("dt", {}, name), element("dd", {}, value));
  }
  return headers;
}

function status(text, style) {
  return element("p", { class: "summary" }, element("span", { class: `status ${style}` }, text));
}

// Shows that a request is running and returns its cancel button, which the caller removes.
function showPending(area, cancel) {
  const button = element("button", { type: "button", class: "cancel" }, "Cancel");
  button.addEventListener("click", cancel);
  area.append(status("Sending…", "pending"), button);
  announce("Sending…");
  return button;
}

// Shows a response and returns the text to announce. `isRead` is true if the request changes
// nothing.
async function showResponse(area, response, milliseconds, isRead) {
  const code = `${response.status} ${response.statusText}`.trim();
  const summary = status(code, response.ok ? "good" : "bad");
  summary.append(element("span", {}, `${milliseconds} ms`));
  one(".summary", area).replaceWith(summary);
  area.append(headerList(response));
  const type = response.headers.get("Content-Type") ?? "";
  if (response.body && !type.startsWith("application/json")) {
    const outcomes = await showRecords(area, response, isRead);
    return outcomes ? `Response ${code}: ${outcomes}` : `Response ${code}`;
  }
  const text = formatted(await response.text(), 2);
  if (text) area.append(block("Response", [text], ""));
  return `Response ${code}`;
}

function showFailure(area, text) {
  area.append(status(text, "bad"));
  announce(text);
}
