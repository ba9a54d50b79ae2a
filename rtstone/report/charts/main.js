import { setUpBoxes } from "./boxes.js";
import { setUpCards } from "./cards.js";
import { Details } from "./details.js";
import { Charts } from "./draw.js";
import { setUpFilter } from "./filter.js";
import { setUnits } from "./format.js";
import { fitTables } from "./paper.js";
import { table } from "./table.js";
import { light, setUpTheme } from "./theme.js";
import { unpack } from "./unpack.js";

let charts = null; // until there is the data
let details = null;
const results = [...document.querySelectorAll("details.result")];

setUpCards();
for (const box of document.querySelectorAll(".filter")) setUpFilter(box);
for (const chart of document.querySelectorAll("[data-boxes]")) setUpBoxes(chart);
setUpTheme(document.getElementById("theme"), () => charts?.redraw());

/** The fragment of the address names a result: open it, so that the link leads somewhere. */
function openTarget() {
  let target = null;
  try {
    target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return; // a malformed fragment names nothing
  }
  for (let box = target?.closest("details"); box; box = box.parentElement.closest("details")) {
    box.open = true;
  }
  const result = target?.closest("details.result");
  if (!result) {
    target?.scrollIntoView({ block: "start" });
    return;
  }
  details.fill(result);
  result.open = true;
  result.querySelector("summary").focus({ preventScroll: true });
  result.scrollIntoView({ block: "start" });
}

/** The whole row of a table leads to the result; its link does so for the keyboard. */
function followRows() {
  for (const row of document.querySelectorAll("tr[data-href]")) {
    row.addEventListener("click", (event) => {
      if (event.target.closest("a") || String(getSelection())) return;
      if (location.hash === row.dataset.href) openTarget();
      else location.hash = row.dataset.href;
    });
  }
  for (const link of document.querySelectorAll('a[href^="#r"]')) {
    link.addEventListener("click", () => {
      if (location.hash === link.getAttribute("href")) openTarget();
    });
  }
}

function openAndCloseAll() {
  for (const button of document.querySelectorAll("button[data-all]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      for (const result of results) result.open = button.dataset.all === "open";
    });
  }
}

/** The numbers behind a chart. */
function fillNumbers(box) {
  const chart = box.parentElement.querySelector("[data-chart]");
  const body = box.querySelector("div");
  if (body.dataset.of === chart.dataset.chart) return;
  body.dataset.of = chart.dataset.chart;
  body.replaceChildren();
  const caption = chart.ariaLabel;
  body.append(table({ caption, quiet: { caption: true }, ...charts.table(chart.dataset.chart) }));
  body.tabIndex = 0; // so that the keyboard can scroll it
  body.role = "group";
  body.ariaLabel = `Table: ${caption}`;
}

function fillWhatOpens() {
  // The event does not bubble, but it can be caught on its way down.
  document.addEventListener("toggle", ({ target }) => {
    if (!target.open) return;
    if (target.matches(".result")) details.fill(target);
    if (target.matches(".numbers")) fillNumbers(target);
  }, true);
  document.addEventListener("redrawn", ({ target }) => {
    const open = target.parentElement.querySelector(".numbers[open]");
    if (open) fillNumbers(open);
  });
  for (const result of results.filter((r) => r.open)) details.fill(result);
}

/** Paper has no details to open: beside those that the reader has opened it gets the evidence of
 * the findings, drawn before and closed again after. */
function fillPaper() {
  let undo = [];
  const named = [...document.querySelectorAll(".opening a, .findings a, .also a")]
    .map((link) => link.hash.slice(1));
  addEventListener("beforeprint", () => {
    const closed = [...results.filter((r) => !r.open && named.includes(r.id)),
      ...document.querySelectorAll("details.on-paper:not([open])")];
    for (const result of closed) {
      if (result.matches(".result")) details.fill(result);
      result.open = true;
    }
    undo = [
      () => closed.forEach((result) => { result.open = false; }),
      light(),
      fitTables(),
      charts.drawForPrint(),
    ];
  });
  addEventListener("afterprint", () => {
    for (const step of undo) step();
    undo = [];
  });
}

function start(data) {
  setUnits(data.units, data.axes);
  document.documentElement.classList.add("scripted");
  charts = new Charts(data.charts);
  charts.observe(document);
  details = new Details(data, charts);
  followRows();
  openAndCloseAll();
  fillWhatOpens();
  fillPaper();
  addEventListener("hashchange", openTarget);
  openTarget();
  document.documentElement.dataset.ready = "";
}

start(unpack("rtstone-data"));
