// One line per result from minimum to maximum, on one axis, so that a family is seen at a glance.
// A row of a comparison has the colour of its `system`, a number.
import { gridLines, log, logAxis, ticks } from "./axis.js";
import { axisName, count, quantity } from "./format.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const NARROW = 620; // below this the label stands above its line

export function rangesHeight({ rows }, width) {
  return rows.length * (width < NARROW ? 36 : 24) + 60;
}

export function rangesTable({ unit, marks, rows }) {
  return { head: ["result", "n", ...marks], rows: rows.map((row) =>
    [row.label, count(row.n), ...row.at.map((v) => (v === null ? "–" : quantity(v, unit)))]) };
}

/** `marks`: what the numbers of a row are, in their order; one that has no shape is only in the tooltip and the table. */
export function ranges(chart, width) {
  const { unit, floor, marks } = chart;
  const rows = chart.rows.map((r) => ({ ...r, ...Object.fromEntries(marks.map((m, i) => [m, r.at[i]])) }));
  const narrow = width < NARROW;
  const present = rows.flatMap((r) => marks.map((m) => r[m]).filter((v) => v !== null));
  const exps = present.map((v) => log(v, floor));
  const span = Math.max(...exps) - Math.min(...exps) || 0.5;
  const low = Math.min(...exps) - span * 0.03;
  const high = Math.max(...exps) + span * 0.03;
  const xTicks = ticks(low, high);
  const ink = { line: color("faint"), bar: color("observed"), mid: color("ink"),
    worst: color("worst"), text: color("ink"), paper: color("paper") };
  const inks = rows.map((r) => (r.system === undefined ? ink.bar : color(`series-${r.system % 7}`)));
  const draw = (params, api) => {
    const row = rows[api.value(0)];
    const ownInk = inks[api.value(0)];
    const y = api.coord([low, api.value(0)])[1] + (narrow ? 7 : 0);
    const x = (m) => (row[m] === null ? null : api.coord([log(row[m], floor), 0])[0]);
    const at = Object.fromEntries(marks.map((m) => [m, x(m)]));
    const known = marks.map((m) => at[m]).filter((v) => v !== null);
    const bar = (a, b, h, fill) => ({ type: "rect", style: { fill },
      shape: { x: a, y: y - h / 2, width: Math.max(b - a, 1.5), height: h } });
    const parts = [bar(Math.min(...known), Math.max(...known), 1.5, ink.line)];
    if (at.p50 !== null && at["p99.9"] !== null) parts.push(bar(at.p50, at["p99.9"], 4, ink.line));
    if (at.p50 !== null && at.p99 !== null) parts.push(bar(at.p50, at.p99, 9, ownInk));
    if (at.min !== null) parts.push(bar(at.min - 0.75, at.min + 0.75, 9, ink.line));
    if (at.p50 !== null) {
      parts.push({ type: "circle", shape: { cx: at.p50, cy: y, r: 4.5 },
        style: { fill: ink.paper, stroke: ownInk, lineWidth: 2.5 } });
    }
    if (at.max !== null) {
      parts.push({ type: "polygon", style: { fill: ink.worst },
        shape: { points: [[at.max, y - 5.5], [at.max + 5.5, y], [at.max, y + 5.5],
          [at.max - 5.5, y]] } });
    }
    if (narrow) {
      parts.push({ type: "text", style: { text: row.label, x: api.coord([low, 0])[0] + 2, y: y - 20,
        fill: ink.text, fontSize: 11, width: width - 24, overflow: "truncate" } });
    }
    parts.push({ type: "rect", style: { fill: "transparent" },
      shape: { x: api.coord([low, 0])[0], y: y - 12, width: width, height: 24 } });
    return { type: "group", children: parts };
  };
  return {
    grid: { left: narrow ? 8 : Math.min(420, width * 0.36), right: 22, top: 8, bottom: 44 },
    tooltip: {
      ...tooltip(),
      trigger: "item",
      formatter: ({ dataIndex }) => {
        const row = rows[dataIndex];
        return tip(row.label, [
          ["n", count(row.n)],
          ["load", row.load],
          ...(row.time ? [["time", row.time]] : []),
          ...marks.filter((m) => row[m] !== null).map((m) => [m, quantity(row[m], unit)]),
        ]);
      },
    },
    xAxis: logAxis({ low, high, at: xTicks, label: (v) => quantity(v, unit), name: axisName(unit),
      nameLocation: "middle", nameGap: 26 }),
    yAxis: {
      type: "category",
      inverse: true,
      data: rows.map((r) => r.label),
      axisLine: { show: false },
      axisTick: { show: false },
      axisLabel: { show: !narrow, color: ink.text, fontSize: 12, interval: 0,
        width: Math.min(400, width * 0.34 - 10), overflow: "truncate" },
    },
    series: [
      gridLines(xTicks, "xAxis"),
      { type: "custom", renderItem: draw, encode: { y: 0 }, data: rows.map((_, i) => [i]),
        clip: false, cursor: "pointer" },
    ],
    follow: (index) => `#${rows[index].id}`,
  };
}
