"""The comparison document: several systems in the same cases, side by side.

Values have the unit of their row; unknown is ``None``.  A release may add members; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from math import log
from typing import Literal

import msgspec

from rtstone.documents.run import Status, Value
from rtstone.wire.records import Bench

SCHEMA = "rtstone.comparison/1"

# "care": numbers may differ for this reason alone; "note": numbers should not be affected.
Grade = Literal["care", "note"]
Part = Literal["median", "tail", "maximum", "missed", "spread"]
Verdict = Literal["better", "worse", "no difference", "inconclusive"]
# What an interval is computed from: pairs of interleaved runs; several runs on each side; single
# runs, with the noise taken from other runs; or numbers that the system repeats exactly.
Basis = Literal["pairs", "runs", "single", "exact"]

# What decides between two systems: of each the latest of its wake-ups, under whichever load that
# was; without wake-ups in common the case that differs most beyond doubt or, if nothing does, that
# which is nearest to a verdict.
Main = Literal["worst wake-up", "largest", "nearest"]
WOKEN: Main = "worst wake-up"
_FIRST = 1e6  # weight of missed activations, before the logarithm of any ratio

SIGNS: dict[Verdict, str] = {
    "better": "+", "worse": "-", "no difference": "=", "inconclusive": "?",
}  # fmt: skip


class Column(msgspec.Struct, frozen=True, kw_only=True):
    """A system: one or several runs.

    ``called``: what a person calls the target.  ``runs``: their ids, in the order in which they
    were named.  ``seeds``: their seeds, if the system has any.  ``names``: by id, what the user
    called them.  ``reasons``: why runs are incomplete.  ``command``: that measured the first of
    them, word by word.  ``origin``: the system, the machine and the day of the first of them.
    ``stolen``: the largest share, of a case, of the readings of steal time between which that grew,
    None if it is not known.  ``instructions_per_s``: what its timers take for a second, None
    of a system whose numbers are times.
    """

    label: str
    target: str
    called: str | None = None
    runs: list[str]
    seeds: list[int] = []
    names: dict[str, str] = {}
    status: Literal["complete", "incomplete"] = "complete"
    reasons: list[str] = []
    command: list[str] = []
    origin: str = ""
    stolen: float | None = None
    instructions_per_s: int | None = None


class Holds(msgspec.Struct, frozen=True, kw_only=True):
    """A value, and the labels of the columns that have it."""

    value: str
    columns: list[str]


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that differs between columns.

    ``benches``: ids of the benches that it concerns; empty: all.
    """

    aspect: str
    grade: Grade
    values: list[Holds]
    benches: list[str] = []


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one system in one case; samples of several runs are pooled.

    ``status``: the worst among its runs.  ``reason``: why it is not "ok".  ``runs``: number of runs
    with values.  ``batched``: samples are means of several operations.  ``section_s``: measured
    time in s.  ``missed``: activations that were due and never happened, None if not counted; where
    there are some, mean and percentiles include them (``corrected``), but ``n`` does not.
    ``bucket_ns``: a value v of another tool is anything from v to v + bucket_ns.  In the row of a
    figure, ``min`` and ``max`` are the extremes over the runs, and ``n`` is 0.
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
    missed: int | None = None
    corrected: bool = False
    bucket_ns: float = 0.0
    flags: list[str] = []

    @property
    def missed_share(self) -> float | None:
        """The share of due activations that never happened, in %; None if not counted."""
        if self.missed is None or not self.n + self.missed:
            return None
        return 100 * self.missed / (self.n + self.missed)


class Effect(msgspec.Struct, frozen=True, kw_only=True):
    """How a column compares with the first one in a part of the distribution.

    ``part``: "maximum" occurs only where numbers repeat exactly; elsewhere it is a single sample;
    "missed" only where activations are counted, and some were missed.  "spread" is the distance
    from the median to ``statistic``, in ``Row.spreads`` only.
    ``statistic``: the one compared: "p50", "p99", "p999", "max", "missed"; "value" for a figure.
    ``against``: the column it is compared with if the first one lacks the row; None: the first.
    ``ratio``: column / first.  ``ci95``: its interval; all intervals of the comparison hold
    together in 95% of comparisons, and so do those of its spreads.  ``difference`` and
    ``difference_ci95``, in the unit of the row, replace the ratio if a value is not above zero.  Of
    "missed" they are points: differences of the shares of due activations in %.
    ``floor``: noise alone makes ratios of up to 1 + this; None: not known.
    ``within``: what is inconclusive is no difference above this (a ratio minus 1), as its interval
    lies within 10% of equality; None: it does not.
    ``missing``: approximate number of samples that a side still lacks for a verdict; None: more
    samples alone do not give one.  ``pairs``: of single runs beside a noise floor, about how many
    pairs of runs taken in turn would give one, if they scatter like those of the floor; None: not
    known.
    ``runs``: number of runs, of both sides, that the interval is computed from.
    ``values``: of the column that it is compared with and of this one, all runs of each together;
    percentiles include missed activations if there were enough stalls to know them from.
    """

    part: Part
    statistic: str
    column: str
    against: str | None = None
    ratio: float | None = None
    ci95: tuple[float, float] | None = None
    difference: float | None = None
    difference_ci95: tuple[float, float] | None = None
    floor: float | None = None
    verdict: Verdict
    within: float | None = None
    missing: int | None = None
    pairs: int | None = None
    reason: str | None = None
    basis: Basis | None = None
    runs: int = 0
    values: tuple[float | None, float | None] | None = None

    @property
    def weight(self) -> float:
        """The size of the effect, for sorting: missed activations before all ratios."""
        if self.part == "missed":
            return _FIRST + abs(self.difference or 0.0)
        return abs(log(self.ratio)) if self.ratio else 0.0

    @property
    def possible(self) -> float | None:
        """The largest difference that its interval leaves possible, as a ratio minus 1."""
        return max(1 - self.ci95[0], self.ci95[1] - 1) if self.ci95 else None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """A case, or one figure of a case that has no samples.

    ``params``: those that identify the case.  ``cells``: in the order of the columns; None if the
    case was not part of that system's runs.  ``spreads``: effects on the spread of samples.
    """

    bench: str
    params: dict[str, Value]
    series: str = ""
    figure: str | None = None
    load: str
    unit: str
    cells: list[Cell | None]
    effects: list[Effect] = []
    spreads: list[Effect] = []


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """The number of effects with each verdict."""

    better: int = 0
    worse: int = 0
    no_difference: int = 0
    inconclusive: int = 0

    @property
    def different(self) -> int:
        """The number of effects with the verdict better or worse."""
        return self.better + self.worse


class Axes(msgspec.Struct, frozen=True, kw_only=True):
    """How two systems compare in speed and in determinism, over the cases that both have.

    ``column``, ``against``: as of an effect.  ``cases``: those whose samples are times.
    ``speed``: verdicts on medians; better: faster.  ``determinism``: verdicts on spreads; better:
    more deterministic.  Each case counts once in either.
    """

    column: str
    against: str | None = None
    cases: int
    speed: Tally
    determinism: Tally


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A cell: the label of its column, and the index of its row."""

    column: str
    row: int


class MainEffect(msgspec.Struct, frozen=True, kw_only=True):
    """An effect on the main case.

    ``rows``: indices of the rows where the values of ``effect`` are from, first that of the column
    it is compared with: of several wake-ups each system has its own worst.
    """

    effect: Effect
    rows: tuple[int, int]


class MainCase(msgspec.Struct, frozen=True, kw_only=True):
    """What decides between two systems, and the verdict on that.

    ``column``, ``against``: as of an effect.  ``effects``: of wake-ups on missed activations, the
    maximum where it repeats exactly, and the tail, as far as they can be compared.
    ``verdict``: of wake-ups on all of them; where one is better and another worse, that on missed
    activations, else it is open.  ``lost``: wake-ups that failed or are incomplete: the worst of
    their system is then unknown, so that no verdict says it is better than another.  ``alone``:
    wake-ups that only one of the two ran, which no verdict considers.  ``final``: of the best two
    of more than two systems, the label of the one that is better as far as was seen; None
    elsewhere.
    """

    column: str
    against: str | None = None
    kind: Main
    verdict: Verdict
    effects: list[MainEffect] = []
    lost: list[Place] = []
    alone: list[Place] = []
    final: str | None = None


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """One pair of runs, judged like two single runs with the noise taken from all the others."""

    number: int
    runs: tuple[str, str]
    tally: Tally


class Rules(msgspec.Struct, frozen=True, kw_only=True):
    """The basis of the verdicts of a comparison.

    ``level``: the share of comparisons of equal systems that find any difference is at most this.
    ``effects``: number of effects judged together, with those on the worst of several wake-ups;
    each interval has the confidence 1 - 0.8 level/effects, as a fifth is kept back for scatter that
    is not normal.
    ``margin``: a ratio within 1 ± this, or within the noise floor, counts as no difference.
    ``floor``: where the noise floor comes from.  ``pairs``: the verdicts of each pair alone.
    ``spreads``: number of effects on spreads, which are judged together by themselves.
    """

    level: float
    effects: int
    correction: str
    margin: float
    floor: str
    tally: Tally
    remarks: list[str] = []
    pairs: list[Pair] = []
    spreads: int = 0


class Comparison(msgspec.Struct, frozen=True, kw_only=True):
    """Several systems, case by case.

    ``schema``: name and version of the document.
    ``columns``: the systems.
    ``units``: of times: "ns" or "instructions".
    ``equal``: the circumstances that all columns share.
    ``differences``: those that differ, with their values.
    ``remarks``: what to know before reading any number.
    ``rows``: the cases, and figures of cases without samples.
    ``benches``: descriptions of the benches that occur.
    ``rules``: the basis of the verdicts; None if nothing was judged.
    ``main``: what decides between each two systems that are compared.
    ``axes``: speed and determinism of each column that is compared with another.
    """

    schema: str = SCHEMA
    columns: list[Column]
    units: list[str]
    equal: dict[str, str]
    differences: list[Difference]
    remarks: list[str] = []
    rows: list[Row]
    benches: list[Bench] = []
    rules: Rules | None = None
    main: list[MainCase] = []
    axes: list[Axes] = []
