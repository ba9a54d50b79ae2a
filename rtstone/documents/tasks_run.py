"""What a task set did on a target, schema rtstone.tasks-run/1.

Times are nanoseconds: of jobs since the set's start, at which the phase of all tasks is 0.  Unknown
is ``None``.  A release may add members; a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.tasks import Need, TaskSet

SCHEMA = "rtstone.tasks-run/1"

# "inconclusive": so few jobs do not support the statistic, or nothing was measured.
Outcome = Literal["fails", "inconclusive", "holds"]

# Whose a part of a response is; see Share.
Owner = Literal["own", "release", "task", "resource", "system"]

# Why the schedule around a job is kept.
Reason = Literal["missed", "largest"]


class Spread(msgspec.Struct, frozen=True, kw_only=True):
    """A distribution of times; a percentile is None where n does not support it."""

    n: int
    min_ns: int | None = None
    mean_ns: float | None = None
    p50_ns: int | None = None
    p90_ns: int | None = None
    p99_ns: int | None = None
    p999_ns: int | None = None
    max_ns: int | None = None


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """A part of a response.

    ``own``: the job's own work.  ``release``: the drawn jitter, by which it was released after its
    arrival.  ``task``: the task ``name`` ran.  ``resource``: the task ``name`` ran, and held what
    the job waited for.  ``system``: no work of the set accounts for it.
    """

    owner: Owner
    name: str = ""
    ns: int


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """A critical section of a job: when it asked for the resource, had it, and gave it back."""

    resource: str
    requested_ns: int
    taken_ns: int
    released_ns: int


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A job.

    ``number``: from 0, of its task.  ``arrival_ns``: nominal, of a woken task when it was woken.
    ``work_ns``: how long it works by itself.  ``start_ns``, ``end_ns``: None: never.
    ``sections``: of a job in a schedule that is kept; those of other jobs are not recorded.
    """

    task: str
    number: int
    arrival_ns: int
    work_ns: int
    start_ns: int | None = None
    end_ns: int | None = None
    sections: list[Section] = []


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A task had the CPU, as the records of its jobs and priorities imply; "": none of the set."""

    task: str
    from_ns: int
    to_ns: int


class Window(msgspec.Struct, frozen=True, kw_only=True):
    """The schedule around a job, from its arrival to its end.

    ``jobs``: that overlap it, the first
    of very many.  ``running``: who had the CPU, on one CPU; empty on several.
    ``shares`` add up to the response.  ``sentence``: what ran meanwhile, in words.
    """

    task: str
    number: int
    reason: Reason
    from_ns: int
    to_ns: int
    jobs: list[Job]
    running: list[Interval] = []
    shares: list[Share] = []
    sentence: str


class NeedRun(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a need was met; ``value``: what is limited, in the unit of the limit."""

    need: Need
    outcome: Outcome
    value: float | None = None
    reason: str | None = None


class TaskRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a task did.

    ``jobs``: that arrived.  ``missed``: ended after their deadline, or never: ``lost``.  Of the
    jobs that ended: ``start`` and ``response`` are from the arrival to the first instruction and
    to the end, ``blocked`` the waits for resources that it uses.  ``release_jitter_ns``,
    ``finish_jitter_ns``: the largest less the smallest start, and response (Buttazzo's absolute
    jitters).  ``histogram``: responses as (from, below, number).
    """

    task: str
    jobs: int
    missed: int
    lost: int
    deadline_ns: int | None = None
    outcome: Outcome
    start: Spread
    response: Spread
    blocked: Spread | None = None
    release_jitter_ns: int | None = None
    finish_jitter_ns: int | None = None
    histogram: list[tuple[int, int, int]] = []
    needs: list[NeedRun] = []


class ChainRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a chain did.

    A task reads at its start, and writes at its end.  ``latency``: from an arrival of the first
    task to the first output that shows what it read, or something later.  ``reaction``: the same
    from a change at the input that just missed the arrival before.  ``age``: from the arrival at
    which the input was read to each output that is based on it.
    """

    chain: str
    outcome: Outcome
    latency: Spread
    reaction: Spread
    age: Spread
    deadline_ns: int | None = None
    reason: str | None = None


class TasksRun(msgspec.Struct, frozen=True, kw_only=True):
    """A task set that ran on a target.

    ``sentence``: the answer.  ``run_id``: of the stored run, whose results are the distributions.
    ``windows``: around missed jobs, and around the largest response of each task; ``unshown``:
    missed jobs that have none.
    """

    schema: str = SCHEMA
    version: str
    file: str
    run_id: str
    target: str
    load: str
    set: TaskSet
    duration_ns: int
    seed: int
    outcome: Outcome
    sentence: str
    tasks: list[TaskRun]
    chains: list[ChainRun] = []
    windows: list[Window] = []
    unshown: int = 0
    notes: list[str] = []
