// "Try it" forms: send a request to the server of this page.

// The running request of each form; a form has at most one.
const calls = new WeakMap();

// Returns whether a deletion was confirmed: the first press asks, the second one sends.
function isConfirmed(form) {
  const button = one(".send button", form);
  if (valueOf(form, "method") !== "DELETE" || button.dataset.isConfirming) return true;
  button.dataset.isConfirming = "true";
  button.textContent = "Press again to delete";
  announce("This deletes the resource. Press again to confirm.");
  button.addEventListener("blur", () => resetButton(button), { once: true });
  return false;
}

function resetButton(button) {
  delete button.dataset.isConfirming;
  button.textContent = "Send";
}

// Returns an empty element for a response. An earlier request of the form that is still running
// writes to its own, detached element.
function emptyResponse(form) {
  const area = element("div");
  const response = one(".response", form.parentElement);
  response.replaceChildren(area);
  response.hidden = false;
  return area;
}

function trySend(form) {
  if (!isConfirmed(form)) return;
  resetButton(one(".send button", form));
  calls.get(form)?.abort();
  const area = emptyResponse(form);
  if (/\W/.test(apiKey())) {
    showFailure(area, "The API key contains invalid characters.");
    return;
  }
  try {
    send(form, requestOf(form), area);
  } catch (error) {
    showFailure(area, `The request cannot be sent: ${error.message}`);
  }
}

async function send(form, request, area) {
  const call = new AbortController();
  const isRead = request.method === "GET";
  const isLast = () => calls.get(form) === call;
  calls.set(form, call);
  const cancel = showPending(area, () => call.abort());
  area.setAttribute("aria-busy", "true");
  const start = performance.now();
  let response;
  try {
    response = await fetch(request, { signal: call.signal });
    const milliseconds = Math.round(performance.now() - start);
    if (response.status === 201) rememberId(form, await response.clone().json());
    const summary = await showResponse(area, response, milliseconds, isRead);
    if (isLast()) announce(summary);
  } catch {
    if (!response) one(".summary", area).remove();
    if (isLast()) showFailure(area, failure(response, call.signal.aborted, isRead));
  }
  area.removeAttribute("aria-busy");
  if (document.activeElement === cancel) one(".send button", form).focus();
  cancel.remove();
}

function failure(response, isCanceled, isRead) {
  const broken = response ? "The response was interrupted." : "The server cannot be reached, or the connection was interrupted.";
  const text = isCanceled ? "Canceled." : broken;
  return isRead ? text : `${text} Changes made before then are kept.`;
}

// Fills in the ID of a created resource in the forms that refer to it.
function rememberId(form, body) {
  const [kind, created] = Object.entries(body).find(([, value]) => value?.id) ?? [];
  if (!created) return;
  for (const field of all('[data-location="path"][name="id"]', form.closest(".resource"))) {
    field.value = created.id;
    updateSamples(field.form);
  }
  for (const field of all(".try textarea")) referTo(field, `"${kind}Id": `, created.id);
}

// A changed default value is visible only until the user edits the field.
function referTo(field, name, id) {
  const [before, after] = field.defaultValue.split(name);
  if (after === undefined) return;
  field.defaultValue = before + name + after.replace(/"[^"]*"/, () => JSON.stringify(id));
  updateSamples(field.form);
}

function validateBody(body) {
  const form = body.form;
  const note = one(".send .note", form);
  const isJson = valueOf(form, "type") === "application/json";
  note.textContent = "";
  try {
    if (isJson) JSON.parse(body.value);
  } catch (error) {
    note.textContent = `The body is not valid JSON: ${error.message}`;
  }
  note.hidden = !note.textContent;
  body.setAttribute("aria-invalid", String(!note.hidden));
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.closest(".try")) trySend(event.target);
});

document.addEventListener("keydown", (event) => {
  const isSent = event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (isSent && event.target.name === "body") event.target.form.requestSubmit();
});

document.addEventListener("input", (event) => {
  const form = event.target.form;
  if (!form?.closest(".try")) return;
  if (event.target.name === "body") validateBody(event.target);
  if (event.target.name === "type") exampleOfType(event.target);
  updateSamples(form);
});

// Replaces an unedited example body with the example of the selected media type.
function exampleOfType(type) {
  const body = type.form.elements.namedItem("body");
  const examples = examplesOf(type.form);
  if (examples.includes(body.value)) body.value = examples[type.selectedIndex];
}

document.addEventListener("click", (event) => {
  if (event.target.classList.contains("ask-key")) askForKey(event.target.form);
});
