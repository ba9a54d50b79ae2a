"""Earliest deadline first on one CPU: the demand test, and response times.

Demand as of Baruah, Rosier and Howell 1990, its test by quick processor-demand analysis (Zhang and
Burns 2009); with resources by the blocking of Baruah 2006; response times as of Spuri 1996.
Streams have deadlines and no jitter.  All functions raise TooLong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rtstone.tasks.analysis.streams import (
    STEPS,
    Stream,
    TooLong,
    busy_period,
    fixed_point,
    overload,
    requested,
)

Blocking = Callable[[int], int]  # of what has to be done within a time, by what is due later


def unblocked(time: int) -> int:
    """Return the blocking without resources."""
    return 0


def demand(streams: Sequence[Stream], time: int) -> int:
    """Return the work that is released in an interval of this length, and due in it, at most."""
    return sum(
        ((time - s.deadline) // s.period + 1) * s.work for s in streams if time >= s.deadline
    )


def missed(
    streams: Sequence[Stream],
    higher: Sequence[Stream] = (),
    blocking: Blocking = unblocked,
    most_blocking: int = 0,
) -> int | None:
    """Return an interval whose demand exceeds it, None if there is none: no deadline is missed.

    ``higher``: what is more urgent than any deadline.  Exact without it and without blocking, for
    streams of any phase.  ``most_blocking``: the largest that ``blocking`` returns.
    """
    everything = [*streams, *higher]
    if overload(everything) > 0:
        return _exceeded(streams, higher)
    end = busy_period(everything, most_blocking)

    def needed(time: int) -> int:
        return demand(streams, time) + requested(higher, time) + blocking(time)

    if most_blocking:  # it may fall, so that no deadline may be left out
        return next((time for time in _deadlines(streams, end) if needed(time) > time), None)
    shortest = min(s.deadline for s in streams)
    time = _before(streams, end + 1)
    for _ in range(STEPS):
        if time is None:
            return None
        load = needed(time)
        if load > time:
            return time
        if load < shortest:
            return None
        time = load if load < time else _before(streams, time)
    raise TooLong


def response(
    which: int,
    streams: Sequence[Stream],
    higher: Sequence[Stream] = (),
    blocking: Blocking = unblocked,
    most_blocking: int = 0,
) -> int:
    """Return the longest time from the release to the end of a job of one of the streams.

    Jobs with equal deadlines come first.  Exact without ``higher`` and blocking: the busy period
    begins with a release of all others, the job itself is released so that its deadline is that of
    a job of theirs.
    """
    own = streams[which]
    rivals = [*streams[:which], *streams[which + 1 :]]
    end = busy_period([*streams, *higher], most_blocking)
    worst = 0
    for release in _releases(own, rivals, end):
        due = release + own.deadline
        start = blocking(due) + own.released(release)

        def before(time: int, due: int = due, start: int = start) -> int:
            others_work = sum(
                min(s.requested(time), demand([s], due)) for s in rivals if s.deadline <= due
            )
            return start + others_work + requested(higher, time)

        done = fixed_point(before, start)
        worst = max(worst, own.work, done - release)
    return worst


def _releases(own: Stream, rivals: Sequence[Stream], end: int) -> list[int]:
    """Return the releases in a busy period at which the deadline is that of another job."""
    number = sum((end + own.deadline) // s.period + 1 for s in (own, *rivals))
    if number * (len(rivals) + 1) ** 2 > STEPS:  # all of them are looked at for all of them
        raise TooLong
    moments = set(range(0, end, own.period))
    for stream in rivals:
        first = stream.deadline - own.deadline
        moments |= {*range(max(first, first % stream.period), end, stream.period)}
    return sorted(moments)


def _deadlines(streams: Sequence[Stream], end: int) -> Iterator[int]:
    """Yield the deadlines up to the end, if all are released at 0."""
    if sum(end // s.period + 1 for s in streams) > STEPS:
        raise TooLong
    yield from sorted({time for s in streams for time in range(s.deadline, end + 1, s.period)})


def _before(streams: Sequence[Stream], time: int) -> int | None:
    """Return the last deadline before a time, None if there is none."""
    deadlines = [
        s.deadline + (time - 1 - s.deadline) // s.period * s.period
        for s in streams
        if s.deadline < time
    ]
    return max(deadlines, default=None)


def _exceeded(streams: Sequence[Stream], higher: Sequence[Stream]) -> int:
    """Return an interval whose demand exceeds it, if the utilisation is above 1."""
    time = max(s.deadline for s in streams)
    while demand(streams, time) + requested(higher, time) <= time:
        time *= 2
    return time
