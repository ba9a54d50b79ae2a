"""A comparison on the page: the table, charts of benches by system, and systems by load."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from rtstone.documents.case_name import CaseName
from rtstone.documents.comparison import SIGNS, Cell, Comparison, Difference, Row
from rtstone.documents.run import Result
from rtstone.report.comparison import text as plainly
from rtstone.report.comparison.html_overlays import Overlays, overlays
from rtstone.report.comparison.html_verdicts import Verdicts, verdicts
from rtstone.report.comparison.text import Remark, Remarks, figure, number_of, shared
from rtstone.report.comparison.text_verdicts import column as versus
from rtstone.report.parts.shapes import range_chart, range_row
from rtstone.report.parts.typeset import count, seconds, typeset

APART = 3  # a maximum this many times the next largest hides the others in a chart


@dataclass(frozen=True)
class Shown:
    """A cell: numbers with their exact values, or a text; ``note``: number of its reason."""

    system: str
    numbers: list[tuple[str, str, str]]  # name, text, exact
    text: str = ""
    status: str = "ok"
    note: int | None = None


@dataclass(frozen=True)
class TableRow:
    """A row of the table."""

    key: str
    name: CaseName
    n: str
    time: str
    cells: list[Shown]


@dataclass(frozen=True)
class Plot:
    """A chart and its heading."""

    id: str
    bench: str
    caption: str


@dataclass(frozen=True)
class Corner:
    """A system under a load: texts of maximum, median, n and what was missed, or why none."""

    max: str = ""
    p50: str = ""
    n: str = ""
    why: str = ""
    missed: str = ""


@dataclass(frozen=True)
class Matrix:
    """One case on every system under every load; ``n``: if it is equal everywhere."""

    title: str
    unit: str
    n: str | None
    loads: list[str]
    rows: list[tuple[str, list[Corner]]]


@dataclass
class Compared:
    """What the template reads."""

    comparison: Comparison
    lines: list[TableRow]
    notes: list[Remark]
    overlays: Overlays
    verdicts: Verdicts | None
    plots: list[Plot] = field(default_factory=list)
    matrices: list[Matrix] = field(default_factory=list)
    charts: dict[str, Any] = field(default_factory=dict)

    @property
    def counted(self) -> bool:
        """True if the numbers are counts, not times."""
        return plainly.INSTRUCTIONS in self.comparison.units

    @property
    def numbers(self) -> tuple[str, ...]:
        """The names of the numbers of a cell."""
        return plainly.numbers(self.comparison)

    @property
    def corrected(self) -> bool:
        """True if any median includes missed activations."""
        rows = self.comparison.rows
        return any(cell.corrected for row in rows for cell in row.cells if cell)

    @property
    def timed(self) -> bool:
        """True if any measured time is known."""
        return any(line.time for line in self.lines)

    def aspects(self, grade: str) -> list[str]:
        """Return what differs in a grade."""
        return [d.aspect for d in self.comparison.differences if d.grade == grade]

    def differences(self, grade: str) -> list[str]:
        """Return the differences of a grade in words."""
        differences: Iterable[Difference] = self.comparison.differences
        return [typeset(plainly.difference_text(d)) for d in differences if d.grade == grade]


def compared(comparison: Comparison, behind: Sequence[Sequence[Sequence[Result]]]) -> Compared:
    """Return the part of a page about a comparison; ``behind``: results by row and column."""
    remarks, names = Remarks(comparison), plainly.row_names(comparison)
    lines = []
    for place, (row, name) in enumerate(zip(comparison.rows, names, strict=True)):
        cells = [cell for cell in row.cells if cell and (cell.n or cell.missed)]
        times = [None if cell.section_s is None else seconds(cell.section_s) for cell in cells]
        line = TableRow(
            key=f"c-{place}",
            name=name,
            n=shared(count(cell.n) for cell in cells) if cells else "",
            time=shared(times) if any(times) else "",
            cells=[
                _shown(row, cell, column.label, remarks, plainly.numbers(comparison))
                for column, cell in zip(comparison.columns, row.cells, strict=True)
            ],
        )
        lines.append(line)
    over, judged = overlays(comparison, behind, names), verdicts(comparison)
    page = Compared(comparison, lines, list(remarks), over, judged, charts=dict(over.charts))
    if judged and (largest := judged.largest):
        page.charts["c-ratios"] = largest
    for bench in dict.fromkeys(row.bench for row in comparison.rows):
        _plot(page, bench, names)
    page.matrices = list(_matrices(comparison, names))
    return page


def template_values() -> dict[str, Any]:
    """Return the functions and constants that the templates of a comparison use."""
    return {"of_runs": plainly.of_runs, "signs": SIGNS, "versus": versus}


def _shown(
    row: Row, cell: Cell | None, system: str, remarks: Remarks, names: Sequence[str]
) -> Shown:
    if cell is None:
        return Shown(system, [], plainly.NOT_RUN, "absent")
    note = remarks.number(cell)
    if row.figure is not None and cell.runs:
        return Shown(system, [], typeset(figure(cell, row.unit)), cell.status, note)
    if not cell.n and not cell.missed:
        return Shown(system, [], cell.status, cell.status, note)
    values = ((name, getattr(cell, name)) for name in names)
    numbers = [
        (
            name,
            typeset(number_of(cell, name, row.unit)),
            "unknown" if value is None else f"{value:g}",
        )
        for name, value in values
    ]
    return Shown(system, numbers, "", cell.status, note)


# ---- charts -------------------------------------------------------------------------------------


def _plot(page: Compared, bench: str, names: Sequence[CaseName]) -> None:
    """Add the chart of a bench in each unit, and another without a system that hides the others."""
    comparison = page.comparison
    entries: dict[str, list[tuple[int, dict[str, Any]]]] = {}  # by unit: system and row of a chart
    units = [row.unit for row in comparison.rows if row.bench == bench and row.figure is None]
    for place, (row, name) in enumerate(zip(comparison.rows, names, strict=True)):
        if row.bench != bench or row.unit not in units:
            continue
        for system, (column, cell) in enumerate(zip(comparison.columns, row.cells, strict=True)):
            if cell is None:
                continue
            parts = (name.label, column.label)
            entry = range_row(
                cell,
                id=f"c-{place}",
                label=" · ".join(filter(None, parts)),
                system=system,
                load=row.load,
                time=None if cell.section_s is None else seconds(cell.section_s),
            )
            if entry:
                entries.setdefault(row.unit, []).append((system, entry))
    for unit in dict.fromkeys(units):
        rows = entries.get(unit, [])
        _chart(page, bench, unit, rows, "")
        if (slowest := _apart(rows)) is not None:
            label = comparison.columns[slowest].label
            rest = [(system, entry) for system, entry in rows if system != slowest]
            _chart(page, bench, unit, rest, f"without {label}, the slowest")


def _apart(entries: Sequence[tuple[int, dict[str, Any]]]) -> int | None:
    """Return the column whose maximum is far above those of at least two others."""
    tops: dict[int, float] = {}
    for column, entry in entries:
        top = entry["at"][-1]
        if top is not None:
            tops[column] = max(top, tops.get(column, top))
    ordered = sorted(tops, key=lambda column: tops[column])
    if len(ordered) < 3:
        return None
    next_largest, largest = (tops[column] for column in ordered[-2:])
    return ordered[-1] if largest >= APART * next_largest > 0 else None


def _chart(
    page: Compared,
    bench: str,
    unit: str,
    entries: Sequence[tuple[int, dict[str, Any]]],
    caption: str,
) -> None:
    if not entries:
        return
    rows = [entry for _, entry in entries]
    chart = f"c-ranges-{len(page.plots)}"
    page.charts[chart] = range_chart(unit, rows)
    page.plots.append(Plot(chart, bench, caption))


# ---- systems by load ----------------------------------------------------------------------------


def _matrices(comparison: Comparison, names: Sequence[CaseName]) -> Iterator[Matrix]:
    """Yield a matrix for each case that was run under several loads."""
    cases: dict[tuple[str, str], dict[str, Row]] = {}
    for row, name in zip(comparison.rows, names, strict=True):
        if row.figure is None:
            cases.setdefault((name.without_load, row.unit), {})[row.load] = row
    for (title, unit), rows in cases.items():
        if len(rows) < 2:
            continue
        table = []
        for place, column in enumerate(comparison.columns):
            corners = []
            for row in rows.values():
                cell = row.cells[place]
                if cell is None or not cell.n:
                    corners.append(Corner(why=cell.status if cell else plainly.NOT_RUN))
                    continue
                corner = Corner(
                    max=typeset(number_of(cell, "max", row.unit)),
                    p50=typeset(number_of(cell, "p50", row.unit)),
                    n=count(cell.n),
                    why="" if cell.status == "ok" else cell.status,
                    missed=typeset(number_of(cell, "missed", row.unit)) if cell.missed else "",
                )
                corners.append(corner)
            table.append((column.label, corners))
        counts = {corner.n for _, corners in table for corner in corners if corner.n}
        yield Matrix(
            title=title,
            unit=unit,
            n=counts.pop() if len(counts) == 1 else None,
            loads=list(rows),
            rows=table,
        )
