"""Task sets that tests make up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec.structs import replace

from rtstone.documents.tasks import Resource, Task, TaskSet, Use, Work


def task(name: str, work: int, period: int, priority: Any = None, **members: Any) -> Task:
    """Return a periodic task of any phase; ``least``: its shortest work."""
    least = members.pop("least", work)
    arrival = members.pop("arrival", "periodic")
    policy = members.get("policy", "fifo")
    if priority is None and policy in {"fifo", "rr"}:
        priority = "rm"
    return Task(
        name=name, arrival=arrival, period_ns=period, priority=priority,
        work=Work(least_ns=least, most_ns=work), **members,
    )  # fmt: skip


def task_set(*tasks: Task, quantum: int = 100_000_000, **members: Any) -> TaskSet:
    """Return a task set."""
    return TaskSet(title="a set", quantum_ns=quantum, tasks=list(tasks), **members)


def drawn(rng: np.random.Generator, n: int, load: float, periods: Sequence[int]) -> TaskSet:
    """Draw independent tasks with some equal priorities, jitters and deadlines beyond periods."""
    share = rng.dirichlet(np.ones(n)) * load
    tasks = []
    for number in range(n):
        period = int(rng.choice(periods))
        work = max(1, round(float(share[number]) * period))
        deadline = int(rng.integers(work, 2 * period + 1))
        jitter = int(rng.integers(0, period)) if rng.random() < 0.4 else 0
        tasks.append(
            task(f"t{number}", work, period, int(rng.integers(1, n + 1)), deadline_ns=deadline,
                 jitter_ns=jitter)
        )  # fmt: skip
    return task_set(*tasks)


def with_resources(rng: np.random.Generator, tasks: TaskSet, protocol: str) -> TaskSet:
    """Return the same with up to two critical sections each, apart or nested in one order."""
    users = []
    for each in tasks.tasks:
        work, uses, begin, end = each.work.most_ns or 1, [], 0, each.work.most_ns or 1
        for name in ("a", "b"):
            if end - begin < 1 or rng.random() < 0.4:
                continue
            at = int(rng.integers(begin, end))
            length = int(rng.integers(1, end - at + 1))
            uses.append(Use(resource=name, after_ns=at, for_ns=length))
            begin, end = (at, at + length) if rng.random() < 0.5 else (at + length, work)
        users.append(replace(each, uses=uses))
    resources = [Resource(name=name, protocol=protocol) for name in ("a", "b")]  # type: ignore[arg-type]
    return replace(tasks, tasks=users, resources=resources)
