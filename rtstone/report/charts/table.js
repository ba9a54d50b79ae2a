// Elements and tables, made when the reader asks for them.  All text is text, never HTML.
export function element(name, className, ...children) {
  const made = document.createElement(name);
  if (className) made.className = className;
  made.append(...children);
  return made;
}

/** A cell: text, or a dash that says why there is none. */
function content(cell) {
  if (!Array.isArray(cell)) return [cell];
  const dash = element("span", "none", "–");
  dash.ariaHidden = "true";
  return [dash, element("span", "hidden-text", cell[0])];
}

/** A table with a caption and heads; `names` head the rows, `quiet` hides what needs no telling. */
export function table({ caption, head, rows, named = false, quiet = {} }) {
  const made = element("table", "plain");
  const title = made.createCaption();
  title.textContent = caption;
  if (quiet.caption) title.className = "hidden-text";
  const top = made.createTHead();
  if (quiet.head) top.className = "hidden-text";
  const line = top.insertRow();
  head.forEach((name, i) => {
    const hidden = named && i === 0; // what heads the rows' names is plain to see
    line.append(heading("col", hidden ? element("span", "hidden-text", name) : name));
  });
  const body = made.createTBody();
  for (const [first, ...rest] of rows) {
    const row = body.insertRow();
    if (named) row.append(heading("row", first));
    else row.insertCell().append(...content(first));
    for (const cell of rest) row.insertCell().append(...content(cell));
  }
  return made;
}

function heading(scope, content) {
  const cell = element("th", "", content);
  cell.scope = scope;
  return cell;
}
