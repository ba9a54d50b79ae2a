// Charts of boxes, which the page holds already: moves the focus among them, describes the box that
// has it, and widens a part to the whole.  Places are custom properties of the boxes, in per cent
// (style.css).
const KEYS = {
  ArrowRight: (box, boxes) => beside(box, boxes, 1),
  ArrowLeft: (box, boxes) => beside(box, boxes, -1),
  ArrowDown: (box, boxes) => across(box, boxes, 1),
  ArrowUp: (box, boxes) => across(box, boxes, -1),
  Home: (box, boxes) => inRow(boxes, box.row)[0],
  End: (box, boxes) => inRow(boxes, box.row).at(-1),
};
const HINT = "Point at a box, or move with the arrow keys; a click or Enter widens it, Escape shows all.";
const NEAR = 1e-3; // per cent, to which places are rounded

const inRow = (boxes, row) => boxes.filter((b) => b.row === row).sort((a, b) => a.left - b.left);

function beside(box, boxes, step) {
  const row = inRow(boxes, box.row);
  return row[row.indexOf(box) + step];
}

/** The box above, or the widest below. */
function across(box, boxes, step) {
  return inRow(boxes, box.row + step)
    .filter((b) => b.left < box.right - NEAR && b.right > box.left + NEAR)
    .sort((a, b) => b.right - b.left - (a.right - a.left))[0];
}

export function setUpBoxes(chart) {
  const says = chart.closest("figure").querySelector(".box-says");
  const number = (element, name) => Number(element.style.getPropertyValue(name));
  const boxes = [...chart.querySelectorAll(".box")].map((element) => {
    const left = number(element, "--x");
    return { element, left, right: left + number(element, "--w"), row: number(element, "--r") };
  });
  const of = (element) => boxes.find((b) => b.element === element);
  const hint = boxes.some(({ row }) => row) ? HINT : "";
  let current = boxes[0];

  const describe = (box) => {
    says.textContent = box?.element.ariaLabel ?? hint;
    says.classList.toggle("muted", !box);
  };
  const widen = (from, to) => {
    chart.style.setProperty("--from", from);
    chart.style.setProperty("--span", Math.max(to - from, NEAR));
    chart.classList.toggle("widened", to - from < 100);
  };
  const enter = (box) => {
    current.element.tabIndex = -1;
    current = box;
    box.element.tabIndex = 0;
    // What is outside of a widened part would have no width.
    const from = number(chart, "--from");
    const to = from + (number(chart, "--span") || 100);
    if (box.right <= from + NEAR || box.left >= to - NEAR) widen(0, 100);
    describe(box);
  };

  describe(null);
  chart.addEventListener("focusin", ({ target }) => enter(of(target)));
  chart.addEventListener("focusout", () => describe(null));
  chart.addEventListener("mouseover", ({ target }) => describe(of(target.closest(".box")) ?? null));
  chart.addEventListener("mouseleave", () => {
    describe(chart.contains(document.activeElement) ? current : null);
  });
  chart.addEventListener("click", ({ target }) => {
    const box = of(target.closest(".box"));
    if (box) widen(box.left, box.right);
  });
  chart.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") widen(current.left, current.right);
    else if (event.key === "Escape") widen(0, 100);
    else if (event.key in KEYS) KEYS[event.key](current, boxes)?.element.focus();
    else return;
    event.preventDefault();
  });
}
