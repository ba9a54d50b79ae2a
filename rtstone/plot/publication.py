"""The figures of a publication, with today's numbers beside the printed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from rtstone.documents.reproduction import (
    Figure,
    Item,
    Reproduction,
    Table,
    drawn_number,
)
from rtstone.documents.run import Result
from rtstone.errors import UsageError, nearest
from rtstone.plot.bars import Bar, Group
from rtstone.units import CLOCK, rounded

Place = tuple[int, int, int]  # table, item, system


class Publication(NamedTuple):
    """A reproduction, and the results behind the cells of its tables."""

    document: Reproduction
    results: Mapping[Place, Sequence[Result]]


class Line(NamedTuple):
    """A line of a panel, of the system with this number; gaps have no value."""

    system: int
    xs: list[float]
    ys: list[float | None]


class Panel(NamedTuple):
    """A part of the figure: bars, or lines over something; ``unit``: of its numbers."""

    title: str
    unit: str
    systems: Sequence[str]  # with their kind: printed, here, model
    groups: Sequence[Group] = ()
    lines: Sequence[Line] = ()
    over: str = ""


def panels(publication: Publication, figure: str | None) -> tuple[list[Panel], list[str]]:
    """Return the panels to draw, and the titles of figures that have another form or no number.

    ``figure``: a part of the title of those to draw.  Without figures of its own, a publication has
    a panel for each table of times.  Raises UsageError if there is none.
    """
    document = publication.document
    wanted = [
        (number, drawn)
        for number, table in enumerate(document.tables)
        for drawn in table.figures or _of_table(table)
    ]
    if any(table.figures for table in document.tables):
        wanted = [(n, drawn) for n, drawn in wanted if document.tables[n].figures]
    titles = [drawn.title for _, drawn in wanted]
    if figure is not None:
        wanted = [(n, drawn) for n, drawn in wanted if figure.lower() in drawn.title.lower()]
        if not wanted:
            raise UsageError(
                f"unknown figure '{figure}', of {document.source}; {nearest(figure, titles)}"
            )
    drawable: list[Panel] = []
    left: list[str] = []
    for number, drawn in wanted:
        own = list(_panels(publication, number, drawn))
        drawable += own
        left += [] if own else [drawn.title]
    if not drawable:
        raise UsageError(
            f"no figure of {document.source} has a number to draw; "
            f"`rtstone reproduce {document.source} RUN -o page.html` has its pages"
        )
    return drawable, left


def _of_table(table: Table) -> list[Figure]:
    """Return the figure of a table of times that has none, an empty list for any other."""
    times = any(item.unit in CLOCK for item in table.items)
    return [Figure(kind="bars", title=table.title)] if times else []


def _panels(publication: Publication, number: int, figure: Figure) -> Iterator[Panel]:
    table = publication.document.tables[number]
    if figure.kind == "trace":
        yield from _over_time(publication, number, figure)
    elif figure.kind == "bars":
        for unit in dict.fromkeys(item.unit for item in table.items):
            groups = [_group(table, item, figure) for item in table.items if item.unit == unit]
            groups = [group for group in groups if group.drawn]
            if any(bar.value is not None for group in groups for _, bar in group.drawn):
                yield Panel(figure.title, unit or "", _systems(table), groups)
    elif figure.kind == "curves":
        items = [item for item in table.items if item.at is not None and item.unit in CLOCK]
        lines = []
        for system in range(len(table.systems)):
            ys = [_in_us(item, system, figure.value) for item in items]
            if any(y is not None for y in ys):
                lines.append(Line(system, [float(item.at or 0) for item in items], ys))
        if lines:
            yield Panel(figure.title, "us", _systems(table), lines=lines, over=figure.over)


def _systems(table: Table) -> list[str]:
    return [f"{system.label} ({system.kind})" for system in table.systems]


def _in_us(item: Item, system: int, place: int) -> float | None:
    value = drawn_number(item.cells[system], item.unit, place)
    return None if value is None else value * CLOCK[str(item.unit)] / CLOCK["us"]


def _group(table: Table, item: Item, figure: Figure) -> Group:
    """Return the bars of an item; a system without a number has none."""
    bars: list[Bar | None] = []
    for cell in item.cells:
        value = drawn_number(cell, item.unit, figure.value)
        text = "" if value is None else rounded(value)
        bars.append(None if value is None else Bar(value, text))
    return Group(item.label, bars)


def _over_time(publication: Publication, number: int, figure: Figure) -> Iterator[Panel]:
    """Yield a panel for each item: the largest sample of each window, a line for each system."""
    table = publication.document.tables[number]
    by_item: dict[int, list[Line]] = {}
    tops: dict[int, float] = {}  # the largest sample of each system
    for place, system in product(range(len(table.items)), range(len(table.systems))):
        for result in publication.results.get((number, place, system), ())[:1]:
            if result.trace and result.trace.rows and result.unit == "ns":
                ys: list[float | None] = [row[4] / CLOCK["us"] for row in result.trace.rows]
                line = Line(system, [row[0] for row in result.trace.rows], ys)
                by_item.setdefault(place, []).append(line)
                tops[system] = max([tops.get(system, 0.0), *(y for y in ys if y is not None)])
    slowest = None if figure.slowest else max(tops, key=tops.__getitem__, default=None)
    for place, lines in by_item.items():
        if shown := [line for line in lines if line.system != slowest]:
            title = f"{figure.title}: {table.items[place].label}"
            yield Panel(title, "us", _systems(table), lines=shown, over="time (s)")
