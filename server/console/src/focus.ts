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

/** What can have the focus while shortcuts work: in a field, the next key would be typed. */
const CONTROLS = ":is(a[href], button, [type=checkbox], [type=radio], select, summary, [tabindex='0']):not([tabindex='-1'])";
const isUsable = (element: HTMLElement) => element.isConnected && element.checkVisibility() && !element.matches(":disabled");

/** When what has the focus is removed or hidden, moves it to what follows. What is disabled gets it back later. */
export function keepFocus(): void {
  // What has or had the focus, until a person takes it away, and what is near it in its dialog or view.
  let last: HTMLElement | null = null;
  let near: HTMLElement[] = [];
  function remember(target: EventTarget | null): void {
    if (!(target instanceof HTMLElement) || !target.isConnected) return;
    const all = [...(target.closest("dialog, main")?.querySelectorAll<HTMLElement>(CONTROLS) ?? [])];
    const follows = (each: HTMLElement) => target.compareDocumentPosition(each) & Node.DOCUMENT_POSITION_FOLLOWING;
    last = target;
    near = [target, ...all.filter(follows), ...all.filter((each) => !follows(each)).reverse()];
  }
  function move(): void {
    if (!isLost() || !last || (last.isConnected && last.matches(":disabled"))) return;
    const to = near.find(isUsable);
    if (to) to.focus({ preventScroll: true });
    else focusList();
  }
  document.addEventListener("focusin", ({ target }) => remember(target));
  document.addEventListener("focusout", ({ target, relatedTarget }) => {
    if (relatedTarget) return;
    remember(target);
    setTimeout(() => {
      if (isLost() && last && last === target && isUsable(last)) last = null;
      move();
    });
  });
  // Not all browsers report that what has the focus is removed. A dialog that closes returns the focus itself.
  new MutationObserver(() => isLost() && last && setTimeout(move)).observe(document.body, {
    subtree: true,
    childList: true,
    attributeFilter: ["disabled"],
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
