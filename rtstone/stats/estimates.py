"""Estimates with confidence intervals that allow for samples which depend on one another.

Each result's batches tell how far its samples are from independent ones; several results are runs
of one case, taken as one set of samples, and what they differ by counts.  docs/estimates.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.model.documents import Result
from rtstone.model.histogram import PERCENTILES, WHOLE
from rtstone.model.interval import Ordered, Part, Variance, combined, half_width, ranks
from rtstone.stats.pool import pooled


class Estimate(NamedTuple):
    """A statistic of n samples with its interval, in the unit of the results.

    ``independent``: for want of batches, independence of the samples was assumed in part of them;
    the interval is then too narrow where they are not.
    """

    value: float
    low: float
    high: float
    n: int
    independent: bool


def estimate(results: Sequence[Result], statistic: str, level: float = 0.95) -> Estimate | None:
    """The mean or a percentile of one case with its interval; several results are runs of it.

    ``statistic`` is "mean", "p50", "p90", "p99", "p999" or "p9999".  None where it is not to be
    had: too few samples, or an interval that reaches beyond them.  Raises KeyError for any other.
    """
    counted = [result for result in results if result.n]
    if not counted:
        return None
    if statistic == "mean":
        return _mean(counted, level)
    return _percentile(counted, statistic, level)


def _mean(results: Sequence[Result], level: float) -> Estimate | None:
    value = pooled(results).mean
    parts = [
        Part(result.n, result.mean, Variance(result.sd**2 / result.n))
        for result in results
        if result.mean is not None and result.sd is not None
    ]
    if value is None or len(parts) < len(results):
        return None
    half = half_width(combined(parts), level)
    return Estimate(value, value - half, value + half, sum(r.n for r in results), True)


def _percentile(results: Sequence[Result], statistic: str, level: float) -> Estimate | None:
    q = PERCENTILES[statistic] / WHOLE
    whole = pooled(results)
    value = getattr(whole, statistic)
    if value is None:
        return None
    parts = []
    for result in results:
        own = Ordered(result.histogram, result.overflow, result.max)
        parts.append(Part(result.n, own.share(value), Variance(q * (1 - q) / result.n)))
    low, high = ranks(whole.n, q, combined(parts), level)
    overflow = sum(result.overflow for result in results)
    ordered = Ordered(whole.histogram, overflow, whole.max)
    ends = ordered.at(round(low)), ordered.at(round(high))
    if ends[0] is None or ends[1] is None:
        return None
    return Estimate(value, ends[0], ends[1], whole.n, True)
