"""Measure several targets at once: one run on each, which together are a session.

Each target has a thread of its own, which mostly waits for its agent.  A target that fails ends its
own run; the others go on.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

from msgspec import structs

from rtstone.cpus import bind
from rtstone.documents.plan import Plan
from rtstone.documents.run import LOCAL
from rtstone.errors import RtstoneError, TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.planner import build_plan
from rtstone.measure.request import Request
from rtstone.measure.start import Finished, execute, measured_cpus
from rtstone.targets import find
from rtstone.targets.base import Target
from rtstone.targets.qemu import UnbuiltError

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
    """How a member ended: its run, or an error before there was one."""

    spec: str
    finished: Finished | None
    error: RtstoneError | None


def prepare(requests: Sequence[Request], interrupt: Interrupt) -> list[Member | Lost]:
    """Return the members of a session in the order of the requests, one for each target.

    One after the other, as a target may ask for a password.  Raises UsageError if two of them
    would disturb each other, or for a request that a target cannot carry out; Interrupted.
    """
    for target, other in combinations([find(request.target) for request in requests], 2):
        if target.name == other.name:
            raise UsageError(f"target '{target.name}' is given twice; name each target once")
        if LOCAL in {target.name, other.name} and (target.hosted or other.hosted):
            raise _disturbed(target if target.hosted else other, LOCAL)
    prepared: list[Member | Lost] = []
    for request in requests:
        try:
            prepared.append(Member(request.target, *build_plan(request, interrupt)))
        except TargetError as error:
            prepared.append(Lost(request.target, error))
        except UsageError as error:
            raise UsageError(f"{error} (on target '{request.target}')") from error
    unbuilt = [part.error for part in prepared if isinstance(part, Lost)]
    names = [name for error in unbuilt if isinstance(error, UnbuiltError) for name in error.names]
    for number, part in enumerate(prepared):  # one command builds what all of them lack
        if isinstance(part, Lost) and isinstance(part.error, UnbuiltError):
            prepared[number] = Lost(part.spec, UnbuiltError(part.error.image, names))
    members = [member for member in prepared if isinstance(member, Member)]
    machines = {id(member): member.plan.target.detail.get("machine") for member in members}
    here = find(LOCAL).detail().get("machine") if any(machines.values()) else None
    for first, second in combinations(members, 2):
        if machines[id(first)] and machines[id(first)] == machines[id(second)]:
            raise UsageError(
                f"targets '{first.spec}' and '{second.spec}' are the same machine, where their "
                "measurements would disturb each other; measure one after the other"
            )
    emulated = next((member for member in members if member.target.hosted), None)
    for member in members:
        if emulated and here and machines[id(member)] == here:
            raise _disturbed(emulated.target, member.spec)
    for number, part in enumerate(prepared):
        if isinstance(part, Member):
            session = members[0].plan.run_id
            plan = structs.replace(part.plan, run_id=f"{session}-{number + 1:02}", session=session)
            prepared[number] = part._replace(plan=plan)
    return prepared


def _disturbed(emulated: Target, beside: str) -> UsageError:
    return UsageError(
        f"target '{emulated.name}' is computed by this machine, which would disturb what is "
        f"measured on it by '{beside}'; measure one after the other"
    )


def measure_together(
    members: Sequence[Member], *, interrupt: Interrupt, listeners: Sequence[Listener]
) -> list[Ended]:
    """Measure all members at once, and return how each ended, in their order.

    An interrupt ends all of them, each with its shorter results.  Raises UsageError for a CPU that
    a target does not have.
    """
    cpus = {id(member): measured_cpus(member.plan, member.target) for member in members}
    threads = [
        _Work(member, listener, interrupt)
        for member, listener in zip(members, listeners, strict=True)
    ]
    here = [thread for thread in threads if thread.member.target.name == LOCAL]
    for thread in here:  # before this process keeps off its CPUs, which the agent would inherit
        thread.start()
    measured = frozenset[int]().union(*(cpus[id(thread.member)] or () for thread in here))
    home = os.sched_getaffinity(0)
    bind(home - measured or home)  # this thread, and those that it starts
    try:
        for thread in threads:
            if thread not in here:
                thread.start()
        for thread in threads:
            while thread.is_alive():
                thread.join(POLL_S)
    finally:
        bind(home)
    for thread in threads:
        if thread.fault:
            raise thread.fault
    return [thread.ended for thread in threads]


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
            finished = execute(plan, target, interrupt=self.interrupt, listener=self.listener)
            self.ended = Ended(spec, finished, finished.error)
        except RtstoneError as error:
            self.ended = Ended(spec, None, error)
        except BaseException as fault:  # raised again when the others have ended
            self.fault = fault
