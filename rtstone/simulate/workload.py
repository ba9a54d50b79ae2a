"""Random task sets; times are nanoseconds.

Every set has its own Philox stream, keyed by seed, number of tasks, utilisation and number of the
set, so that it does not depend on other sets or on the number of workers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from rtstone.simulate.taskset import Ints, Section, TaskSet, TaskSets, jobs
from rtstone.units import NS_PER_S

SHORTEST, LONGEST = 10_000_000, NS_PER_S  # periods
LEAST_SHARE = 0.5  # least execution time of a job, as a share of the nominal one
VALUES = 100  # the value of a task is 1 to VALUES
APERIODIC_LOAD = 0.1  # share of the processor
REQUEST = 1_000_000  # mean execution time of an aperiodic request
RESOURCES = 2
SECTION_SHARE = 0.1  # length of a section in the nominal execution time; it is in its first half

_TASKS, _WORK, _REQUESTS = range(3)  # streams of a set


@dataclass(frozen=True)
class Workload:
    """The parameters common to all sets.

    ``constrained``: deadlines are uniform between execution time and period, else the period.
    ``exact``: jobs take their nominal execution time, else uniform(0.5, 1) of it.
    ``resources``: every task has a critical section.
    """

    seed: int
    end: int
    constrained: bool = False
    exact: bool = False
    resources: bool = False


@dataclass(frozen=True)
class Shape:
    """A set without its utilisation; ``share``: each task's part of the total."""

    share: NDArray[np.float64]
    period: Ints
    slack: NDArray[np.float64]  # position of the deadline between execution time and period
    value: Ints
    at: NDArray[np.float64]  # start of the critical section, as a share of the execution time
    resource: Ints


def _stream(seed: int, key: tuple[int, ...], stream: int) -> np.random.Generator:
    sequence = np.random.SeedSequence(seed, spawn_key=(*key, stream))
    return np.random.Generator(np.random.Philox(sequence))


def uunifast(random: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares that sum to 1, uniform over the simplex; needs one random number fewer.

    Bini and Buttazzo, Measuring the Performance of Schedulability Tests, 2005, figure 3.
    """
    n = len(random) + 1
    left = np.cumprod(random ** (1.0 / np.arange(n - 1, 0, -1)))
    return -np.diff(np.concatenate(([1.0], left, [0.0])))


def draw(workload: Workload, n: int, ppm: int, number: int) -> Shape:
    """Draw set ``number`` with ``n`` tasks; ``ppm``: the utilisation it is drawn for, in 1e-6."""
    rng = _stream(workload.seed, (n, ppm, number), _TASKS)
    share = uunifast(rng.random(n - 1))
    period = SHORTEST * (LONGEST / SHORTEST) ** rng.random(n)
    slack, value, at, resource = (rng.random(n) for _ in range(4))
    return Shape(
        share,
        period.astype(np.int64),
        slack,
        1 + (value * VALUES).astype(np.int64),
        at,
        (resource * RESOURCES).astype(np.int64),
    )


def fill(
    workload: Workload, shape: Shape, utilisation: float, key: tuple[int, int, int]
) -> TaskSet:
    """Return the task set of a shape at a utilisation, with its jobs and requests.

    ``key``: what the shape was drawn with.  Execution times are rounded down, to at least 1 ns.
    """
    n = len(shape.period)
    nominal = np.maximum(1, (utilisation * shape.share * shape.period).astype(np.int64))
    deadline = shape.period
    if workload.constrained:
        room = np.maximum(shape.period - nominal, 0)
        deadline = np.minimum(nominal, shape.period) + (shape.slack * room).astype(np.int64)
    work = None
    if not workload.exact:
        count = jobs(workload.end, shape.period)
        random = _stream(workload.seed, key, _WORK).random(int(count.sum()))
        share = LEAST_SHARE + (1 - LEAST_SHARE) * random
        work = np.maximum(1, np.repeat(nominal, count) * share).astype(np.int64)
    arrival, request = _requests(workload, key)
    return TaskSet(
        end=workload.end,
        period=shape.period,
        deadline=deadline,
        nominal=nominal,
        work=work,
        value=shape.value,
        sections=critical_sections(shape, nominal) if workload.resources else ((),) * n,
        arrival=arrival,
        request_work=request,
    )


def scaled(tasks: TaskSets, shapes: Sequence[Shape], factors: NDArray[np.float64]) -> TaskSets:
    """Return sets with all nominal execution times, which jobs take exactly, times a factor each.

    ``shapes``: those of the sets.
    """
    nominal = np.maximum(1, (tasks.nominal * factors[:, None]).astype(np.int64))
    if not len(tasks.action_at):
        return replace(tasks, nominal=nominal, work=None)
    at, length = _times(np.stack([shape.at for shape in shapes]), nominal)
    return replace(
        tasks, nominal=nominal, work=None, action_at=np.stack((at, at + length), -1).ravel()
    )


def _requests(workload: Workload, key: tuple[int, int, int]) -> tuple[Ints, Ints]:
    """Return Poisson arrivals and exponential execution times, the same at every utilisation."""
    n, _, number = key
    rng = _stream(workload.seed, (n, 0, number), _REQUESTS)
    apart = REQUEST / APERIODIC_LOAD
    number = int(workload.end / apart * 1.5) + 50
    arrival = np.cumsum(-np.log1p(-rng.random(number)) * apart)
    while arrival[-1] < workload.end:
        arrival = np.append(arrival, arrival[-1] - np.log1p(-rng.random()) * apart)
    arrival = arrival[arrival < workload.end]
    work = -np.log1p(-rng.random(len(arrival))) * REQUEST
    return arrival.astype(np.int64), 1 + work.astype(np.int64)


def critical_sections(shape: Shape, nominal: Ints) -> tuple[tuple[Section, ...], ...]:
    """Return the critical section of each task, which has one."""
    columns = *_times(shape.at, nominal), shape.resource
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple((Section(*row),) for row in rows)


def _times(at: NDArray[np.float64], nominal: Ints) -> tuple[Ints, Ints]:
    """Return the beginnings and the lengths of critical sections; ``at``: as in Shape."""
    begin = (at * nominal * (0.5 - SECTION_SHARE)).astype(np.int64)
    return begin, np.maximum(1, (SECTION_SHARE * nominal).astype(np.int64))
