"""Build a plan from a request: names, a target and parameters become cases."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from rtstone import printable
from rtstone.documents.plan import NONE, Plan, Until, run_id
from rtstone.documents.run import LOCAL, Requirement
from rtstone.documents.run import Target as Place
from rtstone.errors import TargetError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure import requirement, suite, trace, until
from rtstone.measure.attribution import design
from rtstone.measure.capabilities import merge_catalogues
from rtstone.measure.catalogue import catalogue
from rtstone.measure.request import Request
from rtstone.results.derived import ENVIRONMENT
from rtstone.store.index import free_name
from rtstone.targets import find
from rtstone.targets.base import Target
from rtstone.targets.host import check_host
from rtstone.wire.parameters import Catalogue

DEFAULT = "quick"  # the suite that is measured if none is named


class Offer(NamedTuple):
    """A target that has answered: what it is, and what it can measure.

    ``everywhere``: what any target can measure.
    """

    target: Target
    place: Place
    offered: Catalogue
    everywhere: Catalogue


def ask(spec: str, interrupt: Interrupt) -> Offer:
    """Find a target, and ask it what it offers.  Raises UsageError, TargetError, Interrupted."""
    check_host()
    target = find(spec)
    target.check_ready()
    offered = everywhere = catalogue(target, interrupt)
    if target.name != LOCAL:
        with suppress(TargetError):  # the local agent has the largest catalogue
            everywhere = merge_catalogues(offered, catalogue(find(LOCAL), interrupt))
    place = Place(
        name=target.name if target.named else spec,
        detail=dict(target.detail()),
        called=target.named.name if target.named else None,
    )
    return Offer(target, place, offered, everywhere)


def build_plan(request: Request, interrupt: Interrupt) -> tuple[Target, Plan]:
    """Build the plan and find its target.  Raises UsageError, TargetError, Interrupted."""
    name = None if request.name is None else free_name(request.name)
    offer = ask(request.target, interrupt)
    target, plan = offer.target, draft(request, offer)
    plan = structs.replace(
        plan,
        environment=target.checklist()
        if any(case.bench == ENVIRONMENT for case in plan.derived)
        else None,
        surroundings=target.host_conditions(),
        name=name,
    )
    return target, printable.document(plan)


def draft(request: Request, offer: Offer) -> Plan:
    """Return the plan without what is looked up for each run: name, and state of the target.

    Raises UsageError.
    """
    target, place, offered, everywhere = offer
    created = datetime.now(UTC)
    limit = _until(request, target)
    if request.trace is not None and limit is not None:
        raise UsageError(
            "--trace disturbs what --until measures, so that one run cannot have both; leave out "
            "--until"
        )
    names = request.names or [DEFAULT]
    suites = [name for name in names if suite.is_suite(name, everywhere.benches)]
    wanted = suite.select(names, everywhere.benches)
    if request.pairs:
        wanted = suite.limited(wanted, request.pairs)
    request = structs.replace(request, cpus=target.chosen_cpus(request.cpus))
    name = run_id(created, Path(names[0]).name.removesuffix(".toml"))
    attribution = None
    if request.apart:
        if limit is not None:
            raise UsageError(
                "--apart compares worst cases, which grow with the samples that --until decides "
                "on; give --time instead"
            )
        attribution = design(request.loads, offered.loads, name, exact=_counts(target))
        order = [load for block in attribution.order for load in block]
        request = structs.replace(request, loads=tuple(order))
    cases, absent, derived, calls, scale_s = suite.expand(
        wanted, request, offered, everywhere, simulated=target.simulates_time
    )
    tables = {**everywhere.benches, **offered.benches}
    required = _requirement(request, target)
    plan = Plan(
        run_id=name,
        created=created.isoformat(timespec="seconds"),
        command=list(request.command),
        suite=" ".join(suites) or None,
        target=place,
        keep_idle=request.keep_idle,
        cases=cases,
        absent=absent,
        derived=derived,
        benches={case.bench: tables[case.bench] for case in [*cases, *absent, *derived]},
        calls=calls,
        loads={call.name: offered.loads[call.name] for call in calls.values() if call.name != NONE},
        scale_s=scale_s,
        until=limit,
        listed_by=offered.source,
        attribution=attribution,
        requirement=required,
    )
    if request.trace is not None:
        stop_ns = plan.in_ns(required)[1] if required else 0
        plan = structs.replace(plan, trace=trace.parse(request.trace, stop_ns))
    if required is not None and required.stop_above and target.scripted and len(cases) > 1:
        raise UsageError(
            f"--stop-above cannot end a run of {len(cases)} cases on target '{target.name}', which "
            "takes all commands at its start; name one case"
        )
    if plan.endless and target.scripted:
        raise UsageError(
            f"target '{target.name}' cannot be stopped while it measures; give a time above 0"
        )
    return plan


def _counts(target: Target) -> bool:
    """Return whether a target counts instructions, which repeat exactly."""
    return bool(target.detail().get("instructions_per_s"))


def _requirement(request: Request, target: Target) -> Requirement | None:
    """Parse --limit and --stop-above.  Raises UsageError if the run cannot have them."""
    unit: requirement.Unit = "instructions" if _counts(target) else "ns"
    required = requirement.parse(request.limit, request.stop_above, unit)
    if required is None:
        return None
    option = "--until" if request.until is not None else "--apart" if request.apart else None
    if required.stop_above and option:
        raise UsageError(
            f"--stop-above ends the run that {option} has go on until it can judge; leave out "
            f"{option}, or write --limit for --stop-above"
        )
    return required


def _until(request: Request, target: Target) -> Until | None:
    """Parse --until.  Raises UsageError if the target cannot do it, or --time is given as well."""
    if request.until is None:
        return None
    if target.scripted:
        raise UsageError(
            f"--until decides after each round, but target '{target.name}' takes all commands at "
            "its start; give -p samples=N instead"
        )
    limit = until.parse(request.until)
    if request.time is not None:
        raise UsageError(
            f"--time and --until both end a case; write --until {request.until},time={request.time}"
        )
    return limit
