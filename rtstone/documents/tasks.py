"""Task sets, and whether their deadlines hold, schema rtstone.schedulability/1.

Times are nanoseconds; unknown is ``None``.  A release may add members; a change of meaning changes
``SCHEMA``.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

SCHEMA = "rtstone.schedulability/1"

Arrival = Literal["periodic", "sporadic", "poisson", "woken"]
Policy = Literal["fifo", "rr", "deadline", "other"]
Protocol = Literal["none", "inherit", "protect", "ceiling"]
ResourceKind = Literal["mutex", "semaphore", "queue"]
ServerKind = Literal["polling", "deferrable", "sporadic", "cbs"]
Wake = Literal["semaphore", "queue"]

# "unknown": no method that rtstone has covers it, or its test is only sufficient.
Verdict = Literal["fails", "unknown", "holds"]
WORDS: dict[Verdict, str] = {
    "holds": "schedulable", "fails": "not schedulable", "unknown": "unknown",
}  # fmt: skip

# ---- what is checked, and run -------------------------------------------------------------------


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """The execution time of a job, from ``least_ns`` to ``most_ns``.

    ``kwi``: instead, in thousands of Whetstone instructions, whose time a target's speed gives.
    ``histogram``: how often jobs take how long, pairs of ns and number.
    """

    least_ns: int | None = None
    most_ns: int | None = None
    kwi: float | None = None
    histogram: list[tuple[int, int]] = []


class Use(msgspec.Struct, frozen=True, kw_only=True):
    """A critical section of every job: it takes the resource after so much execution time."""

    resource: str
    after_ns: int
    for_ns: int


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """What a task needs.

    ``measure``: ``deadline`` (of every job), ``missed`` (a share of the jobs, ``limit``),
    ``response.STATISTIC``, ``jitter`` (of the response: largest less smallest; ``limit`` in ns), or
    ``weakly_hard`` (``limit`` misses in any ``within`` successive jobs).  ``text``: as written.
    """

    measure: str
    text: str
    limit: float
    within: int | None = None


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """A task.

    ``period_ns``: of a periodic task; the least distance of a sporadic one's arrivals; their mean,
    of ``poisson``.  A ``woken`` task has none: a job of the task before it in a chain releases its.
    ``offset_ns``: of the first arrival; None: unknown.  ``jitter_ns``: a job is released so much
    after its arrival at most.  ``deadline_ns``: after the arrival, of a woken task after the
    release; None: it has none.  ``priority``: larger is more urgent; ``rm``, ``dm``: assigned by
    period or deadline.  ``runtime_ns``: what ``deadline`` reserves in each period.  ``cpus``: those
    that it may run on.  ``server``: the server whose budget its jobs take.
    """

    name: str
    arrival: Arrival
    period_ns: int | None = None
    offset_ns: int | None = None
    jitter_ns: int = 0
    deadline_ns: int | None = None
    work: Work
    policy: Policy = "fifo"
    priority: int | Literal["rm", "dm"] | None = None
    runtime_ns: int | None = None
    cpus: list[int] = msgspec.field(default_factory=lambda: [0])
    uses: list[Use] = []
    needs: list[Need] = []
    server: str | None = None


class Resource(msgspec.Struct, frozen=True, kw_only=True):
    """A resource; ``protocol``: what becomes of priorities while it is taken."""

    name: str
    kind: ResourceKind = "mutex"
    protocol: Protocol = "inherit"


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """Tasks that hand data on; ``by``: what wakes those without a period of their own.

    ``deadline_ns``: from a change at the input to the first output that shows it.
    """

    name: str
    path: list[str]
    deadline_ns: int | None = None
    by: Wake = "semaphore"


class Server(msgspec.Struct, frozen=True, kw_only=True):
    """A server of aperiodic work: a budget in each period; ``priority``: None for ``cbs``."""

    name: str
    kind: ServerKind
    budget_ns: int
    period_ns: int
    priority: int | Literal["rm", "dm"] | None = None
    cpus: list[int] = msgspec.field(default_factory=lambda: [0])


class TaskSet(msgspec.Struct, frozen=True, kw_only=True):
    """A task set; ``quantum_ns``: of policy ``rr``."""

    title: str
    quantum_ns: int
    tasks: list[Task]
    resources: list[Resource] = []
    chains: list[Chain] = []
    servers: list[Server] = []

    def task(self, name: str) -> Task:
        """Return the task with that name."""
        return next(task for task in self.tasks if task.name == name)

    def waker(self, name: str) -> str | None:
        """Return the task whose jobs wake those of this one."""
        for chain in self.chains:
            for before, task in zip(chain.path, chain.path[1:], strict=False):
                if task == name and self.task(name).arrival == "woken":
                    return before
        return None

    def source(self, name: str) -> Task:
        """Return the task whose arrivals release this one's jobs: itself, unless it is woken."""
        before = self.waker(name)
        return self.task(name) if before is None else self.source(before)

    def deadline_ns(self, task: Task) -> int | None:
        """Return a task's deadline: as written, else its period; none of ``other``, and of woken
        tasks and those that arrive at random unless they need something."""
        if task.deadline_ns is not None:
            return task.deadline_ns
        if task.policy == "other" or task.arrival == "poisson":
            return None
        return self.source(task.name).period_ns if task.arrival != "woken" else None


# ---- what is known of it ------------------------------------------------------------------------


class Costs(msgspec.Struct, frozen=True, kw_only=True):
    """What a system takes beside the work: measured costs by which it is inflated.

    ``switch_ns``: twice for each job, and for each wait for a resource.  ``timer_ns``: for each job
    of a task that a timer releases.  ``release_ns``: added to the jitter of such a task.
    ``tick_cost_ns`` in each ``tick_ns``: before all else.  ``rt_runtime_ns`` in each
    ``rt_period_ns``: what the kernel leaves to real-time tasks; 0: all.  ``admitted``: share of a
    CPU that the kernel admits of reservations.  ``kwips``: speed in thousands of Whetstone
    instructions per second.  ``sources``: where each comes from in the run.
    """

    switch_ns: int = 0
    timer_ns: int = 0
    release_ns: int = 0
    tick_ns: int = 0
    tick_cost_ns: int = 0
    rt_runtime_ns: int = 0
    rt_period_ns: int = 0
    admitted: float = 0.95
    kwips: float | None = None
    from_run: str | None = None
    sources: list[str] = []


class NeedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a need holds; ``bound``: of what is limited, in the unit of the limit."""

    need: Need
    verdict: Verdict
    bound: float | None = None
    reason: str | None = None


class TaskCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What is known of a task.

    ``response_ns``: no job takes longer from its arrival, of a woken task from its release; None:
    not bounded, see ``reason``.  ``exact``: some job may take just as long.  ``method``: how it was
    found.  ``from_source_ns``: the same from the arrival at the source of its chain.
    ``best_ns``: no job takes less.  ``blocking_ns``: by less urgent tasks that hold resources.
    ``slack_ns``: deadline less response.
    """

    task: str
    cpus: list[int]
    verdict: Verdict
    response_ns: int | None = None
    exact: bool = False
    method: str
    from_source_ns: int | None = None
    best_ns: int | None = None
    blocking_ns: int = 0
    deadline_ns: int | None = None
    slack_ns: int | None = None
    needs: list[NeedCheck] = []
    reason: str | None = None


class ChainCheck(msgspec.Struct, frozen=True, kw_only=True):
    """Bounds of a chain.

    ``latency_ns``: from the arrival of its first task to the first output that is based on it.
    ``reaction_ns``: from a change at the input, which that task may just have missed.  ``age_ns``:
    from the arrival at which the input was read to the last output that is based on it.
    """

    chain: str
    verdict: Verdict
    latency_ns: int | None = None
    reaction_ns: int | None = None
    age_ns: int | None = None
    deadline_ns: int | None = None
    reason: str | None = None


class CpuLoad(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked of CPUs that tasks share; ``utilisation``: share of one CPU, with the costs.

    ``reserved``: by policy ``deadline``.
    """

    cpus: list[int]
    utilisation: float
    reserved: float
    verdict: Verdict = "holds"
    reason: str | None = None


System = Literal["linux", "linux-rt", "freertos"]


class Assumption(msgspec.Struct, frozen=True, kw_only=True):
    """What the analysis takes for granted; ``systems``: where it holds, and where not and why."""

    text: str
    systems: dict[System, str]


class Schedulability(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a task set holds.

    ``factor``: all needs hold while no more than so many times the work is asked for; None: they
    hold with no work, or with a thousand times as much.  ``first``: which tasks and chains fail
    first beyond it.
    """

    schema: str = SCHEMA
    version: str
    file: str
    set: TaskSet
    costs: Costs
    verdict: Verdict
    factor: float | None
    first: list[str] = []
    tasks: list[TaskCheck]
    chains: list[ChainCheck] = []
    cpus: list[CpuLoad] = []
    assumptions: list[Assumption] = []


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several: the worst."""
    present = set(verdicts)
    return "fails" if "fails" in present else "unknown" if "unknown" in present else "holds"
