// Minimum, mean and maximum of successive windows of time.
import { gridLines, log, logAxis, look, ticks } from "./axis.js";
import { axisName, quantity } from "./format.js";
import { rows as unflatten } from "./rows.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const WIDTH = 4;

/** Rows of start, min, mean, max; only where values are times is the start one, in s. */
function windows({ unit, width, rows }) {
  return { name: unit === "ns" ? "s" : "",
    rows: unflatten(rows, WIDTH).map(([at, ...values]) => [at * width, ...values]) };
}

export function trace(chart) {
  const { unit, floor } = chart;
  const { name: seconds, rows } = windows(chart);
  const values = rows.flatMap((r) => [log(r[1], floor), log(r[3], floor)]);
  const span = Math.max(...values) - Math.min(...values) || 0.2;
  const low = Math.min(...values) - span * 0.08;
  const high = Math.max(...values) + span * 0.08;
  const yTicks = ticks(low, high);
  const worst = unflatten(chart.worst, 2);
  const each = rows.length > 1 ? rows.at(-1)[0] - rows.at(-2)[0] : chart.width;
  const end = rows.at(-1)[0] + each; // a window is drawn from its start to that of the next
  const line = (name, index, width, extra = {}) => ({
    type: "line",
    name,
    showSymbol: false,
    step: "end",
    itemStyle: { color: color(extra.ink ?? "observed") },
    lineStyle: { width, color: color(extra.ink ?? "observed") },
    data: [...rows, [end, ...rows.at(-1).slice(1)]].map((r) => [r[0], log(r[index], floor)]),
    z: extra.z ?? 2,
  });
  return {
    grid: { left: 58, right: 18, top: 34, bottom: 40 },
    tooltip: {
      ...tooltip(),
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: color("muted") } },
      formatter: (hits) => {
        const [at, min, mean, max] = rows[Math.min(hits[0].dataIndex, rows.length - 1)];
        return tip(`at ${Number(at.toPrecision(4))} ${seconds}`, [
          ["max", quantity(max, unit)],
          ["mean", quantity(mean, unit)],
          ["min", quantity(min, unit)],
        ]);
      },
    },
    xAxis: {
      type: "value",
      min: rows[0][0],
      max: Math.max(end, ...worst.map(([at]) => at)),
      name: seconds ? "time since the section began" : "since the section began",
      nameLocation: "middle",
      nameGap: 24,
      ...look(),
      splitLine: { show: false },
      axisLabel: { ...look().axisLabel, showMaxLabel: false, formatter: (v) => `${Number(v.toPrecision(3))} ${seconds}`.trim() },
    },
    yAxis: logAxis({ low, high, at: yTicks, label: (v) => quantity(v, unit), name: axisName(unit),
      nameTextStyle: { align: "left", color: color("muted"), fontSize: 11, padding: [0, 0, 0, -52] } }),
    series: [
      gridLines(yTicks, "yAxis"),
      line("max", 3, 1.2, { ink: "worst", z: 3 }),
      line("mean", 2, 1.6, { z: 4 }),
      line("min", 1, 1.2, { ink: "faint", z: 3 }),
      { type: "scatter", silent: true, symbol: "diamond", symbolSize: 8, z: 5, clip: false,
        itemStyle: { color: color("worst") },
        data: worst.map(([at, value]) => [at, log(value, floor)]) },
    ],
  };
}

export function traceTable(chart) {
  const { name: seconds, rows } = windows(chart);
  return {
    head: ["from", "min", "mean", "max"],
    rows: rows.map(([at, ...v]) => [`${Number(at.toPrecision(5))} ${seconds}`,
      ...v.map((x) => quantity(x, chart.unit))]),
  };
}
