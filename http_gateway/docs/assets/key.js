// The API key that calls are made with. It is kept until the tab is closed, leaves the
// browser in the Authorization header alone, and is shown only when that is asked for.

const keyField = one("#key");
const keySwitch = one("#key-shown");

const apiKey = () => keyField.value.trim();

function keyChanged() {
  untilClosed.set("key", apiKey());
  for (const place of all(".own-key")) place.replaceChildren(keyAsShown(place));
  for (const note of all(".needs-key")) note.hidden = apiKey() !== "";
}

// What stands for the key in an example: the variable of the environment, or the key.
function keyAsShown(place) {
  place.dataset.variable ??= place.textContent;
  if (!apiKey()) return place.dataset.variable;
  const text = keyField.type === "password" ? `${apiKey().slice(0, 5)}…` : apiKey();
  return place.dataset.quote + text + place.dataset.quote;
}

function showKey(shown) {
  keyField.type = shown ? "text" : "password";
  keySwitch.setAttribute("aria-pressed", String(shown));
  keyChanged();
}

// Whoever was sent to the field from a form goes back there with the Enter key.
let askedBy = null;

function askForKey(form) {
  askedBy = form;
  keyField.scrollIntoView({ block: "center" });
  keyField.focus();
}

one(".key").addEventListener("submit", () => {
  if (!askedBy) return;
  askedBy.scrollIntoView();
  one(".send button", askedBy).focus();
});
keySwitch.addEventListener("click", () => showKey(keyField.type === "password"));
keyField.addEventListener("input", keyChanged);
for (const place of all(".own-base")) place.textContent = location.origin;
keyField.value = untilClosed.get("key");
if (apiKey()) keyChanged();
