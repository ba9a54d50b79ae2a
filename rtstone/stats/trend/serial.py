"""Runs that are like the runs beside them: by how much levels wander without a change.

Of runs that are correlated, as on a machine whose other programs come and go, the means of
neighbouring ones lie further apart than their scatter explains.  The correlation of neighbours is
taken for that of an autoregressive process of first order: runs at a distance of k have its k-th
power.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from math import inf, sqrt

import numpy as np
from numpy.typing import NDArray

from rtstone.results.interval import t_quantile

CHANCE = 1.645  # standard errors, 1/sqrt(runs), that a correlation exceeds in 5% without any
UNSURE = 1.5  # standard errors by which a correlation may be stronger than it seems
STRONGEST = 0.95  # correlation that can be distinguished from a level that moves

Floats = NDArray[np.float64]

_GRID = np.arange(0, 1 + STRONGEST * 100) / 100  # correlations


def correlation(parts: Sequence[Floats]) -> float:
    """Return the correlation of neighbours in successive parts, each of which has a level.

    It is that whose expectation is observed, at least 0 and at most STRONGEST: as levels are
    subtracted, neighbours in short parts look less alike than they are.
    """
    products = squares = 0.0
    for values in parts:
        off = values - values.mean()
        products += float(off[1:] @ off[:-1])
        squares += float(off @ off)
    if not squares:
        return 0.0
    expected = _expected(tuple(sorted(map(len, parts))))
    return float(np.interp(products / squares, expected, _GRID))


@cache
def _expected(lengths: tuple[int, ...]) -> Floats:
    """Return the expected quotient of ``correlation`` for each correlation of the grid."""
    products, squares = np.zeros(len(_GRID)), np.zeros(len(_GRID))
    for n in lengths:
        mean = _of_mean(_GRID, n)
        first = (1 - _GRID**n) / (n * (1 - _GRID))  # of a run at the end with the mean
        products += (n - 1) * _GRID - (n + 1) * mean + 2 * first
        squares += n * (1 - mean)
    return np.maximum.accumulate(products / squares) if squares[0] else np.full(len(_GRID), inf)


def _of_mean(r: Floats, n: int) -> Floats:
    """Return the variance of the mean of n neighbours of variance 1."""
    variance: Floats = (n * (1 - r * r) - 2 * r + 2 * r ** (n + 1)) / (n * (1 - r)) ** 2
    return variance


def at_most(correlated: float, runs: int) -> float:
    """Return how strong a correlation may be that was seen in so many runs."""
    return min(correlated + UNSURE / sqrt(runs), STRONGEST)


def widening(correlated: float, before: int, after: int) -> float:
    """Return how many times as far means of so many runs lie apart as their scatter explains."""
    r = np.array([correlated])
    parts = [float(_of_mean(r, n)[0]) for n in (before, after)]
    sums = [(1 - correlated**n) / (1 - correlated) for n in (before, after)]
    apart = sum(parts) - 2 * correlated * sums[0] * sums[1] / (before * after)
    scatter = before * (1 - parts[0]) + after * (1 - parts[1])
    alone = scatter / (before + after - 2) * (1 / before + 1 / after)
    return max(sqrt(apart / alone), 1.0)


def wander(before: Floats, after: Floats, correlated: float, level: float) -> bool:
    """Return whether levels lie no further apart than those of such runs do without a change.

    ``level``: how often they may, at any of the places between these runs.
    """
    n, m = len(before), len(after)
    scatter = n * float(before.var()) + m * float(after.var())
    alone = sqrt(scatter / (n + m - 2) * (1 / n + 1 / m))
    far = t_quantile(1 - level / (n + m - 1), n + m - 2) * widening(correlated, n, m) * alone
    return abs(float(after.mean() - before.mean())) <= far
