"""How long less urgent tasks that hold resources keep the CPU from a more urgent one.

Under priority inheritance as of Sha, Rajkumar and Lehoczky 1990: each less urgent task once, each
resource once.  Under ceilings (theirs, the immediate one of POSIX, Baker's stack resource policy)
once in all.  Blocking counts once in a busy period: what blocks held its resource before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rtstone.documents.tasks import Resource

CEILINGS = ("protect", "ceiling")


class Section(NamedTuple):
    """A critical section: where in the execution of a job it begins, and its length."""

    resource: str
    start: int
    length: int

    @property
    def end(self) -> int:
        """Where in the execution of a job it ends."""
        return self.start + self.length


class User(NamedTuple):
    """A task that uses resources; ``level``: its urgency, larger is more urgent."""

    level: int
    sections: Sequence[Section]


Resources = Mapping[str, Resource]


def inner(users: Iterable[User]) -> dict[str, set[str]]:
    """Return the resources that are taken while each is held.

    Of two sections that begin and end together, the first is the outer one.
    """
    nested: dict[str, set[str]] = {}
    for user in users:
        for number, outside in enumerate(user.sections):
            for other, inside in enumerate(user.sections):
                within = outside.start <= inside.start and inside.end <= outside.end
                wider = outside.length > inside.length or number < other
                if within and wider:
                    nested.setdefault(outside.resource, set()).add(inside.resource)
    return nested


def reach(waiting: Iterable[User], users: Sequence[User]) -> set[str]:
    """Return the resources for which these users, or what they wait for, may wait."""
    nested = inner(users)
    todo = [section.resource for user in waiting for section in user.sections]
    reached: set[str] = set()
    while todo:
        resource = todo.pop()
        if resource not in reached:
            reached.add(resource)
            todo += nested.get(resource, ())
    return reached


def longest(level: int, users: Sequence[User], resources: Resources) -> int:
    """Return how long less urgent tasks block one of this level at most.

    Resources without a protocol are left out: see ``entangled``.
    """
    lower = [user for user in users if user.level < level]
    return longest_of(lower, reach([u for u in users if u.level >= level], users), users, resources)


def longest_of(
    lower: Sequence[User], reached: set[str], users: Sequence[User], resources: Resources
) -> int:
    """Return how long these users block at most, by the resources that matter."""
    by_ceiling, by_task = 0, 0
    by_resource: dict[str, int] = {}
    for user in lower:
        inherited = 0
        for section in user.sections:
            protocol = resources[section.resource].protocol
            if section.resource not in reached or protocol == "none":
                continue
            if protocol in CEILINGS:
                by_ceiling = max(by_ceiling, section.length)
            else:
                inherited = max(inherited, section.length)
                longest_yet = by_resource.get(section.resource, 0)
                by_resource[section.resource] = max(longest_yet, section.length)
        by_task += inherited
    # That each resource blocks once is proven for sections that are not nested.
    by_inheritance = by_task if inner(users) else min(by_task, sum(by_resource.values()))
    return by_ceiling + by_inheritance


def entangled(level: int, users: Sequence[User], resources: Resources) -> int:
    """Return the level of the least urgent task for which one of this level may have to wait.

    Without a protocol, what holds a resource has its own priority: who waits for it, waits for all
    that is more urgent than that.
    """
    while True:
        waits = {
            s.resource
            for user in users if user.level >= level
            for s in user.sections if resources[s.resource].protocol == "none"
        }  # fmt: skip
        holders = [u.level for u in users if any(s.resource in waits for s in u.sections)]
        least = min([level, *holders])
        if least == level:
            return level
        level = least


def deadlock(users: Sequence[User], resources: Resources) -> list[str] | None:
    """Return resources that are taken in a circle, as neither ceilings nor one user prevent."""
    nested = inner(users)
    open_ = [name for name, resource in resources.items() if resource.protocol not in CEILINGS]

    def circle(path: list[str]) -> list[str] | None:
        for name in sorted(nested.get(path[-1], ())):
            if name in path:
                return path[path.index(name) :]
            if name in open_ and (rest := circle([*path, name])):
                return rest
        return None

    for name in open_:
        if path := circle([name]):
            return path
    return None
