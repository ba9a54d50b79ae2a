// What stands around a chart: the choice between its views, the legend, and "Save SVG".
import { lines, legend } from "./series.js";
import { save } from "./svg.js";
import { element } from "./table.js";

const VIEWS = { histogram: "Histogram", percentiles: "Percentiles" };

/** Adds them to a figure, once; charts in one [data-shared] box share the legend of the first. */
export function setUpFigure(chart, charts) {
  const figure = chart.closest("figure");
  if (!figure || figure.querySelector(".chart-tools")) return;
  const tools = element("div", "chart-tools");
  figure.querySelector("figcaption").after(tools);
  if (chart.dataset.views) tools.append(views(chart, charts));
  setUpLegend(chart, charts, figure);
  tools.append(saver(chart, charts));
}

function setUpLegend(chart, charts, figure) {
  const named = charts.switchable(chart) ? lines(charts.spec(chart)) : [];
  if (!named.length) return;
  const shared = chart.closest("[data-shared]");
  if (shared?.querySelector(".keys")) return;
  const all = () => (shared ? [...shared.querySelectorAll("[data-chart]")] : [chart]);
  const made = legend(named, charts.off(chart), () => {
    for (const one of all()) charts.refresh(one);
  });
  if (shared) shared.prepend(made);
  else figure.querySelector(".chart-tools").after(made);
}

/** A button for each view of the data: one is pressed. */
function views(chart, charts) {
  const box = element("span", "views");
  box.role = "group";
  box.ariaLabel = "View";
  const made = chart.dataset.views.split(" ").map((id) => {
    const button = element("button", "", VIEWS[charts.data[id].kind]);
    button.type = "button";
    button.ariaPressed = String(id === chart.dataset.chart);
    button.addEventListener("click", () => {
      for (const other of made) other.ariaPressed = String(other === button);
      charts.show(chart, id);
    });
    return button;
  });
  box.append(...made);
  return box;
}

function saver(chart, charts) {
  const button = element("button", "save", "Save SVG");
  button.type = "button";
  button.ariaLabel = `Save SVG: ${chart.ariaLabel}`;
  button.addEventListener("click", () => save(chart, charts));
  return button;
}
