"""Streams of jobs, as one CPU sees them; times are whole numbers of any unit.

A job arrives, and is released within ``jitter``; arrivals of a stream are at least ``period``
apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

STEPS = 200_000  # of an analysis, after which it gives up
_CLOSE = 1e-9  # to 1, where a sum of floats does not tell


class TooLong(Exception):  # noqa: N818  an answer, not an error
    """The busy period is too long, or endless, to be analysed."""


class Stream(NamedTuple):
    """A stream of jobs; ``work``: what each takes at most.

    ``wakes``: the work that each releases at its end, which the next job of the stream waits for.
    """

    work: int
    period: int
    jitter: int = 0
    deadline: int = 0
    wakes: int = 0

    def requested(self, time: int) -> int:
        """Return the work of all jobs that may be released in [0, time)."""
        return -(-(time + self.jitter) // self.period) * self.work

    def released(self, time: int) -> int:
        """Return the work of all jobs that may be released in [0, time]."""
        return ((time + self.jitter) // self.period + 1) * self.work


def requested(streams: Iterable[Stream], time: int) -> int:
    """Return the work that streams may request in [0, time)."""
    return sum(-(-(time + jitter) // period) * work for work, period, jitter, *_ in streams)


def utilisation(streams: Iterable[Stream]) -> Fraction:
    """Return the share of a CPU that streams take in the long run."""
    return sum((Fraction(s.work, s.period) for s in streams), Fraction(0))


def overload(streams: Sequence[Stream]) -> int:
    """Return 1 if streams take more than a CPU in the long run, 0 if all of it, else -1."""
    share = sum(s.work / s.period for s in streams)
    if abs(share - 1) > _CLOSE:
        return 1 if share > 1 else -1
    exact = utilisation(streams)
    return (exact > 1) - (exact < 1)


def fixed_point(demand: Callable[[int], int], start: int, limit: int | None = None) -> int:
    """Return the smallest time from ``start`` on that is no less than the demand until then.

    The demand never falls.  ``limit``: stop above it.  Raises TooLong.
    """
    time = start
    for _ in range(STEPS):
        needed = demand(time)
        if needed <= time or (limit is not None and time > limit):
            return time
        time = needed
    raise TooLong


def busy_period(streams: Sequence[Stream], blocking: int = 0) -> int:
    """Return the length of the longest busy period of streams.  Raises TooLong if it is endless."""
    load = overload(streams)
    if load > 0 or (load == 0 and (blocking or any(s.jitter for s in streams))):
        raise TooLong
    start = blocking + sum(s.work for s in streams)
    return fixed_point(lambda time: blocking + requested(streams, time), max(start, 1))
