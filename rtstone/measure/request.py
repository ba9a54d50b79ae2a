"""Build a plan from a request: names, a target and parameters become cases."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from rtstone import printable
from rtstone.documents.plan import NONE, Plan, Trace, Until, run_id
from rtstone.documents.run import LOCAL
from rtstone.documents.run import Target as Place
from rtstone.errors import TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import suite, trace, until
from rtstone.measure.capabilities import merge_catalogues
from rtstone.measure.catalogue import catalogue
from rtstone.results.derived import ENVIRONMENT
from rtstone.store.index import free_name
from rtstone.targets import find
from rtstone.targets.base import Target
from rtstone.targets.host import check_host
from rtstone.wire.parameters import Catalogue


class RunRequest(NamedTuple):
    """What to measure, as given by a user or a program.

    ``names``: suites, suite files and benches.  ``command`` is stored in the run document.
    ``name``: what the run is to be called.
    """

    names: Sequence[str]
    target: str
    asked: suite.Asked
    command: list[str]
    keep_idle: bool = False
    until: str | None = None
    name: str | None = None
    trace: str | None = None


class Offer(NamedTuple):
    """A target that has answered: what it is, and what it can measure.

    ``known``: what any target can measure.
    """

    target: Target
    place: Place
    offered: Catalogue
    known: Catalogue


def ask(spec: str, interrupt: Interrupt) -> Offer:
    """Find a target, and ask it what it offers.  Raises UsageError, TargetError, Interrupted."""
    check_host()
    target = find(spec)
    target.check_ready()
    offered = catalogue(target, interrupt)
    place = Place(
        name=target.name if target.named else spec,
        detail=dict(target.detail()),
        called=target.named.name if target.named else None,
    )
    return Offer(target, place, offered, _known(target, offered, interrupt))


def build_plan(wish: RunRequest, interrupt: Interrupt) -> tuple[Target, Plan]:
    """Build the plan and find its target.  Raises UsageError, TargetError, Interrupted."""
    name = None if wish.name is None else free_name(wish.name)
    there = ask(wish.target, interrupt)
    target, plan = there.target, draft(wish, there)
    plan = structs.replace(
        plan,
        environment=target.checklist()
        if any(c.bench == ENVIRONMENT for c in plan.derived)
        else None,
        surroundings=target.host_conditions(),
        name=name,
    )
    return target, printable.document(plan)


def draft(wish: RunRequest, there: Offer) -> Plan:
    """Return the plan without what is looked up for each run: name, and state of the target.

    Raises UsageError.
    """
    target, place, offered, known = there
    created = datetime.now(UTC)
    limit = _until(wish, target)
    suites = [name for name in wish.names if name not in known.benches]
    wanted = suite.select(list(wish.names), known.benches)
    cases, absent, made, calls, scale_s = suite.expand(wanted, _asked(wish, target), offered, known)
    tables = {**known.benches, **offered.benches}
    plan = Plan(
        run_id=run_id(created, Path(wish.names[0]).name.removesuffix(".toml")),
        created=created.isoformat(timespec="seconds"),
        command=wish.command,
        suite=" ".join(suites) or None,
        target=place,
        keep_idle=wish.keep_idle,
        cases=cases,
        absent=absent,
        derived=made,
        benches={case.bench: tables[case.bench] for case in [*cases, *absent, *made]},
        calls=calls,
        loads={call.name: offered.loads[call.name] for call in calls.values() if call.name != NONE},
        scale_s=scale_s,
        until=limit,
        listed_by=offered.source,
        trace=_trace(wish),
    )
    if plan.endless and target.scripted:
        raise UsageError(
            f"target '{target.name}' cannot be stopped while it measures; give a time above 0"
        )
    return plan


def _asked(wish: RunRequest, target: Target) -> suite.Asked:
    """Return the options for all cases, with the CPUs that a targets file gives."""
    return wish.asked._replace(cpus=target.cpus_asked(wish.asked.cpus))


def _known(target: Target, offered: Catalogue, interrupt: Interrupt) -> Catalogue:
    """Return the union of the target's catalogue and the local agent's, which is the largest."""
    if target.name == LOCAL:
        return offered
    try:
        return merge_catalogues(offered, catalogue(find(LOCAL), interrupt))
    except TargetError:
        return offered


def _trace(wish: RunRequest) -> Trace | None:
    """Parse --trace.  Raises UsageError if it is given together with --until."""
    if wish.trace is not None and wish.until is not None:
        raise UsageError(
            "--trace disturbs what --until measures, so that one run cannot have both; leave out "
            "--until"
        )
    return None if wish.trace is None else trace.parse(wish.trace)


def _until(wish: RunRequest, target: Target) -> Until | None:
    """Parse --until.  Raises UsageError if the target cannot do it, or --time is given as well."""
    if wish.until is None:
        return None
    if target.scripted:
        raise UsageError(
            f"--until decides after each round, but target '{target.name}' takes all commands at "
            "its start; give -p samples=N instead"
        )
    found = until.parse(wish.until)
    if (time := wish.asked.time) is not None:
        raise UsageError(
            f"--time and --until both end a case; write --until {wish.until},time={time}"
        )
    return found
