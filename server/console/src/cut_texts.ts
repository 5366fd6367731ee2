// Shows the whole of a text that is cut when a pointer is over it.

const CUT = ".cut, .clip, .lines, .lines > bdi, .card .title bdi";

/** Gives texts that are cut a title, unless the view does. */
export function explainCutTexts(): void {
  document.addEventListener("pointerover", ({ target }) => {
    const cut = target instanceof Element ? target.closest<HTMLElement>(CUT) : null;
    if (!cut || (cut.title && !cut.dataset.cut)) return;
    const isCut = cut.scrollWidth > cut.clientWidth || cut.scrollHeight > cut.clientHeight;
    cut.title = isCut ? (cut.textContent ?? "") : "";
    cut.dataset.cut = "title";
  });
}
