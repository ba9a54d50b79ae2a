"""Start a run: request, plan, run directory, outcome.  Every measurement starts here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from rtstone.cpus import cpu_list
from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.errors import RtstoneError, UsageError
from rtstone.interrupt import Interrupt
from rtstone.measure.agent_session import not_the_same
from rtstone.measure.execution import measure
from rtstone.measure.listener import Listener
from rtstone.measure.planner import build_plan
from rtstone.measure.request import Request
from rtstone.printable import every
from rtstone.results import identity
from rtstone.results.assembly import gather
from rtstone.store.layout import RUN
from rtstone.store.rundir import RunDirectory, load
from rtstone.targets import find
from rtstone.targets.base import Target
from rtstone.targets.host import check_host


class Finished(NamedTuple):
    """A finished run: its document, its directory, and the error, if any."""

    run: Run
    directory: RunDirectory
    error: RtstoneError | None


def start(
    request: Request,
    *,
    interrupt: Interrupt,
    listener: Listener,
    out: Path | None = None,
    listed: bool = True,
    approve: Callable[[Plan, Target], None] = lambda plan, target: None,
) -> Finished:
    """Measure a request and store the run in ``out``, by default among the other runs.

    ``listed``: whether the store knows of a run in ``out``.
    ``approve`` is called before anything is measured, and may raise.  Raises UsageError,
    TargetError, Interrupted as long as there is nothing to store.
    """
    target, plan = build_plan(request, interrupt)
    approve(plan, target)
    return execute(plan, target, interrupt=interrupt, listener=listener, out=out, listed=listed)


def execute(
    plan: Plan,
    target: Target,
    *,
    interrupt: Interrupt,
    listener: Listener,
    out: Path | None = None,
    listed: bool = True,
) -> Finished:
    """Carry out a plan on its target, as ``start`` does."""
    cpus = measured_cpus(plan, target)
    directory = RunDirectory(plan, out, listed=listed)
    run, error = measure(
        plan, target, cpus=cpus, directory=directory, listener=listener, interrupt=interrupt
    )
    return Finished(run, directory, error)


def resume(
    path: Path,
    *,
    interrupt: Interrupt,
    listener: Listener,
    approve: Callable[[Plan], None] = lambda plan: None,
) -> Finished:
    """Continue the run in a directory with the cases that have no valid result yet.

    A case that was interrupted goes on as a further round, so that none of its samples is lost.
    Raises UsageError if it is complete, or if its target has changed.
    """
    if (path / RUN).exists():
        run = load(path)
        if run.status == "complete" and not any(result.goes_on for result in run.results):
            raise UsageError(f"the run is complete, {path}; there is nothing to resume")
    check_host()
    directory, plan, logs = RunDirectory.resume(path)
    try:
        earlier = gather(plan, *logs)
        target = find(plan.target.name)
        then = identity.of_target(plan.target.detail, plan.surroundings)
        now = identity.of_target(every(target.detail()), every(target.host_conditions()))
        if differs := identity.difference(then, now):
            raise not_the_same(differs)
        if earlier.valid() and (unknown := earlier.all_heads.lacking()):
            raise UsageError(
                "the run's original target is not known, as records of its agent were lost: "
                f"{', '.join(unknown)}; start a new run"
            )
        cpus = measured_cpus(plan, target)
        approve(plan)
    except BaseException:
        directory.close()
        raise
    run, error = measure(
        plan, target, cpus=cpus, directory=directory,
        listener=listener, interrupt=interrupt, earlier=earlier,
    )  # fmt: skip
    return Finished(run, directory, error)


def measured_cpus(plan: Plan, target: Target) -> frozenset[int] | None:
    """Return the CPUs that the plan measures on, None if they are not known before the start.

    Raises UsageError for a CPU that the target does not have.
    """
    here = target.cpus()
    if not here:
        return None
    measured = plan.cpus(target.default_cpus() & here, here)
    if absent := measured - here:
        verb = "is" if len(absent) == 1 else "are"
        raise UsageError(
            f"CPU {cpu_list(absent)} {verb} not available, on target '{target.name}'; "
            f"it has {cpu_list(here)}"
        )
    return measured
