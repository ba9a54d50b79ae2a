"""Schedules tick by tick, of every phase: an oracle that knows nothing of the analysis.

Jobs are released as a test says; priorities, queues, locks and CPUs are as docs/guides/tasks.md
says of each policy and protocol.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import lcm

from rtstone.documents.tasks import Task, TaskSet


@dataclass(eq=False)
class Job:
    task: int
    arrival: int
    release: int
    work: int
    done: int = 0
    order: int = 0  # in the queue of its priority
    slice: int = 0
    holds: list[str] = field(default_factory=list)
    waits: str | None = None
    begin: int | None = None
    end: int | None = None


@dataclass
class Plan:
    """When the jobs of each task arrive and are released, and how long they take.

    ``last``: the task whose job comes last of those that are released at one time.  ``slices``:
    what is left of the first quantum of each task.
    """

    jobs: list[list[tuple[int, int, int]]]
    last: int = 0
    slices: dict[int, int] = field(default_factory=dict)


class Schedule:
    """The schedule of a task set in ticks.

    ``cpus``: their number, all tasks may run on all; None: as the tasks say.  ``stolen``: ticks in
    which nobody executes.  ``limit``: ticks of each so many in which tasks with a priority may, on
    each CPU.
    """

    def __init__(
        self, tasks: TaskSet, plan: Plan, cpus: int | None = 1, *,
        stolen: Collection[int] = (), limit: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        own = sorted({cpu for task in tasks.tasks for cpu in task.cpus})
        self.set, self.cpus = tasks, own if cpus is None else list(range(cpus))
        self.anywhere = cpus is not None
        self.stolen, self.limit = stolen, limit
        self.used = dict.fromkeys(self.cpus, 0)
        self.last: dict[int, int] = {}  # the task that each CPU has
        self.plan = plan
        self.protocol = {resource.name: resource.protocol for resource in tasks.resources}
        self.owner: dict[str, Job] = {}
        self.ready: list[Job] = []
        self.queues: list[list[Job]] = [[] for _ in tasks.tasks]  # jobs of a task, in order
        self.all: list[Job] = []
        self.counter = 0
        self.next = [0] * len(tasks.tasks)
        self.left = dict(plan.slices)
        numbers = range(len(tasks.tasks))
        self.sequence = [*(number for number in numbers if number != plan.last), plan.last]
        self.wakes: dict[int, list[int]] = {}
        for number, task in enumerate(tasks.tasks):
            waker = tasks.waker(task.name)
            if waker is not None:
                names = [t.name for t in tasks.tasks]
                self.wakes.setdefault(names.index(waker), []).append(number)

    # ---- urgency: larger is more urgent -------------------------------------------------------

    def own(self, job: Job) -> tuple[int, int]:
        task = self.set.tasks[job.task]
        if task.policy == "deadline":
            return (1000, -(job.release + (task.deadline_ns or task.period_ns or 0)))
        if task.policy == "other":
            return (-1, 0)
        assert isinstance(task.priority, int)
        return (task.priority, 0)

    def urgency(self, job: Job, seen: tuple[Job, ...] = ()) -> tuple[int, int]:
        best = self.own(job)
        for name in job.holds:
            if self.protocol[name] == "protect":
                best = max(best, (self.ceiling(name), 0))
            if self.protocol[name] in {"inherit", "ceiling"}:
                for other in self.heads():
                    if other.waits == name and other not in seen:
                        best = max(best, self.urgency(other, (*seen, job)))
        return best

    def ceiling(self, name: str) -> int:
        users = [t for t in self.set.tasks if any(u.resource == name for u in t.uses)]
        return max((t.priority for t in users if isinstance(t.priority, int)), default=-2)

    def heads(self) -> list[Job]:
        return [queue[0] for queue in self.queues if queue]

    # ---- time ---------------------------------------------------------------------------------

    def run(self, end: int) -> list[Job]:
        for now in range(end):
            if self.limit is not None and now % self.limit[1] == 0:
                self.used = dict.fromkeys(self.cpus, 0)
            for number in self.sequence:
                jobs = self.plan.jobs[number]
                while self.next[number] < len(jobs) and jobs[self.next[number]][1] == now:
                    arrival, release, work = jobs[self.next[number]]
                    self.next[number] += 1
                    self.add(Job(number, arrival, release, work))
            if not any(self.queues):
                if all(
                    self.next[number] == len(self.plan.jobs[number]) for number in self.sequence
                ):
                    break
                self.last = {}
                continue
            for job in self.choose() if now not in self.stolen else ():
                job.begin = now if job.begin is None else job.begin
                job.done += 1
                self.spend(job)
                self.give_back(job)
                if job.done == job.work:
                    self.complete(job, now + 1)
        return self.all

    def add(self, job: Job) -> None:
        self.all.append(job)
        self.queues[job.task].append(job)
        if len(self.queues[job.task]) == 1:
            self.to_tail(job)

    def to_tail(self, job: Job) -> None:
        self.counter += 1
        job.order = self.counter

    def choose(self) -> list[Job]:
        """Return the jobs that run in this tick; those that find a lock taken wait."""
        while True:
            ready = [job for job in self.heads() if job.waits is None]
            ready.sort(key=self.place)
            running: dict[int, Job] = {}
            for job in ready:
                free = [c for c in self.cpus if c not in running and self.may(job, c)]
                if free:  # it stays where it is, if it can
                    running[min(free, key=lambda c: (self.last.get(c) != job.task, c))] = job
            ordered = [job for job in ready if job in running.values()]
            entered = [self.enter(job) for job in ordered]
            self.last = {cpu: job.task for cpu, job in running.items()}
            if all(entered):
                for cpu, job in running.items():
                    self.used[cpu] += self.set.tasks[job.task].policy in {"fifo", "rr"}
                return ordered

    def may(self, job: Job, cpu: int) -> bool:
        task = self.set.tasks[job.task]
        limited = self.limit is not None and task.policy in {"fifo", "rr"}
        if limited and self.limit is not None and self.used[cpu] >= self.limit[0]:
            return False
        return self.anywhere or cpu in task.cpus

    def place(self, job: Job) -> tuple[int, int, int]:
        """Return what a job is sorted by; of equal deadlines that of one task comes last."""
        level, due = self.urgency(job)
        tie = job.task == self.plan.last and self.set.tasks[job.task].policy == "deadline"
        return -level, -2 * due + tie, job.order

    def enter(self, job: Job) -> bool:
        uses = [u for u in self.set.tasks[job.task].uses if u.after_ns == job.done]
        for use in sorted(uses, key=lambda use: -use.for_ns):
            if use.resource in job.holds:
                continue
            if use.resource in self.owner:
                job.waits = use.resource
                return False
            if self.protocol[use.resource] == "ceiling":
                foreign = [
                    name for name, protocol in self.protocol.items()
                    if protocol == "ceiling" and self.owner.get(name, job) is not job
                ]  # fmt: skip
                highest = max(foreign, key=self.ceiling, default=None)
                if highest is not None and self.ceiling(highest) >= self.urgency(job)[0]:
                    job.waits = highest
                    return False
            self.owner[use.resource] = job
            job.holds.append(use.resource)
        return True

    def spend(self, job: Job) -> None:
        task = self.set.tasks[job.task]
        if task.policy != "rr":
            return
        left = self.left.get(job.task, self.set.quantum_ns) - 1
        if left == 0:
            left = self.set.quantum_ns
            self.to_tail(job)
        self.left[job.task] = left

    def give_back(self, job: Job) -> None:
        task = self.set.tasks[job.task]
        for use in task.uses:
            ends = job.done in {use.after_ns + use.for_ns, job.work}
            if use.resource in job.holds and ends and job.done > use.after_ns:
                job.holds.remove(use.resource)
                del self.owner[use.resource]
                for other in self.heads():
                    if other.waits == use.resource:
                        other.waits = None
                        self.to_tail(other)

    def complete(self, job: Job, now: int) -> None:
        job.end = now
        self.queues[job.task].pop(0)
        if self.queues[job.task]:  # the task goes on with it, and has not left its place
            self.queues[job.task][0].order = job.order
        for number in self.wakes.get(job.task, ()):
            work = self.set.tasks[number].work.most_ns or 1
            self.add(Job(number, job.arrival, now, work))


def longest(jobs: Sequence[Job], number: int, *, from_release: bool = False) -> int | None:
    """Return the longest response of a task, None if a job of it never ended."""
    mine = [job for job in jobs if job.task == number]
    if any(job.end is None for job in mine):
        return None
    since = [job.release if from_release else job.arrival for job in mine]
    return max((int(job.end or 0) - at for job, at in zip(mine, since, strict=True)), default=0)


def releases(task: Task, first: int, end: int, late: int = 0) -> Iterator[tuple[int, int, int]]:
    """Yield a task's jobs of which the first is released at a time, with the largest jitter.

    So is the job with number ``late``; the others are released as soon as they can.
    """
    if task.arrival == "woken":
        return
    period, work = task.period_ns or 1, task.work.most_ns or 1
    arrival, release, number = first - task.jitter_ns, first, 0
    while arrival < end:
        release = max(arrival + (task.jitter_ns if number == late else 0), release)
        yield arrival, release, work
        arrival += period
        number += 1


def worst(tasks: TaskSet, number: int, *, most: int = 3, from_release: bool = False) -> int | None:
    """Return the longest response of a task on one CPU, over all phases of the others.

    One of its jobs is late, in turn each of the first ``most`` if there is a jitter; None: some job
    does not end.
    """
    span = hyperperiod(tasks)
    begin = max((task.jitter_ns for task in tasks.tasks), default=0)
    phases = [
        range(begin, begin + 1) if task.arrival == "woken" or (i == number and begin == 0)
        else range(begin, begin + (task.period_ns or 1))
        for i, task in enumerate(tasks.tasks)
    ]  # fmt: skip
    until = begin + span + max(task.period_ns or 1 for task in tasks.tasks)
    response = 0
    for offsets in product(*phases):
        for late in range(most if tasks.tasks[number].jitter_ns else 1):
            jobs = [
                list(releases(task, offset, until, late if i == number else 0))
                for i, (task, offset) in enumerate(zip(tasks.tasks, offsets, strict=True))
            ]
            done = Schedule(tasks, Plan(jobs, number)).run(until + 3 * span)
            longest_here = longest(done, number, from_release=from_release)
            if longest_here is None:
                return None
            response = max(response, longest_here)
    return response


def hyperperiod(tasks: TaskSet) -> int:
    """Return the least common multiple of the periods."""
    return lcm(*(task.period_ns or 1 for task in tasks.tasks))
