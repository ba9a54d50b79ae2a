"""Measure the wake-up beside actions of other processes or tasks, one action at a time.

A machine is measured by one run: in each of several blocks every action once and several controls,
in an order drawn for each, so that drift and what others do there decide nothing.  In the lab each
action has a run, and so a boot, of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from random import Random
from typing import NamedTuple
from zlib import crc32

from msgspec import structs

from rtstone.documents.plan import Plan, load_name
from rtstone.documents.provocation import Action, Consent, Provoked, System
from rtstone.documents.run import QEMU, Run
from rtstone.errors import Inconclusive, RtstoneError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.actions import CONTROL, PROCESSES, actions_of, choose, withheld
from rtstone.measure.listener import Listener
from rtstone.measure.loads import parse
from rtstone.measure.planner import Offer, ask, draft
from rtstone.measure.request import Request
from rtstone.measure.start import execute, resume
from rtstone.store.index import find as find_run
from rtstone.targets import find
from rtstone.targets.base import Target
from rtstone.wire.parameters import Catalogue
from rtstone.wire.records import Load

BENCH = "dk.periodic"
SAMPLES = 2000  # of a measurement: its p99 rests on 20
# Six blocks of five measurements: the smallest chance of the ranks is 5**-6, which is below 5% also
# when it is multiplied by the number of all actions (stats/provocation.py).
BLOCKS = 6
CONTROLS = 4  # in each block; in the lab as many boots, each with a seed of its own
_SEED = "+seed="


class Part(NamedTuple):
    """A run of the measurement: its target and plan, and whether it is of the controls alone."""

    target: Target
    plan: Plan
    control: bool = False


class Design(NamedTuple):
    """What is measured on a target: the document without results, and the runs."""

    system: System
    parts: list[Part]


class Measured(NamedTuple):
    """The runs in their order, those of the controls alone, and the error, if any."""

    runs: list[Run]
    controls: list[Run]
    error: RtstoneError | None


def design(
    spec: str,
    names: Sequence[str],
    consents: Collection[Consent],
    command: Sequence[str],
    interrupt: Interrupt,
    *,
    session: str = "",
) -> Design:
    """Return what is to be measured on a target, which is asked what it can do.

    ``names``: of actions; none: all that the system has and these consents allow.  ``session``: of
    a measurement that goes on; the same actions then give the same runs.  Raises UsageError, also
    for a target without load provoke, TargetError, Interrupted.
    """
    offer = ask(spec, interrupt)
    loads = loads_of(spec, offer.offered)
    own = actions_of(loads)
    actions = choose(names, consents, own)
    lab = is_lab(offer.target)
    request = Request(names=(BENCH,), target=spec, params={"samples": SAMPLES}, command=command)
    measured, absent = [], []
    for action in actions:
        try:
            if action not in own:
                raise UsageError(f"only {'Linux' if action in PROCESSES else 'FreeRTOS'} has it")
            parse(action.load, loads)
        except UsageError as error:
            absent.append(Provoked(action=action, outcome="unsupported", reason=str(error)))
            continue
        measured.append(action)
    first = draft(request, offer)
    session = session or first.run_id
    seed = crc32(session.encode())
    system = System(
        target=first.target.name, unit="", exact=lab,
        single_cpu=lab or len(offer.target.cpus()) == 1, blocks=1 if lab else BLOCKS,
        controls=CONTROLS, seed=seed, control=None, runs=[],
        actions=[Provoked(action=action, outcome="unmeasured") for action in measured] + absent,
        withheld={} if names else withheld(consents, own),
    )  # fmt: skip
    if not measured:
        return Design(system, [])
    if lab:
        return _booted(system, measured, request, offer, session)
    random = Random(seed)
    block = [action.load for action in measured] + [CONTROL.load] * CONTROLS
    order = [load for _ in range(BLOCKS) for load in random.sample(block, len(block))]
    plan = draft(structs.replace(request, loads=tuple(order)), offer)
    return Design(system, [Part(offer.target, structs.replace(plan, run_id=session))])


def loads_of(spec: str, offered: Catalogue) -> Mapping[str, Load]:
    """Return the loads of a target, load provoke among them.  Raises UsageError if it is not."""
    name = load_name(CONTROL.load)
    if name not in offered.loads:
        why = offered.apart.get(name, "only Linux and FreeRTOS have it")
        raise UsageError(f"target '{spec}' has no load {name}: {why}")
    return offered.loads


def is_lab(target: Target) -> bool:
    """Return whether a target is a guest that nobody else uses."""
    return target.name.startswith(QEMU)


def _booted(
    system: System, actions: Sequence[Action], request: Request, offer: Offer, session: str
) -> Design:
    """Return the design of the lab: the controls, then each action, a boot each.

    A system without a seed has one control: another boot of it is the same.
    """
    parts = []
    name = offer.target.name
    fixed = _SEED in name or offer.place.detail.get("seed") is None
    seeds = [None] if fixed else [None, *range(2, CONTROLS + 1)]
    boots = [(seed, CONTROL, True) for seed in seeds]
    boots += [(None, action, False) for action in actions]
    for number, (seed, action, control) in enumerate(boots, 1):
        target, place = offer.target, offer.place
        if seed is not None:
            target = find(f"{name}{_SEED}{seed}")
            place = structs.replace(place, name=target.name, detail=dict(target.detail()))
        plan = draft(
            structs.replace(request, loads=(action.load,)),
            offer._replace(target=target, place=place),
        )
        plan = structs.replace(plan, run_id=f"{session}-{number:02}", session=session)
        parts.append(Part(target, plan, control))
    return Design(structs.replace(system, controls=len(seeds)), parts)


def measure(
    design: Design,
    *,
    interrupt: Interrupt,
    listener: Callable[[int, int], Listener],
    earlier: Mapping[str, Run] | None = None,
) -> Measured:
    """Measure all runs; ``listener``: of run number k of n.

    ``earlier``: stored runs of a measurement that goes on, by id.  Those that are complete are not
    measured again.  Ends early if interrupted, or if a target or the store fails, but not if a case
    does.  Raises UsageError if these runs are not of this design.
    """
    runs: list[Run] = []
    controls: list[Run] = []
    earlier = earlier or {}
    _check_same(design, earlier)
    for number, part in enumerate(design.parts, 1):
        run = earlier.get(part.plan.run_id)
        error: RtstoneError | None = None
        if run is None:
            plan = structs.replace(part.plan, surroundings=part.target.host_conditions())
            try:
                run, _, error = execute(
                    plan, part.target, interrupt=interrupt,
                    listener=listener(number, len(design.parts)),
                )  # fmt: skip
            except RtstoneError as early:  # nothing of this run is stored
                if not (runs or controls):
                    raise
                return Measured(runs, controls, early)
        elif run.status != "complete":
            run, _, error = resume(
                find_run(run.run_id), interrupt=interrupt,
                listener=listener(number, len(design.parts)),
            )  # fmt: skip
        (controls if part.control else runs).append(run)
        if error and not isinstance(error, Inconclusive):
            return Measured(runs, controls, error)
    return Measured(runs, controls, None)


def _check_same(design: Design, earlier: Mapping[str, Run]) -> None:
    """Raise UsageError unless the stored runs are among those of the design, of the same agent."""
    plans = {part.plan.run_id: part.plan for part in design.parts}
    for name, run in earlier.items():
        loads = {case.id: case.load for case in plans[name].cases} if name in plans else {}
        if any(loads.get(result.case) != result.load for result in run.results) or not loads:
            raise UsageError(
                f"run {name} is of other actions; repeat the actions, the consent and the target "
                "of the measurement that is to go on"
            )
        if run.agent is not None and plans[name].listed_by not in {None, run.agent.source}:
            raise UsageError(f"the agent has changed since run {name}; start a new measurement")
