// Runs before anything is drawn, so that nothing is drawn twice.
"use strict";

document.documentElement.classList.add("js");
try {
  const theme = localStorage.getItem("roster-docs-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing shows what its system says.
}
