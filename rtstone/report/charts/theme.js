// Light or dark: the system's choice until the reader makes one.  Colours live in style.css alone;
// charts ask for them by the name of the custom property.
const KEY = "rtstone-theme";
const root = document.documentElement;
const system = matchMedia("(prefers-color-scheme: dark)");
let probe;

export function color(name) {
  if (!probe) {
    probe = document.createElement("span");
    probe.hidden = true;
    document.body.append(probe);
  }
  probe.style.color = `var(--${name})`;
  return getComputedStyle(probe).color;
}

export function isDark() {
  return root.dataset.theme ? root.dataset.theme === "dark" : system.matches;
}

function remembered() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be closed to files
  }
}

function remember(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // the choice then lasts as long as the page
  }
}

export function setUpTheme(button, changed) {
  const show = () => {
    button.setAttribute("aria-pressed", String(isDark()));
    button.hidden = false;
  };
  const theme = remembered();
  if (theme === "dark" || theme === "light") root.dataset.theme = theme;
  show();
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    remember(root.dataset.theme);
    show();
    changed();
  });
  system.addEventListener("change", () => {
    show();
    changed();
  });
}

/** Paper is white: makes the page light, and returns what undoes that. */
export function light() {
  const before = root.dataset.theme;
  root.dataset.theme = "light";
  return () => {
    if (before === undefined) delete root.dataset.theme;
    else root.dataset.theme = before;
  };
}
