// Numbers for people.  The scales of units and the names of axes come with the page's data;
// words.py and html.py hold them.
let scales = {};
let axes = {};

export function setUnits(units, names) {
  scales = units;
  axes = names;
}

/** What an axis of values in this unit is called. */
export function axisName(unit) {
  return axes[unit] ?? unit;
}

const MINUS = "−";
const NARROW = " ";

export function count(n) {
  const digits = String(Math.round(Math.abs(n))).replace(/\B(?=(\d{3})+$)/g, NARROW);
  return (n < 0 ? MINUS : "") + digits;
}

/** A value with its unit and at most three significant digits. */
export function quantity(value, unit) {
  if (value === null || value === undefined) return "unknown";
  if (value === 0) return `0${NARROW}${unit}`;
  const size = Number(Math.abs(value).toPrecision(3));
  const scale = scales[unit] ?? [[unit, 1]];
  const [name, factor] = scale.find(([, f]) => size >= f) ?? scale.at(-1);
  const digits = Number((size / factor).toPrecision(3));
  return `${value < 0 ? MINUS : ""}${digits}${NARROW}${name}`;
}

/** "99.9%" for x = 1000: the percentile beyond which one sample in x lies. */
export function percentile(x) {
  const decimals = Math.max(0, Math.ceil(Math.log10(x) - 1e-9) - 2);
  const percent = 100 * (1 - 1 / x);
  return `${x > 1 && x < 100 ? Number(percent.toFixed(1)) : percent.toFixed(decimals)}%`;
}
