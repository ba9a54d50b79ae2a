"""Whether a value lies within a limit, where both may be known to an interval only."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, hypot, isfinite, sqrt
from statistics import fmean, stdev
from typing import NamedTuple

from rtstone.assemble.interval import t_quantile
from rtstone.documents.check import Verdict


class Span(NamedTuple):
    """A value and the ends of its 95% interval, which are the value itself where it is a fact."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Span:
        """A multiple of it."""
        ends = sorted((self.low * factor, self.high * factor))
        return Span(self.value * factor, *ends)


def exactly(value: float) -> Span:
    """A fact."""
    return Span(value, value, value)


def prediction_interval(runs: Sequence[Span]) -> Span:
    """What one more run of the same system would show, from what some have: a 95% interval.

    One run tells its own uncertainty only.  Of several the differences tell what comes from one
    start of a system to the next as well: mean +- t s sqrt(1 + 1/k), as of normal values.
    """
    if len(runs) == 1:
        return runs[0]
    values = [run.value for run in runs]
    k, mean = len(values), fmean(values)
    half = t_quantile(0.95, k - 1) * stdev(values) * sqrt(1 + 1 / k)
    return Span(mean, mean - half, mean + half)


def verdict(observed: Span, allowed: Span, bound: str = "<=") -> Verdict:
    """By the interval of the difference (MOVER: Zou and Donner, Stat. Med. 27:1693, 2008)."""
    low, high = _excess(observed, allowed)
    if bound == ">=":
        low, high = -high, -low
    return "passed" if high <= 0 else "failed" if low > 0 else "inconclusive"


def _excess(observed: Span, allowed: Span) -> tuple[float, float]:
    """The 95% interval of observed less allowed."""
    excess = observed.value - allowed.value
    below = hypot(observed.value - observed.low, allowed.high - allowed.value)
    above = hypot(observed.high - observed.value, allowed.value - allowed.low)
    return excess - below, excess + above


def samples_missing(observed: Span, allowed: Span, n: int) -> int | None:
    """How many samples more would settle it, if nothing but the width of the interval changed.

    None: no number of them would, for the value lies at the limit, or the interval of what is
    allowed is too wide by itself.
    """
    excess = observed.value - allowed.value
    beyond = excess > 0
    own = observed.value - observed.low if beyond else observed.high - observed.value
    fixed = allowed.high - allowed.value if beyond else allowed.value - allowed.low
    if excess**2 <= fixed**2 or not own:
        return None
    times = own**2 / (excess**2 - fixed**2)
    return max(1, ceil(n * (times - 1))) if isfinite(times) else None
