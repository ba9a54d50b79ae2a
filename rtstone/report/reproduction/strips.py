"""A strip of histograms of a table: small multiples, each row on an axis of its own.

Published systems have no histogram: their mean and maximum are marks on the same axis.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rtstone.documents.reproduction import Item, Printed
from rtstone.documents.run import Distribution, Result
from rtstone.report.parts.model import Head, Section, Special
from rtstone.report.parts.shapes import (
    SPARK_HEIGHT,
    SPARK_WIDTH,
    Axis,
    axis_over,
    samples,
    spark_path,
)
from rtstone.report.reproduction import text as words
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled
from rtstone.stats.contrasts import MAXIMA, MEANS
from rtstone.stats.reproduce import Reproduced
from rtstone.units import CLOCK, count, quantity

_READING = (
    "Number of samples over time, both logarithmic; each row has its own axis. Line: the median, "
    "of printed numbers the mean or what is typical; short line: the maximum."
)


class Picture(NamedTuple):
    """A system's place in a row: its histogram, empty if it is published, and its marks."""

    head: Head
    path: str
    middle: float | None  # coordinate of the line
    top: float | None  # coordinate of the maximum
    text: str  # the numbers, also for whoever does not see the picture


class Strip(NamedTuple):
    """The histograms of one row of a table, all on one axis."""

    label: str
    axis: Axis
    pictures: list[Picture]


class _Row(NamedTuple):
    """Items of a table that show the same results of every system of today."""

    items: list[Item]
    results: dict[int, list[Result]]  # by system


def strips(reproduced: Reproduced, number: int) -> Section | None:
    """Return the strip of a table; None if none of today's systems has a histogram in it."""
    table = reproduced.document.tables[number]
    rows: list[_Row] = []
    for place, item in enumerate(table.items):
        behind = {
            system: [result for result in results if samples(result)]
            for (at, own, system), results in reproduced.results.items()
            if (at, own) == (number, place)
        }
        behind = {system: results for system, results in behind.items() if results}
        identities = {system: list(map(id, results)) for system, results in behind.items()}
        same = next(
            (row for row in rows
             if {s: list(map(id, r)) for s, r in row.results.items()} == identities), None,
        )  # fmt: skip
        if same:
            same.items.append(item)
        elif behind:
            rows.append(_Row([item], behind))
    measured = {system for row in rows for system in row.results}
    drawn = [strip for row in rows for strip in _strips(reproduced, number, row, measured)]
    if not drawn:
        return None
    shown = Special("strips.html", {"strips": drawn, "size": (SPARK_WIDTH, SPARK_HEIGHT)})
    text = f"{len(drawn)} rows, the same axis for all systems"
    return Section(f"t{number}-strips", "Histograms", [shown], _READING, folded=text, paper=True)


def _strips(reproduced: Reproduced, number: int, row: _Row, measured: set[int]) -> Iterator[Strip]:
    """Yield the strip of a row for each unit that its samples have.

    ``measured``: the systems with a histogram in any row, which keep their place in all.
    """
    table = reproduced.document.tables[number]
    distributions = {
        system: (results[0].unit, pooled([whole(result) for result in results]))
        for system, results in row.results.items()
        if len({result.unit for result in results}) == 1
    }
    for unit in dict.fromkeys(unit for unit, _ in distributions.values()):
        printed = {
            system: marks
            for system in range(len(table.systems))
            if unit == "ns" and (marks := _printed(row.items, system))
        }
        own = {system: d for system, (u, d) in distributions.items() if u == unit}
        values = [v for d in own.values() for v, _ in samples(d)]
        values += [value for marks in printed.values() for value, _ in marks.values()]
        axis = axis_over(values, unit)
        if axis is None:
            continue
        pictures = []
        for system, named in enumerate(table.systems):
            head = Head(named.kind, named.label)
            if system in own:
                pictures.append(_picture(head, own[system], unit, axis))
            elif system in printed:
                pictures.append(_marked(head, printed[system], axis))
            elif system in measured and system not in distributions:
                pictures.append(Picture(head, "", None, None, "no samples"))
        label = " / ".join(dict.fromkeys(item.label for item in row.items))
        yield Strip(label if unit == "ns" else f"{label}, in {unit}", axis, pictures)


def _picture(head: Head, distribution: Distribution, unit: str, axis: Axis) -> Picture:
    members = (("p50", distribution.p50), ("p99.9", distribution.p999), ("max", distribution.max))
    texts = [f"{name} {quantity(value, unit)}" for name, value in members if value is not None]
    return Picture(
        head, spark_path(distribution, axis),
        None if distribution.p50 is None else axis.x(distribution.p50),
        None if distribution.max is None else axis.x(distribution.max),
        ", ".join([*texts, f"n {count(distribution.n)}"]),
    )  # fmt: skip


def _printed(items: Sequence[Item], system: int) -> dict[str, tuple[float, Printed]]:
    """Return the printed mean and maximum of a system in ns by their statistic."""
    return {
        record.stat: (record.value * CLOCK[record.unit], record)
        for item in items
        for record in item.cells[system].printed
        if record.stat in {*MEANS, *MAXIMA} and record.unit in CLOCK
        if isinstance(record.value, int | float)
    }  # fmt: skip


def _marked(head: Head, marks: dict[str, tuple[float, Printed]], axis: Axis) -> Picture:
    middle = next((marks[stat][0] for stat in MEANS if stat in marks), None)
    top = next((marks[stat][0] for stat in MAXIMA if stat in marks), None)
    texts = [f"{stat} {words.printed([record], '')}" for stat, (_, record) in marks.items()]
    return Picture(
        head, "", None if middle is None else axis.x(middle), None if top is None else axis.x(top),
        ", ".join(texts),
    )  # fmt: skip
