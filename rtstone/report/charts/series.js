// What distinguishes several lines: colour, dashes and the shape of their points, so that any of the
// three is enough.  The legend of a chart shows all three, and switches lines off and on.
import { element } from "./table.js";
import { color } from "./theme.js";

const COLOURS = 7;
const MANY = 7; // lines from which on they are switched all at once, too
const SHAPES = ["circle", "rect", "triangle", "diamond", "emptyCircle", "emptyRect", "emptyTriangle"];
const DASHES = ["solid", [7, 3], [2, 2], [8, 3, 2, 3], [14, 4], [5, 2, 1, 2, 1, 2], [1, 3]];
const OUTLINES = {
  circle: "M10.5 5a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
  rect: "M10.7 1.7h6.6v6.6h-6.6z",
  triangle: "M14 1l4 7.4h-8z",
  diamond: "M14 .7L18.3 5 14 9.3 9.7 5z",
};

/** The look of line `i`; after the seventh, colours return with other dashes and shapes. */
export function style(i) {
  const { name, ...rest } = form(i);
  return { ink: color(name), ...rest };
}

/** The points of line `i`, as options of a series of points. */
export function point(i) {
  const { ink, shape } = style(i);
  const [base, empty] = solid(shape);
  return { type: "scatter", symbol: base, symbolSize: 9, clip: false, z: 4,
    itemStyle: { color: empty ? color("paper") : ink, borderColor: ink, borderWidth: 1.5, opacity: 1 } };
}

/** The stroke of line `i` with what was missed, behind the line itself. */
export function pale(i) {
  return { width: 2.5, color: style(i).ink, opacity: 0.5, type: "solid" };
}

/** The series of a chart, each followed by itself with what was missed, if that adds anything. */
export function withCorrected(series, corrected = []) {
  return series.flatMap((one, i) => [one, ...corrected.filter(([of]) => of === i)
    .map(([, ...rest]) => [`${one[0]} corrected`, ...rest])]);
}

/** The outline of a shape, and whether it is hollow. */
function solid(shape) {
  return [shape.replace("empty", "").toLowerCase(), shape.startsWith("empty")];
}

function form(i) {
  const round = Math.floor(i / COLOURS);
  return { name: `series-${i % COLOURS}`, dash: DASHES[(i + round) % DASHES.length],
    shape: SHAPES[(i + 2 * round) % SHAPES.length] };
}

/** The names of the lines of a chart that has several, and what the legend adds to them. */
export function lines({ series, lines: details }) {
  if (!series || series.length < 2) return [];
  return series.map((s, i) => ({ name: Array.isArray(s) ? s[0] : s.name, more: details?.[i] ?? "" }));
}

/** A short piece of line `i` with its point, as SVG markup: made of numbers and colours alone.
 * `paint` turns the name of a colour into one. */
export function piece(i, paint) {
  const { name, dash, shape } = form(i);
  const ink = paint(name);
  const [base, empty] = solid(shape);
  const dashes = dash === "solid" ? "" : ` stroke-dasharray="${dash.join(" ")}"`;
  return `<path d="M0 5H28" style="fill:none;stroke:${ink};stroke-width:2"${dashes}/>` +
    `<path d="${OUTLINES[base]}" style="fill:${empty ? paint("paper") : ink};stroke:${ink}"/>`;
}

/** Buttons that switch lines; `changed` is called with the numbers of those that are off. */
export function legend(named, off, changed) {
  const box = element("div", "keys");
  box.role = "group";
  box.ariaLabel = "Lines shown";
  named.forEach(({ name, more }, i) => {
    const key = element("button", "key-line", swatch(i), element("span", "", name),
      ...(more ? [element("span", "muted", more)] : []));
    key.type = "button";
    key.ariaPressed = String(!off.has(i));
    key.addEventListener("click", () => {
      if (!off.delete(i)) off.add(i);
      key.ariaPressed = String(!off.has(i));
      changed();
    });
    box.append(key);
  });
  if (named.length > MANY) box.prepend(all(box, off, named.length, changed));
  return box;
}

/** A button that brings all lines back or, if none is off, takes all out, to look at single ones. */
function all(box, off, many, changed) {
  const button = element("button", "key-line", "All");
  button.type = "button";
  button.addEventListener("click", () => {
    const on = off.size > 0;
    off.clear();
    if (!on) for (let i = 0; i < many; i += 1) off.add(i);
    for (const key of box.querySelectorAll("[aria-pressed]")) key.ariaPressed = String(on);
    changed();
  });
  return button;
}

function swatch(i) {
  const image = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  image.setAttribute("viewBox", "0 0 28 10");
  image.setAttribute("width", "28");
  image.setAttribute("height", "10");
  image.setAttribute("aria-hidden", "true");
  image.innerHTML = piece(i, (name) => `var(--${name})`);
  return image;
}
