"""Who had the CPU around a job, from what the jobs recorded of themselves.

Jobs record when they started and ended, and their critical sections; not when they were preempted.
On one CPU the most urgent job that had started, had not ended and did not wait had it, if the
system kept its rules; what does not add up with the work of the jobs is the system's.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

from rtstone.documents.tasks import Resource, TaskSet
from rtstone.documents.tasks_run import Interval, Job, Share
from rtstone.tasks.analysis.problem import levels


class _Moment(NamedTuple):
    """What a job does at a time: runs if it can, waits for a resource, or neither."""

    job: Job
    holds: tuple[str, ...]
    waits: str | None


class Schedule:
    """The schedule of jobs on one CPU; ``jobs``: with their sections."""

    def __init__(self, tasks: TaskSet, jobs: Sequence[Job]) -> None:
        self._set = tasks
        self._levels = levels(tasks)
        self._resources = {resource.name: resource for resource in tasks.resources}
        self._jobs = [job for job in jobs if job.start_ns is not None]

    def intervals(self, begin: int, end: int) -> list[Interval]:
        """Return who had the CPU from ``begin`` to ``end``, without gaps."""
        intervals = []
        for running, group in groupby(self._runs(begin, end), key=lambda stretch: stretch[2]):
            parts = list(group)
            name = running.task if running else ""
            intervals.append(Interval(task=name, from_ns=parts[0][0], to_ns=parts[-1][1]))
        return intervals

    def shares(self, job: Job, released_ns: int, end: int) -> list[Share]:
        """Return whose the time from a job's arrival to ``end`` was, the largest first.

        ``released_ns``: when it was released.  A task's share is no more than the work of its jobs,
        or of their sections: what is left, and what ran though it is less urgent, is the system's.
        """
        begin = job.arrival_ns
        late = min(released_ns, end) - begin
        sums: dict[tuple[str, str, int], int] = {}
        for first, last, running in self._runs(begin + late, end):
            key = (*self._owner(job, running, first), running.number if running else 0)
            sums[key] = sums.get(key, 0) + last - first
        shares: dict[tuple[str, str], int] = {("release", ""): late} if late else {}
        system = 0
        for (owner, name, number), ns in sums.items():
            task = name or job.task
            own = 0 if owner == "system" else min(
                ns, self._most(task, number if name else job.number, sections=owner == "resource")
            )  # fmt: skip
            system += ns - own
            if own:
                shares[owner, name] = shares.get((owner, name), 0) + own
        if system:
            shares["system", ""] = system
        every = [Share(owner=who, name=name, ns=ns) for (who, name), ns in shares.items()]  # type: ignore[arg-type]
        return sorted(every, key=lambda share: -share.ns)

    def _most(self, name: str, number: int, *, sections: bool) -> int:
        """Return how long a job works, or works while it holds what others wait for."""
        work = next(job.work_ns for job in self._jobs if (job.task, job.number) == (name, number))
        if work < 0:  # in KWI, whose time is not known
            return sys.maxsize
        return min(work, sum(use.for_ns for use in self._set.task(name).uses)) if sections else work

    def _owner(self, job: Job, running: Job | None, at: int) -> tuple[str, str]:
        """Return what the time was to a job, and the task that ran."""
        if running is None:
            return "system", ""
        if (running.task, running.number) == (job.task, job.number):
            return "own", ""
        if running.task == job.task:
            return "task", running.task  # a job before it, which was late
        wanted = _moment(job, at).waits
        if wanted is not None and wanted in _moment(running, at).holds:
            return "resource", running.task
        held = {name for other in self._active(at) for name in _moment(other, at).holds}
        if wanted is not None and wanted in held:
            return "task", running.task
        own = self._own(job)
        if self._own(running) >= own:
            return "task", running.task
        return ("resource" if self._urgency(running, at) >= own else "system"), running.task

    def _runs(self, begin: int, end: int) -> Iterator[tuple[int, int, Job | None]]:
        """Yield who had the CPU from ``begin`` to ``end``, anew whenever a job does something."""
        times = {begin, end}
        for job in self._jobs:
            times |= {job.start_ns or 0, job.end_ns if job.end_ns is not None else end}
            for section in job.sections:
                times |= {section.requested_ns, section.taken_ns, section.released_ns}
        order = sorted(time for time in times if begin <= time <= end)
        for first, last in pairwise(order):
            yield first, last, self._running(first)

    def _running(self, at: int) -> Job | None:
        """Return the most urgent job that can run; of equal ones, the one that started first."""
        able = [job for job in self._active(at) if _moment(job, at).waits is None]
        return max(able, key=lambda job: (self._urgency(job, at), -(job.start_ns or 0)),
                   default=None)  # fmt: skip

    def _active(self, at: int) -> Iterator[Job]:
        for job in self._jobs:
            if (job.start_ns or 0) <= at and (job.end_ns is None or at < job.end_ns):
                yield job

    def _own(self, job: Job) -> tuple[int, int]:
        """Return a job's urgency by its task: larger is more urgent."""
        task = self._set.task(job.task)
        due = job.arrival_ns + (self._set.deadline_ns(task) or 0)
        return self._levels[job.task], -due if task.policy == "deadline" else 0

    def _urgency(self, job: Job, at: int, path: tuple[Job, ...] = ()) -> tuple[int, int]:
        """Return the same with what it has from the resources that it holds."""
        best = self._own(job)
        for name in _moment(job, at).holds:
            resource = self._resources[name]
            if resource.protocol == "protect":
                best = max(best, self._ceiling(resource))
            if resource.protocol != "inherit":
                continue
            for other in self._active(at):
                if _moment(other, at).waits == name and other not in path:
                    best = max(best, self._urgency(other, at, (*path, job)))
        return best

    def _ceiling(self, resource: Resource) -> tuple[int, int]:
        users = [
            task for task in self._set.tasks
            if any(use.resource == resource.name for use in task.uses)
        ]  # fmt: skip
        return max(self._levels[task.name] for task in users), 0


def _moment(job: Job, at: int) -> _Moment:
    holds = tuple(s.resource for s in job.sections if s.taken_ns <= at < s.released_ns)
    waits = next((s.resource for s in job.sections if s.requested_ns <= at < s.taken_ns), None)
    return _Moment(job, holds, waits)
