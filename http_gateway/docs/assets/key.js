// The API key of requests from this page. It is stored until the tab is closed, sent only in the
// Authorization header, and masked until the user shows it.

const keyField = one("#key");
const keySwitch = one("#key-shown");

const apiKey = () => keyField.value.trim();

function updateKey() {
  tabStorage.set("key", apiKey());
  for (const place of all('[data-placeholder="key"]')) showKeyIn(place);
  for (const note of all(".needs-key")) note.hidden = apiKey() !== "";
}

// Replaces the environment variable of a sample with the key.
function showKeyIn(place) {
  place.dataset.variable ??= place.textContent;
  delete place.dataset.key;
  if (!apiKey()) {
    place.textContent = place.dataset.variable;
    return;
  }
  const isShell = place.dataset.variable.startsWith("$");
  const literal = (text) => (isShell ? text : JSON.stringify(text));
  place.dataset.key = literal(apiKey());
  place.textContent = literal(keyField.type === "password" ? `${apiKey().slice(0, 5)}…` : apiKey());
}

function showKey(isShown) {
  keyField.type = isShown ? "text" : "password";
  keySwitch.setAttribute("aria-pressed", String(isShown));
  updateKey();
}

// The form that led to the key field. Enter leads back to it.
let requestingForm = null;

function askForKey(form) {
  requestingForm = form;
  keyField.scrollIntoView({ block: "center" });
  keyField.focus();
}

one(".key").addEventListener("submit", () => {
  if (!requestingForm) return;
  requestingForm.scrollIntoView();
  one(".send button", requestingForm).focus();
});
keySwitch.addEventListener("click", () => showKey(keyField.type === "password"));
keyField.addEventListener("input", updateKey);
keyField.value = tabStorage.get("key");
if (apiKey()) updateKey();
