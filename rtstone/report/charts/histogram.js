// Counts over value, both logarithmic: every sample is seen, the rare ones too.
import { gridLines, log, logAxis, ticks } from "./axis.js";
import { axisName, count, quantity } from "./format.js";
import { rows } from "./rows.js";
import { pale, point, style, withCorrected } from "./series.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const NARROWEST = 0.4; // decades of the axis of values, so that it has ticks
const BASE = Math.log10(0.5); // a column of one sample still stands above the ground

/** Columns [low, high, count] in exponents, from a grid of `width` and pairs index, count. */
function columns({ start, width }, flat) {
  return rows(flat, 2).map(([i, n]) => [start + i * width, start + (i + 1) * width, n]);
}

function drawColumn(params, api) {
  const [left, top] = api.coord([api.value(0), Math.log10(api.value(2))]);
  const [right, bottom] = api.coord([api.value(1), BASE]);
  const width = Math.max(right - left, 2);
  return {
    type: "rect",
    shape: { x: (left + right - width) / 2, y: top, width, height: Math.max(bottom - top, 1) },
    style: { fill: api.visual("color") },
  };
}

/** The outline of columns: a line that breaks where there are none. */
function outline(drawn) {
  const points = [];
  let end = null;
  for (const [low, high, n] of drawn) {
    const y = Math.log10(n);
    if (end === null || low - end > 1e-9) {
      if (end !== null) points.push([end, BASE], [end, null]);
      points.push([low, BASE]);
    }
    points.push([low, y], [high, y]);
    end = high;
  }
  return [...points, [end, BASE]];
}

/** Distributions over each other: outlines, with a point at p50, p99, p99.9 and the maximum; pale
 * behind them what they are with what was missed. */
function outlines({ unit, grid, series, points, corrected = [], off }, drawn) {
  const behind = corrected.filter(([i]) => !off?.has(i)).map(([i, pairs]) =>
    ({ type: "line", data: outline(columns(grid, pairs)), showSymbol: false, silent: true, z: 2,
      lineStyle: pale(i) }));
  return [...behind, ...series.flatMap(([name], i) => {
    if (off?.has(i)) return [];
    const { ink, dash } = style(i);
    const height = (x) => drawn[i].find(([, high]) => x <= high)?.[2] ?? drawn[i].at(-1)[2];
    const at = points[i].map(([label, value]) => {
      const x = log(value, grid.floor);
      return { name: label, value: [x, Math.log10(height(x))], told: value };
    });
    return [
      { type: "line", name, data: outline(drawn[i]), showSymbol: false, silent: true, z: 3,
        lineStyle: { width: 1.6, color: ink, type: dash }, itemStyle: { color: ink } },
      { ...point(i), name, data: at,
        tooltip: { formatter: ({ data }) => tip(name, [[data.name, quantity(data.told, unit)]]) } },
    ];
  })];
}

export function histogram(chart) {
  const { unit, grid, series, marks = [], points, corrected = [] } = chart;
  const drawn = series.map(([, pairs]) => columns(grid, pairs));
  const all = [...drawn, ...corrected.map(([, pairs]) => columns(grid, pairs))].flat();
  const markAt = marks.map(([name, value]) => ({ xAxis: log(value, grid.floor), name }));
  const ends = [Math.min(...all.map((c) => c[0]), ...markAt.map((m) => m.xAxis)),
    Math.max(...all.map((c) => c[1]), ...markAt.map((m) => m.xAxis))];
  const pad = Math.max(grid.width * 2, (NARROWEST - (ends[1] - ends[0])) / 2);
  const [low, high] = [ends[0] - pad, ends[1] + pad];
  const top = Math.log10(Math.max(...all.map((c) => c[2]))) + 0.15;
  // Decades, and whole numbers between them where there is one decade only.
  const whole = (v) => Math.abs(v - Math.round(v)) < 1e-9;
  const yTicks = ticks(0, top).filter((v) => whole(v) || (top < 1 && whole(10 ** v)));
  return {
    grid: { left: 46, right: 16, top: 34, bottom: 40 },
    tooltip: {
      ...tooltip(),
      trigger: "item",
      formatter: ({ value, seriesName }) =>
        tip(`${quantity(10 ** value[0], unit)} to ${quantity(10 ** value[1], unit)}`, [
          [seriesName, count(value[2])],
        ]),
    },
    xAxis: logAxis({ low, high, label: (v) => quantity(v, unit), name: axisName(unit),
      nameLocation: "middle", nameGap: 24 }),
    yAxis: logAxis({ low: BASE, high: top, at: yTicks, label: count, name: "samples",
      nameTextStyle: { align: "left", color: color("muted"), fontSize: 11, padding: [0, 0, 0, -40] } }),
    series: [
      gridLines(yTicks, "yAxis"),
      ...points ? outlines(chart, drawn) : series.map(([name], i) => ({
        type: "custom",
        name,
        renderItem: drawColumn,
        encode: { x: [0, 1], y: 2 },
        itemStyle: { color: color(name) },
        data: drawn[i],
        clip: true,
      })),
      {
        type: "line",
        silent: true,
        data: [],
        markLine: {
          silent: true,
          symbol: "none",
          lineStyle: { color: color("muted"), type: [3, 3], width: 1 },
          label: { formatter: ({ name }) => name, color: color("muted"), fontSize: 10, rotate: 0,
            distance: 4 },
          data: spread(markAt, (high - low) / 14),
        },
      },
    ],
  };
}

/** Labels of marks that stand too close are put above each other, or left out; the lines remain. */
function spread(marks, gap) {
  const last = [-Infinity, -Infinity]; // of each row
  return marks.map((m) => {
    const row = last.findIndex((at) => m.xAxis - at >= gap);
    if (row >= 0) last[row] = m.xAxis;
    return { ...m, label: { show: row >= 0, distance: 3 + 11 * row } };
  });
}

export function histogramTable({ unit, grid, series, corrected }) {
  const found = new Map();
  const all = withCorrected(series, corrected);
  all.forEach(([, pairs], k) => {
    for (const [i, n] of rows(pairs, 2)) {
      if (!found.has(i)) found.set(i, all.map(() => 0));
      found.get(i)[k] = n;
    }
  });
  const edge = (i) => quantity(10 ** (grid.start + i * grid.width), unit);
  return {
    head: ["from", "to", ...all.map(([name]) => name)],
    rows: [...found].sort((a, b) => a[0] - b[0])
      .map(([i, counts]) => [edge(i), edge(i + 1), ...counts.map(count)]),
  };
}
