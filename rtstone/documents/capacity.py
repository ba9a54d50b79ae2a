"""Kinds of CPUs: performance and efficiency cores, big and LITTLE ones, as the kernel reports them.

Linux states the capacity of a CPU, relative to 1024 of the largest.  CPUs of one kind may differ by
a few percent, as some are allowed a higher turbo: those within a tenth of the largest of a kind are
of that kind.  Hybrid processors with SMT have 1024 everywhere: there the lists of CPUs that count
the same events distinguish kinds.  The agent chooses by the same rules (ports/linux/capacity.c).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rtstone.cpus import cpu_list
from rtstone.documents.run import Result, Run

LARGEST = 1024  # SCHED_CAPACITY_SCALE of the kernel
TYPES = ("core", "atom", "lowpower")  # with counters of their own, the largest first
KIND = "kind of CPU"  # an aspect of a measurement
CAPACITY, TYPE = "cpu.capacity", "cpu.types"  # conditions
ALIKE = "all alike"
# CPUs and their capacity or type, as the agent writes them: "0-3: 446", "4: core".
_ENTRY = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?: (\w{1,10})", re.ASCII)
_OF_CPU = re.compile(r"cpu ?(\d{1,4})\b", re.ASCII)  # begins the name of a series of one CPU


class Kind(NamedTuple):
    """CPUs of one kind; ``least`` and ``most``: of their capacities, None if these are unknown."""

    name: str
    cpus: frozenset[int]
    least: int | None = None
    most: int | None = None

    def __str__(self) -> str:
        """Return such as ``CPU 0-3 efficiency (capacity 446)``."""
        text = f"CPU {cpu_list(self.cpus)} {self.name}"
        return f"{text} ({self.capacity})" if self.capacity else text

    @property
    def capacity(self) -> str:
        """The capacity in words, empty if it is not known."""
        if self.most is None:
            return ""
        span = f"{self.least} to {self.most}" if self.least != self.most else f"{self.most}"
        return f"capacity {span}"


def kinds(
    online: Collection[int], capacities: Mapping[int, int], types: Mapping[int, str]
) -> list[Kind]:
    """Return the kinds of the CPUs that are online, the largest first; empty: not known.

    ``capacities``, ``types``: by CPU.  Either counts only if it is known of every CPU.
    """
    complete = bool(online) and all(0 < capacities.get(cpu, 0) <= LARGEST for cpu in online)
    groups = _by_capacity({cpu: capacities[cpu] for cpu in online}) if complete else []
    if len(groups) < 2 and online and all(types.get(cpu) in TYPES for cpu in online):
        by_type = [frozenset(cpu for cpu in online if types[cpu] == name) for name in TYPES]
        if sum(map(bool, by_type)) > 1:  # capacities that do not differ say nothing
            complete = False
        groups = [group for group in by_type if group]
    described = []
    for place, group in enumerate(groups):
        sizes = [capacities[cpu] for cpu in group] if complete else []
        if len(groups) == 1:
            name = ALIKE
        elif place in (0, len(groups) - 1):
            name = "performance" if place == 0 else "efficiency"
        else:
            name = "middle" if len(groups) == 3 else f"middle {place}"
        described.append(Kind(name, group, min(sizes, default=None), max(sizes, default=None)))
    return described


def _by_capacity(capacities: Mapping[int, int]) -> list[frozenset[int]]:
    groups = []
    rest = dict(capacities)
    while rest:
        most = max(rest.values())
        group = frozenset(cpu for cpu, size in rest.items() if size * 10 >= most * 9)
        groups.append(group)
        rest = {cpu: size for cpu, size in rest.items() if cpu not in group}
    return groups


def largest(cpus: Collection[int], system: Iterable[Kind]) -> frozenset[int]:
    """Return those of these CPUs that are of the largest kind among them; all if unknown."""
    groups = (kind.cpus.intersection(cpus) for kind in system)
    return next((group for group in groups if group), frozenset(cpus))


# ---- as a run recorded them ---------------------------------------------------------------------


def recorded(conditions: Mapping[str, Any]) -> list[Kind]:
    """Return the kinds of a run's system, by its conditions; empty if it did not record them."""
    capacities, types = (_entries(conditions.get(name)) for name in (CAPACITY, TYPE))
    online = capacities.keys() | types.keys()
    sizes = {cpu: int(size) for cpu, size in capacities.items() if size.isdecimal()}
    return kinds(online, sizes, types)


def _entries(value: object) -> dict[int, str]:
    matches = [_ENTRY.fullmatch(str(entry)) for entry in value] if isinstance(value, list) else []
    return {
        cpu: match[3]
        for match in matches
        if match
        for cpu in range(int(match[1]), int(match[2] or match[1]) + 1)
    }


def places(series: str, evidence: Mapping[str, Any]) -> list[int]:
    """Return the CPUs that a series was measured on: the one that it is named after, else all."""
    if match := _OF_CPU.match(series):
        return [int(match[1])]
    cpus = evidence.get("cpus")
    return [cpu for cpu in cpus if isinstance(cpu, int)] if isinstance(cpus, list) else []


def measured(system: Iterable[Kind], cpus: Collection[int]) -> list[Kind]:
    """Return the kinds of these CPUs."""
    return [kind for kind in system if kind.cpus.intersection(cpus)]


def named(run: Run, results: Iterable[Result]) -> str | None:
    """Return the names of the kinds that results of a run were measured on; None: not known.

    Not the capacities: those of some processors change by a little while they run.
    """
    return _named(recorded(run.conditions), results)


def one_of_several(run: Run) -> str | None:
    """Return what ``named`` does of all results, None where the system's CPUs are all alike."""
    return named(run, run.results) if len(recorded(run.conditions)) > 1 else None


def distinguishing_kinds(run: Run) -> list[str | None]:
    """Return for each result of a run what it was measured on, if not all were on one kind."""
    system = recorded(run.conditions)
    names = [_named(system, [result]) for result in run.results]
    return names if len({*names} - {None}) > 1 else [None] * len(names)


def _named(system: Sequence[Kind], results: Iterable[Result]) -> str | None:
    cpus = {cpu for result in results for cpu in places(result.series, result.evidence)}
    return " and ".join(kind.name for kind in measured(system, cpus)) or None
