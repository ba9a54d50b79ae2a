// A chart as a file of its own: title, axes, legend, one generic font, and no need of this page.
import { init } from "./echarts.js";
import { lines, piece } from "./series.js";
import { color, light } from "./theme.js";

const WIDTH = 720; // CSS pixels of a saved chart
const HEAD = 52; // for title and subtitle
const KEY = 18; // height of a line of the legend
const KEYS = 3; // in a line of the legend
const ESCAPED = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
// XML has no way to hold most control characters.
const UNHELD = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g;

export const escaped = (text) =>
  text.replace(UNHELD, "�").replace(/[&<>"]/g, (sign) => ESCAPED[sign]);

/** Downloads a chart as it is shown: the same view, the same lines. */
export function save(chart, charts) {
  const link = document.createElement("a");
  const url = URL.createObjectURL(new Blob([drawing(chart, charts)], { type: "image/svg+xml" }));
  link.href = url;
  link.download = `${heads(chart)[0].toLowerCase().replace(/[^\p{L}\p{N}.]+/gu, "-").slice(0, 80)}.svg`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The chart as the text of an SVG file, light whatever the page is. */
export function drawing(chart, charts) {
  const bright = light();
  try {
    const spec = charts.spec(chart);
    const kind = charts.kind(chart);
    const height = kind.height ? kind.height(spec, WIDTH) : Math.max(chart.clientHeight, 320);
    const made = init(null, null, { renderer: "svg", ssr: true, width: WIDTH, height });
    const { follow, tooltip, ...option } = kind.option(spec, WIDTH);
    made.setOption({ animation: false, textStyle: { fontFamily: "sans-serif" }, ...option });
    const inner = made.renderToSVGString();
    made.dispose();
    return framed(inner, height, heads(chart), keys(chart, charts));
  } finally {
    bright();
  }
}

function heads(chart) {
  const run = chart.closest("article");
  const title = run?.querySelector("h1, h2.of-run") ?? document.querySelector("h1");
  return [chart.ariaLabel.split(";")[0], [title?.textContent, run?.querySelector("[id$='-id']")?.textContent]
    .filter(Boolean).join(", ")];
}

/** The legend: [markup of the sample, text] of each line that is shown. */
function keys(chart, charts) {
  const spec = charts.spec(chart);
  const all = lines(spec).map(({ name, more }, i) => [i, `${name} ${more}`.trim()]);
  if (charts.switchable(chart)) {
    const shown = ([i]) => !charts.off(chart).has(i);
    const behind = spec.corrected?.some(shown) ? [["", "pale: with what was missed"]] : [];
    return [...all.filter(shown).map(([i, text]) => [piece(i, color), text]), ...behind];
  }
  return all.map(([i, text]) =>
    [`<rect x="8" width="10" height="10" fill="${color(spec.series[i][0])}"/>`, text]);
}

/** As much of a text as fits; `desc` and `title` have all of it. */
function cut(text, size) {
  const most = Math.floor((WIDTH - 28) / (size * 0.58));
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function framed(inner, height, [title, subtitle], legend) {
  const column = (WIDTH - 24) / KEYS;
  const whole = HEAD + height + KEY * Math.ceil(legend.length / KEYS) + 8;
  const texts = legend.map(([sample, text], i) => {
    const at = `translate(${14 + (i % KEYS) * column} ${HEAD + height + KEY * Math.floor(i / KEYS)})`;
    return `<g transform="${at}">${sample}` +
      `<text x="34" y="9" font-size="11" fill="${color("ink")}">${escaped(text)}</text></g>`;
  });
  const line = (y, size, weight, ink, text) => `<text x="14" y="${y}" font-size="${size}" ` +
    `font-weight="${weight}" fill="${color(ink)}">${escaped(cut(text, size))}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${whole}" ` +
    `viewBox="0 0 ${WIDTH} ${whole}" font-family="sans-serif" role="img">` +
    `<title>${escaped(title)}</title><desc>${escaped(subtitle)}</desc>` +
    `<rect width="100%" height="100%" fill="#ffffff"/>` +
    line(22, 14, 600, "ink", title) + line(40, 11, 400, "muted", subtitle) +
    `<g transform="translate(0 ${HEAD})">${inner}</g>${texts.join("")}</svg>\n`;
}
