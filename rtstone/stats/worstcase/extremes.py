"""The worst-case estimate: how bad one case gets, from what the recorder kept of its samples.

Two views of one tail.  **Peaks over threshold**: the samples above a high threshold follow a
generalised Pareto distribution.  **Block maxima**: the largest of many successive samples follow a
generalised extreme-value distribution, also where large samples come in clusters.  The first uses
more of the data and is taken unless large samples are clustered; see docs/worst-case.md.

The bound is an upper confidence limit of the level that is exceeded so many times per hour, and
there is one only if every check passed.  Most checks err in about one of 200 sound data sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.assemble.pool import section_s
from rtstone.documents.run import NO_REASON, Result
from rtstone.documents.worstcase import Check, WorstCase
from rtstone.stats.worstcase.blocks import joined
from rtstone.stats.worstcase.outcome import EXCESSES, LEAST_BLOCKS, TAIL, document

PER_HOUR = 1e-3  # exceedances: once in six weeks, about the longest that a system runs unattended
LEAST_S = 60  # kernels have work that comes once in tens of seconds: shorter is blind to it


def worst_case(results: Sequence[Result], exceedance: float = PER_HOUR) -> WorstCase:
    """Return the estimate from the results of one case: several runs of it are taken together.

    ``exceedance``: how many times per hour the bound may be exceeded.  Raises ValueError if there
    is no result, they are not of one bench and unit, or ``exceedance`` is not above 0.
    """
    if exceedance <= 0:
        raise ValueError("an exceedance above 0 wanted")
    if len({(result.bench, result.unit) for result in results}) != 1:
        raise ValueError("results of one case wanted")
    checks = list(_recorded(results))
    if all(check.passed for check in checks):
        from rtstone.stats.worstcase.bound import Estimate

        return Estimate(results, exceedance, checks).outcome()
    return document(results, exceedance, checks, more_s=_longer(results))


# ---- is there enough, and of the right kind -----------------------------------------------------


def _recorded(results: Sequence[Result]) -> list[Check]:
    """Return what must be there before anything is computed; the first that fails is told alone."""
    if why := next((why for result in results if (why := _unusable(result))), None):
        return [Check(name="samples", passed=False, detail=why)]
    found = [_samples(results), _duration(results)]
    return [check for check in found if not check.passed] or found


def _unusable(result: Result) -> str | None:
    """Return why no worst case can be told from a result, however long it was measured."""
    counted = sum(count for _, count in result.histogram)
    faults = {
        f"the result is {result.status}: {result.reason or NO_REASON}": (result.status != "ok"),
        "there are no samples": not result.n,
        "instructions are counted, not time: there is no hour to exceed a bound in": (
            result.unit != "ns"
        ),
        "a sample is the mean of several operations: the slowest of them is not known": (
            result.batch > 1
        ),
        "samples were too large for the histogram": result.overflow > 0,
        "the clock stepped backwards": "clock_backwards" in result.flags,
        "the histogram does not hold every sample": counted != result.n,
        "how long was measured is not recorded": section_s([result]) is None,
        "all samples have one value: nothing says what a larger one would be": (
            len(result.histogram) == 1
        ),
        "in which order the samples came is not recorded (maxima of blocks)": (
            result.blocks is None or not result.blocks.max
        ),
    }
    return next((why for why, is_so in faults.items() if is_so), None)


def _samples(results: Sequence[Result]) -> Check:
    n, blocks = sum(result.n for result in results), joined(results)
    need = EXCESSES[-1] / TAIL
    words = f"{n} samples in {len(blocks.max)} blocks"
    if n < need or len(blocks.max) < LEAST_BLOCKS:
        words += f"; {need:.0f} in {LEAST_BLOCKS} are needed"
        return Check(name="samples", passed=False, detail=words)
    return Check(name="samples", passed=True, detail=words)


def _duration(results: Sequence[Result]) -> Check:
    measured = section_s(results) or 0.0
    words = f"measured for {measured:.3g} s"
    if measured < LEAST_S:
        words += f"; what a system does once a minute is not in less than {LEAST_S} s"
    return Check(name="duration", passed=measured >= LEAST_S, detail=words)


def _longer(results: Sequence[Result]) -> float | None:
    """Return how much longer to measure where there was too little."""
    if any(_unusable(result) for result in results):
        return None
    measured = section_s(results) or 0.0
    samples = EXCESSES[-1] / TAIL / sum(result.n for result in results)
    blocks = LEAST_BLOCKS / len(joined(results).max)
    return max(measured * (max(samples, blocks) - 1), LEAST_S - measured)
