"""A comparison as a table in LaTeX: a row for each case, the numbers of each system beside it."""

from __future__ import annotations

from rtstone.documents.comparison import Comparison
from rtstone.report.comparison import words
from rtstone.report.parts import model_latex
from rtstone.report.parts.model import Cell, Grid, Head, Notes, Page, Section


def latex(comparison: Comparison) -> str:
    """Return the table of all cases."""
    lines, reasons = words.table(comparison, words.row_names(comparison))
    numbers = words.numbers(comparison)
    timed = any(line.time for line in lines)
    heads = [Head("", "n"), *([Head("", "time")] if timed else [])]
    heads += [Head(column.label, name) for column in comparison.columns for name in numbers]
    rows = []
    for line in lines:
        cells = [Cell(line.n), *([Cell(line.time)] if timed else [])]
        for entry in line.entries:
            texts = entry.marked if entry.values else [entry.marked[0], *[""] * len(numbers)]
            cells += map(Cell, (texts + [""] * len(numbers))[: len(numbers)])
        rows.append((Head("", str(line.name)), cells))
    names = ", ".join(column.label for column in comparison.columns)
    section = Section(
        "systems", f"{names} compared", [Grid("case", heads, rows), Notes(reasons, "footnotes")]
    )
    return model_latex.write(Page(f"Comparison of {names}", [section], {}), "compared")
