// The navigation: a filter, the place where the reader is, and a menu where the screen is narrow.

const navigation = one(".navigation");
const menuButton = one(".menu");
const filterField = one("#filter");
const links = all(".navigation a");

function openNavigation(first) {
  navigation.classList.add("open");
  navigation.scrollTop = 0;
  keepInSight(marked);
  menuButton.setAttribute("aria-expanded", "true");
  first.focus();
}

function closeNavigation() {
  navigation.classList.remove("open");
  menuButton.setAttribute("aria-expanded", "false");
}

menuButton.addEventListener("click", () => {
  if (navigation.classList.contains("open")) closeNavigation();
  else openNavigation(marked);
});

navigation.addEventListener("click", (event) => {
  if (event.target.closest("a")) closeNavigation();
});

// Whoever tabs out of the menu has left it: what it covers would be out of sight.
navigation.addEventListener("focusout", (event) => {
  const next = event.relatedTarget;
  if (next && next !== menuButton && !navigation.contains(next)) closeNavigation();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape" && navigation.classList.contains("open")) {
    closeNavigation();
    menuButton.focus();
  }
  const typing = event.target.closest("input, textarea, select");
  if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey) {
    event.preventDefault();
    openNavigation(filterField);
  }
});

function filter() {
  const words = filterField.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const link of links) {
    const text = `${link.textContent} ${link.dataset.find ?? ""}`.toLowerCase();
    link.parentElement.hidden = !words.every((word) => text.includes(word));
  }
  for (const group of all(".group", navigation)) {
    group.hidden = all("li:not([hidden])", group).length === 0;
  }
  one(".none", navigation).hidden = links.some((link) => !link.parentElement.hidden);
}

filterField.addEventListener("input", filter);

// The Enter key goes to the first that is left.
filterField.addEventListener("keydown", (event) => {
  const hit = links.find((link) => !link.parentElement.hidden);
  if (event.key !== "Enter" || !hit) return;
  hit.focus();
  hit.click();
});

const sections = links.map((link) => document.getElementById(link.hash.slice(1)));
let marked = null;

// The reader is at the last section that begins in the upper third of the screen or above
// it, unless a link has just led to another one that is there.
function linkOfPlace() {
  const line = innerHeight / 3;
  const tops = sections.map((section) => section.getBoundingClientRect().top);
  const wanted = links.findIndex((link) => link.hash === location.hash);
  if (tops[wanted] >= 0 && tops[wanted] < line) return links[wanted];
  return links[Math.max(0, tops.findLastIndex((top) => top < line))];
}

function markPlace() {
  const link = linkOfPlace();
  if (link === marked) return;
  marked?.removeAttribute("aria-current");
  marked = link;
  marked.setAttribute("aria-current", "location");
  keepInSight(marked);
}

// Scrolls the navigation alone: the page is where the reader wants it.
function keepInSight(link) {
  const { top, bottom } = link.getBoundingClientRect();
  const frame = navigation.getBoundingClientRect();
  if (top < frame.top) navigation.scrollTop += top - frame.top - 40;
  if (bottom > frame.bottom) navigation.scrollTop += bottom - frame.bottom + 40;
}

let isAsked = false;

function askToMarkPlace() {
  if (isAsked) return;
  isAsked = true;
  requestAnimationFrame(() => {
    isAsked = false;
    markPlace();
  });
}

addEventListener("scroll", askToMarkPlace, { passive: true });
addEventListener("resize", askToMarkPlace, { passive: true });
addEventListener("hashchange", askToMarkPlace);
markPlace();
