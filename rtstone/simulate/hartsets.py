"""The task sets of the Hartstone Uniprocessor Benchmark, as agent/benches/hart.c makes them.

Weiderman, CMU/SEI-89-TR-23; Donohoe, Shapiro, Weiderman, CMU/SEI-90-UG-1; Golatowski, table 2.
The numbers of PN, AH, SH and SA are reconstructed.
Loads are in kilo-Whetstone instructions per activation (KWIPP); a processor of raw speed K KWIPS
executes K of them per second, and a set that needs K per second has a utilisation of 100%.  Rates
are in tenths of a hertz, which makes them whole numbers in every experiment.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from functools import cache
from typing import NamedTuple

import numpy as np

from rtstone.simulate.taskset import Ints, no_ints
from rtstone.units import NS_PER_S

TENTHS = 10  # rates are in 1/TENTHS Hz
SECOND = NS_PER_S  # ns
LEVELS = 8  # number of priority levels above the lowest (RTS_LEVELS)
MOST_TESTS = 200

SERIES = {
    "PH": "periodic, harmonic",
    "PN": "periodic, not harmonic",
    "AH": "periodic, with a sporadic and a background task",
    "SH": "periodic, with a server",
    "SA": "all together",
}
SPORADIC_SERIES, SERVER_SERIES = ("AH", "SA"), ("SH", "SA")
EXPERIMENTS = tuple(f"{series}.{number}" for series in SERIES for number in (1, 2, 3, 4))


class Kind(Enum):
    """The kinds of release of a task."""

    PERIODIC = "periodic"
    SPORADIC = "sporadic"
    BACKGROUND = "background"  # released at random too, without a deadline


@dataclass(frozen=True)
class Task:
    """A task of a set.

    ``rate``: in tenths of a hertz; for a sporadic task, of its smallest interarrival time.
    ``load``: its own work before the call, in KWIPP.  ``calls``: it calls the server.  ``gap``:
    mean of the random part of the interarrival time, in ns.
    """

    rate: int
    load: int
    kind: Kind = Kind.PERIODIC
    calls: bool = False
    gap: int = 0

    @property
    def hz(self) -> float:
        """The mean rate of its activations in Hz."""
        least = 0 if self.kind is Kind.BACKGROUND else TENTHS / self.rate
        return 1 / (least + self.gap / NS_PER_S)

    @property
    def urgency(self) -> int:
        """The rate-monotonic rank; larger is more urgent."""
        return -1 if self.kind is Kind.BACKGROUND else self.rate


Numbers = tuple[tuple[int, int], ...]  # Hz and KWIPP of the periodic tasks, task 1 first

# By set and series; series without an entry have the numbers of sei.
NUMBERS: dict[str, Numbers] = {
    "sei": ((2, 32), (4, 16), (8, 8), (16, 4), (32, 2)),
    "golatowski": ((1, 512), (2, 256), (4, 128), (8, 64), (16, 32)),
    "PN": ((2, 32), (5, 13), (9, 7), (17, 4), (31, 2)),
}
SETS = ("auto", "sei", "golatowski", "golatowski-auto")
SCALED = ("auto", "golatowski-auto")  # whose loads are multiplied to suit the raw speed
GAP = SECOND // 20  # least time between sporadic arrivals, and mean of what is added at random
BACKGROUND_GAP = SECOND // 2


def sets_of(series: str) -> tuple[str, ...]:
    """Return the baseline sets of a series."""
    return SETS if series == "PH" else ("auto", "sei")


def added(which: str, m: int) -> int:
    """Return the KWIPP that a step of experiment 3 adds to each load of a set with factor ``m``.

    The loads of golatowski are 16 times those of sei; so is what is added to them once scaled.
    """
    larger = NUMBERS["golatowski"][4][1] // NUMBERS["sei"][4][1]
    return m * (larger if which == "golatowski-auto" else 1)


def is_served(experiment: str) -> bool:
    """Return whether the tasks of an experiment call a server."""
    return experiment.startswith(SERVER_SERIES)


def baseline(series: str, which: str = "sei", m: int = 1) -> tuple[Task, ...]:
    """Return the tasks of the first test; ``m`` multiplies their loads."""
    own = "PN" if series == "PN" else "sei"
    numbers = NUMBERS["golatowski" if which.startswith("golatowski") else own]
    calls, sporadic_series = series in SERVER_SERIES, series in SPORADIC_SERIES
    tasks = tuple(
        Task(hz * TENTHS, (load // (2 if sporadic_series else 1) - calls) * m, calls=calls)
        for hz, load in numbers
    )
    if not sporadic_series:
        return tasks
    sporadic = Task(SECOND // GAP * TENTHS, (2 - calls) * m, Kind.SPORADIC, calls, GAP)
    return (*tasks, sporadic, Task(2 * TENTHS, 8 * m, Kind.BACKGROUND, gap=BACKGROUND_GAP))


class HartSet(NamedTuple):
    """The tasks of a test; ``service``: work of the server per call in KWIPP."""

    tasks: tuple[Task, ...]
    service: int = 0

    def kwips(self) -> float:
        """Return the demand in kilo-Whetstone instructions per second, summed as the agent does."""
        total = 0.0
        for task in self.tasks:
            total += float(task.load + (self.service if task.calls else 0)) * task.hz
        return total

    def utilisation(self, raw: int) -> float:
        """Return the demand as a share of the raw speed (KWIPS)."""
        return self.kwips() / raw


GAPS = ("whole", "shortest")  # what experiment 1 of AH and SA divides


def set_of_test(
    experiment: str, base: tuple[Task, ...], m: int, test: int, gaps: str = GAPS[0]
) -> HartSet:
    """Return the set of test number ``test``, from 1: the baseline after ``test`` - 1 steps.

    ``m``: KWIPP of a step of experiment 3, and of the server.

    Steps, by number of the experiment:
    1: the rate of task 5 grows by that of task 4; in PN.1, a rate that is a multiple of another
    task's is raised by 1 Hz, once.  In AH and SA the interarrival time of the sporadic task is
    divided by 2, 3, …; with ``gaps`` "shortest" only the smallest is, by 1.1, 1.2, …
    2: all rates of the baseline are multiplied by 1.1, 1.2, …
    3: every load grows by ``m``; in AH that of the sporadic task only, in SH and SA the server's.
    4: one more task like the third; in AH like the sporadic one, in SA like either in turn.
    """
    series, number = experiment.split(".")
    step = test - 1
    served = is_served(experiment)
    if number == "1":
        return HartSet(_faster(series, base, step, gaps), m if served else 0)
    if number == "2":
        tasks = tuple(
            replace(task, rate=task.rate * (TENTHS + step) // TENTHS,
                    gap=task.gap * TENTHS // (TENTHS + step))
            for task in base
        )  # fmt: skip
        return HartSet(tasks, m if served else 0)
    if number == "3" and served:
        return HartSet(base, m * (1 + step))
    if number == "3":
        harder = tuple(
            replace(task, load=task.load + m * step) if series != "AH" or i == 5 else task
            for i, task in enumerate(base)
        )
        return HartSet(harder)
    sporadic = {"AH": range(step), "SA": range(1, step, 2)}.get(series, range(0))
    models = (base[5 if i in sporadic else 2] for i in range(step))
    return HartSet((*base, *models), m if served else 0)


@cache
def factor(series: str, raw: int, which: str = "auto") -> int:
    """Return the factor of all loads in a set that is scaled.

    The baseline of the series then takes at most a fifth of the raw speed, and the first step of
    each of its experiments adds at most a twentieth, unless the factor is already 1.
    """
    base, increment = baseline(series, which), added(which, 1)
    first = set_of_test(f"{series}.1", base, increment, 1).utilisation(raw)
    step = max(
        set_of_test(f"{series}.{number}", base, increment, 2).utilisation(raw) - first
        for number in (1, 2, 3, 4)
    )
    return max(1, int(min(0.2 / first, 0.05 / step)))


def _faster(series: str, base: tuple[Task, ...], step: int, gaps: str) -> tuple[Task, ...]:
    if series in SPORADIC_SERIES:
        faster = replace(base[5], rate=base[5].rate * (1 + step), gap=base[5].gap // (1 + step))
        if gaps == "shortest":
            faster = replace(base[5], rate=base[5].rate * (TENTHS + step) // TENTHS)
        return (*base[:5], faster, *base[6:])
    rate = base[4].rate + step * base[3].rate
    if series == "PN" and step and any(rate % task.rate == 0 for task in base[:4]):
        rate += TENTHS
    return (*base[:4], replace(base[4], rate=rate))


def levels(tasks: tuple[Task, ...], *, server: bool = False) -> list[int]:
    """Return the rate-monotonic priority levels: one per different rate, 1 for the most urgent.

    With ``server``, its task has a level of its own above all.  All rates below the first LEVELS
    levels share the last one.
    """
    rates = {task.urgency for task in tasks}
    return [
        1 + min(LEVELS, server + sum(rate > task.urgency for rate in rates)) for task in tasks
    ]  # fmt: skip


# ---- random arrivals ----------------------------------------------------------------------------

_MASK = 2**64 - 1


class Exponentials:
    """Exponential random numbers of mean 1, in 2^-32, by von Neumann's method (1951)."""

    def __init__(self, state: int) -> None:
        self._state = state
        self._numbers = no_ints()

    def first(self, n: int) -> Ints:
        """Return the first ``n`` numbers."""
        if n > len(self._numbers):
            drawn = [self._next() for _ in range(n)]
            self._numbers = np.concatenate((self._numbers, np.array(drawn, np.int64)))
        return self._numbers[:n]

    def _draw(self) -> int:
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return self._state >> 32

    def _next(self) -> int:
        """Return the number of even descending runs, plus the start of the first odd one."""
        whole = 0
        while True:
            first = previous = self._draw()
            n = 1
            while (drawn := self._draw()) < previous:
                previous = drawn
                n += 1
            if n % 2:
                return (whole << 32) + first
            whole += 1


_streams: dict[int, Exponentials] = {}


def arrivals(task: Task, index: int, duration: int) -> Ints:
    """Return the random releases in a test, in ns, of the task with this index in its set.

    The first release of a sporadic task is at 0.  The random numbers are the same in every test.
    """
    stream = _streams.setdefault(index, Exponentials(123 + index))
    background = task.kind is Kind.BACKGROUND
    least = 0 if background else TENTHS * SECOND // task.rate
    n = duration // (least + task.gap) + 1
    while True:
        n *= 2
        whole, part = np.divmod(stream.first(n), 1 << 32)  # the product may have 70 bits
        times = np.cumsum(least + task.gap * whole + (task.gap * part >> 32))
        if times[-1] >= duration:
            within = times[: np.searchsorted(times, duration)]
            return within if background else np.concatenate(([0], within))


def releases(task: Task, duration: int) -> Ints:
    """Return the releases of a periodic task in ns, and one more: each is the deadline before."""
    times = np.arange(duration * task.rate // (TENTHS * SECOND) + 2) * (TENTHS * SECOND)
    times //= task.rate
    return times[: np.searchsorted(times, duration) + 1]
