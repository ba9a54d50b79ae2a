// Speed against determinism: a point per case, over the ratio of medians and the ratio of spreads.
import { gridLines, logAxis } from "./axis.js";
import { factor, factors, INKS } from "./ratios.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const NARROW = 620; // below this the words of a corner stand in two lines
const ROOM = 1.15; // times the vertical axis, for the words in its corners

export function axesHeight(chart, width) {
  return Math.round(Math.min(Math.max(width * 0.6, 320), 460));
}

export function axes({ ends, over, corners, rows }, width) {
  const narrow = width < NARROW;
  const edges = ends.map((end, axis) => Math.log10(end) * (axis ? ROOM : 1));
  const ticks = ends.map((end) => factors(end));
  const ink = { text: color("ink"), paper: color("paper"), muted: color("muted") };
  const exponent = (ratio) => Math.log10(Math.max(ratio, 1e-12));
  const within = (ratio, axis) => Math.min(Math.max(exponent(ratio), -edges[axis]), edges[axis]);

  /** The interval of an axis; where it goes on beyond the edge, an arrow. */
  const bar = (row, axis, at) => {
    if (!row.ci95[axis]) return [];
    const known = row.verdicts[axis] !== "inconclusive";
    const style = { stroke: color(INKS[row.verdicts[axis]]), lineWidth: 1.5, fill: "none" };
    const turned = (along, across) => (axis ? [across, along] : [along, across]);
    const [low, high] = row.ci95[axis].map((ratio) => at(ratio, axis));
    const middle = at(row.ratios[1 - axis], 1 - axis);
    const parts = [{ type: "polyline", style: { ...style, lineDash: known ? null : [3, 2] },
      shape: { points: [turned(low, middle), turned(high, middle)] } }];
    row.ci95[axis].forEach((ratio, side) => {
      if (Math.abs(exponent(ratio)) <= edges[axis] + 1e-9) return;
      const end = side ? high : low;
      const way = (side ? -5 : 5) * (axis ? -1 : 1); // upwards is less in pixels
      parts.push({ type: "polyline", style, shape: { points:
        [turned(end + way, middle - 4), turned(end, middle), turned(end + way, middle + 4)] } });
    });
    return parts;
  };
  const draw = (params, api) => {
    const row = rows[api.value(2)];
    const at = (ratio, axis) => api.coord(axis ? [0, within(ratio, 1)] : [within(ratio, 0), 0])[axis];
    const [x, y] = row.ratios.map(at);
    const known = row.verdicts.every((verdict) => verdict !== "inconclusive");
    return { type: "group", children: [
      ...bar(row, 0, at), ...bar(row, 1, at),
      { type: "circle", shape: { cx: x, cy: y, r: 4.5 },
        style: { fill: known ? ink.text : ink.paper, stroke: known ? ink.text : ink.muted,
          lineWidth: 1.5 } },
      { type: "circle", shape: { cx: x, cy: y, r: 11 }, style: { fill: "transparent" } },
    ] };
  };
  const corner = (params, api) => {
    const { x, y, width: wide, height: high } = params.coordSys;
    const place = params.dataIndex;
    const [right, below] = [place % 2, place > 1];
    const text = narrow ? corners[place].replace(", ", ",\n") : corners[place];
    return { type: "text", style: { text, fill: ink.muted, fontSize: narrow ? 10 : 11, lineHeight: 13,
      x: right ? x + wide - 6 : x + 6, y: below ? y + high - 6 : y + 6,
      align: right ? "right" : "left", verticalAlign: below ? "bottom" : "top" } };
  };
  const line = (axis) => ({ type: "line", silent: true, data: [], markLine: { silent: true, z: 1,
    symbol: "none", animation: false, label: { show: false },
    lineStyle: { color: color("line-strong"), type: "solid", width: 1 }, data: [{ [axis]: 0 }] } });
  const scale = (axis) => ({ low: -edges[axis], high: edges[axis], at: ticks[axis], label: factor });
  return {
    grid: { left: 58, right: 18, top: 26, bottom: 44 },
    tooltip: { ...tooltip(), trigger: "item",
      formatter: ({ value }) => tip(rows[value[2]].label, rows[value[2]].told) },
    xAxis: logAxis({ ...scale(0), name: over[0], nameLocation: "middle", nameGap: 26 }),
    yAxis: logAxis({ ...scale(1), name: over[1],
      nameTextStyle: { align: "left", color: ink.muted, fontSize: 11, padding: [0, 0, 0, -50] } }),
    series: [
      gridLines(ticks[0], "xAxis"), gridLines(ticks[1], "yAxis"), line("xAxis"), line("yAxis"),
      { type: "custom", renderItem: corner, silent: true, tooltip: { show: false },
        data: corners.map(() => [0, 0]) },
      { type: "custom", renderItem: draw, encode: { x: 0, y: 1 }, clip: false, cursor: "pointer", z: 5,
        data: rows.map((row, i) => [within(row.ratios[0], 0), within(row.ratios[1], 1), i]) },
    ],
    follow: (index) => rows[index].link,
  };
}

export function axesTable({ rows }) {
  const names = rows[0].told.map(([name]) => name);
  return { head: ["case", ...names], rows: rows.map((row) => [row.label, ...row.told.map(([, v]) => v)]) };
}
