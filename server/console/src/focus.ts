/** Lets screen readers and keyboards begin at the view, unless the view has moved the focus itself. */
export function focusMain(): void {
  const main = document.getElementById("main");
  if (main && !main.contains(document.activeElement)) main.focus();
}

/** Moves the focus to where it was before a dialog that is being removed; if that disappears too, to a dialog or the view. */
export function returnFocus(before: Element | null): void {
  const isLost = () => document.activeElement === document.body;
  // An item of a menu is not shown anymore.
  const menu = before?.closest("[popover]")?.id;
  const to = menu ? document.querySelector(`[popovertarget="${menu}"]`) : before;
  // Until the dialog is removed, nothing else can have the focus.
  queueMicrotask(() => isLost() && to instanceof HTMLElement && to.focus());
  setTimeout(() => {
    if (!isLost()) return;
    document.querySelector<HTMLElement>("dialog:modal :is(input, textarea, select, button):enabled")?.focus();
    focusMain();
  });
}
