// The switch between light and dark. Until it is used, the system decides.

const root = document.documentElement;
const systemIsDark = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : systemIsDark.matches;
}

function nameTheSwitch() {
  one(".theme").setAttribute("aria-label", isDark() ? "Use light colours" : "Use dark colours");
}

one(".theme").addEventListener("click", () => {
  root.dataset.theme = isDark() ? "light" : "dark";
  always.set("theme", root.dataset.theme);
  nameTheSwitch();
});
systemIsDark.addEventListener("change", nameTheSwitch);
nameTheSwitch();
