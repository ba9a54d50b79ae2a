"""Find where a system breaks down: the share of jobs that miss, over what is demanded of it.

Levels of demand are tested several times each.  The search halves the range until it has the level
at which the curve exceeds a limit.  Then it tests half-way to where the share is surely below the
limit, or surely above it, whichever is further off, until both are as near as the resolution or it
has made so many tests.  What is left of these goes into the largest steps of the curve.

The curve does not fall: what bounds the share of levels above a level bounds its own from above,
what bounds that of levels below it from below.  So a bound is that of the tests of neighbours
together, whichever neighbours make it tightest.  It is Hoeffding's of 1963, which holds for any
values between 0 and 1, with the tests as values if they scatter as if each missed all or nothing,
and with the jobs if they scatter as independent jobs do.  How often the truth is between the bounds
is what tests/stats/test_breakdown_curve.py measures, on curves of known shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import inf, log, sqrt
from typing import NamedTuple

CONFIDENCE = 0.95  # of all bounds of a curve together
BOUNDS = 2  # as many as independent ones may be wrong in each direction
MOST_TESTS = 100  # of a search
TESTS = 3  # of a level at a time; from three the scatter between them is known
STEEP = 0.1  # a step of the curve that is halved at the end
WIDE = 20  # if it is wider than this part of all levels
UNSURE = 1.2816  # standard deviations by which the scatter is taken for larger than it was: 90%
_PRECISION = 1e-9  # of a bound


class Trial(NamedTuple):
    """A test: of so many jobs that were due, so many missed."""

    missed: int
    due: int


class Point(NamedTuple):
    """Tests of a level."""

    level: int
    trials: Sequence[Trial]

    @property
    def due(self) -> int:
        """Jobs that were due in all tests."""
        return sum(trial.due for trial in self.trials)

    @property
    def share(self) -> float:
        """Share of the jobs that missed."""
        return sum(trial.missed for trial in self.trials) / self.due


class Design(NamedTuple):
    """What to search.

    ``low``, ``high``: levels that are not tested: at ``low`` nothing is demanded, ``high`` is more
    than any system bears.  ``resolution``: levels that are not to be told from each other.
    ``limit``: the share whose level is looked for.  ``exact``: each test of a level has the same
    outcome.
    """

    low: int
    high: int
    resolution: int
    limit: float
    exact: bool = False


class Step(NamedTuple):
    """The level to test next, and how often."""

    level: int
    tests: int


class Bound(NamedTuple):
    """The share at a level: of the curve nearest to all tests, and its bounds."""

    level: int
    share: float
    low: float
    high: float


class Crossing(NamedTuple):
    """Where the share exceeds the limit: surely not at ``low``, surely at ``high``.

    ``level``: where the curve does, straight between its points.  None: nowhere that was tested.
    ``low``: that of the design if no level is sure.
    """

    level: float | None
    low: int
    high: int | None


# ---- the next level -----------------------------------------------------------------------------


def following(design: Design, points: Sequence[Point]) -> Step | None:
    """Return what to test after these points, which are one for each level; None: nothing."""
    tests = 1 if design.exact else TESTS
    done = sum(len(point.trials) for point in points)
    if done + tests > MOST_TESTS:
        return None
    curve = bounds(design, points)
    level = _undecided(design, curve)
    if level is None:
        level = _halfway_up(design, curve)
    return None if level is None else Step(level, tests)


def _undecided(design: Design, curve: Sequence[Bound]) -> int | None:
    """Return the level whose test tells most about where the limit is exceeded."""
    below, above = _around(design, curve)
    if above - below > design.resolution:
        return (below + above) // 2
    end = crossing(design, curve)
    high = design.high if end.high is None else end.high
    upper, lower = max((below, end.low), (high, above), key=lambda gap: gap[0] - gap[1])
    return (upper + lower) // 2 if upper - lower > design.resolution else None


def _around(design: Design, curve: Sequence[Bound]) -> tuple[int, int]:
    """Return the levels between which the curve exceeds the limit."""
    below = max((b.level for b in curve if b.share <= design.limit), default=design.low)
    above = min((b.level for b in curve if b.share > design.limit), default=design.high)
    return below, above


def _halfway_up(design: Design, curve: Sequence[Bound]) -> int | None:
    """Return the middle of the largest step of the curve above the limit, None if none is left."""
    above = [bound for bound in curve if bound.high > design.limit]
    steps = [
        (upper.share - lower.share, (upper.level + lower.level) // 2)
        for lower, upper in pairwise(above)
        if WIDE * (upper.level - lower.level) > design.high - design.low
    ]
    size, middle = max(steps, default=(0.0, 0))
    return middle if size > STEEP else None


# ---- the curve ----------------------------------------------------------------------------------


def crossing(design: Design, curve: Sequence[Bound]) -> Crossing:
    """Return where the share exceeds the limit, of the bounds at all points."""
    sure = (b.level for b in curve if b.high < design.limit or (design.exact and not b.share))
    low = max(sure, default=design.low)
    high = min((b.level for b in curve if b.low > design.limit), default=None)
    return Crossing(_level_at(design, curve), low, high)


def _level_at(design: Design, curve: Sequence[Bound]) -> float | None:
    before, share = float(design.low), 0.0
    for bound in curve:
        if bound.share > design.limit:
            part = (design.limit - share) / (bound.share - share)
            return before + part * (bound.level - before)
        before, share = float(bound.level), bound.share
    return None


def bounds(design: Design, points: Sequence[Point]) -> list[Bound]:
    """Return the curve at the points, in the order of their levels, with its bounds."""
    ordered = sorted(points, key=lambda point: point.level)
    curve = rising([point.share for point in ordered], [point.due for point in ordered])
    levels = [point.level for point in ordered]
    if design.exact:
        return [Bound(*item) for item in zip(levels, curve, curve, curve, strict=True)]
    typical = scatter(points)
    sizes = [_size(point, max(typical, scatter([point]))) for point in ordered]
    shares = [point.share for point in ordered]
    highs = _highest(shares, sizes)
    lows = _highest([1 - share for share in reversed(shares)], sizes[::-1])
    return [
        Bound(level, share, 1 - low, high)
        for level, share, low, high in zip(levels, curve, reversed(lows), highs, strict=True)
    ]


def rising(shares: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the curve nearest to the shares that does not fall (Ayer and others 1955)."""
    blocks: list[tuple[float, float, int]] = []  # share, weight, points
    for share, weight in zip(shares, weights, strict=True):
        block = (share, weight, 1)
        while blocks and blocks[-1][0] >= block[0]:
            before, heft, points = blocks.pop()
            whole = heft + block[1]
            block = ((before * heft + block[0] * block[1]) / whole, whole, points + block[2])
        blocks.append(block)
    return [share for share, _, points in blocks for _ in range(points)]


def scatter(points: Sequence[Point]) -> float:
    """Return how many times the variance of independent jobs tests of a level have, at least 1.

    As there are few tests, it is the largest that is likely; 1 if all or none missed in each.
    """
    squares, freedom = 0.0, 0
    for point in points:
        share = point.share
        if 0 < share < 1:
            variance = share * (1 - share)
            squares += sum((t.missed - t.due * share) ** 2 / (t.due * variance)
                           for t in point.trials)  # fmt: skip
            freedom += len(point.trials) - 1
    return max(1.0, squares / _least_squares(freedom)) if freedom else 1.0


def _least_squares(freedom: int) -> float:
    """Return the quantile of chi squared that a tenth is below (Wilson and Hilferty 1931)."""
    part = 2 / (9 * freedom)
    return float(freedom * (1 - part - UNSURE * sqrt(part)) ** 3)


def _size(point: Point, times: float) -> float:
    """Return as how many independent values a point's jobs count: at least one for each test."""
    return max(point.due / times, float(len(point.trials)))


# ---- bounds -------------------------------------------------------------------------------------


def _highest(shares: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Return the upper bound at each point of a curve that does not fall."""
    bound, highs = 1.0, []
    for first in reversed(range(len(shares))):
        missed = size = 0.0
        for share, number in zip(shares[first:], sizes[first:], strict=True):
            missed += share * number
            size += number
            if missed / size < bound and size * _entropy(missed / size, bound) > _doubt():
                bound = _highest_mean(missed / size, size)
        highs.append(bound)
    return highs[::-1]


def _highest_mean(share: float, size: float) -> float:
    """Return the highest mean with which so many values may have that share as their mean."""
    low, high = share, 1.0
    while high - low > _PRECISION:
        middle = (low + high) / 2
        if size * _entropy(share, middle) <= _doubt():
            low = middle
        else:
            high = middle
    return high


def _doubt() -> float:
    return log(2 * BOUNDS / (1 - CONFIDENCE))


def _entropy(share: float, mean: float) -> float:
    """Return the relative entropy of a share with respect to a higher mean."""
    if mean >= 1:
        return inf
    part = share * log(share / mean) if share > 0 else 0.0
    return part + (1 - share) * log((1 - share) / (1 - mean))
