// Starts the console: texts and session are read at the same time, then the view is shown.

import { effect } from "@preact/signals";
import { render } from "preact";
import { notify } from "./announce.ts";
import { App } from "./app.tsx";
import { loadLater } from "./components/later.tsx";
import { restored } from "./connection.ts";
import { explainCutTexts } from "./cut_texts.ts";
import { keepFocus } from "./focus.ts";
import { listenForKeys } from "./keys.ts";
import { showTheme } from "./preferences.ts";
import { followLinks } from "./router.ts";
import { load, session } from "./session.ts";
import { loadTexts, t } from "./texts.ts";
import { takeToken } from "./views/signin.tsx";
import "./styles/console.css";

/** After this time in ms, the first view has loaded. */
const LATER = 2_000;

takeToken();
showTheme();
followLinks();
listenForKeys();
keepFocus();
explainCutTexts();
document.addEventListener("click", ({ target, defaultPrevented }) => {
  if (!defaultPrevented && (target as Element).closest("a[download]")) notify(t("download.begins"));
});
const loading = load().catch(() => {});
await loadTexts();
await loading;
effect(() => {
  // The server did not respond to the first request.
  if (restored.value && session.peek() === undefined) void load().catch(() => {});
});
const root = document.getElementById("console");
if (root) {
  root.replaceChildren();
  render(<App />, root);
  setTimeout(() => loadLater().catch(() => {}), LATER);
}
