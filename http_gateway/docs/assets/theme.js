// The switch between the light and the dark theme. The default is that of the system.

const root = document.documentElement;
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches;
}

function labelThemeSwitch() {
  one(".theme").setAttribute("aria-label", isDark() ? "Use light colors" : "Use dark colors");
}

one(".theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  browserStorage.set("theme", root.dataset.theme);
  labelThemeSwitch();
});
systemIsDark.addEventListener("change", labelThemeSwitch);
labelThemeSwitch();
