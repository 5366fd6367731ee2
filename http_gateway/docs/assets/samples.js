// Code samples: one language on the whole page, and buttons that copy.

function chooseLanguage(language) {
  for (const panel of all(".samples")) {
    if (!one(`.sample[data-language="${language}"]`, panel)) continue;
    for (const button of all(".languages button", panel)) {
      button.setAttribute("aria-pressed", String(button.dataset.language === language));
    }
    for (const sample of all(".sample", panel)) {
      sample.classList.toggle("chosen", sample.dataset.language === language);
    }
  }
  browserStorage.set("language", language);
}

// Returns the text of a sample with the API key, even if the screen shows only its beginning.
function textToCopy(code) {
  const copy = code.cloneNode(true);
  for (const shown of all("[data-key]", copy)) shown.textContent = shown.dataset.key;
  return copy.textContent;
}

async function copyFrom(button) {
  const shown = all("pre code", button.closest(".panel")).find((code) => code.offsetParent);
  try {
    await navigator.clipboard.writeText(textToCopy(shown));
  } catch {
    announce("The browser does not allow copying.");
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

for (const base of all('[data-placeholder="base"]')) base.textContent = location.origin;
const storedLanguage = browserStorage.get("language");
if (storedLanguage) chooseLanguage(CSS.escape(storedLanguage));
