// Tooltips are built from text nodes: names of benches and parameters are never read as HTML.
import { color } from "./theme.js";

export function look() {
  return {
    backgroundColor: color("raised"),
    borderColor: color("line-strong"),
    borderWidth: 1,
    padding: [6, 10],
    textStyle: { color: color("ink"), fontSize: 12 },
    confine: true,
    transitionDuration: 0,
    extraCssText: "box-shadow: 0 2px 10px rgb(0 0 0 / 15%); font-variant-numeric: tabular-nums",
  };
}

/** A title and lines of [name, value]. */
export function tip(title, lines) {
  const box = document.createElement("div");
  const head = document.createElement("strong");
  head.textContent = title;
  box.append(head);
  for (const [name, value] of lines) {
    const line = document.createElement("div");
    line.className = "tip-line";
    const left = document.createElement("span");
    const right = document.createElement("span");
    left.textContent = name;
    right.textContent = value;
    line.append(left, right);
    box.append(line);
  }
  return box;
}
