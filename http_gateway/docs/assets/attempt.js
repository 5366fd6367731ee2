// "Try it": a form becomes a request to the server that the page came from.

const valueOf = (form, name) => form.elements.namedItem(name)?.value ?? "";

function targetOf(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  for (const field of all("[data-place]", form)) {
    if (field.dataset.place === "path") {
      path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    } else if (field.dataset.place === "query" && field.value) {
      query.append(field.name, field.value);
    }
  }
  return query.size ? `${path}?${query}` : path;
}

function headersOf(form) {
  const headers = new Headers();
  for (const field of all('[data-place="header"]', form)) {
    if (field.value) headers.set(field.name, field.value);
  }
  if (apiKey()) headers.set("Authorization", `Bearer ${apiKey()}`);
  if (form.elements.namedItem("body")) headers.set("Content-Type", valueOf(form, "type"));
  return headers;
}

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

function requestOf(form) {
  return new Request(targetOf(form), {
    method: valueOf(form, "method"),
    headers: headersOf(form),
    body: form.elements.namedItem("body")?.value,
    cache: "no-store",
    credentials: "omit",
    referrerPolicy: "no-referrer",
  });
}

async function attempt(form) {
  if (!isConfirmed(form)) return;
  const place = one(".answer", form.parentElement);
  askAgain(one(".send button", form));
  let request;
  try {
    request = requestOf(form);
  } catch (fault) {
    showFailure(place, `This cannot be sent: ${fault.message}`);
    return;
  }
  place.setAttribute("aria-busy", "true");
  const begun = performance.now();
  try {
    const response = await fetch(request);
    const milliseconds = Math.round(performance.now() - begun);
    if (response.status === 201) rememberId(form, await response.clone().json());
    await showAnswer(place, response, milliseconds);
  } catch {
    showFailure(place, "The server cannot be reached, or it broke off.");
  }
  place.removeAttribute("aria-busy");
}

// What was just made can be read, changed and deleted without copying its id.
function rememberId(form, body) {
  const made = Object.values(body).find((value) => value?.id);
  if (!made) return;
  for (const field of all('[data-place="path"][name="id"]', form.closest(".resource"))) {
    field.value = made.id;
  }
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

document.addEventListener("input", (event) => {
  if (event.target.name === "body") noteWhatIsWrong(event.target);
});

document.addEventListener("change", (event) => {
  if (event.target.name !== "type") return;
  const body = event.target.form.elements.namedItem("body");
  body.value = event.target.selectedOptions[0].dataset.example;
  noteWhatIsWrong(body);
});

document.addEventListener("click", (event) => {
  if (event.target.classList.contains("ask-key")) askForKey(event.target.form);
});
