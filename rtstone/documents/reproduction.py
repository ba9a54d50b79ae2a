"""The reproduction document: a publication's tables with today's numbers beside them.

What is printed stands in ``printed`` and never elsewhere, what was found in ``here``.  Numbers of
``here`` have the unit that stands beside them.  Unknown is ``None``.  Members are only ever added;
a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Status

SCHEMA = "rtstone.reproduction/1"

# "printed": of the publication.  "here": measured.  "model": simulated, nothing was measured.
Kind = Literal["printed", "here", "model"]


class Printed(msgspec.Struct, frozen=True, kw_only=True):
    """One number of a publication.  ``value`` None: the source has none that could be used."""

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
    """A system measured today: one run, or several that differ only in the seed."""

    label: str
    kind: Kind
    target: str
    unit: str  # of its times: "ns" or "instructions"
    runs: list[str]
    created: str
    system: str = ""
    model: str | None = None  # what was modelled, and from what
    suites: list[str] = []
    loads: list[str] = []  # what each did, in a line
    remarks: list[str] = []  # what must be known before its numbers


class System(msgspec.Struct, frozen=True, kw_only=True):
    """A row or column of a table: one of the publication's, or one of today's.

    ``column``: its place among the reproduction's columns, None: printed.
    """

    label: str
    kind: Kind
    column: int | None = None


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A number or text; if results differ, ``value`` is the smallest."""

    value: float | int | str | None
    most: float | None = None
    unit: str | None = None


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a system.  ``status``: the worst of its results; "not run": there is none.

    ``section_s``: the shortest and the longest time over which a result was measured.
    """

    status: Status | Literal["not run"]
    reason: str | None = None
    values: list[Shown] = []
    n: int = 0
    results: int = 0
    load: str | None = None
    section_s: tuple[float, float] | None = None
    flags: list[str] = []
    bench: str = ""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell of a table.  Both empty: ``notes`` say why.  ``notes``: numbers of footnotes."""

    printed: list[Printed] = []
    here: Found | None = None
    notes: list[int] = []


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """A statistic or item shown for every system, with cells in the order of the systems."""

    label: str
    unit: str | None
    cells: list[Cell]
    at: float | None = None
    notes: list[int] = []


class Figure(msgspec.Struct, frozen=True, kw_only=True):
    """A figure: bars or curves of the table's numbers, or of the results behind its cells.

    ``value``: the place of the number in a cell.  ``slowest`` false: of the systems over time, all
    but that one.
    """

    kind: Literal["bars", "curves", "trace", "deadlines", "lateness"]
    title: str
    value: int = 0
    over: str = ""
    slowest: bool = True


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A table or a figure of the publication.

    ``across``: systems are its columns.  ``footnotes`` are numbered from 1.
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


class Reproduction(msgspec.Struct, frozen=True, kw_only=True):
    """A publication with today's numbers in its tables."""

    schema: str = SCHEMA
    source: str
    title: str
    publication: str
    platform: str
    printed: str  # when
    suites: list[str]
    columns: list[Column]
    tables: list[Table]
    notes: list[str] = []
