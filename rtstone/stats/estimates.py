"""Estimates with confidence intervals that allow for samples which depend on one another.

Each result's batches tell how far its samples are from independent ones; several results are runs
of one case, taken as one set of samples, and what they differ by counts.  docs/estimates.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rtstone.model.documents import Result
from rtstone.model.interval import ends, independent
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
    whole = pooled(counted)
    interval = ends(statistic, whole, counted, level)
    if interval is None:
        return None
    value = getattr(whole, statistic)
    return Estimate(value, *interval, whole.n, independent(statistic, counted))
