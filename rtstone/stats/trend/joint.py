"""Whether any of several series became worse in its last runs: one test of all of them together.

P. H. Westfall and S. S. Young, Resampling-Based Multiple Testing (1993), section 2.3: the runs are
put into other orders, those of all series into the same, and the largest statistic of any series
shows what chance does to the largest.  So the level holds however the series depend on one another
and whatever their distribution is, and the least level that can be reached depends on the number
of runs alone, not on that of the series.

Orders reveal nothing of runs that are like the runs beside them.  So a statistic is reduced by what
such correlation adds to it, and no earlier runs in a row may lie as far apart from all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from itertools import combinations, permutations
from math import ceil, comb, perm, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtstone.results.interval import t_quantile
from rtstone.stats.trend.changepoints import SHORTEST
from rtstone.stats.trend.serial import Floats, at_most, correlation, widening

MOST_RUNS = 1000  # beyond which no number of runs is advised

_ALL = 4000  # orders up to which every one is looked at
_DRAWN = 1999  # orders that are drawn, if there are more
_TIMES = 20  # ... and at least so many for each that may be beyond
_SEED = 19930112
_EQUAL = 1e-9  # statistics that are alike differ in their last digits
_STEPS = 16  # of the search for the least rise
_HIGHEST = 7.0  # rise up to which it is sought: of logarithms 1100 times as much

Orders = NDArray[np.intp]


class History(NamedTuple):
    """A series to judge: values by run, in whose scale worse is larger, and their resolution."""

    values: Floats
    step: float


class Finding(Enum):
    """What the last runs of a series show."""

    NOTHING = 0
    WORSE = 1
    WANDERS = 2  # no more than levels do where runs are like those beside them
    EARLIER = 3  # it became worse before them, or has done so all along


class Judged(NamedTuple):
    """A finding, and where the series changes most in its last runs.

    ``after``: number of runs after that place.  ``rise``: of the level there.  ``correlated``: how
    far neighbouring runs may be correlated.
    """

    finding: Finding
    after: int
    rise: float
    correlated: float


def orders(runs: int, last: int) -> int:
    """Return how many orders of runs differ in what their last ones are."""
    most = _most(runs, last)
    return comb(runs, SHORTEST) * perm(runs - SHORTEST, most - SHORTEST)


def least_runs(last: int, level: float) -> int:
    """Return with how many runs a level can be reached."""
    runs = 2 * SHORTEST
    while orders(runs, last) * level < 1 - _EQUAL:
        runs += 1
    return runs


def _most(runs: int, last: int) -> int:
    """Return how many of the last runs may lie after a change: SHORTEST have to lie before it."""
    return min(last, runs - SHORTEST)


class Joint:
    """The joint test of series that have the same runs, 2 SHORTEST or more.

    ``last``: number of last runs, SHORTEST or more.  ``level``: share of unchanged systems of which
    any series is called worse.
    """

    def __init__(self, histories: Sequence[History], last: int, level: float) -> None:
        self._histories, self._last, self._level = histories, last, level
        self._runs = len(histories[0].values)
        self._most = _most(self._runs, last)
        self._orders = _orders(self._runs, self._most, level)
        observed = [_Series(history, self._most) for history in histories]
        self._average = float(np.mean([series.correlated for series in observed]))
        # By order: the largest statistic, whose it is, and the largest of the others.
        self._first = np.full(len(self._orders), -np.inf)
        self._owner = np.full(len(self._orders), -1)
        self._second = np.full(len(self._orders), -np.inf)
        for number, series in enumerate(observed):
            statistics = series.reordered(self._orders)
            above = statistics > self._first
            self._second = np.where(above, self._first, np.maximum(self._second, statistics))
            self._first = np.where(above, statistics, self._first)
            self._owner[above] = number
        self._observed = observed

    @property
    def reachable(self) -> bool:
        """Whether the level can be reached at all."""
        return self._runs >= least_runs(self._last, self._level)

    def judge(self, number: int) -> Judged:
        """Return what the last runs of a series show."""
        return self._judged(number, self._observed[number])

    def _judged(self, number: int, series: _Series) -> Judged:
        own = series.reordered(self._orders)
        rivals = np.where(self._owner == number, self._second, self._first)
        largest = np.maximum(own, rivals)
        correlated = at_most(max(series.correlated, self._average), self._runs)

        def chance(statistic: float) -> float:
            return float((largest >= statistic - _EQUAL).mean())

        finding = Finding.NOTHING
        rising = series.rise > self._histories[number].step
        if rising and chance(series.statistic) <= self._level + _EQUAL:
            # Student's t of the correlation is reduced by what correlated runs add to it.
            before, freedom = self._runs - series.after, self._runs - 2
            t = series.statistic * sqrt(freedom / max(1 - series.statistic**2, 1e-15))
            t /= widening(correlated, before, series.after)
            if series.earlier:
                finding = Finding.EARLIER
            elif series.elsewhere >= series.statistic - _EQUAL or (
                chance(t / sqrt(freedom + t * t)) > self._level + _EQUAL
            ):
                finding = Finding.WANDERS
            else:
                finding = Finding.WORSE
        return Judged(finding, series.after, series.rise, correlated)

    def least_rise(self, number: int) -> float | None:
        """Return the least rise of a series in its last runs that is detected, None if none is.

        Its scatter before them and in them stays what it is; so do all other series.
        """
        history = self._histories[number]
        level, after = history.values.copy(), np.arange(self._runs) >= self._runs - self._most
        for side in (after, ~after):
            level[side] -= level[side].mean()

        def detected(rise: float) -> bool:
            risen = _Series(history._replace(values=level + rise * after), self._most)
            return self._judged(number, risen).finding is Finding.WORSE

        scatter = float(np.abs(level).max())
        high = max(_HIGHEST, 100 * scatter)
        if not self.reachable or not detected(high):
            return None
        low = max(history.step, scatter / 100, high * 1e-6)
        for _ in range(_STEPS):
            middle = sqrt(low * high)
            low, high = (low, middle) if detected(middle) else (middle, high)
        return high

    def runs_for(self, number: int, rise: float) -> int | None:
        """Return about how many runs detect such a rise, None if no number of them does."""
        values = self._histories[number].values
        sides = values[: -self._most], values[-self._most :]
        scatter = sqrt(sum(len(v) * float(v.var()) for v in sides) / (self._runs - 2))
        correlated = max(self._observed[number].correlated, self._average)
        level = self._level / len(self._histories)
        runs = max(self._runs + 1, least_runs(self._last, self._level))
        while runs <= MOST_RUNS:
            after = _most(runs, self._last)
            wider = widening(at_most(correlated, runs), runs - after, after)
            far = t_quantile(1 - 2 * level, runs - 2) * wider
            if far * scatter * sqrt(1 / after + 1 / (runs - after)) <= rise:
                return runs
            runs = ceil(1.05 * runs)
        return None


class _Series:
    """A series in units of its scatter, and its statistics in the order of its runs.

    The statistic of a place is the correlation of the values with being after it; it rises with
    Student's t of both sides.  ``statistic``: the largest of the places in the last runs;
    ``after``, ``rise``: number of runs after that place, and how far the level rises there.
    ``correlated``: neighbours, on both sides of it.  ``earlier``: an earlier place has a larger
    statistic.  ``elsewhere``: the largest statistic of earlier runs in a row against all others.
    """

    def __init__(self, history: History, most: int) -> None:
        values = history.values
        runs = len(values)
        off = values - values.mean()
        # Equal values are known to their resolution, and not better.
        scatter = sqrt(float(off @ off) + runs * history.step**2 / 12)
        self._off = off / scatter if scatter else off
        self._most = most
        after = np.arange(SHORTEST, runs - SHORTEST + 1)
        self._weights = _weights(after, runs)
        places = self._off[::-1].cumsum()[SHORTEST - 1 : runs - SHORTEST] * self._weights
        here = int(places[: most - SHORTEST + 1].argmax())
        self.after, self.statistic = here + SHORTEST, float(places[here])
        sides = values[: -self.after], values[-self.after :]
        self.rise = float(sides[1].mean() - sides[0].mean())
        self.correlated = correlation(sides)
        self.earlier = bool(places.max() > self.statistic + _EQUAL)
        sums = np.concatenate([[0.0], self._off.cumsum()])
        self.elsewhere = max(
            float((sums[n:-1] - sums[: -n - 1]).max() * self._weights[n - SHORTEST])
            for n in range(SHORTEST, most + 1)
        )

    def reordered(self, orders: Orders) -> Floats:
        """Return the statistic for each order: the runs that are its last ones, from the end."""
        sums = self._off[orders].cumsum(axis=1)[:, SHORTEST - 1 :]
        largest: Floats = (sums * self._weights[: self._most - SHORTEST + 1]).max(axis=1)
        return largest


def _weights(after: NDArray[np.int_], runs: int) -> Floats:
    weights: Floats = np.sqrt(runs / (after * (runs - after)))
    return weights


def _orders(runs: int, most: int, level: float) -> Orders:
    """Return orders, of each its last runs from the end; the first is that of the runs."""
    own = np.arange(runs - 1, runs - 1 - most, -1)
    if orders(runs, most) > _ALL:
        drawn = max(_DRAWN, ceil(_TIMES / level) - 1)
        keys = np.random.default_rng(_SEED).random((drawn, runs))
        return np.concatenate([own[None, :], np.argsort(keys, axis=1)[:, :most]])
    # Every other order, once for all orders of its last SHORTEST.
    same = frozenset(own[:SHORTEST].tolist()), tuple(own[SHORTEST:].tolist())
    rest = [
        last + tail
        for last in combinations(range(runs), SHORTEST)
        for tail in permutations([r for r in range(runs) if r not in last], most - SHORTEST)
        if (frozenset(last), tail) != same
    ]
    return np.array([own, *rest])
