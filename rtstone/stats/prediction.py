"""Predict the most that one more run of a system will show, for the limits of a drafted budget.

All limits of a draft are predicted together: an unchanged system exceeds any of them in at most
``LEVEL`` of its runs, provided that runs scatter lognormally; docs/guides/gate.md has what was
tested.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import NamedTuple

from rtstone.results.interval import Part, Variance, combined, sample_variance, t_quantile
from rtstone.results.omitted import Missed
from rtstone.stats.comparison.effects import LEVEL, UNKNOWN

WIDEST = 1 + UNKNOWN  # a limit more than this many times the observed value is useless


class Observed(NamedTuple):
    """A number in several runs; ``kind``: numbers of one kind scatter alike."""

    kind: str
    values: Sequence[float]


class Rules:
    """How much the next run may differ, derived from the scatter of runs in all cases.

    The scatter of one case is known from few runs, and may be small by chance.  So it is averaged,
    with equal weights, with that of all numbers of its kind.
    """

    def __init__(self, numbers: Iterable[Observed], limits: int) -> None:
        """``limits``: how many limits are predicted together."""
        self._level = 1 - 2 * LEVEL / max(limits, 1)  # two-sided; only one end is used
        squares: dict[str, list[float]] = defaultdict(list)
        for kind, values in numbers:
            if min(values) > 0 and len(values) > 1:
                squares[kind].append(sample_variance(map(log, values)))
        self._common = {
            kind: fmean(variances) for kind, variances in squares.items() if len(variances) > 1
        }

    def factor(self, seen: Observed) -> float:
        """Return the ratio of a limit to the geometric mean of the values, infinite if unknown."""
        k = len(seen.values)
        if k < 2 or min(seen.values) <= 0:
            return inf
        half = self.distance(self.scatter(seen), k)
        return exp(half) if half < log(WIDEST) else inf

    def scatter(self, seen: Observed) -> Variance:
        """Return the variance of the logarithms of two values or more, all above zero."""
        square, freedom = sample_variance(map(log, seen.values)), len(seen.values) - 1
        if seen.kind in self._common:
            square, freedom = (square + self._common[seen.kind]) / 2, 2 * freedom
        return Variance(square, freedom)

    def distance(self, scatter: Variance, runs: int) -> float:
        """Return how far above the mean of so many runs one more may lie, in logarithms."""
        return t_quantile(self._level, scatter.freedom) * sqrt(scatter.value * (1 + 1 / runs))

    def above(self, values: Sequence[float]) -> float:
        """Return an upper limit of the next value; for values that may be below zero."""
        k = len(values)
        half = t_quantile(self._level, k - 1) * sqrt(sample_variance(values) * (1 + 1 / k))
        return fmean(values) + half

    def rate(self, runs: Sequence[Missed]) -> float:
        """Return an upper limit of the share of activations that one more run omits.

        Computed on square roots, where the scatter of counts does not depend on their size, and
        with the scatter of runs beyond that of their stalls.
        """
        due, stalls = sum(run.due for run in runs), sum(run.stalls for run in runs)
        if not stalls:  # none at all: the rule of three, at this level
            return log(2 / (1 - self._level)) / due
        weight = sum(run.omitted for run in runs) / stalls
        level = (stalls + 1) * weight / due
        variance_ = combined([
            Part(run.due, run.rate, Variance(level * weight / run.due, 2 * stalls))
            for run in runs
        ])  # fmt: skip
        one_more = variance_.value * (1 + len(runs))
        half = t_quantile(self._level, variance_.freedom) * sqrt(one_more / level) / 2
        return min((sqrt(level) + half) ** 2, 1.0)
