"""Pool several results of one case into one set of samples."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import ceil, inf, sqrt

from rtstone.documents.run import Distribution, Misses, Result
from rtstone.results.interval import Ordered, beyond
from rtstone.summary import ENOUGH, EXTREME, PERCENTILES, WHOLE, is_supported


def pooled(results: Sequence[Result]) -> Distribution:
    """Return all samples of results of one unit: counts are added, nothing is weighted or left out.

    What a sample is known to in the documents it is known to here.
    """
    if len(results) == 1:
        (single,) = results
        members = {name: getattr(single, name) for name in Distribution.__struct_fields__}
        return Distribution(**members)
    counts: Counter[float] = Counter()
    for result in results:
        for value, count in result.histogram:
            counts[value] += count
    histogram = sorted(counts.items())
    n = sum(result.n for result in results)
    batched = any(result.batch > 1 for result in results)
    lows = [result.min for result in results if result.min is not None]
    tops = [result.max for result in results if result.max is not None]
    top = max(tops, default=None) if not batched else None
    overflow = sum(result.overflow for result in results)
    values = percentiles(histogram, n, overflow, min(map(beyond, results), default=inf))
    if batched:  # the extremes of means are not those of operations
        values |= dict.fromkeys(EXTREME)
    mean = None
    if n and not any(result.mean is None for result in results if result.n):
        mean = round(sum(r.n * r.mean for r in results if r.mean is not None) / n, 4)
    return Distribution(
        n=n, min=min(lows, default=None), max=top, mean=mean, sd=_sd(results, n, mean),
        histogram=histogram, **values,
    )  # fmt: skip


def percentiles(
    histogram: list[tuple[float, int]], n: int, overflow: int, edge: float = inf
) -> dict[str, float | None]:
    """Return percentiles by nearest rank, None among the samples beyond the histogram.

    ``n`` includes the overflow.  ``edge``: the least that a sample beyond a histogram may be; from
    there on nothing is known of the order.  A percentile q is None unless n >= 10/(1-q).
    """
    upto = list(accumulate(count for _, count in histogram))
    complete = (upto[-1] if upto else 0) + overflow == n

    def percentile(q: int) -> float | None:
        if not complete or not is_supported(q, n):
            return None
        place = bisect_left(upto, -(-n * q // WHOLE))
        value = histogram[place][0] if place < len(histogram) else inf
        return value if value < edge else None

    return {name: percentile(q) for name, q in PERCENTILES.items()}


def percentile(samples: Result | Distribution, share: Fraction) -> float | None:
    """Return the value of any share of the samples, by the rule of ``percentiles``.

    None where n does not support it, and among samples beyond the histogram.
    """
    if samples.n * (1 - share) < ENOUGH:
        return None
    within = sum(count for _, count in samples.histogram)
    return Ordered(samples.histogram, samples.n - within).at(ceil(share * samples.n))


def _sd(results: Sequence[Result], n: int, mean: float | None) -> float | None:
    """Return the standard deviation, from the squares within results and between their means."""
    squares = 0.0
    for result in results:
        if mean is None or result.mean is None or (result.n > 1 and result.sd is None):
            return None
        squares += (result.n - 1) * (result.sd or 0) ** 2 + result.n * (result.mean - mean) ** 2
    return round(sqrt(squares / (n - 1)), 4) if n > 1 else None


def closest(parts: Sequence[Misses | None]) -> Misses | None:
    """Return the misses of results together, in no window of several; None if one has none.

    A window is known of all only as far as each knows its own: as far as it has misses, or room.
    """
    each = [part for part in parts if part is not None]
    if not each or len(each) < len(parts) or len({part.limit for part in each}) > 1:
        return None
    full = [part.room for part in each if len(part.windows) == part.room]
    length = min(full, default=max(len(part.windows) for part in each))
    windows = [
        min(part.windows[k] for part in each if k < len(part.windows)) for k in range(length)
    ]
    return Misses(
        limit=each[0].limit,
        n=sum(part.n for part in each),
        late=sum(part.late for part in each),
        squares=sum(part.squares for part in each),
        room=min(full, default=max(part.room for part in each)),
        windows=windows,
    )


def section_s(results: Sequence[Result]) -> float | None:
    """Return the total time measured in s, None if unknown for one; instructions have no time."""
    spans = [s for result in results if (s := result.section_s) is not None]
    return sum(spans) if len(spans) == len(results) else None
