"""The figures of a publication, with today's numbers beside the printed ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from rtstone.documents.hartstone import around_breakdown, task_tests
from rtstone.documents.reproduction import (
    Figure,
    Item,
    Reproduction,
    Table,
    counted_units,
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
    """A line of a panel, of the system or the task with this number; gaps have no value."""

    number: int
    xs: list[float]
    ys: list[float | None]


class Panel(NamedTuple):
    """A part of the figure: bars, or lines over something; ``unit``: of its numbers.

    ``tasks``: of one system, whose lines these are in place of the systems'; they are from 0, and
    ``above`` has the ticks of a second axis.
    """

    title: str
    unit: str
    systems: Sequence[str]  # with their kind: printed, here, model
    groups: Sequence[Group] = ()
    lines: Sequence[Line] = ()
    over: str = ""
    tasks: Sequence[str] = ()
    above: Sequence[tuple[float, str]] = ()


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
    elif figure.kind in {"deadlines", "lateness"}:
        yield from _over_utilisation(publication, number, figure)
    elif figure.kind == "bars":
        parts = [
            (figure.title, unit, [item for item in table.items if item.unit == unit])
            for unit in dict.fromkeys(item.unit for item in table.items)
        ]
        times = [item for item in table.items if item.unit in CLOCK]
        counts = counted_units(table, figure.value)
        parts += [(f"{figure.title}, in {unit}", unit, times) for unit in counts]
        for title, unit, items in parts:
            groups = [_group(item, unit, figure) for item in items]
            groups = [group for group in groups if group.drawn]
            if any(bar.value is not None for group in groups for _, bar in group.drawn):
                yield Panel(title, unit or "", _systems(table), groups)
    elif figure.kind == "curves":
        items = [item for item in table.items if item.at is not None and item.unit in CLOCK]
        for unit in ("us", *counted_units(table, figure.value)):
            lines = []
            for system in range(len(table.systems)):
                ys = [_in_unit(item, system, figure.value, unit) for item in items]
                if any(y is not None for y in ys):
                    lines.append(Line(system, [float(item.at or 0) for item in items], ys))
            if lines:
                title = figure.title if unit == "us" else f"{figure.title}, in {unit}"
                yield Panel(title, unit, _systems(table), lines=lines, over=figure.over)


def _systems(table: Table) -> list[str]:
    return [f"{system.label} ({system.kind})" for system in table.systems]


def _in_unit(item: Item, system: int, place: int, unit: str) -> float | None:
    """Return a number in µs, or in what its system counts instead of time."""
    if unit != "us":
        return drawn_number(item.cells[system], unit, place)
    value = drawn_number(item.cells[system], item.unit, place)
    return None if value is None else value * CLOCK[str(item.unit)] / CLOCK["us"]


def _group(item: Item, unit: str | None, figure: Figure) -> Group:
    """Return the bars of an item in a unit; a system without a number in it has none."""
    bars: list[Bar | None] = []
    for cell in item.cells:
        value = drawn_number(cell, unit, figure.value)
        text = "" if value is None else rounded(value)
        bars.append(None if value is None else Bar(value, text))
    return Group(item.label, bars)


def _over_time(publication: Publication, number: int, figure: Figure) -> Iterator[Panel]:
    """Yield a panel for each unit and item: the largest sample of each window, a line per system.

    Systems that count instructions have no time: their windows are numbered.
    """
    table = publication.document.tables[number]
    by_unit: dict[str, dict[int, list[Line]]] = {}  # then by item
    tops: dict[tuple[str, int], float] = {}  # the largest sample of each system
    for place, system in product(range(len(table.items)), range(len(table.systems))):
        for result in publication.results.get((number, place, system), ())[:1]:
            if result.trace and result.trace.rows:
                timed = result.unit == "ns"
                unit, scale = ("us", CLOCK["us"]) if timed else (result.unit, 1)
                ys: list[float | None] = [row[4] / scale for row in result.trace.rows]
                line = Line(system, [row[0] for row in result.trace.rows], ys)
                by_unit.setdefault(unit, {}).setdefault(place, []).append(line)
                most = max(y for y in ys if y is not None)
                tops[unit, system] = max(tops.get((unit, system), 0.0), most)
    for unit, by_item in by_unit.items():
        own = [system for counted, system in tops if counted == unit]
        slowest = None if figure.slowest else max(own, key=lambda system: tops[unit, system])
        for place, lines in by_item.items():
            if shown := [line for line in lines if line.number != slowest]:
                title = figure.title if unit == "us" else f"{figure.title}, in {unit}"
                yield Panel(
                    f"{title}: {table.items[place].label}", unit, _systems(table), lines=shown,
                    over="time (s)" if unit == "us" else "window",
                )  # fmt: skip


def _over_utilisation(publication: Publication, number: int, figure: Figure) -> Iterator[Panel]:
    """Yield a panel for each system whose experiment missed a deadline.

    It has the share of deadlines that each task missed, or the summed lateness of all.
    """
    table = publication.document.tables[number]
    by_system = {  # the cells of a system have the same results behind them
        system: results for (at, _, system), results in publication.results.items() if at == number
    }
    for system, results in by_system.items():
        tests = next((own for r in results if (own := around_breakdown(task_tests(r)))), [])
        if not tests:
            continue
        utilisation = {test.test: test.utilisation for test in tests}
        late = dict.fromkeys(utilisation, 0.0)
        shares: dict[str, dict[int, float]] = {}
        for test in tests:
            late[test.test] += test.late / CLOCK["ms"]
            shares.setdefault(f"task {test.task}", {})[test.test] = test.share
        lateness = figure.kind == "lateness"
        rows = {"all tasks": late} if lateness else shares
        xs = list(utilisation.values())
        yield Panel(
            f"{figure.title}: {table.systems[system].label}",
            "summed lateness (ms)" if lateness else "missed and skipped (%)", (),
            lines=[
                Line(place, xs, [row.get(test) for test in utilisation])
                for place, row in enumerate(rows.values())
            ],
            over="utilisation (% of raw speed)", tasks=list(rows),
            above=list({test.test: (test.utilisation, test.parameter) for test in tests}.values()),
        )  # fmt: skip
