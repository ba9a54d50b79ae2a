"""Task sets and scheduling rules; times are whole ticks, by default nanoseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

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
    ``rank``: priorities of policy ``fixed``, smaller is more urgent; None: by number.
    """

    end: int
    period: Ints
    deadline: Ints
    nominal: Ints
    work: Ints | None = None
    offset: Ints | None = None
    value: Ints | None = None
    rank: Ints | None = None
    sections: tuple[tuple[Section, ...], ...] = ()
    arrival: Ints = field(default_factory=no_ints)
    request_work: Ints = field(default_factory=no_ints)

    @property
    def first(self) -> Ints:
        """Index of each task's first job in an array of all jobs, and the number of all jobs."""
        indexes: Ints = stacked([self]).first[0]
        return indexes


def jobs(end: int, period: Ints, offset: Ints | int = 0) -> Ints:
    """Return the number of jobs that each task releases before the end."""
    numbers: Ints = np.maximum(0, -((offset - end) // period))
    return numbers


@dataclass(frozen=True)
class Rules:
    """The scheduling rules, and their costs.

    A server gets ``server_budget`` in every ``server_period``; background has neither.
    ``first_miss``: end once a deadline is known to be missed.
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
    first_miss: bool = False


@dataclass(frozen=True)
class TaskSets:
    """Task sets of equally many tasks, as the simulator takes them.

    Arrays have a row per set and a column per task, or hold what all sets have, one after the
    other: ``work`` of jobs, ``action_…`` of critical sections, ``arrival`` and ``request_work`` of
    requests.  ``first``, ``action_first``: where a task's jobs and actions begin there; their last
    column is where those of the next set begin.  ``requests``: the number of each set's.
    """

    end: int
    period: Ints
    deadline: Ints
    offset: Ints
    nominal: Ints
    value: Ints
    rank: Ints
    first: Ints
    work: Ints | None
    action_first: Ints
    action_at: Ints
    action_what: Ints
    requests: Ints
    arrival: Ints
    request_work: Ints


def stacked(sets: Sequence[TaskSet]) -> TaskSets:
    """Return task sets, at least one, as one; all have the same end."""
    period = np.stack([s.period for s in sets])
    offset = np.stack([np.zeros_like(s.period) if s.offset is None else s.offset for s in sets])
    ones, numbers = np.ones_like(period[0]), np.arange(len(period[0]))
    taken = [_actions(of_task) for s in sets for of_task in s.sections or ((),) * len(s.period)]
    flat = [action for of_task in taken for action in of_task]
    of_jobs = [s.work for s in sets if s.work is not None]
    return TaskSets(
        end=sets[0].end,
        period=period,
        deadline=np.stack([s.deadline for s in sets]),
        offset=offset,
        nominal=np.stack([s.nominal for s in sets]),
        value=np.stack([ones if s.value is None else s.value for s in sets]),
        rank=np.stack([numbers if s.rank is None else s.rank for s in sets]),
        first=_begins(jobs(sets[0].end, period, offset)),
        work=np.concatenate(of_jobs) if of_jobs else None,
        action_first=_begins(np.array([len(of_task) for of_task in taken]).reshape(period.shape)),
        action_at=np.array([at for at, _ in flat], np.int64),
        action_what=np.array([action for _, action in flat], np.int64),
        requests=np.array([len(s.arrival) for s in sets]),
        arrival=np.concatenate([s.arrival for s in sets]),
        request_work=np.concatenate([s.request_work for s in sets]),
    )


def _begins(lengths: Ints) -> Ints:
    """Return where each of the parts with these lengths begins, and in a last column the next."""
    rows, columns = lengths.shape
    all_of_them = np.concatenate(([0], np.cumsum(lengths)))
    begins: Ints = all_of_them[np.arange(rows)[:, None] * columns + np.arange(columns + 1)]
    return begins


def priorities(tasks: TaskSets, rules: Rules) -> Ints:
    """Return the fixed-priority ranks of the tasks and, last, the server; 0 is the most urgent.

    A server ranks as a task with its period, and before tasks equal to it; under value density it
    is the most urgent, as under policy ``fixed``.  Equal tasks rank by number.
    """
    by: NDArray[Any] = tasks.deadline if rules.policy == "dm" else tasks.period
    server: float = rules.server_period
    if rules.policy == "value":
        by, server = -(tasks.value / tasks.nominal), -np.inf
    elif rules.policy == "fixed":
        by, server = tasks.rank, np.iinfo(np.int64).min
    first = np.full(len(by), server, by.dtype)
    ranks = np.argsort(np.argsort(np.column_stack((first, by)), kind="stable"))
    return np.column_stack((ranks[:, 1:], ranks[:, 0]))


def levels(tasks: TaskSets, rules: Rules) -> Ints:
    """Return preemption levels of the tasks and, last, the server; larger preempts (Baker 1991)."""
    if rules.policy in {"fifo", "rr"}:
        return np.zeros_like(tasks.first)
    if rules.policy in {"edf", "llf"}:
        last = np.full(len(tasks.deadline), rules.server_period)
        return -np.column_stack((tasks.deadline, last))
    return -priorities(tasks, rules)


def _actions(sections: tuple[Section, ...]) -> list[tuple[int, int]]:
    """Return a task's (progress, action): resource + 1 takes, -(resource + 1) releases."""
    if not sections:
        return []
    # At equal progress first release, inner sections first; then take, outer sections first.
    events = [
        (s.at + s.length, 0, -s.at, -(s.resource + 1)) for s in sections
    ] + [(s.at, 1, -(s.at + s.length), s.resource + 1) for s in sections]  # fmt: skip
    return [(at, action) for at, _, _, action in sorted(events, key=lambda event: event[:3])]
