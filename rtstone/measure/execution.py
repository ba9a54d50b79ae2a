"""Carry out a plan: the one place where target, wire, documents and store meet."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import NamedTuple

from rtstone.documents.plan import Plan
from rtstone.documents.run import INTERRUPTED, Run
from rtstone.errors import Inconclusive, Interrupted, RtstoneError, StoreError
from rtstone.interrupt import Interrupt
from rtstone.measure.agent_session import AgentSession, script
from rtstone.measure.listener import GuardedListener, Listener
from rtstone.results.assembly import Assembly
from rtstone.results.invalid import first_reason, invalid
from rtstone.results.load_rates import rate_remedy
from rtstone.store.rundir import RunDirectory
from rtstone.targets.base import Options, Target


class Outcome(NamedTuple):
    """The run document, and the error for the exit code, if any."""

    run: Run
    error: RtstoneError | None


def measure(
    plan: Plan,
    target: Target,
    *,
    cpus: frozenset[int] | None,
    directory: RunDirectory,
    listener: Listener,
    interrupt: Interrupt,
    earlier: Assembly | None = None,
) -> Outcome:
    """Run all cases of the plan, store what arrives, and return the document even after an error.

    ``earlier``: the results of an interrupted run of the plan; only the remaining cases are run.
    If its agent does not start, or the target is not the one the run began on (UsageError), that
    run is left as it was and the error is raised.
    """
    error: RtstoneError | None = None
    early = None  # why the run ended before all cases, as requested
    assembly = Assembly(plan, earlier)
    begin = time.monotonic()
    notify = GuardedListener(listener)
    notify(lambda to: to.started(plan))
    try:
        if not interrupt.requested:
            lines = tuple(script(plan, assembly.left)) if target.scripted else ()
            options = Options(
                keep_idle=plan.keep_idle,
                cpus=cpus,
                script=lines,
                interrupted=lambda: interrupt.requested,
            )
            with target.start(options) as link:
                session = AgentSession(
                    plan=plan,
                    link=link,
                    target=target,
                    assembly=assembly,
                    directory=directory,
                    notify=notify,
                    interrupt=interrupt,
                )
                session.run()
                if session.over and assembly.complete < len(plan.cases):
                    early = (
                        "ended by a sample above the latency of --stop-above; "
                        f"{assembly.complete} of {len(plan.cases)} cases measured"
                    )
    except StoreError as lost:
        error = _with_results_kept(lost, plan, assembly)
    except RtstoneError as failed:
        error = failed
    except BaseException as fault:  # an internal error: still keep what was measured
        notify(lambda to: to.ended())
        if not directory.begun:
            directory.close()
            raise
        with suppress(StoreError):
            directory.finish(assembly.run(repr(fault), time.monotonic() - begin))
        raise
    if interrupt.requested and not isinstance(error, StoreError):
        reason = f"{INTERRUPTED}; {assembly.complete} of {len(plan.cases)} cases measured"
        if target.scripted and (case := assembly.cut_off):
            reason += f"; {case.bench} is lost, as an emulated board cannot be told to stop"
        error = Interrupted(reason)
    notify(lambda to: to.ended())
    if error and not directory.begun:
        directory.close()
        raise error
    whole = error is None or assembly.complete == len(plan.cases)
    if error and whole and not plan.endless:
        assembly.remarks.append(str(error))
    unstarted = INTERRUPTED if isinstance(error, Interrupted) else early or ""
    run = assembly.run(early if whole else str(error), time.monotonic() - begin, unstarted)
    if plan.endless and whole and isinstance(error, Interrupted):
        error = None  # that is how it ends
    try:
        directory.finish(run)
    except StoreError as lost:
        error = error or _with_results_kept(lost, plan, assembly)
    return Outcome(run, error or (None if early else _inconclusive(run)))


def _with_results_kept(lost: StoreError, plan: Plan, assembly: Assembly) -> StoreError:
    """Return the error, extended by the number of cases that are kept."""
    return StoreError(f"{lost}; {assembly.complete} of {len(plan.cases)} cases are kept")


def _inconclusive(run: Run) -> Inconclusive | None:
    bad = invalid(run.results)
    if not bad:
        return Inconclusive(str(run.reason)) if run.status == "incomplete" else None
    statuses = {result.status for result in bad}
    be = "is" if len(bad) == 1 else "are"
    state = f"{be} incomplete" if statuses == {"incomplete"} else f"failed or {be} incomplete"
    state = "failed" if statuses == {"failed"} else state
    advice = f"; {remedy}" if (remedy := rate_remedy(bad)) else ""
    first = first_reason(run.results)
    return Inconclusive(f"{len(bad)} of {len(run.results)} results {state}, {first}{advice}")
