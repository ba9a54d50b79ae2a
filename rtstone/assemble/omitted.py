"""Distributions that include omitted activations, with their confidence intervals.

An activation that came late by several periods hid those that were due meanwhile, each of which
would have been a period less late than the one before.  So a late sample and what it hid are one
event, a stall: the histogram of what was seen tells how many stalls there were and how long, and
the trace whether they came in bursts.  docs/estimates.md says how well that works.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, sqrt
from statistics import NormalDist, fmean
from typing import NamedTuple

from msgspec import structs

from rtstone.assemble.interval import (
    Ordered,
    Part,
    Variance,
    autocorrelated_variance,
    combined,
    factor,
    independent,
    t_quantile,
)
from rtstone.assemble.pool import pooled
from rtstone.documents.run import Result
from rtstone.statistics import PERCENTILES, WHOLE

FEWEST = 24  # stalls, or bursts of them, that an interval may rest on: of fewer it holds too seldom
_WINDOWS = 8  # of the trace, without which stalls are taken for independent of one another
_ALIKE = 0.05  # of the omitted activations may be otherwise than stalls of these lengths make them


def whole(result: Result) -> Result:
    """Return the result including its omitted activations, if any.

    Of what else there is of it only n, statistics and histogram are those of the whole.
    """
    if result.corrected is None or not result.missed:
        return result
    return Result(
        case=result.case,
        bench=result.bench,
        params=result.params,
        load=result.load,
        series=result.series,
        status=result.status,
        unit=result.unit,
        batch=result.batch,
        overflow=result.overflow,
        missed=result.missed,
        figures=result.figures,
        flags=result.flags,
        **structs.asdict(result.corrected),
    )


class Events(NamedTuple):
    """The independent events of a result: samples with what they hid, as (value, count, size)."""

    result: Result
    points: list[tuple[float, int, int]]
    period: float
    bursts: Variance  # of a stall's weight: 1 if they come alone

    @property
    def n(self) -> int:
        """The number of activations, observed and omitted."""
        return sum(count * size for _, count, size in self.points)

    @property
    def stalls(self) -> int:
        """The number of samples that hid others."""
        return sum(count for _, count, size in self.points if size > 1)

    def above(self, line: float, value: float, size: int) -> int:
        """Return how many activations of an event are later than a line."""
        return min(size, ceil((value - line) / self.period)) if value > line else 0

    def total(self, value: float, size: int) -> float:
        """Return the total lateness of the activations of an event."""
        return size * value - self.period * size * (size - 1) / 2


def events(result: Result) -> Events | None:
    """Return the events of a result, None if its omissions do not follow from its samples."""
    there = result.corrected
    if there is None or not result.missed or result.overflow:
        return None
    if there.mean is None or result.mean is None or there.n - result.n != result.missed:
        return None
    hidden = there.mean * there.n - result.mean * result.n
    period = _period(result.histogram, hidden)
    if period is None:
        return None
    points = [(value, count, max(1, ceil(value / period))) for value, count in result.histogram]
    found = Events(result, points, period, _bursts(result, points))
    # The edges of buckets may add one to a stall, or take it away.
    if abs(found.n - there.n) > _ALIKE * result.missed + found.stalls:
        return None
    return found


def _period(points: Sequence[tuple[float, int]], hidden: float) -> float | None:
    """Return the period for which these samples hide this total lateness, in any unit.

    A sample late by L hides L - P, L - 2P, ... above zero: their sum falls steadily with P.
    """
    if not points or hidden <= 0:
        return None
    falling = sorted(points, reverse=True)

    def sum_with(period: float) -> float:
        total = 0.0
        for value, count in falling:
            if value <= period:
                break
            hid = ceil(value / period) - 1
            total += count * (hid * value - period * hid * (hid + 1) / 2)
        return total

    low, high = 0.0, falling[0][0]
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum_with(middle) > hidden else (low, middle)
    return high


def _bursts(result: Result, points: Sequence[tuple[float, int, int]]) -> Variance:
    """Return the variance of omitted activations over time, relative to independent stalls.

    Each window of the trace has room for equally many activations: those that it lacks were
    omitted.  The last one is not whole.
    """
    squares = sum(count * (size - 1) ** 2 for _, count, size in points)
    trace = result.trace
    if trace is None or not trace.rows or trace.width_s <= 0:
        return Variance(1.0)
    there = {round(row[0] / trace.width_s): row[1] for row in trace.rows}
    counts = [float(there.get(window, 0)) for window in range(max(there))]
    if len(counts) < _WINDOWS:
        return Variance(1.0)
    seen = autocorrelated_variance([1] * len(counts), counts)
    times = seen.value * len(counts) ** 2 / squares
    # Of counts with long tails a variance is known less well.
    freedom = 2 / (2 / seen.freedom + max(_kurtosis(counts), 0.0) / len(counts))
    return Variance(times, max(freedom, 1.0)) if times > 1 else Variance(1.0)


def _kurtosis(values: Sequence[float]) -> float:
    """That beyond a normal distribution's."""
    mean = fmean(values)
    second = fmean((value - mean) ** 2 for value in values)
    return fmean((value - mean) ** 4 for value in values) / second**2 - 3 if second else 0.0


class _Moments(NamedTuple):
    """Sums over events of the deviation of each from the average for its size."""

    value: float  # the share, or the mean
    n: int
    second: float
    third: float
    events: float  # independent ones of one size that would scatter as much
    freedom: float


def interval(
    statistic: str, results: Sequence[Result], level: float, fewest: float = FEWEST
) -> tuple[float, float] | None:
    """Return the interval of a statistic of these pooled results, some with omitted activations.

    None where there are less than ``fewest`` stalls to know it from, or where they cannot be told.
    Raises KeyError for a statistic that is none.
    """
    parts = [events(result) if result.missed else _alone(result) for result in results]
    known = [part for part in parts if part is not None]
    together = pooled([whole(result) for result in results])
    value = getattr(together, statistic)
    if value is None or len(known) < len(parts):
        return None
    moments = [_moments(statistic, part, value) for part in known]
    n, second = sum(m.n for m in moments), sum(m.second for m in moments)
    if statistic == "mean":  # what a stall adds to it grows with the square of its length
        fewest *= 2
    if not second or second**2 < fewest * sum(m.second**2 / m.events for m in moments):
        return None
    variance = combined(
        [Part(m.n, m.value, Variance(m.second / m.n**2, m.freedom)) for m in moments]
    )
    size = sum(m.third for m in moments) / second
    if statistic == "mean":
        return _mean_ends(value, n, variance, size, level)
    q = PERCENTILES[statistic] / WHOLE
    if n * (1 - q) < fewest * max(map(_weight, known)):
        return None
    low, high = _ranks(n, q, variance, size, level)
    ordered = Ordered(together.histogram, 0, together.max)
    least, most = ordered.at(round(low)), ordered.at(round(high))
    return None if least is None or most is None else (least, most)


def _weight(part: Events) -> float:
    """Return how many activations the stall (or burst) has that one of them is in, on average.

    The tail above a percentile has to have room for several of these as a whole: else stalls that
    are but a little longer, and seldom, would move it by far more than the others tell.
    """
    sizes = [(count, size) for _, count, size in part.points if size > 1]
    squares = sum(count * size**2 for count, size in sizes)
    return part.bursts.value * squares / sum(count * size for count, size in sizes) if sizes else 1


def _alone(result: Result) -> Events | None:
    """Return the events of a result without omissions: each sample is one."""
    if result.overflow:
        return None
    points = [(value, count, 1) for value, count in result.histogram]
    return Events(result, points, 1.0, Variance(1.0))


def _moments(statistic: str, part: Events, line: float) -> _Moments:
    """Of the share above a line that is the statistic, or of the mean.

    What depends on what came before counts as fewer and larger events: samples as the batches tell,
    stalls as the trace does.
    """
    if statistic == "mean":
        weights = [part.total(value, size) for value, _, size in part.points]
    else:
        weights = [float(part.above(line, value, size)) for value, _, size in part.points]
    n = part.n
    value = sum(w * p[1] for w, p in zip(weights, part.points, strict=True)) / n
    serially = factor(statistic, part.result)
    second = third = fourth = 0.0
    squared = {1: 0.0, 2: 0.0}
    for weight, (_, count, size) in zip(weights, part.points, strict=True):
        off = weight - value * size
        times = part.bursts.value if size > 1 else serially.value
        second += count * off**2 * times
        third += count * off**3 * times**2
        fourth += count * off**4 * times**3
        squared[min(size, 2)] += count * off**2 * times
    number = second * second / fourth if fourth else 1.0
    kinds = zip((squared[1], squared[2]), (serially, part.bursts), strict=True)
    unknown = sum(square**2 / variance.freedom for square, variance in kinds)
    # The variance of a sum of squares is that of fourth powers: twice as many degrees as events.
    freedom = second**2 / (unknown + second**2 / (2 * number)) if second else 1.0
    return _Moments(value if statistic == "mean" else 1 - value, n, second, third, number, freedom)


def _ranks(n: int, q: float, variance: Variance, size: float, level: float) -> tuple[float, float]:
    """As ``interval.ranks``, with skewness from events whose weight is ``size`` on average."""
    normal = NormalDist().inv_cdf((1 + level) / 2)
    half = t_quantile(level, variance.freedom) * n * sqrt(variance.value)
    middle = n * q - (normal**2 - 1) / 6 * size + 0.5
    return middle - half, middle + half


def _mean_ends(
    value: float, n: int, variance: Variance, size: float, level: float
) -> tuple[float, float]:
    """Return the interval of the mean: Wilson's score for events of this size."""
    t = t_quantile(level, variance.freedom)
    shift = t * t / 2 * size / n
    half = sqrt(t * t * variance.value + shift * shift)
    return round(value + shift - half, 4), round(value + shift + half, 4)


def assumed(statistic: str, results: Sequence[Result]) -> bool:
    """Return whether independence had to be assumed for some of the results."""
    return independent(statistic, results) or any(
        result.missed and (result.trace is None or len(result.trace.rows) <= _WINDOWS)
        for result in results
    )


class Missed(NamedTuple):
    """The activations omitted by a case, of those due, and the number of independent stalls."""

    omitted: int
    due: int
    stalls: float

    @property
    def rate(self) -> float:
        """The share of omitted activations."""
        return self.omitted / self.due

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% interval of the share: Byar's of the stalls, all alike."""
        normal, more = NormalDist().inv_cdf(0.975), self.stalls + 1
        each = (self.omitted / self.stalls if self.stalls else 1) / self.due
        high = more * (1 - 1 / (9 * more) + normal / (3 * sqrt(more))) ** 3
        if not self.stalls:
            return 0.0, min(high * each, 1.0)
        part = 1 - 1 / (9 * self.stalls) - normal / (3 * sqrt(self.stalls))
        return self.stalls * max(part, 0.0) ** 3 * each, min(high * each, 1.0)


def missed(results: Sequence[Result]) -> Missed | None:
    """Return the omissions of a case, None if they were not counted.

    Where it cannot be told from what was seen how the omitted belong together, they are one stall.
    """
    counts = [result.missed for result in results if result.missed is not None]
    due = sum(result.n + (result.missed or 0) for result in results)
    if not counts or not due:
        return None
    return Missed(sum(counts), due, sum(_stalls(result) for result in results if result.missed))


def _stalls(result: Result) -> float:
    """Return the number of equally long stalls that would scatter as much as these."""
    found = events(result)
    if found is None or not found.stalls:
        return 1.0
    hid = [(count, size - 1) for _, count, size in found.points if size > 1]
    total, squares = sum(c * m for c, m in hid), sum(c * m * m for c, m in hid)
    return max(total**2 / squares / found.bursts.value, 1.0)
