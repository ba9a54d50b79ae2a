"""What the jobs of a task set did: distributions, needs, chains, schedules around misses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rtstone.documents.tasks import Chain, Need, Task, TaskSet
from rtstone.documents.tasks_run import (
    ChainRun,
    Job,
    NeedRun,
    Outcome,
    Section,
    Share,
    Spread,
    TaskRun,
    Window,
)
from rtstone.summary import ENOUGH, PERCENTILES, WHOLE, least_n
from rtstone.tasks.arrivals import NEVER, Jobs
from rtstone.tasks.encoding import several_cpus
from rtstone.tasks.schedule import Schedule
from rtstone.units import counted, trimmed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

BINS = 64  # of a histogram of responses
MISSES = 16  # of each task, around which the schedule is kept: as many as the agent reports
OVERLAPPING = 200  # jobs that are listed with a schedule, at most


class Record(NamedTuple):
    """What was recorded: the jobs of each task, its waits for resources, and sections.

    ``waits``: of each job that ended, in ns; of tasks that use a resource.  ``sections``: by task
    and number of the job, for those around a miss or a longest response.
    """

    jobs: Mapping[str, Jobs]
    waits: Mapping[str, Times]
    sections: Mapping[tuple[str, int], list[Section]]


# ---- distributions ------------------------------------------------------------------------------


def spread(values: Times) -> Spread:
    """Return the distribution of times; percentiles by nearest rank, where n supports them."""
    n = len(values)
    if not n:
        return Spread(n=0)
    ordered = np.sort(values)
    at = {
        name: int(ordered[rank(n, share) - 1]) if n >= least_n(name) else None
        for name, share in PERCENTILES.items()
    }
    return Spread(
        n=n, min_ns=int(ordered[0]), mean_ns=round(float(ordered.mean()), 1), p50_ns=at["p50"],
        p90_ns=at["p90"], p99_ns=at["p99"], p999_ns=at["p999"], max_ns=int(ordered[-1]),
    )  # fmt: skip


def rank(n: int, share: int) -> int:
    """Return the nearest rank of a percentile, from 1; ``share`` in 1/WHOLE."""
    return max(1, -(-n * share // WHOLE))


def histogram(values: Times) -> list[tuple[int, int, int]]:
    """Return how many values there are from each edge to the next, of equal width."""
    if not len(values):
        return []
    low, high = int(values.min()), int(values.max()) + 1
    width = max(1, -(-(high - low) // BINS))
    counts = np.bincount((values - low) // width)
    return [(low + k * width, low + (k + 1) * width, int(n)) for k, n in enumerate(counts) if n]


# ---- tasks --------------------------------------------------------------------------------------


def evaluated(tasks: TaskSet, task: Task, record: Record) -> TaskRun:
    """Return what a task did, and whether its needs were met."""
    jobs = record.jobs[task.name]
    deadline = tasks.deadline_ns(task)
    done = jobs.end != NEVER
    response = (jobs.end - jobs.arrival)[done]
    start = (jobs.start - jobs.arrival)[done]
    missed = misses(jobs, deadline)
    needs = [need_met(need, jobs, missed) for need in _needs(tasks, task)]
    return TaskRun(
        task=task.name,
        jobs=len(jobs.end),
        missed=int(missed.sum()),
        lost=int((~done).sum()),
        deadline_ns=deadline,
        outcome=worst(need.outcome for need in needs) if len(jobs.end) else "inconclusive",
        start=spread(start),
        response=spread(response),
        blocked=spread(record.waits[task.name]) if task.uses else None,
        release_jitter_ns=int(np.ptp(start)) if len(start) else None,
        finish_jitter_ns=int(np.ptp(response)) if len(response) else None,
        histogram=histogram(response),
        needs=needs,
    )


def misses(jobs: Jobs, deadline_ns: int | None) -> NDArray[np.bool_]:
    """Return which jobs ended after their deadline, or never; without one only the latter."""
    lost = jobs.end == NEVER
    late = jobs.end - jobs.arrival > (np.inf if deadline_ns is None else deadline_ns)
    return np.asarray(late | lost, np.bool_)


def _needs(tasks: TaskSet, task: Task) -> list[Need]:
    """Return what a task needs: its deadline too, unless it says how often it may miss it."""
    deadline = tasks.deadline_ns(task)
    says = any(need.measure in {"missed", "weakly_hard"} for need in task.needs)
    if deadline is None or says:
        return list(task.needs)
    return [Need(measure="deadline", text="met", limit=float(deadline)), *task.needs]


def need_met(need: Need, jobs: Jobs, missed: NDArray[np.bool_]) -> NeedRun:
    """Return whether a need was met by these jobs; a job that never ended took forever."""
    n = len(missed)
    if not n:
        return NeedRun(need=need, outcome="inconclusive", reason="no job arrived")
    if need.measure == "deadline":
        return _judged(need, float(missed.sum()), 0)
    if need.measure == "missed":
        return _share(need, int(missed.sum()), n)
    if need.measure == "weakly_hard":
        return _weakly_hard(need, missed)
    lost = bool((jobs.end == NEVER).any())
    response = (jobs.end - jobs.arrival)[jobs.end != NEVER]
    if need.measure == "jitter":
        if lost:
            return NeedRun(need=need, outcome="fails", reason="some jobs never ended")
        return _judged(need, float(np.ptp(response)), need.limit)
    return _statistic(need, response, n)


def _judged(need: Need, value: float, limit: float) -> NeedRun:
    return NeedRun(need=need, outcome="holds" if value <= limit else "fails", value=value)


def _share(need: Need, missed: int, n: int) -> NeedRun:
    """Judge a share of misses, by the rule of percentiles: ENOUGH jobs have to be beyond it."""
    if need.limit == 0:
        return _judged(need, missed / n, 0)
    return _supported(need, missed / n, missed, n, 1 - need.limit)


def _statistic(need: Need, response: Times, n: int) -> NeedRun:
    """Judge a statistic of the responses; those that never ended are above all others."""
    name = need.measure.removeprefix("response.")
    lost = n - len(response)
    if name in {"max", "mean"}:
        if lost:
            reason = f"{counted(lost, 'job')} never ended"
            return NeedRun(need=need, outcome="fails", reason=reason)
        return _judged(need, float(response.max() if name == "max" else response.mean()),
                       need.limit)  # fmt: skip
    place = rank(n, PERCENTILES[name])
    value = float(np.sort(response)[place - 1]) if place <= len(response) else None
    above = int((response > need.limit).sum()) + lost
    return _supported(need, value, above, n, PERCENTILES[name] / WHOLE)


def _supported(need: Need, value: float | None, beyond: int, n: int, share: float) -> NeedRun:
    """Judge by how many of n are beyond a limit that a share must not exceed.

    n has to be so large that ENOUGH of them may be; if more than so many are, any n is.
    """
    least = -(-ENOUGH // (1 - share)) if share < 1 else ENOUGH
    least = round(least)
    if n < least and beyond <= ENOUGH:
        reason = f"{counted(n, 'job')} of at least {counted(least, 'job')} that it takes"
        return NeedRun(need=need, outcome="inconclusive", value=value, reason=reason)
    met = beyond <= round(n * (1 - share), 6)
    return NeedRun(need=need, outcome="holds" if met else "fails", value=value)


def _weakly_hard(need: Need, missed: NDArray[np.bool_]) -> NeedRun:
    """Judge the most misses in any ``within`` successive jobs."""
    within = need.within or 1
    sums = np.convolve(missed.astype(np.int64), np.ones(within, np.int64))
    most = int(sums.max())
    if most <= need.limit and len(missed) < within:
        reason = f"{counted(len(missed), 'job')} of {within} in succession"
        return NeedRun(need=need, outcome="inconclusive", value=float(most), reason=reason)
    return _judged(need, float(most), need.limit)


def worst(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of several."""
    present = set(outcomes)
    return (
        "fails" if "fails" in present
        else "inconclusive" if "inconclusive" in present
        else "holds"
    )  # fmt: skip


# ---- chains -------------------------------------------------------------------------------------


def followed(tasks: TaskSet, chain: Chain, jobs: Mapping[str, Jobs]) -> ChainRun:
    """Return latency, reaction and age of a chain.

    A job reads at its start what the task before it had written last, a woken one what the job
    that woke it wrote.
    """
    first = jobs[chain.path[0]]
    source = np.arange(len(first.end))
    ends = first.end
    for before, name in pairwise(chain.path):
        after = jobs[name]
        if tasks.waker(name) == before:
            source, ends = source[: len(after.end)], after.end
            continue
        written = np.where(ends == NEVER, np.iinfo(np.int64).max, ends)
        read = np.searchsorted(written, after.start, side="right") - 1
        read = np.where(after.start == NEVER, NEVER, read)
        source = np.where(read >= 0, source[np.maximum(read, 0)], NEVER)
        ends = after.end
    shown = (source != NEVER) & (ends != NEVER)
    source, ends = source[shown], ends[shown]
    age = ends - first.arrival[source]
    # The first output that shows job k, or a later one: sources never fall.
    places = np.searchsorted(source, np.arange(len(first.end)))
    seen = places < len(source)
    at = ends[places[seen]]
    latency = at - first.arrival[seen]
    if tasks.task(chain.path[0]).arrival == "periodic":
        reaction = at[1:] - first.arrival[: len(at) - 1] if len(at) else at
    else:  # which arrives with the change
        reaction = latency
    outcome, reason = _chain_outcome(chain, reaction)
    return ChainRun(
        chain=chain.name, outcome=outcome, latency=spread(latency), reaction=spread(reaction),
        age=spread(age), deadline_ns=chain.deadline_ns, reason=reason,
    )  # fmt: skip


def _chain_outcome(chain: Chain, reaction: Times) -> tuple[Outcome, str | None]:
    if chain.deadline_ns is None:
        return "holds", None
    if not len(reaction):
        return "inconclusive", "no output shows a change at its input"
    late = int((reaction > chain.deadline_ns).sum())
    if late:
        return "fails", f"{late} of {counted(len(reaction), 'reaction')} came after the deadline"
    return "holds", None


# ---- the schedules around jobs ------------------------------------------------------------------


def windows(tasks: TaskSet, record: Record) -> tuple[list[Window], int]:
    """Return the schedules around missed jobs and the longest responses, and how many have none.

    Of each task the first MISSES misses, and the longest response unless it is among them.
    """
    every, unshown = [], 0
    for task in tasks.tasks:
        jobs = record.jobs[task.name]
        late = np.flatnonzero(misses(jobs, tasks.deadline_ns(task)) & (jobs.end != NEVER))
        unshown += max(0, len(late) - MISSES) + int((jobs.end == NEVER).sum())
        numbers = [int(number) for number in late[:MISSES]]
        every += [_window(tasks, task, number, "missed", record) for number in numbers]
        done = np.where(jobs.end == NEVER, NEVER, jobs.end - jobs.arrival)
        if len(done) and done.max() >= 0 and (longest := int(done.argmax())) not in numbers:
            every.append(_window(tasks, task, longest, "largest", record))
    return every, unshown


def _window(tasks: TaskSet, task: Task, number: int, reason: str, record: Record) -> Window:
    jobs = record.jobs[task.name]
    begin, end = int(jobs.arrival[number]), int(jobs.end[number])
    overlapping = sorted(_overlapping(tasks, record, begin, end), key=lambda job: job.arrival_ns)
    own = next(job for job in overlapping if (job.task, job.number) == (task.name, number))
    running, shares = [], []
    if not several_cpus(tasks):
        schedule = Schedule(tasks, overlapping)
        running = schedule.intervals(begin, end)
        shares = schedule.shares(own, int(jobs.release[number]), end)
    return Window(
        task=task.name, number=number, reason=reason,  # type: ignore[arg-type]
        from_ns=begin, to_ns=end, jobs=overlapping[:OVERLAPPING], running=running, shares=shares,
        sentence=sentence(own, shares, overlapping, tasks.deadline_ns(task)),
    )  # fmt: skip


def _overlapping(tasks: TaskSet, record: Record, begin: int, end: int) -> Iterator[Job]:
    for task in tasks.tasks:
        jobs = record.jobs[task.name]
        last = np.where(jobs.end == NEVER, np.iinfo(np.int64).max, jobs.end)
        for number in np.flatnonzero((jobs.arrival < end) & (last > begin)):
            if jobs.arrival[number] == NEVER:
                continue
            yield Job(
                task=task.name,
                number=int(number),
                arrival_ns=int(jobs.arrival[number]),
                work_ns=int(jobs.work[number]),
                start_ns=_time(jobs.start[number]),
                end_ns=_time(jobs.end[number]),
                sections=record.sections.get((task.name, int(number)), []),
            )


def _time(value: np.int64) -> int | None:
    return None if value == NEVER else int(value)


def sentence(
    job: Job, shares: Sequence[Share], overlapping: Sequence[Job], deadline_ns: int | None
) -> str:
    """Return what ran while a job was to: its own work, other tasks', the system's."""
    response = (job.end_ns or 0) - job.arrival_ns
    over = "" if deadline_ns is None or response <= deadline_ns else (
        f", {trimmed(response - deadline_ns, 'ns')} after its deadline"
    )  # fmt: skip
    lead = f"job {job.number} of {job.task} took {trimmed(response, 'ns')}{over}"
    if not shares:
        names = sorted({other.task for other in overlapping} - {job.task})
        beside = f"jobs of {', '.join(names)}" if names else "no other job of the set"
        return f"{lead}; beside it were {beside}, on several CPUs"
    waits = {section.resource for section in job.sections
             if section.taken_ns > section.requested_ns}  # fmt: skip
    return f"{lead}: {', '.join(_share_text(share, waits) for share in shares)}"


def _share_text(share: Share, waits: set[str]) -> str:
    time = trimmed(share.ns, "ns")
    resource = (
        f", which held {' and '.join(sorted(waits))}" if waits else ", whose priority was raised"
    )
    return {
        "own": f"{time} its own work",
        "release": f"{time} until it was released",
        "task": f"{time} {share.name}",
        "resource": f"{time} {share.name}{resource}",
        "system": f"{time} nothing of the set: the system",
    }[share.owner]
