"""The document of a comparison: what several systems did in the same cases, side by side.

Values have the unit of their row; unknown is ``None``.  Members are only ever added; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.model.documents import Status, Value
from rtstone.wire.records import Bench

SCHEMA = "rtstone.comparison/1"

# "care": numbers may differ for this reason alone; "note": they should not.
Grade = Literal["care", "note"]


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A system: one run of it, or several that differ in nothing but the seed."""

    label: str
    target: str
    runs: list[str]  # ids, in the order they were named
    seeds: list[int] = []  # of the runs, where they have one
    status: Literal["complete", "incomplete"] = "complete"
    reasons: list[str] = []  # why runs are incomplete


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """A value and the columns, by label, that have it."""

    value: str
    columns: list[str]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A circumstance that is not the same for all columns.

    ``benches``: those it concerns; none: all.
    """

    aspect: str
    grade: Grade
    values: list[Holds]
    benches: list[str] = []


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """What one system did in one case; several runs are one set of samples.

    ``status`` is the worst of its runs, ``reason`` says why it is not "ok".  ``runs`` have numbers.
    ``section_s``: how long was measured.  In the row of a figure ``min`` and ``max`` are its least
    and largest value over the runs, and ``n`` is 0.
    """

    status: Status
    reason: str | None = None
    runs: int = 0
    n: int = 0
    min: float | None = None
    mean: float | None = None
    p50: float | None = None
    p99: float | None = None
    p999: float | None = None
    max: float | None = None
    batched: bool = False
    section_s: float | None = None
    flags: list[str] = []


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A case, or one figure of a case that has no samples.

    ``params`` are those that make it this case and no other.  ``cells`` are in the order of the
    columns; None: the case was not part of that system's runs.
    """

    bench: str
    params: dict[str, Value]
    series: str = ""
    figure: str | None = None
    load: str
    unit: str
    cells: list[Cell | None]


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Several systems, case by case."""

    schema: str = SCHEMA
    columns: list[Column]
    units: list[str]  # of times: "ns" or "instructions"
    equal: dict[str, str]  # the circumstances that all columns share
    differences: list[Difference]
    remarks: list[str] = []  # what must be known before any number
    rows: list[Row]
    benches: list[Bench] = []  # tables of the benches that occur
