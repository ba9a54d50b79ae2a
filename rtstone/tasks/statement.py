"""The answer of a task set's run, in a sentence that claims no more than was seen."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.tasks_run import ChainRun, NeedRun, Outcome, TaskRun
from rtstone.units import count, counted, trimmed


def sentence(
    outcome: Outcome, tasks: Sequence[TaskRun], chains: Sequence[ChainRun], where: str
) -> str:
    """Return whether all needs held, by what margin, and what failed if not.

    ``where``: how long and on what: ``in 10 s on sim``.
    """
    jobs = f"{counted(len(tasks), 'task')}, {counted(sum(task.jobs for task in tasks), 'job')}"
    if outcome == "holds":
        return f"All needs held {where}: {jobs}, {_missed(tasks)}{_closest(tasks)}"
    lead = "Not all needs held" if outcome == "fails" else "Not known whether all needs hold"
    reasons = [
        _task_reason(task, need)
        for task in tasks for need in task.needs if need.outcome == outcome
    ]  # fmt: skip
    reasons += [_chain_reason(chain) for chain in chains if chain.outcome == outcome]
    reasons = reasons or [f"no job of {task.task} arrived" for task in tasks if not task.jobs]
    rest = f"; and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    return f"{lead} {where}: {reasons[0]}{rest}; {jobs}"


def _missed(tasks: Sequence[TaskRun]) -> str:
    missed = sum(task.missed for task in tasks)
    if not any(task.deadline_ns is not None for task in tasks):
        return "none of which has a deadline"
    return "none missed" if not missed else f"{count(missed)} missed, as many as they may"


def _closest(tasks: Sequence[TaskRun]) -> str:
    """Return the response that was closest to its deadline, as a share of it."""
    due = [task for task in tasks if task.deadline_ns is not None
           and task.response.max_ns is not None and not task.missed]  # fmt: skip
    if not due:
        return ""
    closest = max(due, key=lambda task: (task.response.max_ns or 0) / (task.deadline_ns or 1))
    most, deadline = closest.response.max_ns or 0, closest.deadline_ns or 0
    return (
        f"; {closest.task}'s largest response was {trimmed(most, 'ns')}, "
        f"{trimmed(deadline - most, 'ns')} below its deadline"
    )


def _task_reason(task: TaskRun, run: NeedRun) -> str:
    """Return what became of a need: ``log missed 3 of 500 jobs``."""
    need = run.need
    if run.outcome == "inconclusive":
        name = "its share of misses" if need.measure == "missed" else need.measure
        return f"{task.task} has {run.reason} for {name}"
    if need.measure in {"deadline", "missed"}:
        lost = f", {count(task.lost)} of them never ended" if task.lost else ""
        return f"{task.task} missed {count(task.missed)} of {counted(task.jobs, 'job')}{lost}"
    if need.measure == "weakly_hard":
        most = count(run.value or 0)
        return f"{task.task} missed {most} in {need.within} successive jobs, not {need.text}"
    if run.value is None:
        return f"{task.task} does not meet {need.measure} {need.text}, {run.reason or 'jobs lost'}"
    return (
        f"{need.measure} of {task.task} was {trimmed(run.value, 'ns')}, above "
        f"{trimmed(need.limit, 'ns')}"
    )


def _chain_reason(chain: ChainRun) -> str:
    return f"chain '{chain.chain}', {chain.reason}"
