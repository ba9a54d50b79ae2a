"""Task sets that demand more or less: all work, all rates, or the work of one task, times a factor.

Times become whole nanoseconds, work at least one.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from msgspec import structs

from rtstone.documents.tasks import Task, TaskSet, Use, Work
from rtstone.errors import unknown
from rtstone.tasks.analysis.problem import scaled

WORK, RATES = "work", "rates"
HEAVIEST = 1.5  # utilisation that no system bears


def check_scale(tasks: TaskSet, scale: str) -> None:
    """Raise UsageError unless ``scale`` is work, rates, or the name of a task that has work."""
    names = [task.name for task in tasks.tasks]
    if scale not in {WORK, RATES, *names}:
        raise unknown("scale", scale, [WORK, RATES, *names], "in --scale")


def times(tasks: TaskSet, scale: str, factor: Fraction) -> TaskSet:
    """Return the set with so many times the work, the rates, or the work of one task.

    Work: with its critical sections and what it reserves.  Rates: arrivals come so much sooner, and
    deadlines with them, which is the same task more often; servers, jitters and limits of responses
    stay.
    """
    if scale == RATES:
        return structs.replace(tasks, tasks=[_sooner(task, factor) for task in tasks.tasks])
    return structs.replace(
        tasks,
        tasks=[
            _longer(task, factor) if scale in {WORK, task.name} else task for task in tasks.tasks
        ],
    )


def _longer(task: Task, factor: Fraction) -> Task:
    work = task.work
    return structs.replace(
        task,
        work=Work(
            least_ns=None if work.least_ns is None else scaled(work.least_ns, factor),
            most_ns=None if work.most_ns is None else scaled(work.most_ns, factor),
            kwi=None if work.kwi is None else work.kwi * float(factor),
            histogram=[(scaled(time, factor), number) for time, number in work.histogram],
        ),
        uses=[_longer_use(use, factor) for use in task.uses],
    )


def _longer_use(use: Use, factor: Fraction) -> Use:
    start, end = ceil(use.after_ns * factor), ceil((use.after_ns + use.for_ns) * factor)
    return structs.replace(use, after_ns=start, for_ns=max(1, end - start))


def _sooner(task: Task, factor: Fraction) -> Task:
    return structs.replace(
        task,
        period_ns=_shorter(task.period_ns, factor),
        offset_ns=None if task.offset_ns is None else round(task.offset_ns / factor),
        deadline_ns=_shorter(task.deadline_ns, factor),
    )


def _shorter(time: int | None, factor: Fraction) -> int | None:
    return None if time is None else max(1, round(time / factor))
