// What the browser remembers. Where it is told to remember nothing, the page works all the same.

const kept = (area) => ({
  get(name) {
    try {
      return window[area].getItem(`roster-docs-${name}`) ?? "";
    } catch {
      return "";
    }
  },
  set(name, value) {
    try {
      if (value) window[area].setItem(`roster-docs-${name}`, value);
      else window[area].removeItem(`roster-docs-${name}`);
    } catch {
      // It is forgotten with the page.
    }
  },
});

const always = kept("localStorage");
const untilClosed = kept("sessionStorage");

const one = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

// Says something to those who do not see it happen.
function announce(text) {
  one("#announcer").textContent = text;
}
