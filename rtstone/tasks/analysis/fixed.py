"""Response times under preemptive fixed priorities on one CPU.

Joseph and Pandya 1986; deadlines beyond the period by the busy period of Lehoczky 1990, with
release jitter as of Tindell, Burns and Wellings 1994.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from rtstone.tasks.analysis.streams import STEPS, Stream, TooLong, fixed_point, overload, requested

Streams = Sequence[Stream]


class Longest(NamedTuple):
    """The longest times from the arrival and from the release to the end of a job."""

    from_arrival: int
    from_release: int


def response(own: Stream, higher: Streams, blocking: int = 0) -> Longest:
    """Return the longest responses of the jobs of ``own``; ``higher``: what is more urgent.

    Without blocking that from the arrival is exact: if all are released together, with the largest
    jitter, some job takes as long.  That from the release is a bound: all jobs before it come as
    close to it as the jitter allows.  Raises TooLong.
    """
    load = overload([own._replace(work=own.work + own.wakes), *higher])
    if load > 0 or (load == 0 and (blocking or any(s.jitter for s in (own, *higher)))):
        raise TooLong
    longest = Longest(0, 0)
    for number in range(STEPS):
        queued = blocking + (number + 1) * own.work + number * own.wakes
        done = fixed_point(partial(_demand, queued, higher), queued)
        arrival = number * own.period - own.jitter  # if the busy period begins at 0
        longest = Longest(
            max(longest.from_arrival, done - arrival),
            max(longest.from_release, done - max(arrival, 0)),
        )
        if done <= arrival + own.period:
            return longest
    raise TooLong


def _demand(queued: int, higher: Streams, time: int) -> int:
    return queued + requested(higher, time)


def with_turns(own: Stream, rivals: int, quantum: int) -> Stream:
    """Return a stream of which each job also takes the turns of others that share its priority.

    ``rivals``: the number of tasks as urgent, all of which take turns and share no resource with
    it; ``quantum``: of a turn.  Between two turns of a task, any other has one at most.  A job
    needs as many turns as it has quanta, and one more, as the quantum of the first may have been
    used in part.
    """
    turns = -(-own.work // quantum) + 1
    return own._replace(work=own.work + turns * rivals * quantum)
