"""What one more run of a system would show at most: the limits of a budget that is drafted.

All limits of a draft are predicted together, so that an unchanged system exceeds any of them in at
most ``LEVEL`` of its runs, as far as runs scatter lognormally; docs/gate.md says what was shown.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from math import exp, inf, log, sqrt
from statistics import fmean
from typing import NamedTuple

from rtstone.assemble.interval import Part, Variance, combined, sample_variance, t_quantile
from rtstone.assemble.omitted import Missed
from rtstone.stats.comparison.effects import LEVEL, UNKNOWN

WIDEST = 1 + UNKNOWN  # times what was seen: a limit that lies further off tells nothing


class Observed(NamedTuple):
    """A number as several runs showed it: ``kind`` is that of others which scatter likewise."""

    kind: str
    values: Sequence[float]


class Rules:
    """How far the next run may lie off, by what the runs of one system differ by in every case.

    The scatter of a case is known from few runs, and may have been small by luck: so it is averaged
    with that of all numbers of its kind, which has as much weight.
    """

    def __init__(self, numbers: Iterable[Observed], limits: int) -> None:
        """``limits``: how many are predicted together."""
        self._level = 1 - 2 * LEVEL / max(limits, 1)  # of an interval of which one end counts
        squares: dict[str, list[float]] = defaultdict(list)
        for kind, values in numbers:
            if min(values) > 0 and len(values) > 1:
                squares[kind].append(sample_variance(map(log, values)))
        self._common = {kind: fmean(found) for kind, found in squares.items() if len(found) > 1}

    def factor(self, seen: Observed) -> float:
        """By what the geometric mean of the values is to be multiplied; infinite: not known."""
        k = len(seen.values)
        if k < 2 or min(seen.values) <= 0:
            return inf
        square, freedom = sample_variance(map(log, seen.values)), k - 1
        if seen.kind in self._common:
            square, freedom = (square + self._common[seen.kind]) / 2, 2 * freedom
        half = t_quantile(self._level, freedom) * sqrt(square * (1 + 1 / k))
        return exp(half) if half < log(WIDEST) else inf

    def above(self, values: Sequence[float]) -> float:
        """Return an upper limit of the next of values that may be below zero, each for itself."""
        k = len(values)
        half = t_quantile(self._level, k - 1) * sqrt(sample_variance(values) * (1 + 1 / k))
        return fmean(values) + half

    def rate(self, runs: Sequence[Missed]) -> float:
        """Return the share of its activations that one more run omits at most.

        On the scale of square roots, where counts scatter alike whatever they are; what runs differ
        by beyond their stalls counts.
        """
        due, stalls = sum(run.due for run in runs), sum(run.stalls for run in runs)
        if not stalls:  # none in so many: the rule of three, at this level
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
