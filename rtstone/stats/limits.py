"""Decide whether a value is within a limit, when both may be known only to an interval."""

from __future__ import annotations

from bisect import bisect_left
from math import ceil, expm1, floor, hypot, isfinite, log, sqrt
from statistics import NormalDist
from typing import NamedTuple

from rtstone.documents.check import Verdict
from rtstone.results.omitted import Missed

SHOWN = 0.95  # share of the runs in which a detectable rate of losses shows
_ENDLESS = 10**12  # more activations than any run has


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
    excess = observed.value - allowed.value
    low = excess - hypot(observed.value - observed.low, allowed.high - allowed.value)
    high = excess + hypot(observed.high - observed.value, allowed.value - allowed.low)
    if bound == ">=":
        low, high = -high, -low
    return "passed" if high <= 0 else "failed" if low > 0 else "inconclusive"


def beyond(observed: Span, allowed: Span, bound: str = "<=") -> float:
    """Return the value that would just fail with an interval as wide as ``observed`` has."""
    if bound == ">=":
        return allowed.value - hypot(observed.high - observed.value, allowed.value - allowed.low)
    return allowed.value + hypot(observed.value - observed.low, allowed.high - allowed.value)


def samples_missing(observed: Span, allowed: Span, n: int) -> int | None:
    """Return how many more samples would give a verdict, if only the interval became narrower.

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


# ---- missed activations -------------------------------------------------------------------------


def rare(n: int) -> float:
    """Return the rate of events of which SHOWN of the runs of n chances see one or more."""
    return -expm1(log(1 - SHOWN) / n)


def rate_shown(losses: Missed, allowed: float) -> float | None:
    """Return the rate of losses at which SHOWN of the runs show more than ``allowed``.

    None if no rate would.  Exact for stalls none of which is allowed, else Byar's approximation.
    """
    each = _per_stall(losses)
    stalls = floor(allowed / each)
    if not stalls:
        rate = each * rare(losses.due)
    else:
        normal, over = NormalDist().inv_cdf(SHOWN), stalls + 1
        rate = over * (1 - 1 / (9 * over) + normal / (3 * sqrt(over))) ** 3 * each / losses.due
    return rate if rate <= 1 else None


def least_share_beyond(losses: Missed, allowed: float) -> float | None:
    """Return the smallest share of missed activations that fails a limit in %, None if none does.

    Stalls are as long as those seen.
    """
    each = _per_stall(losses)

    def fails(omitted: int) -> bool:
        return 100 * Missed(omitted, losses.due, omitted / each).interval[0] > allowed

    least = bisect_left(range(losses.due + 1), True, key=fails)
    return least / losses.due if least <= losses.due else None


def activations_missing(losses: Missed, allowed: float) -> int | None:
    """Return how many more activations would show a limit in % to be kept, at the rate seen."""
    each, rate = _per_stall(losses), losses.rate

    def shows(due: int) -> bool:
        omitted = rate * due
        return 100 * Missed(round(omitted), due, omitted / each).interval[1] <= allowed

    if 100 * rate >= allowed:
        return None
    most = losses.due
    while not shows(most):
        most *= 2
        if most > _ENDLESS:
            return None
    return bisect_left(range(most + 1), True, key=shows, lo=losses.due) - losses.due


def _per_stall(losses: Missed) -> float:
    """Return how many activations a stall omits; 1 if there was none: they come one by one."""
    return losses.omitted / losses.stalls if losses.stalls else 1.0
