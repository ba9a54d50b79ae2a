"""The comparison document: several systems in the same cases, side by side.

Values have the unit of their row; unknown is ``None``.  Members are only ever added; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Status, Value
from rtstone.wire.records import Bench

SCHEMA = "rtstone.comparison/1"

# "care": numbers may differ for this reason alone; "note": they should not.
Grade = Literal["care", "note"]
Part = Literal["median", "tail", "maximum"]
Verdict = Literal["better", "worse", "no difference", "inconclusive"]
# What an interval is made from: pairs of runs taken in turn, several runs on both sides, one run
# on a side with the noise from elsewhere, or numbers that a system repeats to the last one.
Basis = Literal["pairs", "runs", "single", "exact"]

SIGNS: dict[Verdict, str] = {
    "better": "+", "worse": "-", "no difference": "=", "inconclusive": "?",
}  # fmt: skip


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A system: one run, or several runs that differ only in the seed."""

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
    """A condition that differs between columns.

    ``benches``: those it concerns; none: all.
    """

    aspect: str
    grade: Grade
    values: list[Holds]
    benches: list[str] = []


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one system in one case; several runs are one set of samples.

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


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """How a column compares with the first one in a part of the distribution.

    ``against``: the column that it is compared with where the first one lacks the row; None: the
    first.  ``maximum`` is a part where numbers repeat: elsewhere it is a single sample.
    ``ratio`` is column by first; its interval ``ci95`` holds together with all others of the
    comparison in 95% of comparisons.  Where a value is not above zero there is no ratio:
    ``difference`` and its interval, in the unit of the row, stand in its place.  ``floor``: what
    noise alone makes of a ratio, less 1; None: not known.  ``missing``: about how many samples a
    side still lacks for a verdict; None: samples alone do not give one.  ``runs``: those of both
    sides that the interval is made from.
    """

    part: Part
    statistic: str  # "p50", "p99", "p999", "max"; of a figure "value"
    column: str
    against: str | None = None
    ratio: float | None = None
    ci95: tuple[float, float] | None = None
    difference: float | None = None
    difference_ci95: tuple[float, float] | None = None
    floor: float | None = None
    verdict: Verdict
    missing: int | None = None
    reason: str | None = None
    basis: Basis | None = None
    runs: int = 0


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A case, or one figure of a case that has no samples.

    ``params``: those that identify the case.  ``cells``: in the order of the columns; None: the
    case was not part of that system's runs.
    """

    bench: str
    params: dict[str, Value]
    series: str = ""
    figure: str | None = None
    load: str
    unit: str
    cells: list[Cell | None]
    effects: list[Effect] = []


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The number of effects with each verdict."""

    better: int = 0
    worse: int = 0
    no_difference: int = 0
    inconclusive: int = 0

    @property
    def different(self) -> int:
        """The effects in which a column is called different from the first."""
        return self.better + self.worse


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One pair of runs judged alone, as two single runs with the noise of all the others."""

    number: int
    runs: tuple[str, str]
    tally: Tally


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The basis of the verdicts of a comparison.

    ``level``: of all comparisons of equal systems, so many at most find any difference.
    ``effects`` is how many are judged together; each interval is at
    1 - 0.8 level/effects, a fifth being kept back for scatter that is not normal.
    ``margin``: a ratio within 1 ± so much, or within the noise floor, is no difference.
    ``floor``: where the noise floor is from.
    """

    level: float
    effects: int
    correction: str
    margin: float
    floor: str
    tally: Tally
    remarks: list[str] = []
    pairs: list[Pair] = []


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
    rules: Rules | None = None
