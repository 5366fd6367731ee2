// Runs before the page is drawn, so that the theme does not change while it loads.
"use strict";

document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("docs-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Without storage, the theme is that of the system.
}
