"""A reproduction as a self-contained HTML page with its figures, or as Markdown."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from rtstone.documents.reproduction import Cell, Figure, Item, Reproduction, Table
from rtstone.documents.run import Result, Trace
from rtstone.report.parts.frame import framed
from rtstone.report.parts.shapes import charts, short
from rtstone.report.parts.typeset import typeset
from rtstone.report.reproduction import text as plainly
from rtstone.report.reproduction.text import Head, Place, grid, kind_of
from rtstone.stats.reproduce import Reproduced
from rtstone.units import CLOCK

MOMENTS = 200  # most points of a curve over time
TRACE_ROWS = 200
FAR_APART = 30  # ratio of the largest bar to the smallest at which an axis is logarithmic
NOTE = "A line for each system: at each point the largest sample from there to the next."


@dataclass(frozen=True)
class Shown:
    """A cell of the page: its kind, heading and text."""

    kind: str
    name: str
    place: Place


class Bar(NamedTuple):
    """A bar; ``share``: of the axis in %, None if there is only ``text``."""

    label: str
    kind: str
    text: str
    share: float | None


@dataclass(frozen=True)
class Drawn:
    """A figure: groups of bars by item, or charts; ``axis``: the meaning of a bar's length."""

    title: str
    groups: list[tuple[str, list[Bar]]] = field(default_factory=list)
    axis: str = ""
    charts: list[tuple[str, str, str]] = field(default_factory=list)  # id, kind, caption
    legend: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    note: str = ""


@dataclass(frozen=True)
class Section:
    """A table as the template reads it."""

    key: str
    table: Table
    heading: str
    short: str
    measure: str
    said: list[str]
    heads: list[tuple[str, Head]]
    rows: list[tuple[str, Head, list[Shown]]]
    observed: list[str]
    figures: list[Drawn]


def markdown(made: Reproduced) -> str:
    """Return the tables as Markdown."""
    return plainly.markdown(made.document)


def compose(made: Reproduced) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    document = made.document
    data: dict[str, Any] = {}
    sections = [_section(made, number, table, data) for number, table in enumerate(document.tables)]
    return framed(
        "reproduction.html",
        {"charts": data, "details": {}, "forms": {}, "flags": {}},
        document=document,
        sections=sections,
        origin=plainly.origin(document),
        meaning=plainly.MEANING,
        columns=[(c.label, kind_of(c), list(plainly.about(c))) for c in document.columns],
        gaps=plainly.gaps(document),
        gaps_title=plainly.GAPS,
        flags=plainly.flags(document),
    )


def _section(made: Reproduced, number: int, table: Table, data: dict[str, Any]) -> Section:
    document = made.document
    kinds = [system.kind for system in table.systems]
    told = grid(document, table)
    across = table.across
    heads = list(zip(kinds if across else [""] * len(told.heads), told.heads, strict=True))
    owners = [""] * len(told.rows) if across else kinds
    rows = [
        (owner, head, [
            Shown(owner or kind, str(above), place)
            for (kind, above), place in zip(heads, places, strict=True)
        ])
        for owner, (head, places) in zip(owners, told.rows, strict=True)
    ]  # fmt: skip
    return Section(
        key=f"t{number}",
        table=table,
        heading=plainly.heading(table),
        short=table.title if table.id.endswith("prose") else table.id,
        measure=plainly.measure(table),
        said=[plainly.said(document, record) for record in table.said],
        heads=heads,
        rows=rows,
        observed=[typeset(text) for text in plainly.observed(document, table)],
        figures=[
            drawn
            for place in range(len(table.figures))
            for drawn in _figures(made, number, place, data)
        ],
    )


# ---- figures ------------------------------------------------------------------------------------


def _figures(made: Reproduced, number: int, place: int, data: dict[str, Any]) -> Iterator[Drawn]:
    table = made.document.tables[number]
    figure = table.figures[place]
    key = f"t{number}-f{place}"
    if figure.kind == "bars":
        yield _bars(made.document, table, figure)
    elif figure.kind == "trace":
        yield from _over_time(made, number, figure, key, data)
    elif figure.kind == "curves" and (found := _curves(table, figure)):
        data[key] = found
        legend = [series["name"] for series in found["series"]]
        yield Drawn(figure.title, charts=[(key, "curves", "")], legend=legend)
    else:
        drawn = Drawn(figure.title)
        for name, results in _behind(made, number):
            _draw(drawn, figure.kind, name, results, key=f"{key}-{len(data)}", data=data)
        yield drawn


def _behind(made: Reproduced, number: int) -> Iterator[tuple[str, list[Result]]]:
    """Return the results behind the cells of a table by system, without repetition."""
    table = made.document.tables[number]
    seen: list[list[Result]] = []
    for (at, _, system), results in made.results.items():
        if at == number and results not in seen:
            seen.append(results)
            yield table.systems[system].label, results


def _draw(
    drawn: Drawn, kind: str, name: str, results: list[Result], *, key: str, data: dict[str, Any]
) -> None:
    found = [chart for result in results if (chart := charts(result, TRACE_ROWS).get(kind))]
    if not found:
        drawn.missing.append(f"{name}: no deadline was missed")
        return
    data[key] = found[0]
    names = [series["name"] for series in found[0].get("series", [])]
    if len(names) > max(1, len(drawn.legend)):
        drawn.legend[:] = names
    drawn.charts.append((key, "curves", name))


# ---- over time ----------------------------------------------------------------------------------


def _over_time(
    made: Reproduced, number: int, figure: Figure, key: str, data: dict[str, Any]
) -> Iterator[Drawn]:
    """Yield a figure for each unit: a graph per item, with a line for each system."""
    table = made.document.tables[number]
    for unit, lines in _traces(made, number).items():
        systems = sorted({system for _, system in lines})
        drawn = Drawn(figure.title if unit == "ns" else f"{figure.title}, in {unit}")
        if not figure.slowest and (told := _leave_out_the_slowest(systems, lines)) is not None:
            drawn = replace(drawn, title=f"{drawn.title} ({table.systems[told].label})")
        elif not figure.slowest:
            drawn.missing.append(f"{table.systems[systems[0]].label} is the only system drawn")
            systems = []
        names = [table.systems[n].label for n in systems]
        for place, item in enumerate(table.items):
            own = [lines.get((place, n)) for n in systems]
            if any(own):
                name = f"{key}-{unit}-{place}"
                data[name] = _lines(names, own, unit)
                drawn.charts.append((name, "curves", item.label))
        yield replace(drawn, legend=names, note=NOTE if drawn.charts else "")


def _traces(made: Reproduced, number: int) -> dict[str, dict[tuple[int, int], Trace]]:
    """Return the traces of a table by unit, then by item and system."""
    found: dict[str, dict[tuple[int, int], Trace]] = {}
    for (at, item, system), results in made.results.items():
        for result in results[:1] if at == number else []:
            if result.trace and result.trace.rows:
                found.setdefault(result.unit, {})[item, system] = result.trace
    return found


def _leave_out_the_slowest(systems: list[int], lines: dict[tuple[int, int], Trace]) -> int | None:
    """Remove the system with the largest sample from the lines; None if it is the only one."""
    if len(systems) < 2:
        return None
    worst = {
        system: max(row[4] for (_, own), trace in lines.items() if own == system
                    for row in trace.rows)
        for system in systems
    }  # fmt: skip
    slowest = max(systems, key=worst.__getitem__)
    systems.remove(slowest)
    return slowest


def _lines(names: list[str], traces: list[Trace | None], unit: str) -> dict[str, Any]:
    """Return the lines of a graph with points at common times, and gaps for missing ones."""
    there = [trace for trace in traces if trace]
    end = max(trace.rows[-1][0] for trace in there)
    widest = max(trace.width_s for trace in there)
    each = widest * max(1, math.ceil(end / widest / MOMENTS))
    moments = [round(n * each, 9) for n in range(math.floor(end / each + 1e-6) + 1)]
    series = []
    for name, trace in zip(names, traces, strict=True):
        most: list[float | None] = [None] * len(moments)
        for row in trace.rows if trace else []:
            at = math.floor(row[0] / each + 1e-6)
            most[at] = max(row[4], most[at] or row[4])
        points = [[x, None if y is None else short(y)]
                  for x, y in zip(moments, most, strict=True)]  # fmt: skip
        series.append({"name": name, "points": points})
    values = [row[4] for trace in there for row in trace.rows if row[4] > 0]
    logarithmic = bool(values) and max(values) / min(values) > FAR_APART
    return {"kind": "curves", "over": "s" if unit == "ns" else "window", "above": None,
            "unit": unit, "log": logarithmic, "most": None, "series": series}  # fmt: skip


def _number(cell: Cell, item: Item, place: int) -> float | None:
    """Return the number of a cell to draw, if it has one in the unit of its item."""
    if cell.here is not None:
        shown = cell.here.values[place] if place < len(cell.here.values) else None
        same = shown is not None and shown.unit == item.unit
        value = (shown.most or shown.value) if shown and same else None
    else:
        record = cell.printed[place] if place < len(cell.printed) else None
        value = record.value if record and record.unit == item.unit else None
    return float(value) if isinstance(value, int | float) else None


def _bars(document: Reproduction, table: Table, figure: Figure) -> Drawn:
    numbers = [
        value for item in table.items for cell in item.cells
        if (value := _number(cell, item, figure.value)) is not None and value > 0
    ]  # fmt: skip
    if not numbers:
        return Drawn(figure.title, missing=["no number to draw"])
    least, most = min(numbers), max(numbers)
    logarithmic = most / least > FAR_APART
    floor = 10 ** math.floor(math.log10(least) - 0.001)

    def share(value: float | None) -> float | None:
        if value is None or value <= 0:
            return None
        if logarithmic:
            return round(100 * math.log(value / floor) / math.log(most / floor), 1)
        return round(100 * value / most, 1)

    groups = []
    for item in table.items:
        bars = [
            Bar(system.label, system.kind, _bar_text(item, cell, figure.value, value), share(value))
            for system, cell in zip(table.systems, item.cells, strict=True)
            if (value := _number(cell, item, figure.value)) is not None or cell.printed
        ]
        groups.append((item.label, bars))
    unit = plainly.measure(table).partition(",")[0]
    axis = f"logarithmic, from {short(floor)} to {short(most)}" if logarithmic else "linear, from 0"
    return Drawn(figure.title, [group for group in groups if group[1]], f"{axis} {unit}")


def _bar_text(item: Item, cell: Cell, place: int, value: float | None) -> str:
    if cell.printed:
        return plainly.printed(cell.printed[place : place + 1] or cell.printed, item.unit)
    text = "" if value is None else plainly.digits(value, item.unit)
    return text if cell.here is None or cell.here.status == "ok" else f"{text} {cell.here.status}"


def _curves(table: Table, figure: Figure) -> dict[str, Any] | None:
    """Return lines of all systems whose numbers are times, without values off the axis."""
    items = [item for item in table.items if item.at is not None and item.unit in CLOCK]
    series = []
    for number, system in enumerate(table.systems):
        points = []
        for item in items:
            value = _number(item.cells[number], item, figure.value)
            points.append([item.at, None if value is None else value * CLOCK[str(item.unit)]])
        if any(y is not None for _, y in points):
            series.append({"name": f"{system.label} ({system.kind})", "points": points})
    if not series:
        return None
    return {"kind": "curves", "over": figure.over, "above": None, "unit": "ns", "log": True,
            "most": None, "series": series}  # fmt: skip
