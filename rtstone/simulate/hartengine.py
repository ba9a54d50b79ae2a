"""Python interface of the simulator of a Hartstone test in C (hartstone.c)."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from math import gcd
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtstone.errors import UsageError
from rtstone.simulate.engine import library
from rtstone.simulate.hartsets import (
    SECOND,
    TENTHS,
    HartSet,
    Kind,
    Task,
    arrivals,
    levels,
    releases,
)
from rtstone.simulate.taskset import Ints

POLICIES = ("rm", "edf")
FORMS = ("monitor", "server")
NO_DEADLINE = 1 << 62  # later and less urgent than any other
LONGEST = 1 << 59  # ticks of a test, so that late completions do not overflow
_ARRAYS = (
    "first", "release", "due", "level", "relative", "own", "calls", "background",
)  # fmt: skip
COUNTS = ("met", "missed", "skipped", "late", "longest")
_COUNTS = np.dtype([(name, np.int64) for name in COUNTS])


class _Set(ctypes.Structure):
    _fields_ = [
        ("tasks", ctypes.c_int64),
        ("end", ctypes.c_int64),
        ("service", ctypes.c_int64),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
    ]


@dataclass(frozen=True)
class HartRules:
    """How a test is scheduled, and the costs in ns.

    ``runtime_ns`` in every ``period_ns``: what the kernel leaves to the tasks; 0: all.
    """

    policy: str = "rm"
    form: str = "monitor"
    switch_ns: int = 0
    tick_ns: int = 0
    tick_cost_ns: int = 0
    runtime_ns: int = 0
    period_ns: int = 0


class HartOutcome(NamedTuple):
    """The outcome of a test; see hartstone.h.

    ``counts``: an entry per task with the members of COUNTS, times in ticks.  ``last``: the task
    that completed last, None if that was before the end of the test.
    """

    counts: NDArray[np.void]
    events: int
    last: int | None
    ticks_per_ns: int

    @property
    def bad(self) -> int:
        """The number of deadlines missed or skipped."""
        return int(self.counts["missed"].sum() + self.counts["skipped"].sum())


def ticks_per_ns(raw: int, duration: int) -> int:
    """Return the ticks per ns that make every load a whole number of ticks.  Raises UsageError."""
    per_ns = raw // gcd(raw, SECOND)
    if duration * per_ns >= LONGEST:
        raise UsageError(f"raw speed {raw} KWIPS is too fine, in --raw; round it to 3 digits")
    return per_ns


def run(
    task_set: HartSet, raw: int, duration: int, rules: HartRules, order: list[int]
) -> HartOutcome:  # fmt: skip
    """Simulate a test of ``duration`` ns; ``order``: in which the tasks wait for its start."""
    per_ns = ticks_per_ns(raw, duration)
    work = per_ns * SECOND // raw  # ticks of a KWI
    tasks = [task_set.tasks[i] for i in order]
    spans = [_times(task, i, duration) for task, i in zip(tasks, order, strict=True)]
    level = levels(task_set.tasks, server=rules.form == "server" and task_set.service > 0)
    due = np.concatenate([dues for _, dues in spans])
    arrays = {
        "first": np.cumsum([0, *(len(release) for release, _ in spans)]),
        "release": per_ns * np.concatenate([release for release, _ in spans]),
        "due": np.where(due == NO_DEADLINE, NO_DEADLINE, due % NO_DEADLINE * per_ns),
        "level": np.array(
            [
                NO_DEADLINE if task.kind is Kind.BACKGROUND else level[i]
                for task, i in zip(tasks, order, strict=True)
            ]
        ),
        "relative": np.array([TENTHS * SECOND // task.rate * per_ns for task in tasks]),
        "own": work * np.array([task.load for task in tasks]),
        "calls": np.array([task.calls for task in tasks]),
        "background": np.array([task.kind is Kind.BACKGROUND for task in tasks]),
    }
    contiguous = {name: np.ascontiguousarray(arrays[name], np.int64) for name in _ARRAYS}
    request = _Set(len(tasks), per_ns * duration, work * task_set.service,
                 *(contiguous[name].ctypes.data for name in _ARRAYS))  # fmt: skip
    counts = np.empty(len(tasks), _COUNTS)
    totals = (ctypes.c_int64 * 3)()
    times = (rules.switch_ns, rules.tick_ns, rules.tick_cost_ns, rules.runtime_ns, rules.period_ns)
    numbers = (ctypes.c_int64 * 7)(
        POLICIES.index(rules.policy),
        FORMS.index(rules.form),
        *(per_ns * ns for ns in times),
    )
    address = ctypes.c_void_p(counts.ctypes.data)
    if library().hart_run(ctypes.byref(request), numbers, address, totals):
        raise MemoryError
    events, last, last_time = totals
    in_place = np.empty_like(counts)
    in_place[order] = counts
    late = last >= 0 and last_time >= per_ns * duration
    return HartOutcome(in_place, events, order[last] if late else None, per_ns)


def _times(task: Task, index: int, duration: int) -> tuple[Ints, Ints]:
    """Return the releases before the end of a test and their deadlines, in ns."""
    if task.kind is Kind.PERIODIC:
        times = releases(task, duration)
        return times[:-1], times[1:]
    times = arrivals(task, index, duration)
    if task.kind is Kind.BACKGROUND:
        return times, np.full(len(times), NO_DEADLINE)
    return times, times + TENTHS * SECOND // task.rate
