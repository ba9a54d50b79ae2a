"""Decide whether a value is within a limit, when both may be known only to an interval."""

from __future__ import annotations

from math import ceil, hypot, isfinite
from typing import NamedTuple

from rtstone.documents.check import Verdict


class Span(NamedTuple):
    """A value and the ends of its 95% interval; all are equal for a fact."""

    value: float
    low: float
    high: float

    def times(self, factor: float) -> Span:
        """Return the span multiplied by a factor."""
        ends = sorted((self.low * factor, self.high * factor))
        return Span(self.value * factor, *ends)


def exactly(value: float) -> Span:
    """Return a value as a fact."""
    return Span(value, value, value)


def verdict(observed: Span, allowed: Span, bound: str = "<=") -> Verdict:
    """Judge by the interval of the difference (MOVER: Zou and Donner, Stat. Med. 27:1693, 2008)."""
    low, high = _excess(observed, allowed)
    if bound == ">=":
        low, high = -high, -low
    return "passed" if high <= 0 else "failed" if low > 0 else "inconclusive"


def beyond(observed: Span, allowed: Span, bound: str = "<=") -> float:
    """Return the value that would just fail with an interval as wide as ``observed`` has."""
    if bound == ">=":
        return allowed.value - hypot(observed.high - observed.value, allowed.value - allowed.low)
    return allowed.value + hypot(observed.value - observed.low, allowed.high - allowed.value)


def _excess(observed: Span, allowed: Span) -> tuple[float, float]:
    """Return the 95% interval of observed - allowed."""
    excess = observed.value - allowed.value
    below = hypot(observed.value - observed.low, allowed.high - allowed.value)
    above = hypot(observed.high - observed.value, allowed.value - allowed.low)
    return excess - below, excess + above


def samples_missing(observed: Span, allowed: Span, n: int) -> int | None:
    """Return how many more samples would settle it, if only the width of the interval changed.

    None if no number would: the value is at the limit, or the interval of what is allowed is too
    wide by itself.
    """
    excess = observed.value - allowed.value
    beyond = excess > 0
    own = observed.value - observed.low if beyond else observed.high - observed.value
    fixed = allowed.high - allowed.value if beyond else allowed.value - allowed.low
    if excess**2 <= fixed**2 or not own:
        return None
    times = own**2 / (excess**2 - fixed**2)
    return max(1, ceil(n * (times - 1))) if isfinite(times) else None
