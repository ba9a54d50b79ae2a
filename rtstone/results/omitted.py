"""Distributions that include omitted activations, with their confidence intervals.

An activation that came late by several periods hid those that were due meanwhile, each of which
would have been a period less late than the one before.  So a late sample and what it hid are one
event, a stall: the histogram of what was seen shows how many stalls there were and how long, and
the trace whether they came in bursts.  docs/reference/estimates.md says how well that works.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf, log, sqrt
from statistics import NormalDist, fmean
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from rtstone.documents.run import Result
from rtstone.results.interval import (
    Ordered,
    Part,
    Variance,
    autocorrelated_variance,
    combined,
    effective_number,
    factor,
    independent,
    lasting,
    lower_end,
    samples_lacking,
    t_quantile,
)
from rtstone.results.pool import pooled
from rtstone.summary import EXTREME, PERCENTILES, WHOLE
from rtstone.units import count

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

FEWEST = 24  # stalls, or bursts of them, that an interval may rest on: of fewer it holds too seldom
_TELLING = 9  # independent stalls, whose number is known to a factor of about two
_ENDLESS = 10**6  # times as long as it was: no such run is measured
_WINDOWS = 8  # of the trace, without which stalls are taken for independent of one another
_ALIKE = 0.05  # of the omitted activations may be otherwise than stalls of these lengths make them


def whole(result: Result) -> Result:
    """Return the result including its omitted activations, if any.

    Its minimum and maximum are those observed: nobody measured what was omitted, and the lateness
    computed for it may lie below every sample.  Other members that describe only the observed
    samples are left out.
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
        **structs.asdict(result.corrected) | {"min": result.min, "max": result.max},
    )


class Events(NamedTuple):
    """The independent events of a result: samples with what they hid, counted by value."""

    result: Result
    values: Array  # rising
    counts: Array
    sizes: Array  # activations of each
    period: float
    bursts: Variance  # of a stall's weight: 1 if they come alone

    @property
    def n(self) -> int:
        """The number of activations, observed and omitted."""
        return int((self.counts * self.sizes).sum())

    @property
    def stalls(self) -> int:
        """The number of samples that hid others."""
        return int(self.counts[self.sizes > 1].sum())

    def above(self, line: float) -> Array:
        """Return how many activations of each event are later than a line."""
        import numpy as np

        late: Array = np.ceil((self.values - line) / self.period).clip(0, self.sizes)
        return late

    def total(self) -> Array:
        """Return the total lateness of the activations of each event."""
        return self.sizes * self.values - self.period * self.sizes * (self.sizes - 1) / 2


def events(result: Result) -> Events | None:
    """Return the events of a result, None if its omissions do not follow from its samples."""
    import numpy as np

    whole_ = result.corrected
    if whole_ is None or not result.missed or result.overflow:
        return None
    if whole_.mean is None or result.mean is None or whole_.n - result.n != result.missed:
        return None
    hidden = whole_.mean * whole_.n - result.mean * result.n
    values, counts = _columns(result)
    period = _period(values, counts, hidden)
    if period is None:
        return None
    sizes = np.ceil(values / period).clip(1)
    bursts = _bursts(result, _added(counts * (sizes - 1) ** 2))
    events_ = Events(result, values, counts, sizes, period, bursts)
    # The edges of buckets may add one to a stall, or take it away.
    if abs(events_.n - whole_.n) > _ALIKE * result.missed + events_.stalls:
        return None
    return events_


def _columns(result: Result) -> tuple[Array, Array]:
    """Return the values of the histogram, which rise, and their counts."""
    import numpy as np

    points = sorted(result.histogram)
    return np.array([p[0] for p in points], float), np.array([p[1] for p in points], float)


def _period(values: Array, counts: Array, hidden: float) -> float | None:
    """Return the period for which these samples hide this total lateness, in any unit.

    A sample late by L hides L - P, L - 2P, ... above zero: their sum falls steadily with P.
    """
    import numpy as np

    if not len(values) or hidden <= 0:
        return None
    falling, numbers = values[::-1], counts[::-1]

    def sum_with(period: float) -> float:
        late = len(values) - int(np.searchsorted(values, period, side="right"))
        seen = falling[:late]
        hid = np.ceil(seen / period) - 1
        return _added(numbers[:late] * (hid * seen - period * hid * (hid + 1) / 2))

    low, high = 0.0, float(falling[0])
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if sum_with(middle) > hidden else (low, middle)
    return high


def _added(terms: Array) -> float:
    """Return the sum, added up in this order: the same with every numpy."""
    return float(terms.cumsum()[-1]) if len(terms) else 0.0


def _bursts(result: Result, squares: float) -> Variance:
    """Return the variance of omitted activations over time, relative to independent stalls.

    Each window of the trace has room for equally many activations: those that it lacks were
    omitted.  The last one is not whole.  ``squares``: sum of the squared omissions of the stalls.
    """
    trace = result.trace
    if trace is None or not trace.rows or trace.width_s <= 0:
        return Variance(1.0)
    by_window = {round(row[0] / trace.width_s): row[1] for row in trace.rows}
    counts = [float(by_window.get(window, 0)) for window in range(max(by_window))]
    if len(counts) < _WINDOWS:
        return Variance(1.0)
    seen = autocorrelated_variance([1] * len(counts), counts)
    times = seen.value * len(counts) ** 2 / squares
    mean = fmean(counts)
    second = fmean((count - mean) ** 2 for count in counts)
    kurtosis = fmean((count - mean) ** 4 for count in counts) / second**2 - 3 if second else 0.0
    # Of counts with long tails a variance is known less well.
    freedom = 2 / (2 / seen.freedom + max(kurtosis, 0.0) / len(counts))
    return Variance(times, max(freedom, 1.0)) if times > 1 else Variance(1.0)


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

    None where there are less than ``fewest`` stalls to know it from, or where they are unknown.
    Raises KeyError for a statistic that is none.
    """
    parts = [events(result) if result.missed else _alone(result) for result in results]
    sound = [part for part in parts if part is not None]
    together = pooled([whole(result) for result in results])
    value = getattr(together, statistic)
    if value is None or len(sound) < len(parts):
        return None
    moments = [_moments(statistic, part, value) for part in sound]
    if _shortage(statistic, sound, moments, fewest) > 1:
        return None
    n, second = sum(m.n for m in moments), sum(m.second for m in moments)
    variance = combined(
        [Part(m.n, m.value, Variance(m.second / m.n**2, m.freedom)) for m in moments]
    )
    size = sum(m.third for m in moments) / second
    if statistic == "mean":
        return _mean_ends(value, n, variance, size, level)
    q = PERCENTILES[statistic] / WHOLE
    low, high = _ranks(n, q, variance, size, level)
    ordered = Ordered(together.histogram, 0)
    least, most = ordered.at(round(low)), ordered.at(round(high))
    return None if least is None or most is None else (least, most)


def _shortage(
    statistic: str, parts: Sequence[Events], moments: Sequence[_Moments], fewest: float
) -> float:
    """Return how many times as long a run with such events has to be for an interval."""
    second = sum(m.second for m in moments)
    if not second:
        return inf
    if statistic == "mean":  # what a stall adds to it grows with the square of its length
        fewest *= 2
    short = fewest * sum(m.second**2 / m.events for m in moments) / second**2
    return short if statistic == "mean" else max(short, _narrow(statistic, parts))


def _narrow(statistic: str, parts: Sequence[Events]) -> float:
    """Return how many times as long a run has to be for FEWEST stalls beyond a percentile."""
    beyond = sum(part.n for part in parts) * (1 - PERCENTILES[statistic] / WHOLE)
    return FEWEST * max(map(_weight, parts)) / beyond


def predictable(results: Sequence[Result]) -> bool:
    """Return whether stalls are enough to predict how many a longer run would have.

    Of nine independent ones the number is known to a factor of about two.
    """
    losses = missed(results)
    return losses is not None and losses.stalls >= _TELLING


def lacking(statistic: str, results: Sequence[Result]) -> int | None:
    """Return how many more samples an interval would need, of a run that goes on like this.

    None where more of the same would not do, as what was omitted does not follow from the samples.
    """
    counted = [result for result in results if result.n]
    if not any(result.missed and result.corrected for result in counted):
        return samples_lacking(statistic, counted, 0.95)
    parts = [events(result) if result.missed else _alone(result) for result in counted]
    sound = [part for part in parts if part is not None]
    if len(sound) < len(parts):
        return None
    value = getattr(pooled([whole(result) for result in counted]), statistic)
    if value is not None:
        moments = [_moments(statistic, part, value) for part in sound]
        times = _shortage(statistic, sound, moments, FEWEST)
    elif statistic in PERCENTILES:  # which the run is too short for
        times = _narrow(statistic, sound)
    else:
        return None
    n = sum(result.n for result in counted)
    return max(ceil(n * (times - 1)), 1) if times < _ENDLESS else None


def least(statistic: str, results: Sequence[Result], level: float = 0.95) -> float | None:
    """Return the least that a percentile is, whatever the lateness of the omitted activations.

    Of a share w of omitted activations any lateness leaves the percentile q at or above the one
    that it has with all of them below every sample: the quantile (q - w)/(1 - w) of the samples.
    This is the lower end of that quantile's interval, with w at the upper end of its own, each for
    half of what may be outside.  None where the samples do not reach so low, or are means of
    several operations, whose tails are not those of single ones.
    """
    counted = [result for result in results if result.n]
    batched = any(result.batch > 1 for result in counted)
    if statistic not in PERCENTILES or not counted or (batched and statistic in EXTREME):
        return None
    q, share = PERCENTILES[statistic] / WHOLE, 0.0
    losses = missed(counted)
    if losses is not None and losses.omitted:
        level = (1 + level) / 2
        share = losses.interval_at(level)[1]
    if share >= q:
        return None
    return lower_end(statistic, (q - share) / (1 - share), counted, level)


def most(statistic: str, results: Sequence[Result], level: float = 0.95) -> float | None:
    """Return the most that a percentile is, whatever the lateness of the omitted activations.

    An omitted activation is less late than the sample that hid it, so that none of this run was
    later than the largest sample.  Nor is the percentile q of longer ones, but with a probability
    of (1 - level)/2: were it later, a share of more than 1 - q of the activations would be, and n
    independent ones would all have been earlier with a probability below q^n.  n is the number of
    activations over that of the longest stall seen (or burst of such), as if all of them came in
    such stalls, at most the number of independent samples.

    None where n is too small, where what was omitted does not follow from the samples, and of means
    of several operations, whose tails are not those of single ones.
    """
    n = _earlier(statistic, results, level)
    if n is None or n < _needed(statistic, level):
        return None
    return max(result.max for result in results if result.max is not None)


def lacking_most(statistic: str, results: Sequence[Result], level: float = 0.95) -> int | None:
    """Return how many more samples ``most`` would need, of a run that goes on like this.

    None where more of the same would not do.
    """
    n = _earlier(statistic, results, level)
    if n is None or lasting(statistic, results):
        return None
    samples = sum(result.n for result in results)
    return max(ceil(samples * (_needed(statistic, level) / n - 1)), 0)


def _needed(statistic: str, level: float) -> float:
    """Return of how many independent activations one is beyond a percentile, almost surely."""
    return log((1 - level) / 2) / log(PERCENTILES[statistic] / WHOLE)


def _earlier(statistic: str, results: Sequence[Result], level: float) -> float | None:
    """Return the independent activations that were not later than the largest sample."""
    counted = [result for result in results if result.n]
    batched = any(result.batch > 1 for result in counted)
    if statistic not in PERCENTILES or not counted or (batched and statistic in EXTREME):
        return None
    stalls = [events(result) for result in counted if result.missed]
    sound = [part for part in stalls if part is not None]
    if len(sound) < len(stalls) or any(result.max is None for result in counted):
        return None
    share = PERCENTILES[statistic] / WHOLE
    samples = effective_number(statistic, share, counted, level)
    longest = max((float(part.sizes.max()) * part.bursts.value for part in sound), default=1.0)
    activations = sum(whole(result).n for result in counted)
    return None if samples is None else min(samples, activations / longest)


def _weight(part: Events) -> float:
    """Return how many activations the stall (or burst) has that one of them is in, on average.

    The tail above a percentile has to have room for several of these as a whole: else stalls that
    are but a little longer, and seldom, would move it by far more than the others show.
    """
    stalls = part.sizes > 1
    counts, sizes = part.counts[stalls], part.sizes[stalls]
    if not len(sizes):
        return 1.0
    return part.bursts.value * _added(counts * sizes**2) / _added(counts * sizes)


def stalls_worth(results: Sequence[Result]) -> str:
    """Return how few independent stalls of one length these are worth, to follow a reason.

    ``: 344 are worth about 12 of one length that come alone``; empty if it is most of them, or if
    even alone they were too few.
    """
    parts = [events(result) for result in results if result.missed]
    seen = sum(part.stalls for part in parts if part is not None)
    losses = missed(results)
    if losses is None or seen < FEWEST or 2 * losses.stalls >= seen:
        return ""
    alone = count(max(round(losses.stalls), 1))
    return f": {count(seen)} are worth about {alone} of one length that come alone"


def has_room(statistic: str, results: Sequence[Result]) -> bool:
    """Return whether a percentile of a run rests on enough stalls not to turn on a few of them.

    Beyond it there has to be room for FEWEST of them, as for an interval.
    """
    times = times_for_room(statistic, results)
    return times is not None and times <= 1


def times_for_room(statistic: str, results: Sequence[Result]) -> float | None:
    """Return how many times as long a run has to be for a percentile to have such room.

    None where that is not known, as what was omitted does not follow from the samples.
    """
    lossy = [events(result) for result in results if result.missed and result.corrected]
    sound = [part for part in lossy if part is not None]
    if len(sound) < len(lossy):
        return None
    n = sum(whole(result).n for result in results)
    beyond = n * (1 - PERCENTILES[statistic] / WHOLE)
    return FEWEST * max(map(_weight, sound), default=0.0) / beyond if beyond else None


def _alone(result: Result) -> Events | None:
    """Return the events of a result without omissions: each sample is one."""
    import numpy as np

    if result.overflow:
        return None
    values, counts = _columns(result)
    return Events(result, values, counts, np.ones(len(values)), 1.0, Variance(1.0))


def _moments(statistic: str, part: Events, line: float) -> _Moments:
    """Return the moments of the share above a line that is the statistic, or of the mean.

    What depends on what came before counts as fewer and larger events: samples as the batches show,
    stalls as the trace does.
    """
    import numpy as np

    weights = part.total() if statistic == "mean" else part.above(line)
    n, stalls = part.n, part.sizes > 1
    value = _added(weights * part.counts) / n
    serially = factor(statistic, part.result)
    off = weights - value * part.sizes
    times = np.where(stalls, part.bursts.value, serially.value)
    squares = part.counts * (off * off) * times
    second = _added(squares)
    third = _added(squares * off * times)
    fourth = _added(squares * (off * off) * (times * times))
    number = second * second / fourth if fourth else 1.0
    kinds = ((squares[~stalls], serially), (squares[stalls], part.bursts))
    unknown = sum(_added(terms) ** 2 / variance.freedom for terms, variance in kinds)
    # The variance of a sum of squares is that of fourth powers: twice as many degrees as events.
    freedom = second**2 / (unknown + second**2 / (2 * number)) if second else 1.0
    return _Moments(value if statistic == "mean" else 1 - value, n, second, third, number, freedom)


def _ranks(n: int, q: float, variance: Variance, size: float, level: float) -> tuple[float, float]:
    """Return ``interval.ranks``, with skewness from events whose weight is ``size`` on average."""
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
        """The 95% interval of the share."""
        return self.interval_at(0.95)

    @property
    def size(self) -> float:
        """The activations that a stall hid on average, 1 if there was none."""
        return self.omitted / self.stalls if self.stalls else 1.0

    def interval_at(self, level: float, size: float = 1.0) -> tuple[float, float]:
        """Return the interval of the share: Byar's of the stalls, all alike.

        ``size``: the activations that a stall would have hidden, if there was none.
        """
        normal, above = NormalDist().inv_cdf((1 + level) / 2), self.stalls + 1
        each = (self.size if self.stalls else size) / self.due
        high = above * (1 - 1 / (9 * above) + normal / (3 * sqrt(above))) ** 3
        if not self.stalls:
            return 0.0, min(high * each, 1.0)
        part = 1 - 1 / (9 * self.stalls) - normal / (3 * sqrt(self.stalls))
        return self.stalls * max(part, 0.0) ** 3 * each, min(high * each, 1.0)


def missed(results: Sequence[Result]) -> Missed | None:
    """Return the omissions of a case, None if they were not counted.

    Where what was seen does not show how the omitted belong together, they are one stall.
    """
    counts = [result.missed for result in results if result.missed is not None]
    due = sum(result.n + (result.missed or 0) for result in results)
    if not counts or not due:
        return None
    stalls = []  # of each result: as many of one length as would scatter as much as its own
    for result in results:
        if not result.missed:
            continue
        parts = events(result)
        if parts is None or not parts.stalls:
            stalls.append(1.0)
            continue
        hid = parts.sizes - 1
        total, squares = _added(parts.counts * hid), _added(parts.counts * hid * hid)
        stalls.append(max(total**2 / squares / parts.bursts.value, 1.0))
    return Missed(sum(counts), due, sum(stalls))
