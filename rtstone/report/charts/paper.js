// What a page is on paper, where nothing can be scrolled.
export const PAPER_WIDTH = 660; // CSS pixels of the width of a printed page

/** Scales tables that are too wide for paper; returns what brings them back. */
export function fitTables() {
  const wide = [];
  for (const table of document.querySelectorAll(".scroll > table")) {
    table.style.width = "min-content";
    const share = PAPER_WIDTH / table.offsetWidth;
    table.style.width = "";
    if (share < 1) wide.push([table, share]);
  }
  for (const [table, share] of wide) table.style.zoom = share;
  return () => {
    for (const [table] of wide) table.style.zoom = "";
  };
}
