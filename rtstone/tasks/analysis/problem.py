"""What a task set asks of each CPU: streams of jobs, with the costs of a system and a scale."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from rtstone.documents.tasks import Costs, Resource, Server, Task, TaskSet, Use
from rtstone.tasks.analysis.blocking import Section, User
from rtstone.tasks.analysis.streams import Stream

RESERVED, OTHER = 1 << 20, -1  # levels of policies deadline and other; the rest are priorities
TIMED = {"periodic", "sporadic"}


@dataclass(frozen=True)
class Item:
    """A task as its CPU sees it.

    ``work``: the longest of a job, with the costs; ``least``, ``bare``: shortest and longest
    without them.  ``level``: its urgency, larger is more urgent.  ``source``: the task whose
    arrivals release its jobs; ``waker``: the one that wakes it.  ``jitter``: with the costs, but
    without what a chain adds.
    """

    task: Task
    level: int
    work: int
    bare: int
    least: int
    period: int
    jitter: int
    deadline: int | None
    source: Task
    sections: Sequence[Section]
    waker: str | None = None

    @property
    def name(self) -> str:
        """The task's name."""
        return self.task.name

    @property
    def bounded(self) -> bool:
        """Whether its arrivals have a least distance."""
        return self.source.arrival != "poisson"

    def stream(self, extra: int = 0) -> Stream:
        """Return its stream of jobs; ``extra``: what a chain adds to the jitter."""
        return Stream(self.work, self.period, self.jitter + extra, self.deadline or 0)

    def raw(self) -> Stream:
        """Return the same without costs."""
        return Stream(self.bare, self.period, self.task.jitter_ns, self.deadline or 0)


@dataclass(frozen=True)
class Place:
    """CPUs that the same tasks may run on, with these tasks and servers."""

    cpus: tuple[int, ...]
    items: tuple[Item, ...]
    servers: tuple[Server, ...]
    server_levels: tuple[int, ...]
    scale: Fraction

    @property
    def users(self) -> list[User]:
        """Return what the tasks use."""
        return [User(item.level, item.sections) for item in self.items]

    def server_streams(self, level: int) -> list[Stream]:
        """Return the streams of servers that are no less urgent than a level.

        A deferrable server keeps its budget to the end of a period and may use the next at once
        (Strosnider, Lehoczky and Sha 1995).
        """
        streams = []
        for server, own in zip(self.servers, self.server_levels, strict=True):
            jitter = server.period_ns - server.budget_ns if server.kind == "deferrable" else 0
            stream = Stream(server.budget_ns, server.period_ns, jitter, server.period_ns)
            streams += [stream] if own >= level else []
        return streams


@dataclass(frozen=True)
class Problem:
    """A task set with costs, at a scale of its work."""

    set: TaskSet
    costs: Costs
    places: tuple[Place, ...]
    resources: Mapping[str, Resource]
    ticks: tuple[Stream, ...] = field(default=())

    @property
    def items(self) -> list[Item]:
        """Return all items in the order of the set's tasks."""
        by_name = {item.name: item for place in self.places for item in place.items}
        return [by_name[task.name] for task in self.set.tasks]


def pose(tasks: TaskSet, costs: Costs, scale: Fraction = Fraction(1)) -> Problem:
    """Return the problem that a task set is with these costs, all its work times a scale.

    The work of all tasks has to be known in ns.
    """
    priorities = levels(tasks)
    resources = {resource.name: resource for resource in tasks.resources}
    items = [_item(tasks, task, costs, scale, priorities[task.name]) for task in tasks.tasks]
    places = []
    together = [tuple(task.cpus) for task in tasks.tasks]
    together += [tuple(server.cpus) for server in tasks.servers]
    for cpus in sorted(set(together)):
        servers = tuple(s for s in tasks.servers if tuple(s.cpus) == cpus)
        places.append(
            Place(
                cpus,
                tuple(item for item in items if tuple(item.task.cpus) == cpus),
                servers,
                tuple(priorities[server.name] for server in servers),
                scale,
            )
        )
    ticks = (Stream(costs.tick_cost_ns, costs.tick_ns),) if costs.tick_cost_ns else ()
    return Problem(tasks, costs, tuple(places), resources, ticks)


def levels(tasks: TaskSet) -> dict[str, int]:
    """Return the level of each task and server; what rm and dm call equal is equal."""
    by: dict[str, int] = {}
    assigned: dict[str, int] = {}
    for task in tasks.tasks:
        if task.server is not None or task.policy == "other":
            by[task.name] = OTHER
        elif task.policy == "deadline":
            by[task.name] = RESERVED
        elif isinstance(task.priority, int):
            by[task.name] = task.priority
        else:
            period = tasks.source(task.name).period_ns or 0
            deadline = tasks.deadline_ns(task)
            assigned[task.name] = (
                deadline if task.priority == "dm" and deadline is not None else period
            )
    for server in tasks.servers:
        if server.kind == "cbs":
            by[server.name] = RESERVED
        elif isinstance(server.priority, int):
            by[server.name] = server.priority
        else:
            assigned[server.name] = server.period_ns
    times = sorted(set(assigned.values()), reverse=True)
    return by | {name: times.index(time) for name, time in assigned.items()}


def shared_resources(tasks: TaskSet) -> set[str]:
    """Return the resources that more than one task uses."""
    users = [name for task in tasks.tasks for name in {use.resource for use in task.uses}]
    return {name for name in users if users.count(name) > 1}


def scaled(time: int, scale: Fraction) -> int:
    """Return a time of execution at a scale, at least 1."""
    return max(1, ceil(time * scale))


def _item(tasks: TaskSet, task: Task, costs: Costs, scale: Fraction, level: int) -> Item:
    source = tasks.source(task.name)
    most, least = task.work.most_ns or 0, task.work.least_ns or 0
    bare = scaled(most, scale)
    timed = task.arrival in TIMED
    waits = sum(_may_switch(use, tasks) for use in task.uses)
    turns = bare // tasks.quantum_ns if task.policy == "rr" else 0
    overhead = 2 * costs.switch_ns * (1 + waits + turns) + (costs.timer_ns if timed else 0)
    reserved = bare
    if task.policy == "deadline" and task.runtime_ns is not None:
        reserved = max(bare, task.runtime_ns)
    return Item(
        task=task,
        level=level,
        work=reserved + overhead,
        bare=bare,
        least=scaled(least, scale),
        period=source.period_ns or 0,
        jitter=task.jitter_ns + (costs.release_ns if timed else 0),
        deadline=tasks.deadline_ns(task),
        source=source,
        sections=[_section(use, scale) for use in task.uses],
        waker=tasks.waker(task.name),
    )


def _section(use: Use, scale: Fraction) -> Section:
    """Return a critical section at a scale; what is nested stays so."""
    start, end = ceil(use.after_ns * scale), ceil((use.after_ns + use.for_ns) * scale)
    return Section(use.resource, start, max(1, end - start))


def _may_switch(use: Use, tasks: TaskSet) -> bool:
    """Return whether a wait for the resource may cost two switches: ceilings leave none."""
    resource = next(r for r in tasks.resources if r.name == use.resource)
    return resource.protocol in {"none", "inherit"} and use.resource in shared_resources(tasks)
