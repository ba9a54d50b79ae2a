"""Costs of a system that a run measured, by which the analysis inflates the work of tasks."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from rtstone.documents.plan import wake_ups
from rtstone.documents.run import Result, Run
from rtstone.documents.tasks import Costs, TaskSet, Work
from rtstone.errors import UsageError
from rtstone.results.flags import spoilt
from rtstone.simulate.costs import of_run
from rtstone.simulate.hartask import measured
from rtstone.units import count, trimmed

TIMER = "posix.timer.arm"
UNLIMITED = "-1"  # sched_rt_runtime_us: nothing is throttled, and every reservation admitted


def taken(run: Run) -> Costs:
    """Return the costs that a run has measured.

    Switch and tick as ``rtstone simulate --costs-from`` takes them; a timer by the median of
    posix.timer.arm; a release by the largest sample of all benches that release a task once a
    period.  What the run lacks costs nothing, and ``sources`` says so.  Raises UsageError if it has
    none of them.
    """
    simulated = of_run(run, switch_known=True)
    sources = list(simulated.sources)
    if not simulated.switch_ns:
        sources.insert(0, "switch: not measured")
    timer = next((r for r in _sound(run) if r.bench == TIMER and r.p50 is not None), None)
    sources.append(f"timer: p50 of {TIMER}, n = {count(timer.n)}" if timer else
                   f"timer: not measured, no {TIMER}")  # fmt: skip
    late = max(_released(run), key=lambda result: result.max or 0, default=None)
    if late is None:
        sources.append("release: not measured, no bench that releases a task once a period")
    else:
        sources.append(
            f"release: the largest of {late.bench}, {trimmed(late.max or 0, 'ns')}, "
            f"n = {count(late.n)}, load {late.load}"
        )
    kwips = measured(run).raw
    if kwips is not None:
        sources.append(f"speed: {count(kwips)} KWIPS, as Hartstone measured it")
    if not (simulated.switch_ns or simulated.tick_cost_ns or timer or late or kwips):
        raise UsageError(
            f"no costs in run {run.run_id}, in --costs-from; measure sched.yield.pair, "
            "det.bintime, posix.timer.arm and dk.periodic"
        )
    return Costs(
        switch_ns=simulated.switch_ns,
        timer_ns=round(timer.p50 or 0) if timer else 0,
        release_ns=round(late.max or 0) if late else 0,
        tick_ns=simulated.tick_ns,
        tick_cost_ns=simulated.tick_cost_ns,
        rt_runtime_ns=simulated.rt_runtime_ns,
        rt_period_ns=simulated.rt_period_ns,
        admitted=_admitted(run),
        kwips=kwips,
        from_run=run.run_id,
        sources=sources,
    )


def timed(tasks: TaskSet, kwips: float | None) -> TaskSet:
    """Return the set with the time of all work that is written in KWI.  Raises UsageError."""
    return structs.replace(
        tasks,
        tasks=[
            structs.replace(task, work=_timed(task.work, kwips, task.name)) for task in tasks.tasks
        ],
    )


def _timed(work: Work, kwips: float | None, name: str) -> Work:
    if work.kwi is None:
        return work
    if kwips is None:
        raise UsageError(
            f"work of task '{name}' is in KWI, whose time nobody knows; add --costs-from RUN of a "
            "run with hart.raw"
        )
    time = max(1, -(-round(work.kwi * 1e9) // round(kwips)))
    return structs.replace(work, least_ns=time, most_ns=time)


def _sound(run: Run) -> Iterator[Result]:
    """Yield the valid results in ns."""
    for result in run.results:
        if result.status == "ok" and result.unit == "ns" and not spoilt(result.flags):
            yield result


def _released(run: Run) -> list[Result]:
    """Return the results of releases once a period, with a largest sample."""
    names = wake_ups(run.benches)
    return [r for r in _sound(run) if r.bench in names and r.max is not None and not r.series]


def _admitted(run: Run) -> float:
    """Return the share of a CPU that the kernel admits of reservations."""
    runtime, period = (run.conditions.get(f"sched.rt_{name}_us") for name in ("runtime", "period"))
    if str(runtime) == UNLIMITED:
        return 1.0
    if str(runtime).isdigit() and str(period).isdigit() and int(str(period)):
        return int(str(runtime)) / int(str(period))
    return Costs().admitted
