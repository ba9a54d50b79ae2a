"""The outcome of a worst-case estimate, and the requirements of a bound."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.run import Result
from rtstone.documents.worstcase import Check, Method, WorstCase
from rtstone.results.pool import section_s

CONFIDENCE = 0.95
# Samples above the thresholds tried, lowest threshold first.
EXCESSES = (1024, 512, 256, 181, 128, 96)
TAIL = 0.1  # largest share of the samples that counts as a tail
LEAST_BLOCKS = 64  # with fewer, neither order nor maxima can be judged
LEAST_VALUES = 20  # distinct values; with fewer, the clock's steps hide the form of the tail
SHAPE = 0.5  # from here on the variance is infinite, and single samples decide everything


def document(
    results: Sequence[Result],
    exceedance: float,
    checks: list[Check],
    *,
    bound: float | None = None,
    method: Method | None = None,
    more_s: float | None = None,
) -> WorstCase:
    """Return the outcome; failed checks become the reason why there is no bound."""
    failed = [check.detail for check in checks if not check.passed]
    assert (bound is None) == (method is None) == bool(failed)
    tops = [result.max for result in results if result.max is not None]
    return WorstCase(
        verdict="inconclusive" if bound is None else "bound",
        bound=None if bound is None else round(bound, 4),
        unit=results[0].unit,
        exceedance_per_hour=exceedance,
        confidence=CONFIDENCE,
        method=method,
        reason="; ".join(failed) or None,
        more_s=None if more_s is None else round(more_s, 1),
        observed_max=max(tops, default=None),
        n=sum(result.n for result in results),
        section_s=section_s(results),
        checks=checks,
    )
