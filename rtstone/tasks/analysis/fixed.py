"""Response times under preemptive fixed priorities on one CPU.

Joseph and Pandya 1986; deadlines beyond the period by the busy period of Lehoczky 1990, with
release jitter as of Tindell, Burns and Wellings 1994.  Among equal priorities jobs are served first
come, first served.  All functions raise TooLong.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from rtstone.tasks.analysis.streams import (
    STEPS,
    Stream,
    TooLong,
    busy_period,
    fixed_point,
    requested,
)

Streams = Sequence[Stream]


def response(own: Stream, higher: Streams, equal: Streams = (), blocking: int = 0) -> int:
    """Return the longest time from the arrival to the end of a job of ``own``.

    ``higher``: streams of more urgent tasks; ``equal``: of others as urgent, whose jobs that are
    released no later come first.  Without blocking it is exact: if all are released together, with
    the largest jitter, some job takes as long.

    A job of the busy period that begins at 0, released at r, ends when what its own and equal
    streams released until r, and the others until that end, is done.  It arrived no sooner than its
    jitter before r, and the worst r are those at which its own or an equal stream releases a job.
    """
    end = _busy(own, higher, equal, blocking)
    punctual = own._replace(jitter=0)  # of jobs whose last is released with the largest jitter
    worst = 0
    for latest in _moments(punctual, end + own.jitter, equal, end):
        queued = punctual.waited(latest) + _released(equal, min(latest, end - 1))
        done = _done(blocking + queued, higher)
        worst = max(worst, done - latest + own.jitter)
    return worst


def local_response(own: Stream, higher: Streams, equal: Streams = (), blocking: int = 0) -> int:
    """Return a bound of the time from the release to the end of a job, otherwise as ``response``.

    Until that release, its own stream has released as many jobs as its jitter allows.
    """
    end = _busy(own, higher, equal, blocking)
    worst = 0
    for release in _moments(own, end, equal, end):
        queued = own.waited(release) + _released(equal, release)
        worst = max(worst, _done(blocking + queued, higher) - release)
    return worst


def with_turns(own: Stream, rivals: int, quantum: int) -> Stream:
    """Return a stream of which each job also takes the turns of others that share its priority.

    ``rivals``: the number of tasks as urgent, all of which take turns and share no resource with
    it; ``quantum``: of a turn.  Between two turns of a task, any other has one at most.  A job
    needs as many turns as it has quanta, and one more, as the quantum of the first may have been
    used in part.
    """
    turns = -(-own.work // quantum) + 1
    return own._replace(work=own.work + turns * rivals * quantum)


def _busy(own: Stream, higher: Streams, equal: Streams, blocking: int) -> int:
    whole = own._replace(work=own.work + own.wakes)
    return busy_period([whole, *equal, *higher], blocking)


def _moments(own: Stream, until: int, equal: Streams, end: int) -> list[int]:
    """Return the moments of the releases of a stream before ``until``, of others before ``end``."""
    number = sum((max(until, end) + s.jitter) // s.period + 1 for s in (own, *equal))
    if number > STEPS:
        raise TooLong
    moments = {0, *_jumps(own, until)}
    for stream in equal:
        moments |= {*_jumps(stream, end)}
    return sorted(moments)


def _jumps(stream: Stream, end: int) -> range:
    """Return when, from 0 to before the end, a stream releases further jobs."""
    return range(-stream.jitter % stream.period, end, stream.period)


def _released(streams: Streams, time: int) -> int:
    return sum(stream.released(time) for stream in streams)


def _done(queued: int, higher: Streams) -> int:
    """Return when work that waits from 0 on is done, beside what is more urgent."""
    return fixed_point(partial(_demand, queued, higher), queued)


def _demand(queued: int, higher: Streams, time: int) -> int:
    return queued + requested(higher, time)
