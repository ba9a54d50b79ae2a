// The value below which a share of the samples lies; each decade to the right is ten times rarer.
import { gridLines, log, logAxis, ticks } from "./axis.js";
import { axisName, percentile, quantity } from "./format.js";
import { pale, point, style, withCorrected } from "./series.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

const ENOUGH = 10; // samples that must lie beyond a percentile for it to count as known

/** Series of points (1 / (1 - q), percentile q), evenly spaced on a logarithmic axis, to the max;
 * without those that lie beyond the histogram (null). */
function curves(steps, series) {
  return series.map(([name, n, values]) => ({ name, n, points: values.map((v, i) =>
    [i === values.length - 1 ? n : 10 ** (i / steps), v]).filter(([, v]) => v !== null) }));
}

/** Curves of what was observed and missed, behind the lines. */
function behind({ steps, corrected = [], floor, off }) {
  const made = curves(steps, corrected);
  return made.map(({ name: i, points }) => ({ i, off: off?.has(i),
    data: points.map(([x, v]) => [Math.log10(x), log(v, floor)]) }));
}

export function percentiles(chart) {
  const { unit, floor } = chart;
  const series = curves(chart.steps, chart.series);
  const points = series.map((s) => s.points.map(([x, v]) => [Math.log10(x), log(v, floor)]));
  const more = behind(chart);
  const every = [...points, ...more.map((one) => one.data)].flat();
  const values = every.map((p) => p[1]);
  const span = Math.max(...values) - Math.min(...values) || 0.2;
  const low = Math.min(...values) - span * 0.08;
  const high = Math.max(...values) + span * 0.08;
  const right = Math.max(...every.map((p) => p[0]), 1);
  const at = [Math.log10(2)];
  for (let e = 1; e <= right + 1e-9; e += 1) at.push(e);
  const yTicks = ticks(low, high);
  const inks = series.map((s, i) => (chart.overlay ? style(i) : { ink: color(s.name), dash: "solid" }));
  const last = (s, i) => ({ ...point(i), name: s.name, silent: true, data: [points[i].at(-1)] });
  const line = (s, i, known) => ({
    type: "line",
    name: s.name,
    showSymbol: false,
    symbolSize: 5,
    itemStyle: { color: inks[i].ink },
    lineStyle: { width: known ? 2 : 1.2, color: inks[i].ink, type: known ? inks[i].dash : [1, 3] },
    data: points[i].filter(([x]) => {
      const edge = Math.log10(Math.max(s.n / ENOUGH, 1));
      return known ? x <= edge + 1e-9 : x >= edge - 1 / 20;
    }),
  });
  return {
    grid: { left: 58, right: 18, top: 34, bottom: 40 },
    tooltip: {
      ...tooltip(),
      trigger: "axis",
      axisPointer: { type: "line", lineStyle: { color: color("muted") } },
      formatter: (hits) =>
        tip(
          percentile(10 ** hits[0].value[0]),
          [...new Map(hits.map((h) => [h.seriesName, quantity(10 ** h.value[1], unit)]))],
        ),
    },
    xAxis: logAxis({ low: 0, high: right, at, label: percentile, name: "percentile",
      nameLocation: "middle", nameGap: 24 }),
    yAxis: logAxis({ low, high, at: yTicks, label: (v) => quantity(v, unit), name: axisName(unit),
      nameTextStyle: { align: "left", color: color("muted"), fontSize: 11, padding: [0, 0, 0, -52] } }),
    series: [
      gridLines(yTicks, "yAxis"),
      gridLines(at, "xAxis"),
      ...more.filter((one) => !one.off).map(({ i, data }) => ({ type: "line", data,
        name: `${series[i].name} corrected`, showSymbol: false, symbolSize: 5, z: 1,
        itemStyle: { color: inks[i].ink, opacity: 0.5 }, lineStyle: pale(i) })),
      ...series.flatMap((s, i) => (chart.off?.has(i) ? [] :
        [line(s, i, true), line(s, i, false), ...(chart.overlay ? [last(s, i)] : [])])),
    ],
  };
}

export function percentilesTable(chart) {
  return {
    head: ["distribution", "percentile", "one in", "value"],
    rows: curves(chart.steps, withCorrected(chart.series, chart.corrected)).flatMap((s) =>
      s.points.map(([x, v]) => [s.name, percentile(x), String(Number(x.toPrecision(3))),
        quantity(v, chart.unit)])),
  };
}
