"""When the jobs of a task set run: Python interface of the simulator in C (schedule.c)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple, get_args

import numpy as np

from rtstone.documents.tasks import Policy, Protocol, ServerKind, Task, TaskSet
from rtstone.errors import UsageError
from rtstone.simulate.engine import library
from rtstone.simulate.taskset import Ints, no_ints
from rtstone.tasks.analysis.problem import levels

# As in schedule.h.
_POLICIES, _PROTOCOLS, _SERVERS = get_args(Policy), get_args(Protocol), get_args(ServerKind)
_MEMBERS = (
    "tasks", "cpus", "end", "quantum", "policy", "level", "deadline", "affinity", "waker", "server",
    "first", "release", "work", "use_first", "use_resource", "use_after", "use_length",
    "resources", "protocol", "ceiling", "servers", "server_kind", "server_level", "server_budget",
    "server_period", "server_affinity", "switches", "switch_cost", "resumes", "resume_cost",
    "steal_first", "steal_at", "steal_length", "rt_runtime", "rt_period",
)  # fmt: skip
_NUMBERS = {
    "tasks", "cpus", "end", "quantum", "resources", "servers", "switches", "resumes", "rt_runtime",
    "rt_period",
}  # fmt: skip
MOST_CPUS = 62  # bits of an affinity


class Load(NamedTuple):
    """The jobs of a task: when each is released, in order, and how long it works, in ns.

    The releases of a woken task do not count, its jobs come when they are woken.
    """

    release: Ints
    work: Ints


class Steals(NamedTuple):
    """When a CPU is taken from all tasks, in order, and for how long, in ns."""

    at: Ints
    length: Ints


@dataclass(frozen=True)
class System:
    """What a system costs beside the work, in ns.

    ``switch``: each time a CPU goes to another task, also after idling; nobody preempts it.
    ``resume``: what a job does again each time it goes on after another had its CPU.  Their numbers
    are taken in turn.  ``steals``: by CPU, before all tasks.  ``runtime`` in every ``period``, the
    first from 0 on: what is left to all tasks with a priority on each CPU; 0: all.
    """

    switch: Ints = field(default_factory=no_ints)
    resume: Ints = field(default_factory=no_ints)
    steals: Mapping[int, Steals] = field(default_factory=dict)
    runtime: int = 0
    period: int = 0


class Times(NamedTuple):
    """When the jobs of a task were released, first executed, and ended, in ns; -1: never."""

    released: Ints
    begun: Ints
    ended: Ints


class _Set(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_int64 if name in _NUMBERS else ctypes.c_void_p) for name in _MEMBERS
    ]


def simulate(
    tasks: TaskSet, loads: Sequence[Load], system: System | None = None, *, end: int
) -> list[Times]:
    """Return when the jobs of each task ran, up to a time in ns.

    Raises UsageError for what cannot be simulated.
    """
    system = system or System()
    _check(tasks, loads, system)
    cpus = _cpus(tasks)
    arrays = _of_tasks(tasks, loads, cpus) | _of_resources(tasks) | _of_servers(tasks, cpus)
    steals = [system.steals.get(cpu, Steals(no_ints(), no_ints())) for cpu in cpus]
    arrays |= {
        "switch_cost": system.switch,
        "resume_cost": system.resume,
        "steal_first": np.cumsum([0, *(len(steal.at) for steal in steals)]),
        "steal_at": np.concatenate([steal.at for steal in steals]),
        "steal_length": np.concatenate([steal.length for steal in steals]),
    }
    numbers = {
        "tasks": len(tasks.tasks), "cpus": len(cpus), "end": end, "quantum": tasks.quantum_ns,
        "resources": len(tasks.resources), "servers": len(tasks.servers),
        "switches": len(system.switch), "resumes": len(system.resume),
        "rt_runtime": system.runtime, "rt_period": system.period,
    }  # fmt: skip
    shared = {name: np.ascontiguousarray(array, np.int64) for name, array in arrays.items()}
    request = _Set(*(numbers[n] if n in _NUMBERS else shared[n].ctypes.data for n in _MEMBERS))
    first = shared["first"]
    begun, ended, released = (np.empty(first[-1], np.int64) for _ in range(3))
    changes = ctypes.c_int64()
    outputs = [ctypes.c_void_p(array.ctypes.data) for array in (begun, ended, released)]
    if library().schedule_run(ctypes.byref(request), *outputs, ctypes.byref(changes)):
        raise MemoryError
    return [Times(released[a:b], begun[a:b], ended[a:b]) for a, b in pairwise(first.tolist())]


def _check(tasks: TaskSet, loads: Sequence[Load], system: System) -> None:
    """Refuse what the C side does not know or relies on."""
    for task in tasks.tasks:
        most = task.work.most_ns or 0
        if task.policy == "deadline" and task.runtime_ns is not None and task.runtime_ns < most:
            raise UsageError(
                f"task '{task.name}' works for longer than its runtime, whose end is not "
                "simulated; make the runtime as long as the work"
            )
    if len(_cpus(tasks)) > MOST_CPUS:
        raise UsageError(f"a set on more than {MOST_CPUS} CPUs is not simulated; use fewer")
    for task, load in zip(tasks.tasks, loads, strict=True):
        woken = task.arrival == "woken"
        if len(load.release) != len(load.work) or load.work.min(initial=1) < 1:
            raise ValueError(f"jobs of '{task.name}': a release and positive work each")
        if not woken and not _in_order(load.release):
            raise ValueError(f"releases of '{task.name}': in order, from 0 on")
    if not all(_in_order(steal.at) for steal in system.steals.values()):
        raise ValueError("stolen times: in order, from 0 on")
    costs = [system.switch, system.resume, *(steal.length for steal in system.steals.values())]
    if any(cost.min(initial=0) < 0 for cost in costs) or tasks.quantum_ns < 1:
        raise ValueError("costs of a system: none is negative, and a quantum is positive")
    if system.period and not 0 < system.runtime < system.period:
        raise ValueError("a runtime of tasks with priority: within its period")


def _cpus(tasks: TaskSet) -> list[int]:
    own = {cpu for task in tasks.tasks for cpu in task.cpus}
    return sorted(own | {cpu for server in tasks.servers for cpu in server.cpus})


def _in_order(times: Ints) -> bool:
    return bool(times.min(initial=0) >= 0 and np.diff(times).min(initial=0) >= 0)


def _of_tasks(tasks: TaskSet, loads: Sequence[Load], cpus: list[int]) -> dict[str, Ints]:
    names = [task.name for task in tasks.tasks]
    servers = [server.name for server in tasks.servers]
    level = levels(tasks)
    uses = [_uses(task, tasks) for task in tasks.tasks]
    flat = [use for own in uses for use in own]

    def each(value: Callable[[Task], int]) -> Ints:
        return np.array([value(task) for task in tasks.tasks], np.int64)

    def waker(task: Task) -> int:
        before = tasks.waker(task.name)
        return -1 if before is None else names.index(before)

    return {
        "policy": each(lambda task: _POLICIES.index(task.policy)),
        "level": each(lambda task: level[task.name]),
        "deadline": each(lambda task: _relative(task, tasks)),
        "affinity": each(lambda task: _bits(task.cpus, cpus)),
        "waker": each(waker),
        "server": each(lambda task: -1 if task.server is None else servers.index(task.server)),
        "first": np.cumsum([0, *(len(load.work) for load in loads)]),
        "release": np.concatenate([load.release for load in loads]),
        "work": np.concatenate([load.work for load in loads]),
        "use_first": np.cumsum([0, *(len(own) for own in uses)]),
        "use_resource": np.array([resource for resource, _, _ in flat], np.int64),
        "use_after": np.array([after for _, after, _ in flat], np.int64),
        "use_length": np.array([length for _, _, length in flat], np.int64),
    }


def _relative(task: Task, tasks: TaskSet) -> int:
    """Return the deadline by which a task with policy ``deadline`` is urgent, after the release."""
    return task.deadline_ns or tasks.source(task.name).period_ns or 0


def _uses(task: Task, tasks: TaskSet) -> list[tuple[int, int, int]]:
    names = [resource.name for resource in tasks.resources]
    uses = [(names.index(use.resource), use.after_ns, use.for_ns) for use in task.uses]
    return sorted(uses, key=lambda use: (use[1], -use[2]))


def _of_resources(tasks: TaskSet) -> dict[str, Ints]:
    level = levels(tasks)
    ceilings = []
    for resource in tasks.resources:
        users = [t for t in tasks.tasks if any(u.resource == resource.name for u in t.uses)]
        priorities = [level[t.name] for t in users if t.policy in {"fifo", "rr"}]
        ceilings.append(max(priorities, default=np.iinfo(np.int64).min))
    return {
        "protocol": np.array([_PROTOCOLS.index(r.protocol) for r in tasks.resources], np.int64),
        "ceiling": np.array(ceilings, np.int64),
    }


def _of_servers(tasks: TaskSet, cpus: list[int]) -> dict[str, Ints]:
    level = levels(tasks)
    members = {
        "server_kind": [_SERVERS.index(server.kind) for server in tasks.servers],
        "server_level": [level[server.name] for server in tasks.servers],
        "server_budget": [server.budget_ns for server in tasks.servers],
        "server_period": [server.period_ns for server in tasks.servers],
        "server_affinity": [_bits(server.cpus, cpus) for server in tasks.servers],
    }
    return {name: np.array(values, np.int64) for name, values in members.items()}


def _bits(own: Sequence[int], cpus: list[int]) -> int:
    return sum(1 << cpus.index(cpu) for cpu in own)
