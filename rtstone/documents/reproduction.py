"""The reproduction document: a publication's tables with today's numbers beside them.

Published numbers are only ever in ``printed``, measured and simulated ones in ``here``, each with
its unit.  Unknown is ``None``.  A release may add members;
a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.comparison import Effect, Tally
from rtstone.documents.run import Status
from rtstone.units import CLOCK

SCHEMA = "rtstone.reproduction/1"

# "printed": published.  "here": measured.  "model": simulated, nothing was measured.
Kind = Literal["printed", "here", "model"]


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a publication.  ``value``: None if the source has none that can be used."""

    source: str
    table: str
    system: str
    metric: str
    condition: str
    value: float | int | str | None
    unit: str | None
    quality: str
    stat: str | None = None
    note: str = ""


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A system measured today: one run, or several that differ only in the seed.

    ``unit``: of its times: "ns" or "instructions".  ``model``: what was modelled and from what,
    None for a real system.  ``loads``: what each load did, one line each.  ``remarks``: what to
    know before reading its numbers.  ``unshown``: how many results of each bench no table shows,
    of runs of the publication's suites.
    """

    label: str
    kind: Kind
    target: str
    unit: str
    runs: list[str]
    created: str
    system: str = ""
    model: str | None = None
    suites: list[str] = []
    loads: list[str] = []
    remarks: list[str] = []
    unshown: dict[str, int] = {}


class System(msgspec.Struct, frozen=True, kw_only=True):
    """A row or column of a table: one of the publication's, or one of today's.

    ``column``: its index in the reproduction's columns, None for a published one.
    """

    label: str
    kind: Kind
    column: int | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A number or text; if results differ, ``value`` is the smallest and ``most`` the largest."""

    value: float | int | str | None
    most: float | None = None
    unit: str | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What was found of a system for a cell.

    ``status``: the worst of its results; "not run" if there is none.  ``section_s``: shortest and
    longest measured time of its results, in s.  ``missed``: activations that were due and never
    happened, which statistics include but ``n`` does not; None if they are not counted.  ``place``:
    on which CPUs the load ran, and which were measured; several if results differ, none if unknown.
    """

    status: Status | Literal["not run"]
    reason: str | None = None
    values: list[Shown] = []
    n: int = 0
    missed: int | None = None
    results: int = 0
    load: str | None = None
    place: list[str] = []
    section_s: tuple[float, float] | None = None
    flags: list[str] = []
    bench: str = ""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a table.  ``notes``: numbers of footnotes; they say why if a cell has no number.

    ``computed``: today, from numbers that the publication prints in other cells.
    """

    printed: list[Printed] = []
    computed: Shown | None = None
    here: Found | None = None
    notes: list[int] = []


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A statistic or item, with a cell for each system in their order."""

    label: str
    unit: str | None
    cells: list[Cell]
    at: float | None = None
    notes: list[int] = []


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A table of texts as a system of today reported it, or why it has none.

    ``column``: index of the system in the reproduction's columns.  ``status``: of the result.
    """

    column: int
    title: str
    status: Status | Literal["not run"]
    reason: str | None = None
    columns: list[str] = []
    rows: list[list[str]] = []


def drawn_number(cell: Cell, unit: str | None, place: int) -> float | None:
    """Return the number of a cell to draw, if it has one in a unit.

    ``place``: which of its numbers, as a figure's ``value``.
    """
    if cell.here is not None:
        shown = cell.here.values[place] if place < len(cell.here.values) else None
        same = shown is not None and shown.unit == unit
        value = (shown.most or shown.value) if shown and same else None
    else:
        record = cell.printed[place] if place < len(cell.printed) else None
        value = record.value if record and record.unit == unit else None
    return float(value) if isinstance(value, int | float) else None


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure: bars or curves of the table's numbers, or of the results behind its cells.

    ``value``: index of the drawn number in a cell.  ``slowest``: False leaves the slowest system
    out of a figure over time.
    """

    kind: Literal["bars", "curves", "trace", "deadlines", "lateness"]
    title: str
    value: int = 0
    over: str = ""
    slowest: bool = True


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table or a figure of the publication.

    ``across``: systems are columns, else rows.  ``footnotes``: numbered from 1.  ``listings``:
    tables of texts that today's systems reported.
    """

    id: str
    title: str
    stub: str
    unit: str | None
    form: str
    across: bool
    systems: list[System]
    items: list[Item]
    said: list[Printed] = []
    notes: list[str] = []
    footnotes: list[str] = []
    figures: list[Figure] = []
    listings: list[Listing] = []


class ContrastCase(msgspec.Struct, frozen=True, kw_only=True):
    """A case of two systems in speed and determinism, as of a comparison.

    ``table``: index of a table that shows it.  ``speed``: of medians, or of means beside printed
    ones; ``spread``: of spreads, or of what maxima exceed means by.
    """

    label: str
    table: int
    unit: str
    speed: Effect
    spread: Effect


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """How a system of today compares with another in speed and determinism, over all cases.

    ``column``: its index in the reproduction's columns.  ``against``: that of the other one; None
    if it is the published one called ``printed``.  ``basis``: what the ratios are of.
    ``speed``: better: faster.  ``determinism``: better: more deterministic.
    """

    column: int
    against: int | None = None
    printed: str | None = None
    basis: str
    speed: Tally
    determinism: Tally
    cases: list[ContrastCase]


class Then(msgspec.Struct, frozen=True, kw_only=True):
    """What a publication's own numbers say of its statement, by the rule that judges today's.

    ``value``: with ``most``, the range of the numbers; a text is as printed.  ``same``: whether
    they bear the statement out, None where what is printed is no number.
    """

    system: str
    value: float | int | str
    most: float | None = None
    same: bool | None = None


class Judgement(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a statement holds on one of today's systems.

    ``column``: index of the system in the reproduction's columns.  ``same``: None if the statement
    is about systems of another kind.  ``value``: with ``most``, the range of the numbers that
    decide.  ``low``, ``high``: the ends of their intervals together, None: it has no end there.
    ``reason``: why it is undetermined, or not asked.  ``numbers``: how many decide.
    """

    column: int
    same: Literal["yes", "no", "undetermined"] | None
    value: float | None = None
    most: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    numbers: int = 0


class Statement(msgspec.Struct, frozen=True, kw_only=True):
    """A statement of the prose that a number decides: then, here, and whether they are the same.

    ``words``: the author's, in short.  ``table``: where.  ``said``: the published records that it
    is in.  ``meaning``: what its numbers are, in ``unit``; it holds if each of them, or any
    (``scope``), is at least ``least`` and at most ``most``.  ``about``: the kind of system, empty
    for any.  ``lacks``: why no number of any system decides it.
    """

    words: str
    table: str
    said: list[Printed] = []
    about: str = ""
    meaning: str = ""
    unit: str | None = None
    scope: Literal["each", "any"] = "each"
    least: float | None = None
    most: float | None = None
    then: list[Then] = []
    here: list[Judgement] = []
    lacks: str = ""


def counted_units(table: Table, place: int) -> list[str]:
    """Return the units other than of time in which systems of today have numbers of times.

    ``place``: which of the numbers of a cell, as a figure's ``value``.
    """
    shown = [
        cell.here.values[place] for item in table.items if item.unit in CLOCK
        for cell in item.cells if cell.here is not None and place < len(cell.here.values)
    ]  # fmt: skip
    return sorted({str(s.unit) for s in shown if s.value is not None and s.unit not in CLOCK})


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """A publication with today's numbers in its tables.

    ``printed``: when it was published.  ``contrasts``: each system of today beside each other one,
    and beside each published one.
    """

    schema: str = SCHEMA
    source: str
    title: str
    publication: str
    platform: str
    printed: str
    suites: list[str]
    columns: list[Column]
    tables: list[Table]
    notes: list[str] = []
    contrasts: list[Contrast] = []
    statements: list[Statement] = []
