// Logarithmic axes.  They hold log10 of the data on a linear axis, so that decades, bounds and the
// place of values that have no logarithm are ours to choose.
import { color } from "./theme.js";

/** log10, with what lies below the floor at the floor; captions count what that concerns. */
export function log(value, floor) {
  return Math.log10(Math.max(value, floor));
}

/** Ticks at 1, or at 1, 2 and 5, times powers of ten between two exponents. */
export function ticks(low, high) {
  const steps = high - low > 2.2 ? [1] : high - low > 0.7 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 7];
  const found = [];
  for (let e = Math.floor(low); e <= Math.ceil(high); e += 1) {
    for (const s of steps) {
      const at = e + Math.log10(s);
      if (at >= low - 1e-9 && at <= high + 1e-9) found.push(at);
    }
  }
  return found;
}

export function look() {
  return {
    nameTextStyle: { color: color("muted"), fontSize: 11 },
    axisLine: { show: true, onZero: false, lineStyle: { color: color("line-strong") } },
    axisLabel: { color: color("muted"), fontSize: 11, hideOverlap: true },
    splitLine: { show: true, lineStyle: { color: color("line") } },
  };
}

/** A linear ECharts axis over exponents, labelled with `label(10 ** exponent)`. */
export function logAxis({ low, high, label, at = ticks(low, high), ...rest }) {
  const base = look();
  return {
    type: "value",
    min: low,
    max: high,
    ...base,
    axisTick: { show: true, customValues: at, lineStyle: { color: color("line-strong") } },
    axisLabel: { ...base.axisLabel, customValues: at, formatter: (v) => label(10 ** v) },
    ...rest,
    splitLine: { show: false },
  };
}

/** Faint lines across the plot at the ticks of a log axis; `dim` is "xAxis" or "yAxis". */
export function gridLines(at, dim) {
  return {
    type: "line",
    silent: true,
    data: [],
    markLine: {
      z: 0,
      silent: true,
      symbol: "none",
      animation: false,
      label: { show: false },
      lineStyle: { color: color("line"), type: "solid", width: 1 },
      data: at.map((v) => ({ [dim]: v })),
    },
  };
}
