// How often the largest of a block of samples fell into a range of values, over the samples in order.
import { gridLines, logAxis, look, ticks } from "./axis.js";
import { axisName, count, quantity } from "./format.js";
import { rows } from "./rows.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const FAINTEST = 0.18; // of a cell that holds one block

/** Cells as [first sample, sample after the last, low, high (exponents), blocks]. */
function cells({ grid, block, each, blocks, cells: flat }) {
  return rows(flat, 3).map(([x, y, n]) => [x * each * block, Math.min((x + 1) * each, blocks) * block,
    grid.start + y * grid.width, grid.start + (y + 1) * grid.width, n]);
}

export function heat(chart) {
  const { unit } = chart;
  const data = cells(chart);
  const low = Math.min(...data.map((c) => c[2]));
  const high = Math.max(...data.map((c) => c[3]));
  const most = Math.max(...data.map((c) => c[4]));
  const yTicks = ticks(low, high);
  const ink = color("observed");
  const shade = (n) => (most > 1 ? FAINTEST + (1 - FAINTEST) * Math.log(n) / Math.log(most) : 1);
  const draw = (params, api) => {
    const [left, top] = api.coord([api.value(0), api.value(3)]);
    const [right, bottom] = api.coord([api.value(1), api.value(2)]);
    return { type: "rect", style: { fill: ink, opacity: shade(api.value(4)) },
      shape: { x: left, y: top, width: Math.max(right - left - 0.5, 1), height: bottom - top - 0.5 } };
  };
  return {
    grid: { left: 58, right: 18, top: 34, bottom: 40 },
    tooltip: { ...tooltip(), trigger: "item",
      formatter: ({ value: [from, to, least, largest, n] }) =>
        tip(`samples ${count(from + 1)} to ${count(to)}`, [
          ["block maxima", `${quantity(10 ** least, unit)} to ${quantity(10 ** largest, unit)}`],
          ["blocks", count(n)],
        ]) },
    xAxis: { type: "value", min: 0, max: Math.max(...data.map((c) => c[1])), name: "sample",
      nameLocation: "middle", nameGap: 24, ...look(), splitLine: { show: false },
      axisLabel: { ...look().axisLabel, showMaxLabel: false, formatter: count } },
    yAxis: logAxis({ low, high, at: yTicks, label: (v) => quantity(v, unit), name: axisName(unit),
      nameTextStyle: { align: "left", color: color("muted"), fontSize: 11, padding: [0, 0, 0, -52] } }),
    series: [
      gridLines(yTicks, "yAxis"),
      { type: "custom", renderItem: draw, encode: { x: [0, 1], y: [2, 3] }, data, clip: true },
    ],
  };
}

export function heatTable(chart) {
  return {
    head: ["samples", "block maxima from", "to", "blocks"],
    rows: cells(chart).map(([from, to, least, largest, n]) => [`${count(from + 1)} to ${count(to)}`,
      quantity(10 ** least, chart.unit), quantity(10 ** largest, chart.unit), count(n)]),
  };
}
