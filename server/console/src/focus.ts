/** Lets screen readers and keyboards begin at the view, unless the view has moved the focus itself. */
export function focusMain(): void {
  const main = document.getElementById("main");
  if (main && !main.contains(document.activeElement)) main.focus();
}
