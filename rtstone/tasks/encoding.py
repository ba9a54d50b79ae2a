"""A task set as the text that bench tasks.set takes (agent/benches/tasks.c says what it means)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from rtstone.documents.tasks import Policy, Resource, Task, TaskSet
from rtstone.errors import Unfit, UsageError
from rtstone.tasks.analysis.problem import levels

TASKS, RESOURCES, USES = 32, 16, 8  # of a set, and of a task, as the agent has room for
_LABEL = 9  # characters
_POLICIES: dict[Policy, int] = {"fifo": 0, "rr": 1, "deadline": 2, "other": 3}
_ARRIVALS = {"periodic": "P", "sporadic": "S", "poisson": "R"}
# Policy deadline takes the CPU from a job that has had its runtime: a task needs a little more
# than its work, as a Hartstone does.
_SPARE, _SPARE_NS = 0.02, 20_000


def labels(tasks: TaskSet) -> list[str]:
    """Return a short name of each task, for the names of its series: as its own as can be."""
    short = [re.sub(r"[^A-Za-z0-9_-]", "-", task.name)[:_LABEL] for task in tasks.tasks]
    return [
        label if short.count(label) == 1 else f"t{number}" for number, label in enumerate(short)
    ]


def several_cpus(tasks: TaskSet) -> list[int]:
    """Return the CPUs of a set that runs on several, none of one that runs on a single one."""
    cpus = sorted({cpu for task in tasks.tasks for cpu in task.cpus})
    return cpus if len(cpus) > 1 else []


def text(tasks: TaskSet) -> str:
    """Return the text of a set.  Raises Unfit for what no target can run, and says what it is."""
    _check(tasks)
    order = _levels(tasks)
    used = {use.resource for task in tasks.tasks for use in task.uses}
    resources = [resource for resource in tasks.resources if resource.name in used]
    items = [f"+{_resource(resource, tasks, order)}" for resource in resources]
    names = [resource.name for resource in resources]
    for task, label in zip(tasks.tasks, labels(tasks), strict=True):
        items.append(f"{label}:{''.join(_task(task, tasks, order, names))}")
    return "/".join(items)


def _levels(tasks: TaskSet) -> dict[str, int]:
    """Return how many levels each task is below the controller; equal ones are equally urgent."""
    by = levels(tasks)
    numbers = sorted({by[task.name] for task in tasks.tasks if _has_priority(task)}, reverse=True)
    return {task.name: numbers.index(by[task.name]) + 1 for task in tasks.tasks
            if _has_priority(task)}  # fmt: skip


def _has_priority(task: Task) -> bool:
    return task.policy in {"fifo", "rr"}


def _resource(resource: Resource, tasks: TaskSet, order: dict[str, int]) -> str:
    if resource.kind == "semaphore":
        return "s"
    if resource.protocol != "protect":
        return resource.protocol[0]
    users = [task for task in tasks.tasks if any(u.resource == resource.name for u in task.uses)]
    if other := next((task for task in users if not _has_priority(task)), None):
        raise Unfit(
            f"resource '{resource.name}' has no ceiling for task '{other.name}' of policy "
            f"{other.policy}; write protocol inherit or none"
        )
    return f"p{min(order[task.name] for task in users)}"


def _task(task: Task, tasks: TaskSet, order: dict[str, int], resources: list[str]) -> Iterator[str]:
    if task.arrival == "woken":
        waker = tasks.waker(task.name) or ""
        by = next(chain.by for chain in tasks.chains if (waker, task.name) in pairwise(chain.path))
        number = [other.name for other in tasks.tasks].index(waker)
        yield f"{'Q' if by == 'queue' else 'W'}{number}"
    else:
        yield f"{_ARRIVALS[task.arrival]}{task.period_ns}"
    if task.offset_ns:
        yield f"o{task.offset_ns}"
    if task.jitter_ns:
        yield f"j{task.jitter_ns}"
    if (deadline := tasks.deadline_ns(task)) is not None:
        yield f"d{deadline}"
    if task.work.kwi is not None:
        yield f"K{round(task.work.kwi)}"
    else:
        least, most = task.work.least_ns or 0, task.work.most_ns or 0
        yield f"w{least}" if least == most else f"w{least}x{most}"
    if task.name in order:
        yield f"l{order[task.name]}"
    if task.policy != "fifo":
        yield f"t{_POLICIES[task.policy]}"
    if task.policy == "deadline":
        yield f"r{runtime_ns(task)}"
    if several_cpus(tasks):
        yield f"c{task.cpus[0]}"
    for use in task.uses:
        end = use.after_ns + use.for_ns
        yield f"k{resources.index(use.resource)}a{use.after_ns}b{end}"


def runtime_ns(task: Task) -> int:
    """Return what a task of policy deadline reserves: as written, else its work and a little."""
    if task.runtime_ns is not None:
        return task.runtime_ns
    wanted = round((task.work.most_ns or 0) * (1 + _SPARE)) + _SPARE_NS
    return min(wanted, task.period_ns or wanted)


def _check(tasks: TaskSet) -> None:
    for number, most, noun in (
        (len(tasks.tasks), TASKS, "tasks"), (len(tasks.resources), RESOURCES, "resources"),
        (max(len(task.uses) for task in tasks.tasks), USES, "uses of resources by a task"),
    ):  # fmt: skip
        if number > most:
            raise Unfit(f"{number} {noun}; a target runs up to {most}, leave some out")
    if tasks.servers:
        raise Unfit(
            f"server '{tasks.servers[0].name}': no target has servers; give its tasks a priority "
            "of their own to run them without"
        )
    for resource in tasks.resources:
        if resource.protocol == "ceiling":
            raise Unfit(
                f"protocol ceiling of resource '{resource.name}': no target has it; write protect, "
                "the immediate ceiling"
            )
    for task in tasks.tasks:
        _check_task(task, tasks)


def _check_task(task: Task, tasks: TaskSet) -> None:
    if task.work.histogram:
        raise Unfit(
            f"work of task '{task.name}' is a histogram, which the agent does not draw from; "
            'write a range, such as work = "60..200us"'
        )
    if task.work.kwi is not None and (task.uses or task.work.kwi != round(task.work.kwi)):
        raise UsageError(
            f"work of task '{task.name}' in KWI has to be whole, and without uses of resources; "
            "write it as a time"
        )
    if len(task.cpus) > 1:
        raise Unfit(
            f"task '{task.name}' may move between CPUs {task.cpus[0]} to {task.cpus[-1]}; the "
            "agent binds each task to one, write cpu = 0"
        )
    if task.policy != "deadline":
        return
    if task.arrival in {"woken", "poisson"}:
        raise Unfit(f"policy deadline of task '{task.name}', which has no period; give it one")
    if task.deadline_ns not in {None, task.period_ns}:
        raise Unfit(
            f"policy deadline of task '{task.name}' with a deadline below its period; the agent "
            "reserves with deadlines that are periods, leave it out"
        )
