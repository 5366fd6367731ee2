// Search in a dialog: a combobox with a list of results. The index is loaded when it is first used.

const MAX_RESULTS = 12;
const SNIPPET_CHARACTERS = 110;
// Of equal matches, fields are shown last, because there are many of them.
const KIND_WEIGHTS = { Operation: 3, Guide: 3, Error: 2, "Event type": 2 };
const searchDialog = one("dialog.search");
const searchField = one("#search");
const resultList = one("#results");
const searchHint = one(".search .hint");
let searchIndex = null;
let selected = -1;

const wordsOf = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);

async function openSearch() {
  if (searchDialog.open) return;
  searchDialog.showModal();
  searchField.select();
  try {
    searchIndex ??= await (await fetch("/docs/search.json")).json();
    showResults();
  } catch {
    searchHint.textContent = "The search index cannot be loaded.";
  }
}

// Returns the weight of an entry; 0 if a word is missing from it.
function weightOf(entry, words) {
  const title = entry.title.toLowerCase();
  const rest = `${entry.context} ${entry.kind} ${entry.keywords ?? ""} ${entry.text}`.toLowerCase();
  let weight = KIND_WEIGHTS[entry.kind] ?? 0;
  if (title === words.join(" ")) weight += 2;
  for (const word of words) {
    if (` ${title}`.includes(` ${word}`)) weight += 6;
    else if (title.includes(word)) weight += 4;
    else if (rest.includes(word)) weight += 1;
    else return 0;
  }
  return weight;
}

function resultsFor(words) {
  return searchIndex
    .map((entry) => [weightOf(entry, words), entry])
    .filter(([weight]) => weight > 0)
    .sort(([first], [second]) => second - first)
    .slice(0, MAX_RESULTS)
    .map(([, entry]) => entry);
}

// Returns the text around the first match, with all matches marked.
function snippet(text, words) {
  const places = words.map((word) => text.toLowerCase().indexOf(word)).filter((at) => at >= 0);
  const start = Math.max(0, Math.min(...places, text.length) - 30);
  const from = places.length && start ? text.indexOf(" ", start) + 1 : 0;
  const part = (from ? "… " : "") + text.slice(from, from + SNIPPET_CHARACTERS);
  const escaped = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  const pieces = part.split(new RegExp(`(${escaped.join("|")})`, "i"));
  return pieces.map((piece, number) => (number % 2 ? element("mark", {}, piece) : piece));
}

function showResults() {
  const words = wordsOf(searchField.value);
  const entries = words.length && searchIndex ? resultsFor(words) : [];
  resultList.replaceChildren(...entries.map((entry, number) => resultOf(entry, words, number)));
  searchField.setAttribute("aria-expanded", String(entries.length > 0));
  searchHint.textContent = words.length && searchIndex && !entries.length ? "No matches." : "";
  select(entries.length ? 0 : -1);
}

function resultOf(entry, words, number) {
  return element(
    "li",
    { id: `result-${number}`, role: "option", "aria-selected": "false", "data-url": entry.url },
    element("span", { class: "kind" }, entry.kind),
    element("strong", {}, ...snippet(entry.title, words)),
    element("span", { class: "context" }, entry.context),
    element("span", { class: "snippet" }, ...snippet(entry.text, words)),
  );
}

function select(number) {
  const results = all("li", resultList);
  results[selected]?.setAttribute("aria-selected", "false");
  selected = number;
  results[selected]?.setAttribute("aria-selected", "true");
  results[selected]?.scrollIntoView({ block: "nearest" });
  if (results[selected]) searchField.setAttribute("aria-activedescendant", results[selected].id);
  else searchField.removeAttribute("aria-activedescendant");
}

function openResult(result) {
  if (!result) return;
  searchDialog.close();
  location.assign(result.dataset.url);
}

searchField.addEventListener("input", showResults);
searchField.addEventListener("keydown", (event) => {
  const results = all("li", resultList);
  const steps = { ArrowDown: 1, ArrowUp: -1 };
  if (event.key in steps && results.length) {
    event.preventDefault();
    select((selected + steps[event.key] + results.length) % results.length);
  }
  if (event.key === "Enter") openResult(results[selected]);
  if (event.key === "Escape") {
    // A search field would only clear its text.
    event.preventDefault();
    searchDialog.close();
  }
});
resultList.addEventListener("click", (event) => openResult(event.target.closest("li")));
searchDialog.addEventListener("click", (event) => {
  if (event.target === searchDialog || event.target.closest(".close")) searchDialog.close();
});
one(".search-button").addEventListener("click", openSearch);
document.addEventListener("keydown", (event) => {
  const isTyping = event.target.closest("input, textarea, select");
  if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
  event.preventDefault();
  openSearch();
});
