"""The jobs of a task set as bench tasks.set makes them: when they arrive, and how long they work.

They depend on the seed alone, so that they are the same on every target: an implementation of
agent/benches/tasks.c of its own, in whole numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from rtstone.documents.tasks import Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_MASK = (1 << 64) - 1
_STREAMS = 3  # of each task: arrivals, jitters, work
NEVER = -1


class Jobs(NamedTuple):
    """Jobs of a task, in ns since the set's start: int64 arrays of equal length.

    ``release``: the arrival and the drawn jitter.  ``work``: CPU time.  ``NEVER``: not known, or
    it never did.
    """

    arrival: NDArray[np.int64]
    release: NDArray[np.int64]
    work: NDArray[np.int64]
    start: NDArray[np.int64]
    end: NDArray[np.int64]


def planned(task: Task, number: int, seed: int, duration_ns: int) -> Jobs:
    """Return the jobs of a task that is not woken, which arrive before the duration is over.

    ``number``: the task's index in its set.  ``start`` and ``end`` are ``NEVER``.
    """
    arrivals = list(_arrivals(task, _seeded(seed, _STREAMS * number), duration_ns))
    jitters = _between(_seeded(seed, _STREAMS * number + 1), 0, task.jitter_ns, len(arrivals))
    releases = [at + late for at, late in zip(arrivals, jitters, strict=True)]
    return _jobs(arrivals, releases, work_of(task, number, seed, len(arrivals)))


def woken(task: Task, number: int, seed: int, jobs: int) -> Jobs:
    """Return as many jobs of a woken task, whose arrivals are not known."""
    unknown = [NEVER] * jobs
    return _jobs(unknown, unknown, work_of(task, number, seed, jobs))


def work_of(task: Task, number: int, seed: int, jobs: int) -> list[int]:
    """Return the work of each job, in ns; ``NEVER`` of work in KWI, whose time is not known."""
    if task.work.kwi is not None:
        return [NEVER] * jobs
    least, most = task.work.least_ns or 0, task.work.most_ns or 0
    return list(_between(_seeded(seed, _STREAMS * number + 2), least, most, jobs))


def _jobs(arrivals: list[int], releases: list[int], works: list[int]) -> Jobs:
    import numpy as np

    columns = (arrivals, releases, works, [NEVER] * len(works), [NEVER] * len(works))
    return Jobs(*(np.array(column, np.int64) for column in columns))


def _arrivals(task: Task, state: Generator, duration_ns: int) -> Iterator[int]:
    """Yield the arrivals: a sporadic task's are a period apart, and as much again on average."""
    period = task.period_ns or 0
    at = state.exponential(period) if task.arrival == "poisson" else task.offset_ns or 0
    while at < duration_ns:
        yield at
        at += 0 if task.arrival == "poisson" else period
        at += 0 if task.arrival == "periodic" else state.exponential(period)


def _between(state: Generator, least: int, most: int, number: int) -> Iterator[int]:
    """Yield as many numbers from ``least`` to ``most``."""
    for _ in range(number):
        yield least if least == most else least + ((most - least + 1) * state.draw() >> 32)


class Generator:
    """A linear congruential generator (Knuth) of 32 bits at a time."""

    def __init__(self, state: int) -> None:
        self._state = state

    def draw(self) -> int:
        """Return 32 random bits."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return self._state >> 32

    def exponential(self, mean: int) -> int:
        """Return an exponentially distributed whole number (von Neumann 1951)."""
        whole = 0
        while True:
            first = previous = self.draw()
            n = 1
            while (following := self.draw()) < previous:
                previous = following
                n += 1
            if n % 2:
                return mean * whole + (mean * first >> 32)
            whole += 1


def _seeded(seed: int, stream: int) -> Generator:
    """Return a generator for a stream, by SplitMix64 (Steele, Lea, Flood 2014)."""
    z = (seed * 1000003 + stream + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ z >> 27) * 0x94D049BB133111EB) & _MASK
    return Generator(z ^ z >> 31)
