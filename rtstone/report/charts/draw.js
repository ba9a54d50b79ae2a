// Draws charts when they come into view, and again when the theme, the width or the medium changes.
import { curves, curvesTable } from "./curves.js";
import { init } from "./echarts.js";
import { heat, heatTable } from "./heat.js";
import { histogram, histogramTable } from "./histogram.js";
import { percentiles, percentilesTable } from "./percentiles.js";
import { ranges, rangesHeight } from "./ranges.js";
import { slope, slopeTable } from "./slopes.js";
import { trace, traceTable } from "./trace.js";

export const KINDS = {
  histogram: { option: histogram, table: histogramTable, caption: "Distribution",
    says: (title) => `Histogram of ${title}, both axes logarithmic` },
  percentiles: { option: percentiles, table: percentilesTable, caption: "Percentiles",
    says: (title) => `Percentile curve of ${title}` },
  trace: { option: trace, table: traceTable, caption: "Over time",
    says: (title) => `Minimum, mean and maximum over time of ${title}` },
  heat: { option: heat, table: heatTable, caption: "Block maxima in the order of the samples",
    says: (title) => `Map of the maxima of blocks of samples, in their order, of ${title}` },
  slope: { option: slope, table: slopeTable },
  curves: { option: curves, table: curvesTable },
  deadlines: { option: curves, table: curvesTable, caption: "Deadlines missed and skipped",
    says: (title) => `Share of deadlines missed and skipped over utilisation, ${title}` },
  lateness: { option: curves, table: curvesTable, caption: "Summed lateness",
    says: (title) => `Summed lateness over utilisation, ${title}` },
  ranges: { option: ranges, height: rangesHeight },
};
const PAPER_WIDTH = 660; // CSS pixels of a chart over the width of a printed page

export class Charts {
  constructor(data) {
    this.data = data;
    this.drawn = new Map(); // element to chart
    this.seen = new IntersectionObserver((entries) => this.#arrive(entries), {
      rootMargin: "300px 0px",
    });
    this.resized = new ResizeObserver((entries) => {
      if (!this.printing) for (const { target } of entries) this.#fit(target);
    });
    this.observe(document);
  }

  /** Draws the charts below a node when they come into view. */
  observe(node) {
    for (const element of node.querySelectorAll("[data-chart]")) this.seen.observe(element);
  }

  #arrive(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && target.clientWidth > 0) this.draw(target);
    }
  }

  draw(element, width = element.clientWidth) {
    const spec = this.data[element.dataset.chart];
    const kind = KINDS[spec.kind];
    if (kind.height) element.style.height = `${kind.height(spec, width)}px`;
    const height = element.clientHeight || 260;
    let chart = this.drawn.get(element);
    if (chart) {
      chart.resize({ width, height });
    } else {
      chart = init(element, null, { renderer: "svg", width, height });
      this.drawn.set(element, chart);
      this.seen.unobserve(element);
      this.resized.observe(element);
    }
    const { follow, ...option } = kind.option(spec, width);
    chart.setOption({ animation: false, textStyle: { fontFamily: "inherit" }, ...option }, true);
    chart.off("click");
    if (follow) chart.on("click", ({ dataIndex }) => { location.hash = follow(dataIndex); });
    element.dataset.drawn = String(Math.round(width));
  }

  #fit(element) {
    const width = element.clientWidth;
    if (width > 0 && element.dataset.drawn !== String(Math.round(width))) this.draw(element);
  }

  redraw() {
    for (const element of this.drawn.keys()) if (element.clientWidth > 0) this.draw(element);
      else delete element.dataset.drawn;
  }

  /** All that is not closed, in the width of paper; returns what brings the screen back. */
  drawForPrint() {
    this.printing = true;
    for (const element of document.querySelectorAll("[data-chart]")) {
      if (element.closest("details:not([open])")) continue;
      const share = element.closest(".pair") ? 2 : 1;
      this.draw(element, PAPER_WIDTH / share - (share - 1) * 8);
    }
    return () => {
      this.printing = false;
      this.redraw();
    };
  }

  table(id) {
    const spec = this.data[id];
    return KINDS[spec.kind].table(spec);
  }
}
