"""Estimate the worst case of one case, from what the recorder kept of its samples.

There are two methods.  **Peaks over threshold**: the samples above a high threshold follow a
generalised Pareto distribution.  **Block maxima**: the largest of many successive samples follow a
generalised extreme-value distribution, even if large samples come in clusters.  The first uses more
of the data and is preferred unless large samples are clustered; see docs/guides/worst-case.md.

The bound is an upper confidence limit of the level that is exceeded a given number of times per
hour.  It exists only if every check passed; most checks err in about one of 200 sound data sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.run import NO_REASON, Result
from rtstone.documents.worstcase import Check, WorstCase
from rtstone.results.flags import spoilt
from rtstone.results.pool import section_s
from rtstone.stats.worstcase.blocks import joined
from rtstone.stats.worstcase.outcome import EXCESSES, LEAST_BLOCKS, TAIL, document

PER_HOUR = 1e-3  # exceedances: one in six weeks, about the longest that a system runs unattended
LEAST_S = 60  # shorter measurements miss work that kernels do every few tens of seconds


def worst_case(results: Sequence[Result], exceedance: float = PER_HOUR) -> WorstCase:
    """Return the estimate from the results of one case, pooled if there are several.

    ``exceedance``: how often per hour the bound may be exceeded.  Raises ValueError for no results,
    results of several benches or units, or an ``exceedance`` not above 0.
    """
    if exceedance <= 0:
        raise ValueError("an exceedance above 0 wanted")
    if len({(result.bench, result.unit) for result in results}) != 1:
        raise ValueError("results of one case wanted")
    checks = list(_recorded(results))
    if all(check.passed for check in checks):
        from rtstone.stats.worstcase.bound import Estimate

        return Estimate(results, exceedance, checks).outcome()
    longer = None  # how much longer to measure, unless that does not help
    if not any(_unusable(result) for result in results):
        measured = section_s(results) or 0.0
        samples = EXCESSES[-1] / TAIL / sum(result.n for result in results)
        blocks = LEAST_BLOCKS / len(joined(results).max)
        longer = max(measured * (max(samples, blocks) - 1), LEAST_S - measured)
    return document(results, exceedance, checks, more_s=longer)


# ---- is there enough, and of the right kind -----------------------------------------------------


def _recorded(results: Sequence[Result]) -> list[Check]:
    """Return the checks of what was recorded; only those that failed, if any did."""
    if why := next((why for result in results if (why := _unusable(result))), None):
        return [Check(name="samples", passed=False, detail=why)]
    measured = section_s(results) or 0.0
    words = f"measured for {measured:.3g} s"
    if measured < LEAST_S:
        words += f"; events that happen once a minute cannot be seen in under {LEAST_S} s"
    duration = Check(name="duration", passed=measured >= LEAST_S, detail=words)
    n, blocks = sum(result.n for result in results), len(joined(results).max)
    need = EXCESSES[-1] / TAIL
    enough = n >= need and blocks >= LEAST_BLOCKS
    words = f"{n} samples in {blocks} blocks"
    if not enough:
        words += f"; {need:.0f} in {LEAST_BLOCKS} are needed"
    checks = [Check(name="samples", passed=enough, detail=words), duration]
    return [check for check in checks if not check.passed] or checks


def _unusable(result: Result) -> str | None:
    """Return why a result allows no estimate, however long it is measured; None if it does."""
    counted = sum(count for _, count in result.histogram)
    faults = {
        f"the result is {result.status}: {result.reason or NO_REASON}": (result.status != "ok"),
        "there are no samples": not result.n,
        "instructions are counted, not time, but a bound needs a rate per hour": (
            result.unit != "ns"
        ),
        "a sample is the mean of several operations: the slowest of them is not known": (
            result.batch > 1
        ),
        "samples were too large for the histogram": result.overflow > 0,
        "the histogram does not hold every sample": counted != result.n,
        "the measured time is not recorded": section_s([result]) is None,
        "all samples have one value: nothing says what a larger one would be": (
            len(result.histogram) == 1
        ),
        "the order of the samples is not recorded (maxima of blocks)": (
            result.blocks is None or not result.blocks.max
        ),
    }
    if flag := spoilt(result.flags, judgement="worst case"):
        faults[flag.spoils] = True
    return next((why for why, is_so in faults.items() if is_so), None)
