"""Estimate how long jobs take together."""

from __future__ import annotations

from collections.abc import Iterable

from rtstone.campaign.jobs import CORE, WHOLE

START_S = 0.5  # of a job, beyond its run


def in_parallel_s(jobs: Iterable[tuple[str, float | None]], cpus: int) -> float | None:
    """Return about how long jobs take, in s, None if the time of any is unknown.

    ``jobs``: lane and expected time in s of each.  ``cpus``: how many there are.
    """
    sums: dict[str, float] = {}
    for lane, expected in jobs:
        if expected is None:
            return None
        sums[lane] = sums.get(lane, 0.0) + expected + START_S
    here = sums.pop(WHOLE, 0.0) + sums.pop(CORE, 0.0) / cpus
    return max([here, *sums.values()])
