"""What the analysis of a task set takes for granted, and on which systems that holds."""

from __future__ import annotations

from collections.abc import Iterator

from rtstone.documents.tasks import Assumption, Costs, TaskSet
from rtstone.tasks.analysis.problem import levels

YES = "yes"


def _assumption(text: str, linux: str, rt: str, freertos: str) -> Assumption:
    return Assumption(text=text, systems={"linux": linux, "linux-rt": rt, "freertos": freertos})


PREEMPTION = _assumption(
    "a more urgent task runs at once",
    "no: never inside the kernel without PREEMPT, nor in its critical sections and interrupts; "
    "`rtstone sections` shows how long they are",
    "but for stretches with preemption or interrupts off; `rtstone sections` shows them",
    "but for critical sections and the suspended scheduler; `rtstone sections` shows them",
)
COSTS = _assumption(
    "the costs that were measured are the longest there are",
    "not proven: the longest release of the run, the median of a switch",
    "not proven: the longest release of the run, the median of a switch",
    "not proven: the longest release of the run, the median of a switch",
)
FREE = _assumption(
    "switches, ticks, timers and interrupts take no time",
    "no: take them from a run, with --costs-from",
    "no: take them from a run, with --costs-from",
    "no: take them from a run, with --costs-from",
)
INTERRUPTS = _assumption(
    "interrupts other than the tick take no time",
    "no: give devices' interrupts other CPUs",
    "as threads with priorities of their own, which may be tasks of the file",
    "no: enter them as the most urgent tasks",
)
RELEASE = _assumption(
    "tasks are released when they arrive",
    "later by timer slack for policy other, and by the time of the wake-up",
    "later by the time of the wake-up",
    "at ticks: a period is a multiple of the tick",
)
FIRST_COME = _assumption(
    "of equal priorities, who came first goes first", YES, YES,
    "no: they take turns of a tick, unless configUSE_TIME_SLICING is 0",
)  # fmt: skip
TURNS = _assumption(
    "policy rr takes turns of the quantum",
    "if the quantum is that of /proc/sys/kernel/sched_rr_timeslice_ms",
    "if the quantum is that of /proc/sys/kernel/sched_rr_timeslice_ms",
    "if the quantum is a tick",
)
INHERIT = _assumption(
    "protocol inherit gives priority back when its resource is given back",
    "yes, of mutexes with PTHREAD_PRIO_INHERIT",
    "yes, of mutexes with PTHREAD_PRIO_INHERIT",
    "only once the task holds no mutex any more: nested ones block longer",
)
PROTECT = _assumption(
    "protocol protect has the priority of its most urgent user",
    "yes, of mutexes with PTHREAD_PRIO_PROTECT, but not for policy deadline",
    "yes, of mutexes with PTHREAD_PRIO_PROTECT, but not for policy deadline",
    "no: it has none; inherit is what its mutexes do",
)
CEILING = _assumption(
    "protocol ceiling lets in only who is above all ceilings",
    "no: protect bounds the same", "no: protect bounds the same", "no: it has none",
)  # fmt: skip
RESERVATION = _assumption(
    "policy deadline serves the earliest deadline, and reserves its runtime",
    "yes; one CPU of several needs a cpuset partition", "yes; one CPU of several needs a cpuset "
    "partition", "no: it has fixed priorities",
)  # fmt: skip
SERVERS = _assumption(
    "servers are as their inventors wrote them",
    "only cbs, as policy deadline; others have to be programmed",
    "only cbs, as policy deadline; others have to be programmed",
    "no: they have to be programmed",
)
SPORADIC = _assumption(
    "a sporadic server gets budget back no sooner than a period after it began to use it",
    "not as POSIX defines it: SCHED_SPORADIC may be early (Stanovich and others 2010)",
    "not as POSIX defines it: SCHED_SPORADIC may be early (Stanovich and others 2010)",
    "if it is programmed so",
)
THROTTLING = _assumption(
    "nothing throttles real-time tasks",
    "before 6.12 they get 95% of each second unless sched_rt_runtime_us is -1; since then they "
    "pause only for tasks of policy other",
    "as stock Linux",
    YES,
)
SUSPENSION = _assumption(
    "a job waits for nothing but the CPU and its resources",
    "if it calls nothing that blocks, and its memory is locked",
    "if it calls nothing that blocks, and its memory is locked",
    "if it calls nothing that blocks",
)


def assumptions(tasks: TaskSet, costs: Costs) -> list[Assumption]:
    """Return what is taken for granted of this task set."""
    return list(_relevant(tasks, costs))


def _relevant(tasks: TaskSet, costs: Costs) -> Iterator[Assumption]:
    policies = {task.policy for task in tasks.tasks}
    protocols = {resource.protocol for resource in tasks.resources}
    kinds = {server.kind for server in tasks.servers}
    yield PREEMPTION
    yield SUSPENSION
    if costs.from_run is None:
        yield FREE
        yield RELEASE
    else:
        yield COSTS
        yield INTERRUPTS
    if policies & {"fifo", "rr"} and costs.rt_runtime_ns == 0:
        yield THROTTLING
    if _equals(tasks):
        yield FIRST_COME
    if "rr" in policies:
        yield TURNS
    if "inherit" in protocols:
        yield INHERIT
    if "protect" in protocols:
        yield PROTECT
    if "ceiling" in protocols:
        yield CEILING
    if "deadline" in policies:
        yield RESERVATION
    if kinds:
        yield SERVERS
    if "sporadic" in kinds:
        yield SPORADIC


def _equals(tasks: TaskSet) -> bool:
    """Return whether tasks of policy fifo share a priority on a CPU."""

    by = levels(tasks)
    places = [(by[t.name], tuple(t.cpus)) for t in tasks.tasks if t.policy == "fifo"]
    return len(set(places)) < len(places)
