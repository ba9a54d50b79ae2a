"""A comparison as tables in LaTeX: below each case a row for each system; figures apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import Cell, Comparison, Row
from rtstone.report.comparison import words
from rtstone.report.parts import latex_cells, model_latex
from rtstone.report.parts import model as parts
from rtstone.report.parts.model import Grid, Head, Notes, Page, Section
from rtstone.summary import COLUMNS, LABELS, TAILS
from rtstone.units import seconds

_BESIDE = 6  # systems beside each other in the table of figures

_Case = tuple[Row, CaseName]


def latex(comparison: Comparison) -> str:
    """Return the tables of all cases."""
    names = ", ".join(column.label for column in comparison.columns)
    cases = list(zip(comparison.rows, words.row_names(comparison), strict=True))
    sampled = [case for case in cases if case[0].figure is None]
    figures = [case for case in cases if case[0].figure is not None]
    numbers = _numbers(comparison)
    sections = []
    if sampled:
        sections.append(_samples(comparison, sampled, numbers, names))
    if figures:
        sections.append(_figures(comparison, figures, names))
    used = {*numbers, "n", "time"}
    missing = [label for name, label in COLUMNS.items() if name not in used] if sampled else []
    notes = latex_cells.comments(
        [f"{column.label}: {words.runs_text(column)}" for column in comparison.columns],
        missing, "`rtstone compare --json` has them",
    )  # fmt: skip
    return model_latex.write(Page(f"Comparison of {names}", sections, {}, notes=notes), "compared")


def _numbers(comparison: Comparison) -> tuple[str, ...]:
    """Return the numbers that the table has of a cell: as many as fit a column of a paper.

    Of the tail the highest percentile that any cell has.
    """
    cells = [cell for row in comparison.rows for cell in row.cells if cell]
    tail = next((name for name in TAILS if any(getattr(c, name) is not None for c in cells)), "max")
    numbers = ("p50", *dict.fromkeys((tail, "max")))
    return (*numbers, "missed") if any(c.missed for c in cells) else ("min", *numbers)


def _samples(
    comparison: Comparison, cases: Sequence[_Case], numbers: Sequence[str], names: str
) -> Section:
    """Return the table of what was sampled."""
    cells = [c for row, _ in cases for c in row.cells if c and (c.n or c.missed)]
    notes = latex_cells.Footnotes([cell.flags for cell in cells])
    timed = any(cell.section_s is not None for cell in cells)
    heads = [Head("", "n"), *([Head("", "time")] if timed else [])]
    heads += [Head("", LABELS.get(name, name)) for name in numbers]

    def rows() -> Iterator[tuple[Head, list[parts.Cell]]]:
        for row, name in cases:
            yield Head("", latex_cells.named(str(name), row.unit)), []
            for column, cell in zip(comparison.columns, row.cells, strict=True):
                texts = _texts(cell, row.unit, numbers, timed=timed)
                if cell:
                    label = notes.marked(column.label, cell.status, cell.reason, cell.flags)
                else:
                    label = parts.Cell(column.label)
                yield Head("", label.marked), [parts.Cell(text) for text in texts]

    grid = Grid("system", heads, list(rows()))
    text = [
        *_circumstances(comparison, cases),
        latex_cells.units(row.unit for row, _ in cases),
        words.with_missed(comparison),
        "No activation was missed." if cells and all(c.missed == 0 for c in cells) else "",
        notes.shared,
    ]
    return Section(
        "systems", f"{names} compared", [grid, Notes(notes.texts, "footnotes")],
        " ".join(filter(None, text)),
    )  # fmt: skip


def _circumstances(comparison: Comparison, cases: Sequence[_Case]) -> Iterator[str]:
    """Yield what a caption says of the systems, and of what the names of cases leave out."""
    by_origin: dict[str, list[str]] = {}
    for column in comparison.columns:
        by_origin.setdefault(column.origin, []).append(column.label)
    for origin, labels in by_origin.items():
        if origin:
            yield f"{', '.join(labels)}: {origin}."
    yield latex_cells.circumstances([(name, row.params) for row, name in cases], comparison.benches)


def _texts(cell: Cell | None, unit: str, numbers: Sequence[str], *, timed: bool) -> list[str]:
    """Return the cells of a system's row; where there are no numbers, why not is the only one."""
    if cell is None or not (cell.n or cell.missed):
        return [cell.status if cell else words.NOT_RUN]
    n = latex_cells.whole(cell.n)
    texts = [f"{n} of {latex_cells.whole(cell.n + (cell.missed or 0))}" if cell.corrected else n]
    if timed:
        texts.append("-" if cell.section_s is None else seconds(cell.section_s))
    for name in numbers:
        if name != "missed":
            texts.append(latex_cells.number(getattr(cell, name), unit, cell.bucket_ns))
        elif cell.missed:
            share = words.share_text(cell.missed_share or 0.0)
            texts.append(f"{latex_cells.whole(cell.missed)} ({share})")
        else:
            texts.append("-" if cell.missed is None else "0")
    return texts


def _figures(comparison: Comparison, cases: Sequence[_Case], names: str) -> Section:
    """Return the table of figures: systems beside each other, or below each if they are many."""
    cells = [cell for row, _ in cases for cell in row.cells if cell]
    notes = latex_cells.Footnotes([cell.flags for cell in cells])

    def value(row: Row, cell: Cell | None) -> parts.Cell:
        if cell is None:
            return parts.Cell(words.NOT_RUN)
        text: str = cell.status
        if cell.runs:
            low, high = (latex_cells.number(end, row.unit) for end in (cell.min, cell.max))
            text = low if cell.min == cell.max else f"{low} to {high}"
        return notes.marked(text, cell.status, cell.reason, cell.flags)

    rows: list[tuple[Head, list[parts.Cell]]] = []
    labels = [column.label for column in comparison.columns]
    beside = len(labels) <= _BESIDE
    for row, name in cases:
        values = [value(row, cell) for cell in row.cells]
        head = Head("", latex_cells.named(str(name), row.unit))
        rows.append((head, values if beside else []))
        if not beside:
            rows += [(Head("", s), [v]) for s, v in zip(labels, values, strict=True)]
    heads = [Head("", label) for label in labels] if beside else [Head("", "value")]
    grid = Grid("figure" if beside else "system", heads, rows)
    text = [
        *_circumstances(comparison, cases),
        latex_cells.units(row.unit for row, _ in cases), notes.shared,
    ]  # fmt: skip
    return Section(
        "figures", f"Figures of {names}", [grid, Notes(notes.texts, "footnotes")],
        " ".join(filter(None, text)),
    )  # fmt: skip
