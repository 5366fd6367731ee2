// Ways to begin a search from any view: a shortcut, and pasting an address anywhere.

import { address, go } from "../../router.ts";
import { searchText, wantsSearch } from "./search_box.tsx";
import { pastedAddress } from "./search_text.ts";

/** Shows the list with the cursor in its search box. */
export function startSearch(): void {
  if (!address.value.path.startsWith("/subscribers")) go("/subscribers");
  focus();
}

/** Searches for an address that is pasted outside of fields. */
export function findPasted(event: ClipboardEvent): void {
  const target = event.target instanceof Element ? event.target : document.body;
  if (target.closest("input, textarea, dialog, [popover]") || document.querySelector("dialog:modal")) return;
  const found = pastedAddress(event.clipboardData?.getData("text/plain") ?? "");
  if (!found) return;
  event.preventDefault();
  go(`/subscribers?q=${encodeURIComponent(found)}`);
  // Enter can follow at once.
  searchText.value = found;
  focus();
}

/** Shows the cursor in the box: at once, so that it gets the next keys, or when it is shown. */
function focus(): void {
  const box = document.getElementById("search");
  if (box instanceof HTMLInputElement) {
    box.focus();
    box.select();
  } else wantsSearch.value = true;
}
