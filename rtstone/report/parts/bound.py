"""The words of a worst-case estimate."""

from __future__ import annotations

from rtstone.documents.worstcase import Composed, WorstCase
from rtstone.units import count, plain, quantity, rounded, seconds

METHODS = {"pot": "peaks over threshold", "block maxima": "block maxima"}


def seldom(per_hour: float) -> str:
    """Return a rate per hour in words."""
    if per_hour >= 1:
        return f"{plain(per_hour)} times in an hour"
    return f"once in {rounded(1 / per_hour)} h"


def observed(estimate: WorstCase) -> str:
    """Return the observed maximum, always with the number of samples and the time."""
    when = "" if estimate.section_s is None else f" in {seconds(estimate.section_s)}"
    top = "no maximum" if estimate.observed_max is None else (
        f"largest {quantity(estimate.observed_max, estimate.unit)}"
    )  # fmt: skip
    return f"{top} of {count(estimate.n)} samples{when}"


def composed_bound(bound: Composed) -> str:
    """Return a bound that was composed of what ran, and of what most of it is."""
    most = f", most of it from {bound.most_of_it}" if bound.most_of_it else ""
    seen = "" if bound.seen is None else f"; longest seen {count(bound.seen)}"
    return f"at most {count(bound.longest)} instructions (of what ran){most}{seen}"


def outcome(estimate: WorstCase) -> str:
    """Return the bound with its conditions, or why there is none and what would help."""
    if estimate.bound is not None and estimate.method is not None:
        return (
            f"at most {quantity(estimate.bound, estimate.unit)}, exceeded at most "
            f"{seldom(estimate.exceedance_per_hour)} ({estimate.confidence:.0%} confidence, "
            f"{METHODS[estimate.method]})"
        )
    longer = "" if estimate.more_s is None else f"; measure {seconds(estimate.more_s)} longer"
    return f"inconclusive: {estimate.reason}{longer}"
