"""Estimate periods, execution times and who wakes whom from the jobs of a trace."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from rtstone.documents.tasks import Wake
from rtstone.tasks.file import MOST_TASKS
from rtstone.tasks.threads import Thread
from rtstone.tasks.trace import Identity, Job, Life, Tasks, Trace
from rtstone.units import NS_PER_S

FEWEST = 4  # jobs by which anything is estimated
MAIN = 0.9  # share of its wake-ups by the task that releases another one's jobs
PART = 0.25  # the same, of a task that also waits within its jobs
WIDEST = 0.4  # spread of releases about a grid, in periods
CHANCE = 1e-4  # that releases at random lie so near to a grid
DENSE = 2.5  # how much nearer to a grid than anywhere distances at random may lie
WALK = 0.5  # von Neumann's ratio below which releases drift; 2 is that of a grid
WALK_FEWEST = 30  # releases by which that is decided
EXACT_NS = 1000  # spread about a grid that no chain of sleeps has
DOUBT = 0.01  # of an execution time, which may be left out of it
OFTEN = 1.05  # jobs for each one of the task that wakes it, which are too many for one each

_REAL_TIME = 100  # the first of the kernel's priorities that is none


class Period(NamedTuple):
    """A grid on which releases lie: its period, ns, and between which it is.

    ``spread_ns``: how far releases come after the earliest place on it.  ``n``: releases it is by.
    ``missing``: places without a release.
    """

    ns: float
    least: float
    most: float
    spread_ns: int
    n: int
    missing: int


class Range(NamedTuple):
    """Times of which there are ``n``, ns."""

    least: int
    median: int
    most: int
    n: int


class Estimate(NamedTuple):
    """What a trace shows of a task.

    ``priority``: as in sched_switch, most of the time; ``priorities``: how many it had.
    ``waker``: the task whose jobs release its own, in ``share`` of its wake-ups; None: time, or a
    device.  ``doubt_ns``: by how much execution times may be longer, as the trace lacks changes of
    task in each job.  ``within``: waits for something else in a job, on average.  ``late``: jobs
    that began without a wait, as the one before was late.  ``busy_ns``: all that it ran.
    ``notes``: what else is to be known, in words.
    """

    identity: Identity
    name: str
    thread: Thread | None
    priority: int
    priorities: int
    cpus: list[int]
    migrations: int
    period: Period | None
    distances: Range | None
    work: Range
    doubt_ns: int
    waker: Identity | None = None
    share: float = 1.0
    by: Wake = "semaphore"
    within: float = 0.0
    late: int = 0
    busy_ns: int = 0
    notes: tuple[str, ...] = ()


class Omission(NamedTuple):
    """A task of which nothing is estimated, why, and what it ran, ns."""

    name: str
    tid: int
    reason: str
    busy_ns: int


class Counts(NamedTuple):
    """How often what Rhealstone measures has happened.

    ``switches``: from a task that waited or yielded; ``preemptions``: from one that did not.
    ``semaphore_calls``: of futexes and semaphores, as far as they enter the kernel;
    ``semaphore_waits``: those that blocked.  ``inherited``: times that a task got the priority of
    another one that it held up.
    """

    switches: int
    preemptions: int
    interrupts: int
    semaphore_calls: int
    semaphore_waits: int
    queue_calls: int
    messages: int
    inherited: int


class Observation(NamedTuple):
    """What a trace shows; ``seconds``: of it, without those in which events were lost.

    ``lost``: how many events, at least.  ``gaps``: how often.  ``missing``: changes of task that
    the trace lacks, though the kernel reports no loss.
    """

    estimates: list[Estimate]
    omissions: list[Omission]
    counts: Counts
    seconds: float
    lost: int
    gaps: int
    missing: int


def observe(trace: Trace) -> Observation:
    """Return what a trace shows of its tasks."""
    tasks = Tasks(trace)
    concerned = [life for life in tasks.lives if tasks.concerned(life)]
    estimates, omissions = _Estimates(tasks, concerned).result()
    dark = sum(gap.end - gap.start for gap in tasks.gaps)
    return Observation(
        estimates, omissions, _counts(tasks, concerned),
        (trace.end - trace.start - dark) / NS_PER_S,
        sum(gap.lost for gap in trace.gaps), len(tasks.gaps), tasks.missing,
    )  # fmt: skip


def _counts(tasks: Tasks, concerned: Sequence[Life]) -> Counts:
    own = {life.identity for life in concerned}
    changes = {True: 0, False: 0}
    for change, n in tasks.changes.items():
        if change.task in own or change.before in own:
            changes[change.willing] += n
    sums = sum((life.counts for life in concerned), Counter())
    # An interrupt that came into another task, or into none, concerns those that it wakes.
    interrupts = sums["interrupts"] + (
        tasks.idle_interrupts if tasks.trace.process is None else sum(
            n for life in concerned for other, n in life.interrupted.items() if other not in own
        )
    )  # fmt: skip
    return Counts(
        changes[True], changes[False], interrupts,
        *(sums[name] for name in Counts._fields[3:]),
    )  # fmt: skip


# ---- releases -----------------------------------------------------------------------------------


def period(releases: Sequence[int]) -> Period | None:
    """Return the grid on which releases lie, in ns and in order; None: they are irregular.

    It has a release on most of its places.  Releases are taken for a grid's if they lie so near to
    it that chance would not have done it, and do not drift away from it, as the releases of a task
    do that sleeps between its jobs (by the ratio of von Neumann 1941).  The period is that of least
    squares, and no further from the true one than the spread of the releases, over the time from
    the first to the last.
    """
    n = len(releases)
    if n < FEWEST:
        return None
    times = (np.asarray(releases, np.int64) - releases[0]).astype(float)
    distances = np.diff(times)
    length = float(np.median(distances))
    for _ in range(2):  # a better length, for places that are far apart
        if length <= 0:
            return None
        places = np.rint(distances / length)
        if places.min() < 1:
            return None
        single = distances[places == 1]
        length = float(single.mean()) if len(single) else length
    at = np.concatenate([[0.0], np.cumsum(places)])
    centred = at - at.mean()
    ns = float((centred * times).sum() / (centred**2).sum())
    rests = times - ns * at
    spread = float(np.ptp(rests))
    width, missing = spread / ns, int(at[-1]) - (n - 1)
    if missing >= n or width > WIDEST or (DENSE * width) ** (n - 2) > CHANCE:
        return None
    if n >= WALK_FEWEST and spread > EXACT_NS:
        ratio = float((np.diff(rests) ** 2).mean() / rests.var())
        if ratio < WALK:
            return None
    margin = max(spread, 1.0) / float(at[-1])
    return Period(ns, ns - margin, ns + margin, math.ceil(spread), n, missing)


def _releases(spans: Sequence[Sequence[Job]]) -> list[list[int]]:
    """Return the releases of each span, in ns."""
    return [[job.release for job in span if job.release is not None] for span in spans]


def _period(spans: Sequence[Sequence[Job]]) -> Period | None:
    """Return the period by the span that has most releases: what lies between is unknown."""
    return period(max(_releases(spans), key=len, default=[]))


def _distances(spans: Sequence[Sequence[Job]]) -> Range | None:
    times: list[int] = []
    for span in spans:
        # Not over a job whose release is unknown, which would make two distances one.
        for before, job in pairwise(span):
            if before.release is not None and job.release is not None:
                times.append(job.release - before.release)
    return _range(times) if times else None


def _range(times: Sequence[int]) -> Range:
    return Range(min(times), int(np.median(times)), max(times), len(times))


# ---- jobs ---------------------------------------------------------------------------------------


def _folded(spans: Sequence[Sequence[Job]], begins: Sequence[Sequence[bool]]) -> list[list[Job]]:
    """Return jobs of which some wake-ups are within others, not their begin.

    What comes before the first begin of a span belongs to a job of which the trace lacks a part,
    and so does the last job of one if any has such wake-ups.
    """
    wholes: list[list[Job]] = []
    for span, flags in zip(spans, begins, strict=True):
        jobs: list[Job] = []
        for job, begin in zip(span, flags, strict=True):
            if begin:
                jobs.append(replace(job))
            elif jobs:
                jobs[-1].work += job.work
                jobs[-1].doubt += job.doubt
                jobs[-1].waits += 1
        if not all(flags):
            jobs = jobs[:-1]
        wholes.append(jobs)
    return wholes


def _without_locks(life: Life) -> list[list[Job]]:
    """Return the jobs of a task, a wait for a lock being within one.

    FUTEX_WAIT is a wait for a lock if the task also waits in other ways, as those of glibc do.
    """
    kinds = {job.after for span in life.spans for job in span} - {None}
    locks = {"lock"} if kinds <= {"lock", "futex"} else {"lock", "futex"}
    if not kinds & locks:
        return [list(span) for span in life.spans]
    # What comes first may be within a job, too.
    unsure = {*locks, None}
    begins = [[job.after not in unsure for job in span] for span in life.spans]
    return [[replace(job, waits=0) for job in span] for span in _folded(life.spans, begins)]


class _Arrivals(NamedTuple):
    """What releases a task's jobs, and the jobs that follow from it."""

    jobs: list[list[Job]]
    waker: Identity | None
    share: float
    period: Period | None


class _Estimates:
    """The estimates of some of a trace's tasks."""

    def __init__(self, tasks: Tasks, concerned: Sequence[Life]) -> None:
        self.tasks = tasks
        kernel = {
            life.identity
            for life in tasks.lives
            if (thread := tasks.thread(life)) is not None and thread.kernel
        }
        self.omissions: list[Omission] = []
        self.arrivals: dict[Identity, _Arrivals] = {}
        self.lives: dict[Identity, Life] = {}
        self.jobs: dict[Identity, list[list[Job]]] = {}
        for life in concerned:
            # A thread of the kernel that wakes others does so for an interrupt, or for time.
            for job in (job for span in life.spans for job in span):
                job.waker = None if job.waker in kernel else job.waker
            reason = self._reason(life, kernel)
            if reason is None:
                self.lives[life.identity] = life
                self.jobs[life.identity] = _without_locks(life)
            elif life.busy:
                self._omit(life, reason)
        # Real-time tasks first, then those that run longest.
        ranked = sorted(self.lives.values(), key=lambda life: (
            _usual(life.priorities) >= _REAL_TIME, -life.busy,
        ))  # fmt: skip
        for life in ranked[MOST_TASKS:]:
            del self.lives[life.identity]
            self._omit(life, f"a task set has {MOST_TASKS} tasks at most")

    def _omit(self, life: Life, reason: str) -> None:
        self.omissions.append(Omission(life.name, life.identity.tid, reason, life.busy))

    def _reason(self, life: Life, kernel: set[Identity]) -> str | None:
        """Return why a task is not estimated, None if it is."""
        usual = _usual(life.priorities)
        if life.identity in kernel and usual >= _REAL_TIME:
            return "a thread of the kernel without real-time priority"
        n = sum(map(len, _without_locks(life)))
        if not any(life.spans):
            return "it has waited for nothing"
        return None if n >= FEWEST else f"fewer than {FEWEST} jobs"

    def result(self) -> tuple[list[Estimate], list[Omission]]:
        """Return the estimates, and the tasks that have none."""
        for identity in self.lives:
            self.arrivals[identity] = self._arrivals(identity)
        notes: dict[Identity, list[str]] = {identity: [] for identity in self.lives}
        for identity in self.lives:
            self._cut(identity, notes[identity])
        estimates = [self._estimate(identity, tuple(notes[identity])) for identity in self.lives]
        return estimates, self.omissions

    def _shares(self, identity: Identity) -> dict[Identity | None, float]:
        """Return the share of a task's wake-ups that each other task has, and interrupts."""
        wakers = Counter(
            job.waker for span in self.jobs[identity] for job in span if job.release is not None
        )
        total = wakers.total()
        return {waker: n / total for waker, n in wakers.items()}

    def _arrivals(self, identity: Identity) -> _Arrivals:
        jobs, shares = self.jobs[identity], self._shares(identity)
        tasks = sorted(((share, w) for w, share in shares.items() if w is not None), reverse=True)
        share, waker = tasks[0] if tasks else (0.0, None)
        if waker is not None and share >= MAIN:
            return _Arrivals(jobs, waker, share, None)
        if regular := _period(jobs):
            return _Arrivals(jobs, None, 1.0, regular)
        # It waits in several ways.  A task that wakes it, and which it does not wake in turn:
        if waker in self.lives and share >= PART and self._shares(waker).get(identity, 0.0) < PART:
            whole = _folded(jobs, [[job.waker == waker for job in span] for span in jobs])
            if sum(map(len, whole)) >= FEWEST:
                return _Arrivals(whole, waker, 1.0, None)
        return self._within(jobs)

    def _within(self, jobs: list[list[Job]]) -> _Arrivals:
        """Return the jobs that a timer releases, if only some wake-ups are periodic."""
        choices: tuple[Callable[[Job], bool], ...] = (
            lambda job: job.after == "time",
            lambda job: job.waker is None,
            lambda job: job.waker is None and job.after == "time",
        )
        for choice in choices:
            whole = _folded(jobs, [[choice(job) for job in span] for span in jobs])
            if regular := _period(whole):
                return _Arrivals(whole, None, 1.0, regular)
        return _Arrivals(jobs, None, 1.0, None)

    def _cut(self, identity: Identity, notes: list[str]) -> None:
        """Have a task arrive by itself if the one that wakes it cannot release its jobs."""
        arrivals = self.arrivals[identity]
        waker = arrivals.waker
        if waker is None:
            return
        circle, at = [identity], waker
        while at in self.arrivals and at not in circle:
            circle.append(at)
            before = self.arrivals[at].waker
            if before is None:
                break
            at = before
        n, released = (sum(map(len, self.arrivals[i].jobs)) if i in self.arrivals else 0
                       for i in (identity, waker))  # fmt: skip
        name = self._name(waker)
        if waker not in self.lives:
            reason = f"woken by {name}, which is not in the set"
        elif at == identity:
            names = ", ".join(self._name(other) for other in circle[1:])
            reason = f"woken in a circle, by way of {names}: cut here"
        elif n > OFTEN * released + 1:
            reason = f"woken by {name} {n / max(released, 1):.2f} times a job"
        else:
            if released > OFTEN * n + 1:
                notes.append(
                    f"it has {n} jobs for {released} of {name}: some are of several wake-ups"
                )
            return
        notes.append(reason)
        own = self.jobs[identity]
        self.arrivals[identity] = _Arrivals(own, None, 1.0, _period(own))

    def _name(self, identity: Identity) -> str:
        life = next(life for life in self.tasks.lives if life.identity == identity)
        return life.name or str(identity.tid)

    def _estimate(self, identity: Identity, notes: tuple[str, ...]) -> Estimate:
        life, arrivals = self.lives[identity], self.arrivals[identity]
        jobs = [job for span in arrivals.jobs for job in span]
        sure = [job for job in jobs if job.doubt <= DOUBT * job.work]
        by = Counter(job.by for job in jobs if job.waker == arrivals.waker)
        return Estimate(
            identity=identity,
            name=life.name,
            thread=self.tasks.thread(life),
            priority=_usual(life.priorities),
            priorities=len(life.priorities),
            cpus=sorted(life.cpus),
            migrations=life.migrations,
            period=arrivals.period,
            distances=_distances(arrivals.jobs),
            work=_range([job.work for job in sure or jobs]),
            doubt_ns=0 if sure else max(job.doubt for job in jobs),
            waker=arrivals.waker,
            share=arrivals.share,
            by=by.most_common(1)[0][0] if by else "semaphore",
            within=sum(job.waits for job in jobs) / len(jobs),
            late=sum(job.late for job in jobs),
            busy_ns=life.busy,
            notes=notes,
        )


def _usual(priorities: Counter[int]) -> int:
    return priorities.most_common(1)[0][0] if priorities else _REAL_TIME
