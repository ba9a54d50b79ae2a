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
from rtstone.results.interval import (
    confidence_interval,
    effective_number,
    independent,
    lasting,
    samples_lacking,
)
from rtstone.results.omitted import assumed, interval, whole
from rtstone.results.pool import pooled, section_s
from rtstone.summary import PERCENTILES, WHOLE, is_supported
from rtstone.units import count, seconds

if TYPE_CHECKING:
    import numpy as np

    Samples = np.ndarray[tuple[int], np.dtype[Any]]

TOO_FEW = "too few independent samples for an interval"

_BATCHES = 32  # as the agent's recorder makes of a series that it knows the order of
_CORRELATED = 0.5  # share of the samples that they are worth, below which that is the reason


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


def too_few(results: Sequence[Result], statistic: str, level: float = 0.95) -> str:
    """Return that samples are too few for an interval, why so many are, and how many would do.

    ``too few independent samples for an interval: 9 523 are worth about 223, as they are
    correlated; about 12.0 s would do``.  How many is not said where activations were omitted.
    """
    counted = [result for result in results if result.n]
    n = sum(result.n for result in counted)
    if statistic not in PERCENTILES or not n:
        return TOO_FEW
    text = f"{TOO_FEW}{worth(counted, statistic, level)}"
    if any(result.missed for result in counted):
        return text
    if lacking := samples_lacking(statistic, counted, level):
        span, times = section_s(counted), (n + lacking) / n
        needed = f"{count(n + lacking)} samples" if span is None else seconds(span * times)
        text += f"; about {needed} would do"
    return text


def worth(results: Sequence[Result], statistic: str, level: float = 0.95) -> str:
    """Return how few independent samples these are worth, to follow a reason; empty if enough."""
    n = sum(result.n for result in results)
    if statistic not in PERCENTILES or not n:
        return ""
    number = effective_number(statistic, PERCENTILES[statistic] / WHOLE, results, level)
    if number is None or number >= _CORRELATED * n:
        return ""
    return f": {count(n)} are worth about {count(round(number))}, as they are correlated"


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
