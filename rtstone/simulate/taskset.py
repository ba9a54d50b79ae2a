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
    """A critical section of every job of a task: from which progress on, how long, on what.

    Sections of a task may be nested; one resource is not taken twice.  A job that ends within a
    section gives the resource back; one that ends before it never takes it.
    """

    at: int
    length: int
    resource: int


@dataclass(frozen=True)
class TaskSet:
    """Periodic tasks, each of which executes its jobs one after the other, and aperiodic requests.

    ``work`` holds the execution time of every job, task after task (see ``jobs``); None: nominal.
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
        """Where each task's jobs begin in an array of all jobs; one more entry is their number."""
        offset = 0 if self.offset is None else self.offset
        return np.concatenate(([0], np.cumsum(jobs(self.end, self.period, offset))))


def jobs(end: int, period: Ints, offset: Ints | int = 0) -> Ints:
    """Return how many jobs each task releases before the end."""
    found: Ints = np.maximum(0, -((offset - end) // period))
    return found


@dataclass(frozen=True)
class Rules:
    """The scheduling rules, and their costs.

    A server has ``server_budget`` of every ``server_period``; background has neither.
    ``stop_after_misses``: the simulation ends early, with what is counted by then.
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
    """Ranks of the tasks and, last, the server under a policy of fixed priorities; 0 is first.

    A server counts as a task of its period, before others that are equal; under value density it is
    the most urgent.  Among equal tasks the one with the smaller number is.
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
    """Preemption levels of the tasks and, last, the server (Baker 1991); a larger one preempts."""
    if rules.policy in {"fifo", "rr"}:
        return np.zeros_like(prio)
    if rules.policy in {"edf", "llf"}:
        return -np.append(tasks.deadline, rules.server_period)
    return -prio


def actions(tasks: TaskSet) -> list[list[tuple[int, int]]]:
    """For each task (progress, what) in order: resource + 1 is taken, -(resource + 1) given."""
    found = []
    for sections in tasks.sections:
        # At one progress: give back, the inner one first; then take, the outer one first.
        events = [
            (s.at + s.length, 0, -s.at, -(s.resource + 1)) for s in sections
        ] + [(s.at, 1, -(s.at + s.length), s.resource + 1) for s in sections]  # fmt: skip
        found.append([(at, what) for at, _, _, what in sorted(events, key=lambda event: event[:3])])
    return found
