"""How the cost of services grows with what is in the system: the classes of all pairs.

A release may add members; a change of meaning changes the schema.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Value

SCHEMA = "rtstone.growth/1"

GrowthClass = Literal[
    "constant", "logarithmic", "linear", "linear or n log n", "n log n", "quadratic", "irregular"
]  # in the order in which the simpler is preferred; irregular: grows, by none of them


class GrowthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The cost at one n.

    ``minima``: the least samples of each round or, of one seed each, of each run.  ``cost``: their
    median or, where costs are exact, the least.  ``maxima``: the largest samples of each seed, and
    ``worst``: the largest of all; only where costs are exact.
    """

    n: int
    cost: float
    minima: list[float]
    maxima: list[float] = []
    worst: float | None = None


class WorstGrowth(msgspec.Struct, frozen=True, kw_only=True):
    """How the largest sample grows, of at least 3 seeds; members as of `GrowthPair`.

    ``low``, ``high``: the range of the slope when any one point is left out.  ``p``: of a trend
    over n, with seeds as blocks.
    """

    growth: GrowthClass
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    p: float
    misfit: float
    outlier: int | None = None


class GrowthPair(msgspec.Struct, frozen=True, kw_only=True):
    """One service while there are n of one thing.

    ``service``: title of the bench.  ``over``: the thing, "" if the target has no such service for
    any.  ``growth``: None with fewer than 4 points; "linear or n log n" where noise leaves both.
    ``slope``: what the class's function adds, in ``unit`` per 1 (of the line, if both are left),
    doubling, n log2 n or n squared; None unless a class says it.  ``low``, ``high``: of
    ``interval``: "points", the range of the slope when any one point is left out, or "rounds", its
    95% interval over rounds.  ``p``: of a trend over n by Page's test, corrected by Holm for all
    pairs of the table; None where instructions or simulated costs are exact.  ``misfit``: root mean
    square of relative deviations from the class.  ``outlier``: the n whose point no fit of the
    class includes.
    ``end``: why there are no points beyond the last, None if all were measured.
    ``worst``: None with fewer than 3 seeds.
    """

    bench: str
    service: str
    over: str
    load: str
    params: dict[str, Value]
    unit: str
    points: list[GrowthPoint]
    growth: GrowthClass | None = None
    slope: float | None = None
    low: float | None = None
    high: float | None = None
    interval: Literal["points", "rounds"] | None = None
    p: float | None = None
    misfit: float | None = None
    outlier: int | None = None
    end: str | None = None
    worst: WorstGrowth | None = None

    @property
    def increase(self) -> float:
        """How many times the cost at the least n the one at the largest n is; 0 without points."""
        return self.points[-1].cost / self.points[0].cost if self.points else 0.0


class GrowthTable(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs of a system; ``exact``: costs have no noise, so that no growth means constant.

    ``system``: its label.  ``runs``: that measured it, ``seeds``: with which, if it has any.
    """

    schema: str = SCHEMA
    system: str
    target: str
    runs: list[str]
    seeds: list[int] = []
    exact: bool
    pairs: list[GrowthPair]


COMPARED = "rtstone.growth-compared/1"

# How a pair grows on another system, beside the first: by the same class; by another one; by the
# same, with slopes whose ranges lie more than 1% apart; not seen on one of them, where noise may
# hide it; or not known on one of them.
GrowthVerdict = Literal["same", "class", "slope", "unseen", "unknown"]


class GrowthSystem(msgspec.Struct, frozen=True, kw_only=True):
    """A system of a comparison; members as of `GrowthTable`."""

    system: str
    target: str
    runs: list[str]
    seeds: list[int] = []
    exact: bool


class GrowthRow(msgspec.Struct, frozen=True, kw_only=True):
    """One service while there are n of one thing, on all systems.

    ``pairs``: in the order of the systems, None where it was not measured.  ``verdicts``: of each
    but the first system, beside the first.
    """

    bench: str
    service: str
    over: str
    load: str
    params: dict[str, Value]
    pairs: list[GrowthPair | None]
    verdicts: list[GrowthVerdict]


class GrowthsCompared(msgspec.Struct, frozen=True, kw_only=True):
    """The classes of several systems, those first that differ from the first system's."""

    schema: str = COMPARED
    systems: list[GrowthSystem]
    rows: list[GrowthRow]
