import { signal } from "@preact/signals";

const phone = matchMedia("(width < 720px)");
/** Whether the page has the width of a phone. */
export const isPhone = signal(phone.matches);
phone.addEventListener("change", () => (isPhone.value = phone.matches));
