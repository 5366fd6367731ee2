// "Try it": a form becomes a request to the server that the page came from.

// The calls that have not ended, by their forms: a form has one at a time.
const calls = new WeakMap();

// What deletes asks twice: the first press says so, the second one sends.
function isConfirmed(form) {
  const button = one(".send button", form);
  if (valueOf(form, "method") !== "DELETE" || button.dataset.asked) return true;
  button.dataset.asked = "yes";
  button.textContent = "Press again to delete";
  announce("This deletes. Press again to send it.");
  button.addEventListener("blur", () => askAgain(button), { once: true });
  return false;
}

function askAgain(button) {
  delete button.dataset.asked;
  button.textContent = "Send";
}

// Returns an empty place for an answer. A call of before that still writes has one of its
// own, which nobody sees any more.
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
    showFailure(place, "The key has characters that no key has.");
    return;
  }
  try {
    send(form, requestOf(form), place);
  } catch (fault) {
    showFailure(place, `This cannot be sent: ${fault.message}`);
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
  const broken = response ? "The answer broke off." : "The server cannot be reached, or it broke off.";
  const text = isCancelled ? "Cancelled." : broken;
  return isReading ? text : `${text} What the server had done by then stays done.`;
}

// What was just made can be read, changed, deleted and referred to without copying its id.
function rememberId(form, body) {
  const [kind, made] = Object.entries(body).find(([, value]) => value?.id) ?? [];
  if (!made) return;
  for (const field of all('[data-place="path"][name="id"]', form.closest(".resource"))) {
    field.value = made.id;
    follow(field.form);
  }
  for (const field of all(".try textarea")) referTo(field, `"${kind}Id": `, made.id);
}

// Another default shows in a field as long as nobody has written into it.
function referTo(field, name, id) {
  const [before, after] = field.defaultValue.split(name);
  if (after === undefined) return;
  field.defaultValue = before + name + after.replace(/"[^"]*"/, () => JSON.stringify(id));
  follow(field.form);
}

function noteWhatIsWrong(body) {
  const form = body.form;
  const note = one(".send .note", form);
  const isJson = valueOf(form, "type") === "application/json";
  note.textContent = "";
  try {
    if (isJson) JSON.parse(body.value);
  } catch (fault) {
    note.textContent = `The body is not JSON: ${fault.message}`;
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
  if (event.target.name === "body") noteWhatIsWrong(event.target);
  if (event.target.name === "type") exampleOfType(event.target);
  follow(form);
});

// What somebody wrote stays; an example gives way to that of the other type.
function exampleOfType(type) {
  const body = type.form.elements.namedItem("body");
  const examples = examplesOf(type.form);
  if (examples.includes(body.value)) body.value = examples[type.selectedIndex];
}

document.addEventListener("click", (event) => {
  if (event.target.classList.contains("ask-key")) askForKey(event.target.form);
});
