// Shows the rows of one verdict, and says how many that are.
export function setUpFilter(box) {
  const rows = [...document.querySelectorAll("tr[data-verdict]")];
  const tally = box.querySelector("output");
  box.hidden = false;
  box.addEventListener("change", () => {
    const wanted = box.querySelector("input:checked").value;
    for (const row of rows) row.hidden = wanted !== "" && row.dataset.verdict !== wanted;
    tally.textContent = `${rows.filter((row) => !row.hidden).length} of ${rows.length} shown`;
  });
}
