"""Measure several targets at once: one run on each, which together are a session.

Each target has a thread of its own, which mostly waits for its agent.  A target that fails ends its
own run; the others go on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations
from typing import NamedTuple

from msgspec import structs

from rtstone.cpus import bind
from rtstone.documents.plan import Plan
from rtstone.documents.run import LOCAL
from rtstone.errors import RtstoneError, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.request import RunRequest, build_plan
from rtstone.measure.start import Finished, execute, measured_cpus
from rtstone.targets import find
from rtstone.targets.base import Target

POLL_S = 0.1  # interval in which signals are noticed


class Member(NamedTuple):
    """A target of a session, by the name given to it, and the plan of its run."""

    spec: str
    target: Target
    plan: Plan


class Lost(NamedTuple):
    """A target that cannot be measured, and why."""

    spec: str
    error: RtstoneError


class Ended(NamedTuple):
    """What came of a member: its run, or an error before there was one."""

    spec: str
    done: Finished | None
    error: RtstoneError | None


def prepare(wishes: Sequence[RunRequest], interrupt: Interrupt) -> list[Member | Lost]:
    """Return the members of a session in the order of the requests, one for each target.

    One after the other, as a target may ask for a password.  Raises UsageError if two of them
    would disturb each other, or for a request that a target cannot carry out; Interrupted.
    """
    _check_apart([find(wish.target) for wish in wishes])
    found: list[Member | Lost] = []
    for wish in wishes:
        try:
            found.append(Member(wish.target, *build_plan(wish, interrupt)))
        except TargetError as error:
            found.append(Lost(wish.target, error))
        except UsageError as error:
            raise UsageError(f"{error} (on target '{wish.target}')") from error
    members = [one for one in found if isinstance(one, Member)]
    _check_machines(members)
    if not members:
        return found
    session = members[0].plan.run_id
    numbers = {id(one): f"{session}-{number:02}" for number, one in enumerate(found, 1)}
    return [
        one._replace(plan=structs.replace(one.plan, run_id=numbers[id(one)], session=session))
        if isinstance(one, Member)
        else one
        for one in found
    ]


def _check_apart(targets: Sequence[Target]) -> None:
    """Raise UsageError if two targets are one, or one would disturb another on this machine."""
    for one, other in combinations(targets, 2):
        if one.name == other.name:
            raise UsageError(f"target '{one.name}' is given twice; name each target once")
        if {one.name, other.name} & {LOCAL} and (one.hosted or other.hosted):
            raise _disturbed(one if one.hosted else other, LOCAL)


def _check_machines(members: Sequence[Member]) -> None:
    """Raise UsageError if two targets are the same machine, or this one beside emulators."""
    machines = {id(one): one.plan.target.detail.get("machine") for one in members}
    here = find(LOCAL).detail().get("machine") if any(machines.values()) else None
    for one, other in combinations(members, 2):
        if machines[id(one)] and machines[id(one)] == machines[id(other)]:
            raise UsageError(
                f"targets '{one.spec}' and '{other.spec}' are the same machine, where their "
                "measurements would disturb each other; measure one after the other"
            )
    emulated = next((one for one in members if one.target.hosted), None)
    for one in members:
        if emulated and here and machines[id(one)] == here:
            raise _disturbed(emulated.target, one.spec)


def _disturbed(emulated: Target, beside: str) -> UsageError:
    return UsageError(
        f"target '{emulated.name}' is computed by this machine, which would disturb what is "
        f"measured on it by '{beside}'; measure one after the other"
    )


def measure_together(
    members: Sequence[Member], *, interrupt: Interrupt, listeners: Sequence[Listener]
) -> list[Ended]:
    """Measure all members at once, and return what came of each, in their order.

    An interrupt ends all of them, each with its shorter results.  Raises UsageError for a CPU that
    a target does not have.
    """
    cpus = {id(one): measured_cpus(one.plan, one.target) for one in members}
    work = [
        _Work(one, listener, interrupt) for one, listener in zip(members, listeners, strict=True)
    ]
    here = [one for one in work if one.member.target.name == LOCAL]
    for one in here:  # before this process keeps off its CPUs, which the agent would inherit
        one.start()
    measured = frozenset[int]().union(*(cpus[id(one.member)] or () for one in here))
    with _off(measured):
        for one in work:
            if one not in here:
                one.start()
        for one in work:
            while one.is_alive():
                one.join(POLL_S)
    for one in work:
        if one.fault:
            raise one.fault
    return [one.ended for one in work]


class _Work(threading.Thread):
    """The measuring of one member.  ``fault``: an internal error."""

    def __init__(self, member: Member, listener: Listener, interrupt: Interrupt) -> None:
        super().__init__(name=f"rtstone {member.spec}")
        self.member, self.listener, self.interrupt = member, listener, interrupt
        self.ended = Ended(member.spec, None, None)
        self.fault: BaseException | None = None

    def run(self) -> None:
        spec, target, plan = self.member
        try:
            done = execute(plan, target, interrupt=self.interrupt, listener=self.listener)
            self.ended = Ended(spec, done, done.error)
        except RtstoneError as error:
            self.ended = Ended(spec, None, error)
        except BaseException as fault:  # raised again when the others have ended
            self.fault = fault


@contextmanager
def _off(cpus: frozenset[int]) -> Iterator[None]:
    """Keep this thread, and those that it starts, off these CPUs as far as there are others."""
    home = os.sched_getaffinity(0)
    bind(home - cpus or home)
    try:
        yield
    finally:
        bind(home)
