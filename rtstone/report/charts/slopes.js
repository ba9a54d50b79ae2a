// A statistic over a parameter, the fitted line, and the wedge of slopes the 95% interval allows.
import { look } from "./axis.js";
import { quantity } from "./format.js";
import { color } from "./theme.js";
import { look as tooltip, tip } from "./tooltip.js";

export function slope(chart) {
  const { unit, points, names, over, statistic } = chart;
  const xs = points.map((p) => p[0]);
  const nameOf = new Map(xs.map((x, i) => [x, names[i]]));
  const mx = xs.reduce((a, b) => a + b, 0) / xs.length;
  const my = points.reduce((a, p) => a + p[1], 0) / points.length;
  const low = Math.min(...xs);
  const high = Math.max(...xs);
  const on = (slope) => (x) => my + slope * (x - mx);
  const [fit, least, most] = [chart.slope, ...chart.ci95].map(on);
  const ink = color("observed");
  const line = (y, type, width) => ({
    type: "line", silent: true, showSymbol: false, tooltip: { show: false },
    lineStyle: { color: ink, type, width }, data: [[low, y(low)], [high, y(high)]],
  });
  const wedge = (params, api) => ({
    type: "polygon",
    silent: true,
    shape: { points: [[low, least(low)], [mx, my], [low, most(low)]].map((p) => api.coord(p)) },
    style: { fill: ink, opacity: 0.13 },
  });
  const wedge2 = (params, api) => ({
    type: "polygon",
    silent: true,
    shape: { points: [[high, least(high)], [mx, my], [high, most(high)]].map((p) => api.coord(p)) },
    style: { fill: ink, opacity: 0.13 },
  });
  const custom = (renderItem) => ({ type: "custom", renderItem, data: [[mx, my]], silent: true,
    clip: true, tooltip: { show: false } });
  const ys = [...points.map((p) => p[1]), least(low), most(low), least(high), most(high)];
  const pad = (Math.max(...ys) - Math.min(...ys)) * 0.08 || Math.abs(my) * 0.05 || 1;
  return {
    grid: { left: 62, right: 18, top: 30, bottom: 40 },
    tooltip: {
      ...tooltip(),
      trigger: "item",
      formatter: ({ value, dataIndex }) => tip(`${over} ${names[dataIndex]}`, [[statistic, quantity(value[1], unit)]]),
    },
    xAxis: { type: "value", name: over, nameLocation: "middle", nameGap: 24, min: low, max: high,
      ...look(), splitLine: { show: false },
      axisTick: { show: true, customValues: xs },
      axisLabel: { ...look().axisLabel, customValues: xs, showMinLabel: true, formatter: (x) => nameOf.get(x) ?? "" } },
    yAxis: { type: "value", scale: true, min: Math.min(...ys) - pad, max: Math.max(...ys) + pad,
      name: statistic, ...look(),
      axisLabel: { ...look().axisLabel, showMinLabel: false, showMaxLabel: false,
        formatter: (v) => quantity(v, unit) },
      nameTextStyle: { align: "left", color: color("muted"), fontSize: 11, padding: [0, 0, 0, -56] } },
    series: [
      custom(wedge), custom(wedge2),
      line(fit, "solid", 2),
      { type: "scatter", symbolSize: 9, data: points, z: 5,
        itemStyle: { color: color("paper"), borderColor: ink, borderWidth: 2.5 } },
    ],
  };
}

export function slopeTable({ unit, over, points, names, statistic }) {
  return { head: [over, statistic], rows: points.map(([, y], i) => [names[i], quantity(y, unit)]) };
}
