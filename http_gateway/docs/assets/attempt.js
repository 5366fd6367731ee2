// "Try it" forms: send a request to the server of this page.

// The running request of each form; a form has at most one.
const calls = new WeakMap();

// Returns whether a deletion was confirmed: the first press asks, the second one sends.
function isConfirmed(form) {
  const button = one(".send button", form);
  if (valueOf(form, "method") !== "DELETE" || button.dataset.asked) return true;
  button.dataset.asked = "yes";
  button.textContent = "Press again to delete";
  announce("This deletes the resource. Press again to confirm.");
  button.addEventListener("blur", () => askAgain(button), { once: true });
  return false;
}

function askAgain(button) {
  delete button.dataset.asked;
  button.textContent = "Send";
}

// Returns an empty element for a response. An earlier request of the form that is still running
// writes to its own, detached element.
function emptyPlace(form) {
  const place = element("div");
  const answer = one(".answer", form.parentElement);
  answer.replaceChildren(place);
  answer.hidden = false;
  return place;
}

function attempt(form) {
  if (!isConfirmed(form)) return;
  askAgain(one(".send button", form));
  calls.get(form)?.abort();
  const place = emptyPlace(form);
  if (/\W/.test(apiKey())) {
    showFailure(place, "The API key contains invalid characters.");
    return;
  }
  try {
    send(form, requestOf(form), place);
  } catch (fault) {
    showFailure(place, `The request cannot be sent: ${fault.message}`);
  }
}

async function send(form, request, place) {
  const call = new AbortController();
  const isReading = request.method === "GET";
  const isLast = () => calls.get(form) === call;
  calls.set(form, call);
  const cancel = showPending(place, () => call.abort());
  place.setAttribute("aria-busy", "true");
  const begun = performance.now();
  let response;
  try {
    response = await fetch(request, { signal: call.signal });
    const milliseconds = Math.round(performance.now() - begun);
    if (response.status === 201) rememberId(form, await response.clone().json());
    const told = await showAnswer(place, response, milliseconds, isReading);
    if (isLast()) announce(told);
  } catch {
    if (!response) one(".told", place).remove();
    if (isLast()) showFailure(place, failure(response, call.signal.aborted, isReading));
  }
  place.removeAttribute("aria-busy");
  if (document.activeElement === cancel) one(".send button", form).focus();
  cancel.remove();
}

function failure(response, isCancelled, isReading) {
  const broken = response ? "The response was interrupted." : "The server cannot be reached, or the connection was interrupted.";
  const text = isCancelled ? "Cancelled." : broken;
  return isReading ? text : `${text} Changes made before then are kept.`;
}

// Fills in the ID of a created resource in the forms that refer to it.
function rememberId(form, body) {
  const [kind, made] = Object.entries(body).find(([, value]) => value?.id) ?? [];
  if (!made) return;
  for (const field of all('[data-place="path"][name="id"]', form.closest(".resource"))) {
    field.value = made.id;
    follow(field.form);
  }
  for (const field of all(".try textarea")) referTo(field, `"${kind}Id": `, made.id);
}

// A changed default value is visible only until the user edits the field.
function referTo(field, name, id) {
  const [before, after] = field.defaultValue.split(name);
  if (after === undefined) return;
  field.defaultValue = before + name + after.replace(/"[^"]*"/, () => JSON.stringify(id));
  follow(field.form);
}

function validateBody(body) {
  const form = body.form;
  const note = one(".send .note", form);
  const isJson = valueOf(form, "type") === "application/json";
  note.textContent = "";
  try {
    if (isJson) JSON.parse(body.value);
  } catch (fault) {
    note.textContent = `The body is not valid JSON: ${fault.message}`;
  }
  note.hidden = !note.textContent;
  body.setAttribute("aria-invalid", String(!note.hidden));
}

document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.closest(".try")) attempt(event.target);
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
  follow(form);
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
