"""Estimates with confidence intervals that allow for correlated samples.

Each result's batches show how far its samples are from independent ones; several results are runs
of one case, taken as one set of samples, and what they differ by counts.
docs/reference/estimates.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import structs

from rtstone.documents.run import Batches, Result
from rtstone.results.interval import confidence_interval, independent, lasting
from rtstone.results.omitted import assumed, interval, whole
from rtstone.results.pool import pooled
from rtstone.summary import PERCENTILES, WHOLE, is_supported

if TYPE_CHECKING:
    import numpy as np

    Samples = np.ndarray[tuple[int], np.dtype[Any]]

_BATCHES = 32  # as the agent's recorder makes of a series that it knows the order of


class Estimate(NamedTuple):
    """A statistic of n samples with its interval, in the unit of the results.

    ``independent``: for want of batches, independence of the samples was assumed in part of them;
    the interval is then too narrow where they are not.  ``lasting``: they depend on each other for
    longer than the run shows; the interval reaches as far as parts of the run differ.
    """

    value: float
    low: float
    high: float
    n: int
    independent: bool
    lasting: bool = False


def estimate(results: Sequence[Result], statistic: str, level: float = 0.95) -> Estimate | None:
    """Estimate the mean or a percentile of one case with its interval; several results are runs.

    ``statistic`` is "mean", "p50", "p90", "p99", "p999" or "p9999".  None where it is not to be
    had: too few samples, or an interval that reaches beyond them.  Raises KeyError for any other.
    """
    counted = [result for result in results if result.n]
    if not counted:
        return None
    whole = pooled(counted)
    interval = confidence_interval(statistic, whole, counted, level)
    if interval is None:
        return None
    value = getattr(whole, statistic)
    depends = lasting(statistic, counted)
    return Estimate(value, *interval, whole.n, independent(statistic, counted), depends)


def estimate_whole(
    results: Sequence[Result], statistic: str, level: float = 0.95
) -> Estimate | None:
    """Estimate it including omitted activations, which come in stalls rather than one by one."""
    counted = [result for result in results if result.n]
    if not any(result.missed and result.corrected for result in counted):
        return estimate(counted, statistic, level)
    ends = interval(statistic, counted, level)
    if ends is None:
        return None
    together = pooled([whole(result) for result in counted])
    value = getattr(together, statistic)
    depends = lasting(statistic, counted)
    return Estimate(value, *ends, together.n, assumed(statistic, counted), depends)


def estimate_samples(
    samples: Sequence[float] | Samples, statistic: str, level: float = 0.95
) -> Estimate | None:
    """Estimate it from samples in the order in which they were taken, as stored by ``raw=1``."""
    import numpy as np

    values = np.asarray(samples, float)
    if not len(values):
        return None
    distinct, counts = np.unique(values, return_counts=True)
    upto, n = np.cumsum(counts), len(values)
    percentiles = {
        name: float(distinct[np.searchsorted(upto, -(-n * q // WHOLE))])
        for name, q in PERCENTILES.items()
        if is_supported(q, n)
    }
    whole = Result(
        case=0, bench="samples", params={}, load="none", status="ok", n=n,
        mean=float(values.mean()), sd=float(values.std(ddof=1)) if n > 1 else None,
        max=float(distinct[-1]), batches=batches(values),
        histogram=list(zip(distinct.tolist(), counts.tolist(), strict=True)),
    )  # fmt: skip
    return estimate([structs.replace(whole, **percentiles)], statistic, level)


def batches(samples: Samples) -> Batches:
    """Divide samples, in their order, into batches whose lengths differ by at most one."""
    import numpy as np

    n = len(samples)
    distinct, counts = np.unique(samples, return_counts=True)
    below = np.concatenate([[0], np.cumsum(counts)])  # each of the distinct values
    parts = np.array_split(samples, min(_BATCHES, n)) if n else []
    above = {}
    for name, q in PERCENTILES.items():
        if is_supported(q, n):
            nearest = int(np.abs(below * WHOLE - n * q).argmin())
            line = distinct[nearest] if nearest < len(distinct) else np.inf
            above[name] = [int((part >= line).sum()) for part in parts]
    return Batches(
        n=[len(part) for part in parts], mean=[float(part.mean()) for part in parts], above=above
    )
