// On a narrow screen the rows of a wide table become cards.  A table that is laid out otherwise is
// no table to a screen reader unless its parts say what they are, and its numbers need their names.
const ROLES = { TABLE: "table", THEAD: "rowgroup", TBODY: "rowgroup", TR: "row", TD: "cell" };

export function setUpCards() {
  for (const table of document.querySelectorAll("table.results")) {
    for (const part of [table, ...table.querySelectorAll("thead, tbody, tr, td, th")]) {
      part.role = ROLES[part.tagName] ?? (part.scope === "row" ? "rowheader" : "columnheader");
    }
    if (table.tHead.rows.length === 1) nameCells(table);
    table.classList.add("stacks");
  }
}

function nameCells(table) {
  const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  for (const row of table.tBodies[0].rows) {
    for (const cell of row.cells) cell.dataset.name ??= names[cell.cellIndex];
  }
}
