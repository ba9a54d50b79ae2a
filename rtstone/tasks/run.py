"""Run a task set on a target: a stored run of bench tasks.set, and what its jobs did."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

import rtstone
from rtstone.cpus import cpu_list
from rtstone.documents.plan import NONE, Plan
from rtstone.documents.run import Result, Run
from rtstone.documents.tasks import TaskSet
from rtstone.documents.tasks_run import Section, TasksRun
from rtstone.errors import Inconclusive, Unfit
from rtstone.interrupt import Interrupt
from rtstone.measure.listener import Listener
from rtstone.measure.planner import ask
from rtstone.measure.request import Request
from rtstone.measure.start import start
from rtstone.store import tasks_run
from rtstone.store.rundir import load, logs
from rtstone.targets.base import Target
from rtstone.tasks import encoding
from rtstone.tasks.arrivals import NEVER, Jobs, planned, woken
from rtstone.tasks.evaluation import Record, evaluated, followed, windows, worst
from rtstone.tasks.statement import sentence
from rtstone.units import NS_PER_S, trimmed
from rtstone.wire import records as wire
from rtstone.wire.reader import Reader
from rtstone.wire.reader import Record as Received

if TYPE_CHECKING:
    from numpy.typing import NDArray

BENCH = "tasks.set"
START, RESPONSE, WAIT = "start", "resp", "wait"  # series of a task: LABEL.start, and so on
DURATION_NS = 10 * NS_PER_S
SEED = 1
_LEAST_ROOM = 200  # characters of a set that every agent with the bench takes
_LEFT_OUT = "sections left out"


class Measured(NamedTuple):
    """What a task set did, and the directory of its run."""

    document: TasksRun
    path: Path


def measure(
    tasks: TaskSet,
    *,
    file: str,
    target: str,
    load: str = NONE,
    duration_ns: int = DURATION_NS,
    seed: int = SEED,
    name: str | None = None,
    interrupt: Interrupt,
    listener: Listener | None = None,
    command: Sequence[str] = (),
    approve: Callable[[Plan, Target], None] = lambda plan, target: None,
) -> Measured:
    """Run a task set, and store the run with the document about it.

    ``file``: what the set is called.  ``approve``: called before anything is measured, may raise.
    Raises UsageError, Unfit for what the target cannot do, Inconclusive, TargetError, StoreError,
    Interrupted.
    """
    text = encoding.text(tasks)
    if len(text) > _LEAST_ROOM:
        _check_room(text, target, interrupt)
    jobs = _planned(tasks, seed, duration_ns)
    cpus = encoding.several_cpus(tasks)
    request = Request(
        names=(BENCH,), target=target, loads=(load,), name=name, command=command,
        cpus=cpu_list(cpus) if cpus else None,
        params={
            "taskset": text, "seed": seed, "time": f"{duration_ns}ns", "raw": True,
            "samples": max(1, *(len(each.end) for each in jobs.values())),
        },
    )  # fmt: skip
    finished = start(request, interrupt=interrupt, listener=listener or Listener(), approve=approve)
    if finished.error is not None and not finished.run.results:
        raise finished.error
    _check_results(finished.run, tasks)
    path = finished.directory.path
    document = _document(tasks, finished.run, path, file=file, duration_ns=duration_ns, seed=seed)
    tasks_run.keep(path, document)
    return Measured(document, path)


def stored(directory: Path) -> TasksRun:
    """Return what the task set of a stored run did.  Raises UsageError if the run is of none."""
    return tasks_run.stored(directory, load(directory).run_id)


def jobs(document: TasksRun, directory: Path) -> dict[str, Jobs]:
    """Return all jobs of a stored run, by task.  Raises UsageError, Inconclusive."""
    series = _series(directory)
    return _jobs(document.set, document.seed, document.duration_ns, series)


# ---- what is to run -----------------------------------------------------------------------------


def _check_room(text: str, target: str, interrupt: Interrupt) -> None:
    """Raise Unfit if the target's agent has no room for the text of a set, or not the bench."""
    offer = ask(target, interrupt)
    bench = offer.offered.benches.get(BENCH)
    if bench is None:
        raise Unfit(f"target '{target}' has no bench {BENCH}: its agent has no room for it")
    param = bench.param("taskset")
    room = param.max or 0 if param else 0
    if len(text) > room:
        raise Unfit(
            f"the set takes {len(text)} characters for the agent, target '{target}' has room for "
            f"{room}; leave tasks out"
        )


def _planned(tasks: TaskSet, seed: int, duration_ns: int) -> dict[str, Jobs]:
    """Return the jobs that arrive in time, by task; those of woken tasks have no arrival yet."""
    plan = {
        task.name: planned(task, number, seed, duration_ns)
        for number, task in enumerate(tasks.tasks)
        if task.arrival != "woken"
    }
    for number, task in enumerate(tasks.tasks):
        if task.arrival == "woken":
            source = plan[tasks.source(task.name).name]
            plan[task.name] = woken(task, number, seed, len(source.end))
    return plan


# ---- what ran -----------------------------------------------------------------------------------


def _check_results(run: Run, tasks: TaskSet) -> None:
    """Raise Unfit if the target cannot run the set, and Inconclusive if it did not."""
    for result in run.results:
        if result.status == "unsupported":
            raise Unfit(
                f"target '{run.target.name}' cannot run the set: {_named(result.reason, tasks)}"
            )
        if result.status != "ok":
            raise Inconclusive(f"the set did not run to its end: {_named(result.reason, tasks)}")
    if not run.results:
        raise Inconclusive(f"the set did not run: {run.reason or 'it has no result'}")


def _named(reason: str | None, tasks: TaskSet) -> str:
    """Return a reason with the names of tasks in place of their labels."""
    text = reason or "nobody knows why"
    for task, label in zip(tasks.tasks, encoding.labels(tasks), strict=True):
        text = text.replace(f"task {label}", f"task '{task.name}'")
    return text


def _series(directory: Path) -> dict[str, NDArray[np.int64]]:
    """Return the samples of each series of a run in ns, in the order of jobs."""
    parts: dict[str, dict[int, list[int]]] = {}
    for body in _raw(logs(directory)[1]):
        parts.setdefault(body.series, {})[body.at] = body.v
    return {
        name: np.array([v for _, part in sorted(by_place.items()) for v in part], np.int64)
        for name, by_place in parts.items()
    }


def _raw(texts: Sequence[bytes]) -> Iterator[wire.Raw]:
    for text in texts:
        reader = Reader()
        for line in text.splitlines(keepends=True):
            for event in reader.feed(line):
                if isinstance(event, Received) and isinstance(event.body, wire.Raw):
                    yield event.body


def _jobs(
    tasks: TaskSet, seed: int, duration_ns: int, series: Mapping[str, NDArray[np.int64]]
) -> dict[str, Jobs]:
    """Return the jobs with what was recorded of them.  Raises Inconclusive if some is missing."""
    plan = _planned(tasks, seed, duration_ns)
    short = dict(zip((task.name for task in tasks.tasks), encoding.labels(tasks), strict=True))
    ran: dict[str, Jobs] = {}

    def complete(name: str) -> Jobs:
        if name not in ran:
            waker = tasks.waker(name)
            jobs = plan[name]
            if waker is not None:
                ends = complete(waker).end
                jobs = jobs._replace(arrival=ends, release=ends)
            ran[name] = _recorded(jobs, short[name], series)
        return ran[name]

    return {task.name: complete(task.name) for task in tasks.tasks}


def _recorded(jobs: Jobs, label: str, series: Mapping[str, NDArray[np.int64]]) -> Jobs:
    nothing = np.array([], np.int64)
    starts = series.get(f"{label}.{START}", nothing)
    responses = series.get(f"{label}.{RESPONSE}", nothing)
    n = len(responses)
    if len(starts) != n or n > len(jobs.arrival):
        raise Inconclusive(f"records of jobs of {label} are lost; run the set again")
    start, end = np.full_like(jobs.start, NEVER), np.full_like(jobs.end, NEVER)
    start[:n] = jobs.arrival[:n] + starts
    end[:n] = jobs.arrival[:n] + responses
    return jobs._replace(start=start, end=end)


def _document(
    tasks: TaskSet, run: Run, path: Path, *, file: str, duration_ns: int, seed: int
) -> TasksRun:
    series = _series(path)
    jobs = _jobs(tasks, seed, duration_ns, series)
    short = encoding.labels(tasks)
    first = run.results[0]
    waits = {
        task.name: series.get(f"{label}.{WAIT}", np.array([], np.int64))
        for task, label in zip(tasks.tasks, short, strict=True)
    }
    for task, label in zip(tasks.tasks, short, strict=True):
        _check_complete(run, label, int((jobs[task.name].end != NEVER).sum()))
    record = Record(jobs, waits, _sections(tasks, first))
    ran = [evaluated(tasks, task, record) for task in tasks.tasks]
    chains = [followed(tasks, chain, jobs) for chain in tasks.chains]
    around, unshown = windows(tasks, record)
    outcome = worst([*(each.outcome for each in ran), *(each.outcome for each in chains)])
    return TasksRun(
        version=rtstone.__version__,
        file=file,
        run_id=run.run_id,
        target=run.target.name,
        load=first.load,
        set=tasks,
        duration_ns=duration_ns,
        seed=seed,
        outcome=outcome,
        sentence=sentence(outcome, ran, chains, _where(run, first, duration_ns)),
        tasks=ran,
        chains=chains,
        windows=around,
        unshown=unshown,
        notes=list(_notes(tasks, first)),
    )


def _where(run: Run, result: Result, duration_ns: int) -> str:
    """Return how long and where a set ran: ``in 10 s on sim under load heavy``."""
    load = "" if result.load == NONE else f" under load {result.load}"
    return f"in {trimmed(duration_ns, 'ns')} on {run.target.name}{load}"


def _check_complete(run: Run, label: str, ended: int) -> None:
    """Raise Inconclusive unless as many jobs are recorded as the agent counted."""
    counts = {result.series: result.n for result in run.results}
    if counts.get(f"{label}.{RESPONSE}", 0) != ended:
        raise Inconclusive(f"records of jobs of {label} are lost; run the set again")


def _sections(tasks: TaskSet, result: Result) -> dict[tuple[str, int], list[Section]]:
    """Return the critical sections that the agent reports, by task and number of the job."""
    sections: dict[tuple[str, int], list[Section]] = {}
    for table in result.tables:
        for row in table.rows if table.title == "sections" else []:
            number, job, use, requested, taken, released = map(int, row)
            task = tasks.tasks[number]
            sections.setdefault((task.name, job), []).append(
                Section(resource=task.uses[use].resource, requested_ns=requested, taken_ns=taken,
                        released_ns=released)
            )  # fmt: skip
    return sections


def _notes(tasks: TaskSet, result: Result) -> Iterator[str]:
    """Yield what differs from the set as it is written."""
    figures = result.figures
    quantum = figures["quantum"].value or 0
    if round(quantum) != tasks.quantum_ns and any(task.policy == "rr" for task in tasks.tasks):
        yield (
            f"the quantum of policy rr is {trimmed(quantum, 'ns')} here, "
            f"{trimmed(tasks.quantum_ns, 'ns')} in the set"
        )
    left = figures.get(_LEFT_OUT)
    if left and left.value:
        yield (
            f"{round(left.value)} critical sections around misses had no room: where a job waited "
            "for a resource there, nothing says so"
        )
    for flag in result.flags:
        yield f"the run has flag {flag}, which `rtstone show {{run}}` explains"
    if any(task.arrival == "periodic" and task.offset_ns is None for task in tasks.tasks):
        yield "tasks without an offset arrived together at the start: one phase of many"
