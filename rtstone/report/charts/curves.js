// Several lines over a parameter.
import { look } from "./axis.js";
import { quantity } from "./format.js";
import { style } from "./series.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const value = (v, unit) => (v === null ? "–" : quantity(v, unit));

/** Points of a logarithmic axis must be above 0. */
const shown = (points, log) => points.map(([x, y]) => [x, log && !(y > 0) ? null : y]);

const line = ({ ink, dash, shape }) => ({ type: "line", symbol: shape, symbolSize: 6,
  showAllSymbol: true, itemStyle: { color: ink }, lineStyle: { width: 1.5, color: ink, type: dash } });

/** Options of an axis that has a tick with a name at each of some values. */
function named(places, base) {
  const names = new Map(places);
  const at = places.map(([x]) => x);
  return { axisTick: { show: true, customValues: at, lineStyle: { color: color("line-strong") } },
    axisLabel: { ...base.axisLabel, customValues: at, formatter: (v) => names.get(v) ?? "" } };
}

/** `above`: names of values on an axis above the plot.  `ticks`: the same below it; `names`: of each
 * point, in tooltip and table.  A `bare` series is a line without points, one of `dots` has no line. */
export function curves({ over, above, ticks, names, unit, axis, log, most, series, off }) {
  const base = look();
  const xs = series[0].points.map((p) => p[0]);
  const range = { min: Math.min(...xs), max: Math.max(...xs) };
  return {
    grid: { left: 62, right: 18, top: above ? 48 : 30, bottom: 40 },
    tooltip: {
      ...tooltip(),
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: color("muted") } },
      formatter: (hits) => tip(names ? names[hits[0].dataIndex] : `${over} ${hits[0].value[0]}`,
        hits.map((h) => [h.seriesName, value(h.value[1], unit)])),
    },
    xAxis: [
      { type: "value", name: over, nameLocation: "middle", nameGap: 24, ...range, ...base,
        splitLine: { show: false }, ...(ticks ? named(ticks, base) : {}) },
      ...(above ? [{ type: "value", position: "top", ...range, ...base, splitLine: { show: false },
        ...named(above, base) }] : []),
    ],
    yAxis: { type: log ? "log" : "value", ...(log ? {} : { min: 0 }), ...(most ? { max: most } : {}),
      name: axis ?? "", ...base,
      nameTextStyle: { align: "left", color: color("muted"), fontSize: 11,
        padding: [0, 0, above ? 14 : 0, -56] },
      axisLabel: { ...base.axisLabel, formatter: (v) => quantity(v, unit) } },
    series: series.map((s, i) => ({ ...line(style(i)), ...(s.bare ? { symbol: "none" } : {}),
      ...(s.dots ? { lineStyle: { width: 0 } } : {}),
      name: s.name, data: shown(s.points, log) }))
      .filter((_, i) => !off?.has(i)),
  };
}

export function curvesTable({ over, names, unit, series }) {
  return {
    head: [over, ...series.map((s) => s.name)],
    rows: series[0].points.map(([x], i) =>
      [names ? names[i] : String(x), ...series.map((s) => value(s.points[i][1], unit))]),
  };
}
