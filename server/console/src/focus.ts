/** Lets screen readers and keyboards begin at the view, unless the view has moved the focus itself. */
export function focusMain(): void {
  const main = document.getElementById("main");
  if (main && !main.contains(document.activeElement)) main.focus();
}

const isLost = () => document.activeElement === document.body;
/** Lets keys and screen readers begin at the list of people, or at the view. */
export function focusList(): void {
  (document.getElementById("grid") ?? document.getElementById("main"))?.focus({ preventScroll: true });
}

const CONTROLS = "a[href], button, input, select, textarea, summary, [tabindex='0']";
const isUsable = (element: HTMLElement) => element.isConnected && element.checkVisibility() && !element.matches(":disabled");

/** When what has the focus is removed or hidden, moves it to what follows. What is disabled gets it back later. */
export function keepFocus(): void {
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget || !(target instanceof HTMLElement)) return;
    const all = [...(target.closest("dialog, main") ?? document).querySelectorAll<HTMLElement>(CONTROLS)];
    const at = all.indexOf(target);
    const near = at < 0 ? [] : [...all.slice(at), ...all.slice(0, at).reverse()];
    const isWaiting = () => isLost() && target.isConnected && target.matches(":disabled");
    const move = () => isLost() && (near.find(isUsable) ?? document.getElementById("main"))?.focus();
    setTimeout(() => {
      if (!isLost() || isUsable(target)) return;
      if (!isWaiting()) return void move();
      const changes = new MutationObserver(() => {
        if (isWaiting()) return;
        changes.disconnect();
        // A dialog that closes returns the focus itself.
        setTimeout(move);
      });
      changes.observe(document.body, { subtree: true, childList: true, attributeFilter: ["disabled"] });
    });
  });
}

/** What had the focus before the dialogs that are shown: one can be replaced by another. */
let origin: Element | null = null;

/** Returns what has the focus before a dialog is shown. */
export function focusBefore(): Element | null {
  const { activeElement } = document;
  if (!isLost() && !activeElement?.closest("dialog")) origin = activeElement;
  return isLost() ? origin : activeElement;
}

/** Moves the focus to where it was before a dialog that is being removed; if that disappears too, to a dialog or the view. */
export function returnFocus(focused: Element | null): void {
  const before = focused?.isConnected ? focused : origin;
  // An item of a menu is not shown anymore.
  const menu = before?.closest("[popover]")?.id;
  const to = menu ? document.querySelector(`[popovertarget="${menu}"]`) : before;
  // Until the dialog is removed, nothing else can have the focus.
  queueMicrotask(() => isLost() && to instanceof HTMLElement && to.focus());
  setTimeout(() => {
    if (!document.querySelector("dialog:modal")) origin = null;
    if (!isLost()) return;
    document.querySelector<HTMLElement>("dialog:modal :is(input, textarea, select, button):enabled")?.focus();
    if (isLost()) focusList();
    focusMain();
  });
}
