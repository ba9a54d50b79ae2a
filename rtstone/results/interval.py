"""Confidence intervals of means and percentiles: the arithmetic, on plain numbers.

A run document holds intervals of its own results; what pools several runs is
rtstone.results.estimates.  docs/reference/estimates.md says what is done and where it fails.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import ceil, exp, fsum, inf, lgamma, log, log1p, nextafter, pi, sqrt, tan
from operator import itemgetter
from statistics import NormalDist
from typing import NamedTuple

from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import Batches, Distribution, Result
from rtstone.summary import ESTIMATED, PERCENTILES, WHOLE

STATISTICS = ESTIMATED

_FEWEST = 8  # batches; with fewer, samples are taken for independent
_LOWEST = 0.2  # of a variance that correlation reduces: how much further is not known
_HIGHEST = 0.4  # of the correlation of a batch and the next: what lasts so long is not seen whole
_JOINED = (8, 4)  # batches are joined to so many then
_INDEPENDENT = 0.3  # and eight are enough, if their correlation is below this
_SHORT = 64  # samples; with fewer that are so correlated there is no interval
_HALVINGS = 50  # of an interval of numbers of samples
_ENDLESS = 10**12  # more samples than any run has

_MANY = 1e4  # degrees of freedom, from which an approximation to Student's t has nine digits
_STEPS = 50  # of Newton's method; four do


class Variance(NamedTuple):
    """Variance of an estimate, and with how many degrees of freedom it is known.

    ``lasting``: samples depend on each other for longer than they show; it is what is seen of that.
    """

    value: float
    freedom: float = inf
    lasting: bool = False


def sample_variance(values: Iterable[float]) -> float:
    """Return the variance of two values or more about their mean, 0 if they are all equal.

    It is that of the library, ``statistics.variance``, but for the last digit, and far sooner.
    """
    seen = list(values)
    apart = [value - seen[0] for value in seen]  # exact for what lies close together
    mean = fsum(apart) / len(apart)
    return fsum((value - mean) ** 2 for value in apart) / (len(apart) - 1)


class Part(NamedTuple):
    """One of several runs of the same quantity: samples, value, variance."""

    n: int
    value: float
    variance: Variance


def confidence_interval(
    statistic: str, whole: Distribution, results: Sequence[Result], level: float
) -> tuple[float, float] | None:
    """Return the interval of a statistic of ``whole``, the pooled samples of these results.

    None where it is not to be had.  Raises KeyError for a statistic that is none of STATISTICS.
    """
    if whole.n < _SHORT and lasting(statistic, results):
        return None
    if statistic == "mean":
        if whole.mean is None:
            return None
        parts = []
        for result in results:
            variance = _mean_variance(result)
            if variance is None or result.mean is None:
                return None
            parts.append(Part(result.n, result.mean, variance))
        variance = combined(parts)
        half = t_quantile(level, variance.freedom) * sqrt(variance.value)
        return round(whole.mean - half, 4), round(whole.mean + half, 4)
    q = PERCENTILES[statistic] / WHOLE
    value = getattr(whole, statistic)
    if value is None:
        return None
    parts = []
    for result in results:
        variance = _share_variance(statistic, q, result)
        share = q
        if len(results) > 1:
            share = Ordered(result.histogram, result.overflow).share(value)
        parts.append(Part(result.n, share, variance))
    low, high = ranks(whole.n, q, combined(parts), level)
    least, most = _lowest(results).at(round(low)), _highest(results).at(round(high))
    return None if least is None or most is None else (least, most)


def lower_end(
    statistic: str, share: float, results: Sequence[Result], level: float
) -> float | None:
    """Return the lower end of the interval of the quantile at a share, None below all samples.

    It is an order statistic, and the interval exact for independent samples, of any distribution
    and in any number; else it is that of as many independent ones as would scatter as much (Korn
    and Graubard 1998).  ``statistic``: the percentile whose correlation stands for that of the
    quantile.
    """
    n = sum(result.n for result in results)
    ordered = _lowest(results)
    trials = effective_number(statistic, share, results, level)
    if trials is None or ordered.at(ceil(n * share)) is None:
        return None
    below = most_below(trials, share, level)
    return None if below is None else ordered.at(int(below * n / trials) + 1)


def effective_number(
    statistic: str, share: float, results: Sequence[Result], level: float
) -> float | None:
    """Return how many independent samples would show the quantile at a share as well as these.

    Where samples depend on each other for longer than they show, nothing bounds that number, and
    each batch counts as one.  None for a share that is none, and for too few such samples.
    """
    n = sum(result.n for result in results)
    if not 0 < share < 1 or (n < _SHORT and lasting(statistic, results)):
        return None
    middle = _lowest(results).at(ceil(n * share))
    parts = []
    for result in results:
        variance = factor(statistic, result)
        plain = share * (1 - share) / result.n
        own = share
        if len(results) > 1 and middle is not None:
            own = Ordered(result.histogram, result.overflow).share(middle)
        parts.append(Part(result.n, own, variance._replace(value=plain * variance.value)))
    variance = combined(parts)
    wider = t_quantile(level, variance.freedom) / NormalDist().inv_cdf((1 + level) / 2)
    times = max(variance.value * n / (share * (1 - share)) * wider * wider, 1.0)
    trials = n / times
    if variance.lasting:
        trials = max(trials, sum(len(r.batches.n) if r.batches else 0 for r in results))
    return trials


def beyond(result: Result) -> float:
    """Return the least that samples beyond the histogram may be, infinite if there are none.

    A bucket of another tool has the value of its lower edge.
    """
    if not result.overflow:
        return inf
    if not result.histogram:
        return result.min or 0.0
    last = result.histogram[-1][0]
    return max(last + bucket_ns([result]), nextafter(last, inf))


def _lowest(results: Sequence[Result]) -> Ordered:
    """Return the samples by rank, with those beyond a histogram as low as they may be."""
    return _ordered(results, beyond)


def _highest(results: Sequence[Result]) -> Ordered:
    """Return the samples by rank, with those beyond a histogram as high as they may be."""
    return _ordered(results, lambda result: inf if result.max is None else result.max)


def _ordered(results: Sequence[Result], overflowed: Callable[[Result], float]) -> Ordered:
    counts: Counter[float] = Counter()
    for result in results:
        counts.update(dict(result.histogram))
        if result.overflow and (value := overflowed(result)) < inf:
            counts[value] += result.overflow
    n = sum(result.n for result in results)
    return Ordered(sorted(counts.items()), n - counts.total())


def most_below(n: float, q: float, level: float) -> float | None:
    """Return of how many independent samples below a value it is above quantile q, at most.

    As few as that, or fewer, lie below the quantile with probability (1 - level)/2: their number is
    binomial, interpolated by the beta distribution.  None if not even with none below.
    """
    chance = (1 - level) / 2

    def probability(below: float) -> float:
        return _beta(n - below, below + 1, 1 - q, q)

    low, high = 0.0, n
    if probability(low) > chance:
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if probability(middle) > chance else (middle, high)
    return low


def samples_lacking(statistic: str, results: Sequence[Result], level: float) -> int | None:
    """Return how many more samples such as these a percentile's interval would need.

    None for a mean, and where no number would do.
    """
    n = sum(result.n for result in results)
    if statistic not in PERCENTILES or not n:
        return None
    q = PERCENTILES[statistic] / WHOLE
    variance = combined([Part(r.n, q, _share_variance(statistic, q, r)) for r in results if r.n])

    def within(number: int) -> bool:
        smaller = variance._replace(value=variance.value * n / number)
        low, high = ranks(number, q, smaller, level)
        return round(low) >= 1 and round(high) <= number

    most = max(n, _SHORT) if variance.lasting else n
    while not within(most):
        most *= 2
        if most > _ENDLESS:
            return None
    least = max(n, _SHORT) if variance.lasting else n
    return bisect_left(range(most + 1), True, key=within, lo=least) - n


def lasting(statistic: str, results: Sequence[Result]) -> bool:
    """Return whether samples of a result depend on each other for longer than it shows."""
    return any(factor(statistic, result).lasting for result in results if result.n)


def independent(statistic: str, results: Sequence[Result]) -> bool:
    """Return whether the correlation of samples is unknown for some of the results."""
    return any(_counts(statistic, result) is None for result in results)


def _mean_variance(result: Result) -> Variance | None:
    if (batches := _usable(result)) is not None:
        return autocorrelated_variance(batches.n, batches.mean)
    return None if result.sd is None else Variance(result.sd**2 / result.n, max(result.n - 1, 1))


def _share_variance(statistic: str, q: float, result: Result) -> Variance:
    """Return the variance of the share of a result's samples below the true quantile.

    It is that of independent ones, times what the batches show at the line nearest to it.
    """
    plain = q * (1 - q) / result.n
    counts = _counts(statistic, result)
    if counts is None:
        return Variance(plain)
    n, above = counts
    share = sum(above) / result.n
    if not 0 < share < 1:  # all samples are alike
        return Variance(plain)
    variance = autocorrelated_variance(n, [k / m for k, m in zip(above, n, strict=True)])
    factor = variance.value / (share * (1 - share) / result.n)
    return variance._replace(value=plain * factor)


def factor(statistic: str, result: Result) -> Variance:
    """Return the variance of a result's statistic relative to that of independent samples."""
    if statistic == "mean":
        variance, plain = _mean_variance(result), (result.sd or 0.0) ** 2 / max(result.n, 1)
        times = (
            variance._replace(value=variance.value / plain) if variance and plain else Variance(1.0)
        )
    else:
        q = PERCENTILES[statistic] / WHOLE
        variance = _share_variance(statistic, q, result)
        times = variance._replace(value=variance.value * result.n / (q * (1 - q)))
    return times._replace(value=max(times.value, _LOWEST))


def _usable(result: Result) -> Batches | None:
    batches = result.batches
    return batches if batches and len(batches.n) >= _FEWEST else None


def _counts(statistic: str, result: Result) -> tuple[list[int], list[int]] | None:
    """Return samples of each batch, and those above the line of the statistic (for a mean, none).

    A run that is too short for the percentile has no line for it; the highest it has stands in.
    """
    batches = _usable(result)
    if batches is None:
        return None
    if statistic == "mean":
        return batches.n, []
    names = list(PERCENTILES)
    lines = [name for name in names[: names.index(statistic) + 1] if name in batches.above]
    return (batches.n, batches.above[lines[-1]]) if lines else None


def autocorrelated_variance(sizes: Sequence[int], means: Sequence[float]) -> Variance:
    """Return the variance of the mean of a series, from the means of its successive batches.

    It is the sum of the variance of the batches and twice the covariance of neighbours (the
    flat-top lag window of Politis and Romano, at lag 1), whose estimate from B batches has about
    (B - 1)/3 degrees of freedom.  Where correlation lasts longer than can be seen so, batches are
    joined to eight, or else to four, that are taken for independent of one another; and as that is
    not known, the 95% interval is to reach as far as any eighth of the series lies from the mean.
    """
    squares, correlation = _spread(sizes, means)
    batches = len(sizes)
    if correlation <= _HIGHEST:
        freedom = max((batches - 1) / 3, 1)
        return _of_means(sizes, squares, max(1 + 2 * correlation, _LOWEST), freedom)
    farthest = 0.0
    for count in _JOINED:
        wide, tops = _join(sizes, means, count)
        squares, correlation = _spread(wide, tops)
        middle = fsum(size * top for size, top in zip(wide, tops, strict=True)) / sum(wide)
        farthest = max(farthest, *(abs(top - middle) for top in tops))
        if correlation < _INDEPENDENT:
            break
    freedom = len(wide) - 1
    seen = _of_means(wide, squares, 1.0, freedom).value
    reached = (farthest / t_quantile(0.95, freedom)) ** 2
    return Variance(max(seen, reached), freedom, lasting=True)


def _spread(sizes: Sequence[int], means: Sequence[float]) -> tuple[float, float]:
    """Return the sum of squares about the common mean, and the correlation of neighbours."""
    n = sum(sizes)
    mean = sum(size * m for size, m in zip(sizes, means, strict=True)) / n
    off = [size * (m - mean) for size, m in zip(sizes, means, strict=True)]
    squares = sum(value * value for value in off)
    if not squares:
        return 0.0, 0.0
    # 1/B is what the common mean takes away
    return squares, sum(a * b for a, b in pairwise(off)) / squares + 1 / len(sizes)


def _of_means(sizes: Sequence[int], squares: float, factor: float, freedom: float) -> Variance:
    n, batches = sum(sizes), len(sizes)
    return Variance(squares / (n * n) * batches / (batches - 1) * factor, freedom)


def _join(
    sizes: Sequence[int], means: Sequence[float], count: int
) -> tuple[list[int], list[float]]:
    """Merge a series into this many batches of about equal length."""
    n = sum(sizes)
    wide, totals = [0] * count, [0.0] * count
    before = 0
    for size, mean in zip(sizes, means, strict=True):
        place = min(count - 1, (2 * before + size) * count // (2 * n))  # where its middle lies
        wide[place] += size
        totals[place] += size * mean
        before += size
    filled = [(size, total / size) for size, total in zip(wide, totals, strict=True) if size]
    return [size for size, _ in filled], [mean for _, mean in filled]


def combined(parts: Sequence[Part]) -> Variance:
    """Return the variance of the mean of several runs, each weighted by its samples.

    Within the runs it is the sum of theirs.  If the runs differ among themselves by more than that
    explains, it is what they differ by, with the degrees of freedom of so few runs (Satterthwaite).
    """
    n = sum(part.n for part in parts)
    shares = [part.n / n for part in parts]
    terms = [w * w * part.variance.value for w, part in zip(shares, parts, strict=True)]
    within = sum(terms)
    uncertainty = sum(
        term * term / part.variance.freedom for term, part in zip(terms, parts, strict=True)
    )
    runs = len(parts)
    if runs > 1:
        mean = sum(w * part.value for w, part in zip(shares, parts, strict=True))
        among = sum((w * (part.value - mean)) ** 2 for w, part in zip(shares, parts, strict=True))
        beyond = among * runs / (runs - 1) - within
        if beyond > 0:
            within += beyond
            uncertainty += beyond * beyond / (runs - 1)
    freedom = within * within / uncertainty if uncertainty > 0 else inf
    return Variance(within, freedom, any(part.variance.lasting for part in parts))


def ranks(n: int, q: float, variance: Variance, level: float) -> tuple[float, float]:
    """Return the ranks of n samples between which quantile q lies; fractions, maybe beyond 1 and n.

    The number of samples below the quantile is binomial, with as many trials as independent samples
    would have needed for this variance of it, fewer by what the variance is uncertain (Korn and
    Graubard 1998).  Its quantiles are those of the normal distribution corrected for skewness.
    """
    normal = NormalDist().inv_cdf((1 + level) / 2)
    wider = t_quantile(level, variance.freedom) / normal
    deviation = n * sqrt(variance.value) * wider
    # In units of effective samples the skewness term is (1 - 2q)(z^2 - 1)/6; back in samples it
    # grows as one effective sample does.
    per_effective = deviation * deviation / (n * q * (1 - q))
    shift = (1 - 2 * q) * (normal * normal - 1) / 6 * per_effective
    middle = n * q + shift + 0.5
    return middle - normal * deviation, middle + normal * deviation


class Ordered:
    """Values by rank, from (value, count) pairs, below more whose values are not known."""

    def __init__(self, points: Sequence[tuple[float, int]], overflow: int) -> None:
        self._points = points
        self.upto: list[int] = list(accumulate(map(itemgetter(1), points)))
        self.n = (self.upto[-1] if self.upto else 0) + overflow

    def at(self, rank: int) -> float | None:
        """Return the value of a rank; None beyond the samples, or where it is not known."""
        if not 1 <= rank <= self.n:
            return None
        place = bisect_left(self.upto, rank)
        return self._points[place][0] if place < len(self._points) else None

    def share(self, value: float) -> float:
        """Return the share of the samples that are not above a value."""
        place = bisect_right(self._points, value, key=itemgetter(0))
        return (self.upto[place - 1] if place else 0) / self.n


@lru_cache(maxsize=256)
def t_quantile(level: float, freedom: float) -> float:
    """Return Student's t that |t| is below with probability ``level``.

    ``freedom``: from 1, may be fractional.  To nine digits: Newton's method on the logarithm of the
    probability outside, from which that of the approximations differs by up to 4%.
    """
    normal = NormalDist().inv_cdf((1 + level) / 2)
    freedom, outside = max(freedom, 1.0), 1 - level
    if freedom < 2:  # between the exact ones for 1 and 2 degrees
        first_degree, second_degree = tan(pi / 2 * level), level * sqrt(2 / (1 - level * level))
        t = float(second_degree * (first_degree / second_degree) ** (2 / freedom - 1))
    else:  # Cornish and Fisher
        cube = normal**3
        first = (cube + normal) / (4 * freedom)
        second = (5 * cube * normal**2 + 16 * cube + 3 * normal) / (96 * freedom**2)
        t = normal + first + second
    if freedom > _MANY:
        return t
    constant = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(freedom * pi) / 2
    for _ in range(_STEPS):
        tail = _outside(t, freedom)
        density = exp(constant - (freedom + 1) / 2 * log1p(t * t / freedom))
        slope = 2 * density * t / tail  # of -log tail over log t
        step = log(tail / outside) / slope
        t *= exp(step)
        if abs(step) < 1e-10:
            break
    return t


def _outside(t: float, freedom: float) -> float:
    """Return the probability that |t| is larger: an incomplete beta function of v/(v + t^2)."""
    square = t * t
    return _beta(freedom / 2, 0.5, freedom / (freedom + square), square / (freedom + square))


def _beta(a: float, b: float, x: float, rest: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b); ``rest`` is 1 - x."""
    log_front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(rest)
    if x < (a + 1) / (a + b + 2):
        return exp(log_front) / (a * _fraction(a, b, x))
    return 1 - exp(log_front) / (b * _fraction(b, a, rest))


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of the incomplete beta function (DLMF 8.17.22)."""
    value, both = 1.0, a + b
    for m in range(16 + int(2 * sqrt(max(a, b))), -1, -1):
        place = a + 2 * m
        odd = -(a + m) * (both + m) * x / (place * (place + 1))
        even = (m + 1) * (b - m - 1) * x / ((place + 1) * (place + 2))
        value = 1 + odd / (1 + even / value)
    return value
