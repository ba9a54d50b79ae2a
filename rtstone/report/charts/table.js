// The numbers behind a chart, as a table, made when the reader asks for them.
export function fillTable(box, { head, rows }, caption) {
  const table = document.createElement("table");
  table.className = "plain";
  const title = table.createCaption();
  title.className = "hidden-text";
  title.textContent = caption;
  const top = table.createTHead().insertRow();
  for (const name of head) {
    const cell = document.createElement("th");
    cell.scope = "col";
    cell.textContent = name;
    top.append(cell);
  }
  const body = table.createTBody();
  for (const row of rows) {
    const line = body.insertRow();
    for (const text of row) line.insertCell().textContent = text;
  }
  box.replaceChildren(table);
}
