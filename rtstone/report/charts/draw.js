// Draws charts when they come into view or there is time, and again when the theme, the width or
// the medium changes.
import { axes, axesHeight, axesTable } from "./axes.js";
import { curves, curvesTable } from "./curves.js";
import { init } from "./echarts.js";
import { setUpFigure } from "./figure.js";
import { heat, heatTable } from "./heat.js";
import { histogram, histogramTable } from "./histogram.js";
import { PAPER_WIDTH } from "./paper.js";
import { percentiles, percentilesTable } from "./percentiles.js";
import { ranges, rangesHeight, rangesTable } from "./ranges.js";
import { ratios, ratiosHeight, ratiosTable } from "./ratios.js";
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
  ranges: { option: ranges, table: rangesTable, height: rangesHeight },
  axes: { option: axes, table: axesTable, height: axesHeight },
  ratios: { option: ratios, table: ratiosTable, height: ratiosHeight },
};
const MARGIN = 300; // CSS pixels below and above what is in view

/** What is in a closed details has a size, and is not seen. */
const visible = (element) => element.clientWidth > 0 && !element.closest("details:not([open])");

const inView = (element) => {
  const { top, bottom } = element.getBoundingClientRect();
  return visible(element) && bottom > -MARGIN && top < innerHeight + MARGIN;
};

export class Charts {
  constructor(data) {
    this.data = data;
    this.drawn = new Map(); // element to chart
    this.hidden = new Map(); // element, or what it shares its legend in, to numbers of lines
    this.seen = new IntersectionObserver((entries) => this.#arrive(entries), {
      rootMargin: `${MARGIN}px 0px`,
    });
    this.resized = new ResizeObserver((entries) => {
      if (!this.printing) for (const { target } of entries) this.#fit(target);
    });
  }

  /** Draws the charts below a node that are in view, and that beside the verdict wherever it is, so
   * that no picture of the page lacks it; others when they come into view, or before that if there
   * is time. */
  observe(node) {
    const found = [...node.querySelectorAll("[data-chart]")];
    const firsts = [...node.querySelectorAll(".opening [data-chart]")].filter(visible);
    for (const element of found) {
      setUpFigure(element, this);
      if (this.drawn.has(element)) continue;
      if (inView(element) || firsts.includes(element)) this.draw(element);
      else this.seen.observe(element);
    }
    const rest = (deadline) => {
      while (found.length && deadline.timeRemaining() > 2) {
        const element = found.shift();
        if (visible(element) && !this.drawn.has(element)) this.draw(element);
      }
      if (found.length) requestIdleCallback(rest);
    };
    if ("requestIdleCallback" in window) requestIdleCallback(rest);
  }

  /** What a chart draws, without the lines that are switched off. */
  spec(element) {
    return { ...this.data[element.dataset.chart], off: this.off(element) };
  }

  kind(element) {
    return KINDS[this.data[element.dataset.chart].kind];
  }

  /** The numbers of the lines that are switched off. */
  off(element) {
    const owner = element.closest("[data-shared]") ?? element;
    if (!this.hidden.has(owner)) this.hidden.set(owner, new Set());
    return this.hidden.get(owner);
  }

  /** True if lines can be switched: where they are no two sides of one distribution. */
  switchable(element) {
    const { kind, overlay } = this.data[element.dataset.chart];
    return overlay || KINDS[kind].option === curves;
  }

  /** Draws another view in the place of a chart. */
  show(element, id) {
    element.dataset.chart = id;
    element.ariaLabel = this.kind(element).says(element.dataset.title);
    this.refresh(element);
  }

  refresh(element) {
    if (this.drawn.has(element)) this.draw(element);
    element.dispatchEvent(new Event("redrawn", { bubbles: true }));
  }

  #arrive(entries) {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting && target.clientWidth > 0) this.draw(target);
    }
  }

  draw(element, width = element.clientWidth) {
    const spec = this.spec(element);
    const kind = this.kind(element);
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
    // By its name: "inherit" cannot be measured.
    const { fontFamily } = getComputedStyle(element);
    chart.setOption({ animation: false, textStyle: { fontFamily }, ...option }, true);
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
      if (!visible(element)) continue;
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
