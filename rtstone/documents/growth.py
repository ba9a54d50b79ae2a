"""How the cost of services grows with what is in the system: the classes of a run's pairs.

A release may add members; a change of meaning changes the schema.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Value

SCHEMA = "rtstone.growth/1"

GrowthClass = Literal[
    "constant", "logarithmic", "linear", "n log n", "quadratic", "irregular"
]  # in the order in which the simpler is preferred; irregular: grows, by none of them


class GrowthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """The cost at one n: the median of ``minima``, which are the least samples of each round."""

    n: int
    cost: float
    minima: list[float]


class GrowthPair(msgspec.Struct, frozen=True, kw_only=True):
    """One service while there are n of one thing.

    ``service``: title of the bench.  ``over``: the thing, "" if the target has no such service for
    any.  ``growth``: None with fewer than 4
    points.  ``slope``: what the class's function adds, in ``unit`` per 1, doubling, n log2 n or n
    squared; None unless a class says it.  ``low``, ``high``: of ``interval``: "points", the range
    of the slope when any one point is left out, or "rounds", its 95% interval over rounds.
    ``p``: of a trend over n by Page's test, corrected by Holm for all pairs of the run; None where
    instructions or simulated costs are exact.  ``misfit``: root mean square of relative deviations
    from the class.  ``outlier``: the n whose point no fit of the class includes.
    ``end``: why there are no points beyond the last, None if all were measured.
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


class GrowthTable(msgspec.Struct, frozen=True, kw_only=True):
    """All pairs of a run; ``exact``: costs have no noise, so that no growth means constant."""

    schema: str = SCHEMA
    run_id: str
    target: str
    exact: bool
    pairs: list[GrowthPair]
