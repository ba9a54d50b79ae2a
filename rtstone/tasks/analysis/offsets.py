"""Tasks of known phase: the schedule itself, over all of it that can differ.

From the largest offset on, the schedule of periodic tasks repeats after two hyperperiods at the
latest (Leung and Merrill 1980).  If every job takes its longest time it is the worst there is:
under preemptive fixed priorities and earliest deadline first on one CPU, no job ends later because
another takes less.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm
from typing import NamedTuple

import numpy as np

from rtstone.simulate.engine import simulate
from rtstone.simulate.taskset import Rules, TaskSet
from rtstone.tasks.analysis.streams import TooLong

MOST_JOBS = 300_000
LONGEST = 1 << 61


class Phased(NamedTuple):
    """A periodic task of known phase; ``rank``: its priority, smaller is more urgent."""

    work: int
    period: int
    offset: int
    deadline: int
    rank: int


def responses(tasks: Sequence[Phased], policy: str) -> list[int]:
    """Return the longest response of each task in the schedule; ``policy``: fixed or edf.

    Raises TooLong if that has too many jobs, or has no end.
    """
    hyperperiod = lcm(*(task.period for task in tasks))
    if sum(task.work * (hyperperiod // task.period) for task in tasks) > hyperperiod:
        raise TooLong
    until = max(task.offset for task in tasks) + 2 * hyperperiod
    end = until + hyperperiod
    if end > LONGEST or sum(end // task.period + 1 for task in tasks) > MOST_JOBS:
        raise TooLong
    columns = np.array(tasks, np.int64).T
    work, period, offset, deadline, rank = columns
    sets = TaskSet(
        end=end, period=period, deadline=deadline, nominal=work, offset=offset, rank=rank
    )
    done = simulate(sets, Rules(policy), completions=True).completed
    assert done is not None
    longest = []
    for number, first in enumerate(sets.first[:-1]):
        count = -(-(until - int(offset[number])) // int(period[number]))
        ends = done[first : first + count]
        if (ends < 0).any():
            raise TooLong
        released = int(offset[number]) + int(period[number]) * np.arange(count)
        longest.append(int((ends - released).max()))
    return longest
