// Examples: one language everywhere, and buttons that copy.

function chooseLanguage(language) {
  for (const button of all(".languages button")) {
    button.setAttribute("aria-pressed", String(button.dataset.language === language));
  }
  for (const sample of all(".sample")) {
    sample.classList.toggle("chosen", sample.dataset.language === language);
  }
  always.set("language", language);
}

// What is copied holds the key itself, whether it is shown or not.
function textOf(code) {
  const copy = code.cloneNode(true);
  for (const place of all(".own-key", copy)) {
    if (apiKey()) place.textContent = place.dataset.quote + apiKey() + place.dataset.quote;
  }
  return copy.textContent;
}

async function copyFrom(button) {
  const shown = all("pre code", button.closest(".panel")).find((code) => code.offsetParent);
  try {
    await navigator.clipboard.writeText(textOf(shown));
  } catch {
    announce("The browser does not let the page copy.");
    return;
  }
  button.textContent = "Copied";
  announce("Copied");
  button.addEventListener("blur", () => (button.textContent = "Copy"), { once: true });
}

document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button?.dataset.language) chooseLanguage(button.dataset.language);
  if (button?.classList.contains("copy")) copyFrom(button);
});

const wanted = always.get("language");
if (one(`.sample[data-language="${CSS.escape(wanted)}"]`)) chooseLanguage(wanted);
