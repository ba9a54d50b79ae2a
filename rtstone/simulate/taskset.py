"""Task sets and scheduling rules; times are whole ticks, by default nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]

POLICIES = {
    "fifo": "in the order of release",
    "rr": "in turn, a quantum each",
    "rm": "rate monotonic: the shorter the period, the more urgent",
    "dm": "deadline monotonic: the shorter the relative deadline, the more urgent",
    "edf": "earliest deadline first",
    "llf": "least laxity first, looked at every quantum",
    "value": "highest value density first: value per nominal execution time",
}
PROTOCOLS = ("none", "inherit", "ceiling")
SERVERS = ("background", "polling", "deferrable", "sporadic")


def no_ints() -> Ints:
    """Return an empty array."""
    return np.empty(0, np.int64)


@dataclass(frozen=True)
class Section:
    """A critical section of every job of a task: start, in execution time, length and resource.

    Sections of a task may be nested, but not on the same resource.  A job that ends within a
    section releases the resource; one that ends before it never takes it.
    """

    at: int
    length: int
    resource: int


@dataclass(frozen=True)
class TaskSet:
    """Periodic tasks, each executing its jobs in order, and aperiodic requests.

    ``work``: the execution time of every job, task after task (see ``jobs``); None: nominal.
    """

    end: int
    period: Ints
    deadline: Ints
    nominal: Ints
    work: Ints | None = None
    offset: Ints | None = None
    value: Ints | None = None
    sections: tuple[tuple[Section, ...], ...] = ()
    arrival: Ints = field(default_factory=no_ints)
    request_work: Ints = field(default_factory=no_ints)

    @property
    def first(self) -> Ints:
        """Index of each task's first job in an array of all jobs, and the number of all jobs."""
        offset = 0 if self.offset is None else self.offset
        return np.concatenate(([0], np.cumsum(jobs(self.end, self.period, offset))))


def jobs(end: int, period: Ints, offset: Ints | int = 0) -> Ints:
    """Return the number of jobs that each task releases before the end."""
    found: Ints = np.maximum(0, -((offset - end) // period))
    return found


@dataclass(frozen=True)
class Rules:
    """The scheduling rules, and their costs.

    A server gets ``server_budget`` in every ``server_period``; background has neither.
    ``stop_after_misses``: number of misses that ends the simulation early; 0: never.
    """

    policy: str
    protocol: str = "none"
    server: str = "background"
    server_period: int = 0
    server_budget: int = 0
    quantum: int = 1_000_000
    switch_cost: int = 0
    tick: int = 0
    tick_cost: int = 0
    stop_after_misses: int = 0


def priorities(tasks: TaskSet, rules: Rules) -> Ints:
    """Return the fixed-priority ranks of the tasks and, last, the server; 0 is the most urgent.

    A server ranks as a task with its period, and before tasks equal to it; under value density it
    is the most urgent.  Equal tasks rank by number.
    """
    n = len(tasks.period)
    if rules.policy == "value":
        value = np.ones(n, np.int64) if tasks.value is None else tasks.value
        urgency = np.append(-(value / tasks.nominal), -np.inf)
    else:
        by = tasks.deadline if rules.policy == "dm" else tasks.period
        urgency = np.append(by, rules.server_period)
    order = np.lexsort((np.append(np.arange(n), -1), urgency))
    ranks = np.empty(n + 1, np.int64)
    ranks[order] = np.arange(n + 1)
    return ranks


def levels(tasks: TaskSet, rules: Rules, prio: Ints) -> Ints:
    """Return preemption levels of the tasks and, last, the server; larger preempts (Baker 1991)."""
    if rules.policy in {"fifo", "rr"}:
        return np.zeros_like(prio)
    if rules.policy in {"edf", "llf"}:
        return -np.append(tasks.deadline, rules.server_period)
    return -prio


def actions(tasks: TaskSet) -> list[list[tuple[int, int]]]:
    """Return (progress, action) for each task: resource + 1 takes, -(resource + 1) releases."""
    found = []
    for sections in tasks.sections:
        # At equal progress first release, inner sections first; then take, outer sections first.
        events = [
            (s.at + s.length, 0, -s.at, -(s.resource + 1)) for s in sections
        ] + [(s.at, 1, -(s.at + s.length), s.resource + 1) for s in sections]  # fmt: skip
        found.append([(at, what) for at, _, _, what in sorted(events, key=lambda event: event[:3])])
    return found
