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
