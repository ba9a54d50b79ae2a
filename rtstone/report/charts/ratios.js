// How the largest differences compare with the first system: a ratio and its interval per row.
import { gridLines, logAxis } from "./axis.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const NARROW = 800; // below this the label stands above its line
export const INKS = { better: "good", worse: "worst", "no difference": "observed", inconclusive: "muted" };

export function ratiosHeight({ rows }, width) {
  return rows.length * (width < NARROW ? 40 : 26) + 60;
}

/** Ticks at 1 and at factors that a reader counts in, symmetric about 1. */
export function factors(end) {
  const steps = end > 1000 ? [10, 100, 1000, 1e4, 1e5, 1e6, 1e9] : end > 30 ? [10, 100, 1000] :
    end > 5 ? [2, 5, 10, 20] : end > 1.8 ? [1.25, 1.5, 2, 3, 5] : [1.05, 1.1, 1.2, 1.3, 1.5];
  const within = steps.filter((s) => s <= end);
  return [...within.map((s) => 1 / s).reverse(), 1, ...within].map(Math.log10);
}

/** "12×" above 1, "1/12" below. */
export function factor(ratio) {
  if (Math.abs(ratio - 1) < 1e-9) return "equal";
  const times = Number((ratio > 1 ? ratio : 1 / ratio).toPrecision(3));
  return ratio > 1 ? `${times}×` : `1/${times}`;
}

export function ratios({ end, over, rows }, width) {
  const narrow = width < NARROW;
  const edge = Math.log10(end);
  const at = factors(end);
  const ink = { text: color("ink"), paper: color("paper"), muted: color("muted") };
  const inks = rows.map((row) => color(INKS[row.verdict]));
  const within = (ratio) => Math.min(Math.max(Math.log10(Math.max(ratio, 1e-12)), -edge), edge);
  const draw = (params, api) => {
    const row = rows[api.value(0)];
    const own = inks[api.value(0)];
    const y = api.coord([0, api.value(0)])[1] + (narrow ? 8 : 0);
    const x = (ratio) => api.coord([within(ratio), 0])[0];
    const known = row.verdict === "better" || row.verdict === "worse";
    const parts = [];
    if (row.ci95) {
      const [low, high] = row.ci95.map(x);
      parts.push({ type: "line", shape: { x1: low, y1: y, x2: high, y2: y },
        style: { stroke: own, lineWidth: 2, lineDash: known ? null : [3, 2] } });
      row.ci95.forEach((ratio, side) => {
        const out = Math.abs(Math.log10(Math.max(ratio, 1e-12))) > edge + 1e-9;
        const [tipAt, way] = [x(ratio), side ? -5 : 5];
        parts.push({ type: "polyline", style: { stroke: own, lineWidth: 2, fill: "none" },
          shape: { points: out ? [[tipAt + way, y - 4], [tipAt, y], [tipAt + way, y + 4]] :
            [[tipAt, y - 4], [tipAt, y + 4]] } });
      });
    }
    const size = 5;
    const middle = x(row.ratio);
    // Slower points to the right, faster to the left; what is not certain is hollow.
    const way = row.ratio >= 1 ? size : -size;
    parts.push({ type: "polygon",
      style: { fill: known ? own : ink.paper, stroke: own, lineWidth: 1.5 },
      shape: { points: [[middle + way, y], [middle - way, y - size], [middle - way, y + size]] } });
    if (narrow) {
      parts.push({ type: "text", style: { text: row.label, x: api.coord([-edge, 0])[0] + 2, y: y - 22,
        fill: ink.text, fontSize: 11, width: width - 24, overflow: "truncate" } });
    }
    parts.push({ type: "rect", style: { fill: "transparent" },
      shape: { x: api.coord([-edge, 0])[0], y: y - 12, width, height: 24 } });
    return { type: "group", children: parts };
  };
  return {
    grid: { left: narrow ? 8 : Math.min(470, width * 0.4), right: 26, top: 8, bottom: 44 },
    tooltip: { ...tooltip(), trigger: "item",
      formatter: ({ dataIndex }) => tip(rows[dataIndex].label, rows[dataIndex].told) },
    xAxis: logAxis({ low: -edge, high: edge, at, label: factor, name: over, nameLocation: "middle",
      nameGap: 26 }),
    yAxis: { type: "category", inverse: true, data: rows.map((row) => row.label),
      axisLine: { show: false }, axisTick: { show: false },
      axisLabel: { show: !narrow, color: ink.text, fontSize: 12, interval: 0,
        width: Math.min(454, width * 0.4 - 16), overflow: "truncate" } },
    series: [
      gridLines(at, "xAxis"),
      { type: "custom", renderItem: draw, encode: { y: 0 }, data: rows.map((_, i) => [i]),
        clip: false, cursor: "pointer" },
    ],
    follow: (index) => rows[index].link,
  };
}

export function ratiosTable({ rows }) {
  const names = rows[0].told.map(([name]) => name);
  return { head: ["case", ...names], rows: rows.map((row) => [row.label, ...row.told.map(([, v]) => v)]) };
}
