import { signal } from "@preact/signals";

// A row has two lines on a phone.
const phone = matchMedia("(width < 720px)");
const height = signal(heightNow());
phone.addEventListener("change", () => (height.value = heightNow()));

function heightNow(): number {
  return phone.matches ? 60 : 36;
}

/** Returns the height of a row in pixels. */
export function useRowHeight(): number {
  return height.value;
}
