// The navigation: marks the current section, and is a menu on narrow screens.

const navigation = one(".navigation");
const menuButton = one(".menu");
const sectionLinks = all('.navigation a[href^="#"]');
const sections = sectionLinks.map((link) => document.getElementById(link.hash.slice(1)));
let marked = one(".navigation [aria-current]");

function openNavigation() {
  navigation.classList.add("open");
  navigation.scrollTop = 0;
  if (marked) scrollNavigationTo(marked);
  menuButton.setAttribute("aria-expanded", "true");
  (marked ?? one("a", navigation)).focus();
}

function closeNavigation() {
  navigation.classList.remove("open");
  menuButton.setAttribute("aria-expanded", "false");
}

menuButton.addEventListener("click", () => {
  if (navigation.classList.contains("open")) closeNavigation();
  else openNavigation();
});

navigation.addEventListener("click", (event) => {
  if (event.target.closest("a")) closeNavigation();
});

// The open menu covers the page, so it closes when the focus leaves it.
navigation.addEventListener("focusout", (event) => {
  const next = event.relatedTarget;
  if (next && next !== menuButton && !navigation.contains(next)) closeNavigation();
});

document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !navigation.classList.contains("open")) return;
  closeNavigation();
  menuButton.focus();
});

// The current section is the last one that begins in the upper third of the screen or above it,
// unless a link just led to another one that is visible there.
function linkOfCurrentSection() {
  const line = innerHeight / 3;
  const tops = sections.map((section) => section.getBoundingClientRect().top);
  const target = sectionLinks.findIndex((link) => link.hash === location.hash);
  if (tops[target] >= 0 && tops[target] < line) return sectionLinks[target];
  return sectionLinks[tops.findLastIndex((top) => top < line)];
}

function markCurrentSection() {
  const link = linkOfCurrentSection();
  if (link === marked || !link) return;
  if (marked?.getAttribute("aria-current") === "location") marked.removeAttribute("aria-current");
  marked = link;
  marked.setAttribute("aria-current", "location");
  scrollNavigationTo(marked);
}

// Scrolls only the navigation, not the page.
function scrollNavigationTo(link) {
  const { top, bottom } = link.getBoundingClientRect();
  const frame = navigation.getBoundingClientRect();
  if (top < frame.top) navigation.scrollTop += top - frame.top - 40;
  if (bottom > frame.bottom) navigation.scrollTop += bottom - frame.bottom + 40;
}

let isScheduled = false;

function scheduleMark() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    markCurrentSection();
  });
}

// Opens collapsed content that contains the target of the URL.
function showTarget() {
  const target = document.getElementById(location.hash.slice(1));
  const collapsed = target?.closest("details:not([open])");
  if (!collapsed) return;
  collapsed.open = true;
  target.scrollIntoView();
}

addEventListener("scroll", scheduleMark, { passive: true });
addEventListener("resize", scheduleMark, { passive: true });
addEventListener("hashchange", () => {
  showTarget();
  scheduleMark();
});
showTarget();
markCurrentSection();
