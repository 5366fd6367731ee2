// Helpers for elements, and storage that the page also works without.

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  created.append(...children);
  return created;
}

// Announces a change to screen readers.
function announce(text) {
  one("#announcer").textContent = text;
}

const storage = (area) => ({
  get(name) {
    try {
      return window[area].getItem(`docs-${name}`) ?? "";
    } catch {
      return "";
    }
  },
  set(name, value) {
    try {
      if (value) window[area].setItem(`docs-${name}`, value);
      else window[area].removeItem(`docs-${name}`);
    } catch {
      // The value is lost when the page is closed.
    }
  },
});

const browserStorage = storage("localStorage");
const tabStorage = storage("sessionStorage");
