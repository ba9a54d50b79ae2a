"""Follow the tasks of a live Linux through the scheduling events of its trace, job by job.

A job begins when its task is woken, and ends when the task waits again; its execution time is the
sum of what it ran, on whichever CPU.  After events that were lost, the state of every task is
unknown until it is woken again.  A change of task may be missing though nothing was reported lost:
each event names the task that has its CPU, so it is noticed, and between which events it was.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from rtstone.documents.tasks import Wake
from rtstone.explain.ring import HARD_INTERRUPT, SOFT_INTERRUPT, Event
from rtstone.tasks.threads import Thread

# What a task waited for: a lock is within a job.  futex: FUTEX_WAIT, by which glibc's mutexes wait,
# and other libraries also for all else.
Wait = Literal["time", "lock", "futex", "semaphore", "queue", "other"]

# The events: of the scheduler, of the system calls in CALLS, and of what interrupts.
SWITCH = "sched/sched_switch"
EVENTS = (SWITCH, "sched/sched_waking", "sched/sched_process_fork", "sched/sched_process_exit")
INHERITED = "sched/sched_pi_setprio"
SYSTEM_CALLS = ("raw_syscalls/sys_enter", "raw_syscalls/sys_exit")
INTERRUPTS = (
    "irq/irq_handler_entry", "ipi/ipi_entry", "irq_vectors/local_timer_entry",
    "irq_vectors/reschedule_entry", "irq_vectors/call_function_entry",
    "irq_vectors/call_function_single_entry", "irq_vectors/irq_work_entry",
)  # fmt: skip

# Bits of a task's state in sched_switch; Linux 4.14 and later.
_UNINTERRUPTIBLE, _STOPPED, _DEAD, _STATE = 0x02, 0x0C, 0x30, 0xFF

# What a system call is for, by its name.
_SLEEPS = {"nanosleep", "clock_nanosleep", "clock_nanosleep_time64"}
_FUTEXES = {"futex", "futex_time64"}
_SEMAPHORES = {*_FUTEXES, "futex_waitv", "semop", "semtimedop", "semtimedop_time64"}
_SENDS = {"mq_timedsend", "mq_timedsend_time64", "msgsnd"}
_RECEIVES = {"mq_timedreceive", "mq_timedreceive_time64", "msgrcv"}
_YIELD = "sched_yield"
CALLS = frozenset({*_SLEEPS, *_SEMAPHORES, *_SENDS, *_RECEIVES, _YIELD})
OPERATION = "operation"  # the second argument of a system call
_FUTEX_COMMAND = 0x7F  # of the operation, without flags
_FUTEX_WAIT = 0
_FUTEX_LOCKS = {6, 13}  # FUTEX_LOCK_PI, FUTEX_LOCK_PI2


class Gap(NamedTuple):
    """A time, ns, in which events were lost, and how many at least."""

    start: int
    end: int
    lost: int


class Trace(NamedTuple):
    """What was recorded: events with the CPU of each, in order of time, from start to end in ns.

    ``calls``: names of system calls, by number.  ``own``: the threads of whoever recorded.
    ``before`` and ``after``: the threads at the start and at the end, by number; ``during``: those
    that were seen in between.  ``process``: the one whose threads are estimated; None: all.
    """

    events: Iterable[tuple[int, Event]]
    start: int
    end: int
    gaps: Sequence[Gap] = ()
    calls: Mapping[int, str] = {}
    own: Collection[int] = ()
    before: Mapping[int, Thread] = {}
    during: Mapping[int, Thread] = {}
    after: Mapping[int, Thread] = {}
    process: int | None = None


class Identity(NamedTuple):
    """A task: its number, and how many tasks had that before it."""

    tid: int
    life: int


class Change(NamedTuple):
    """A change of task: from whom, None for nobody, and whether that one waited or yielded."""

    before: Identity | None
    task: Identity
    willing: bool


@dataclass(slots=True)
class Job:
    """From a wake-up to the next wait; ``work``: its execution time, ns.

    ``release``: when it was woken, ns; None: that is not in the trace.
    ``waker``: the task that did, None: an interrupt.  ``after``: what it waited for; None: that was
    before the trace.  ``waits``: how often it waited within the job.  ``doubt``: by how much the
    execution time may be longer, ns.  ``late``: it began without a wait, as the one before was
    late.
    """

    release: int | None
    waker: Identity | None
    by: Wake
    after: Wait | None
    work: int = 0
    waits: int = 0
    doubt: int = 0
    late: bool = False


@dataclass(slots=True)
class Life:
    """A task from its start to its end; ``spans``: its jobs between losses of events.

    ``counts``: of what it did: ``interrupts`` in it, ``semaphore_calls``, ``semaphore_waits``,
    ``queue_calls``, ``messages``, ``inherited``.  ``interrupted``: whom the interrupts came into
    that woke it.  ``busy``: what it ran, ns.
    """

    identity: Identity
    name: str = ""
    forked: bool = False
    ended: bool = False
    spans: list[list[Job]] = field(default_factory=lambda: [[]])
    counts: Counter[str] = field(default_factory=Counter)
    interrupted: Counter[Identity | None] = field(default_factory=Counter)
    priorities: Counter[int] = field(default_factory=Counter)
    cpus: set[int] = field(default_factory=set)
    migrations: int = 0
    busy: int = 0
    # Its state: since when it runs, where, whether and why it waits, and in which system call.
    running: int | None = None
    cpu: int | None = None
    asleep: bool | None = None
    wait: Wait | None = None
    early: tuple[int, Identity | None, Wake] | None = None  # it was woken while it ran
    call: str | None = None
    operation: int = 0
    blocked: bool = False
    leaving: bool = False
    lost: bool = False  # it left its CPU, and nobody saw whether it waited
    job: Job | None = None


class Tasks:
    """All tasks of a trace, and the changes between them.

    ``lives``: in order of their start.  ``idle_interrupts``: those that came while a CPU was idle.
    ``missing``: changes that are not in the trace, though no loss was reported.
    """

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.gaps = joined(trace.gaps)
        self.lives: list[Life] = []
        self.changes: Counter[Change] = Counter()
        self.idle_interrupts = self.missing = 0
        self._current: dict[int, Life] = {}  # by number
        self._births: Counter[int] = Counter()
        self._last: dict[int, tuple[Identity | None, bool]] = {}  # who left a CPU, and willingly
        self._seen: dict[int, tuple[int, int]] = {}  # who has a CPU, and when that was seen last
        self._follow()

    def _follow(self) -> None:
        gaps = iter(self.gaps)
        gap = next(gaps, None)
        for cpu, event in self.trace.events:
            while gap and event.time >= gap.end:
                self._forget()
                gap = next(gaps, None)
            inside = gap is not None and event.time > gap.start
            if not inside and self.trace.start <= event.time <= self.trace.end:
                self._require(cpu, event.pid, event.time)
                self._take(cpu, event)

    def _forget(self) -> None:
        """Forget the state of all tasks, as events are missing."""
        self._last.clear()
        self._seen.clear()
        for life in self._current.values():
            life.running = life.asleep = life.wait = life.early = life.call = life.job = None
            life.lost = False
            life.spans.append([])

    def _require(self, cpu: int, tid: int, time: int) -> None:
        """Have a task have a CPU, as an event there names it, if it is not in the trace how."""
        before, since = self._seen.get(cpu, (tid, time))
        self._seen[cpu] = (tid, time)
        # Of one process, changes between tasks of others are not recorded.
        if before == tid or not any(n and self.concerned(self._life(n)) for n in (before, tid)):
            return
        self.missing += 1
        self._last.pop(cpu, None)
        if before:
            life = self._life(before)
            self._account(life, since)
            life.running, life.lost = None, True
            if life.job:
                life.job.doubt += time - since
        if tid:
            life = self._life(tid)
            self._enter(life, cpu, time)
            if life.job:
                life.job.doubt += time - since

    def _life(self, tid: int) -> Life:
        """Return the task that has a number now."""
        life = self._current.get(tid)
        if life is None or life.ended:
            life = Life(Identity(tid, self._births[tid]))
            self._births[tid] += 1
            self._current[tid] = life
            self.lives.append(life)
        return life

    def _take(self, cpu: int, event: Event) -> None:
        name = event.name
        if name == "sched_switch":
            self._switch(cpu, event)
        elif name == "sched_waking":
            self._waking(event)
        elif name in {"sys_enter", "sys_exit"}:
            call = self.trace.calls.get(event.number("id"))
            if call in CALLS:
                self._call(event, call, enters=name == "sys_enter")
        elif name == "sched_process_fork":
            tid = event.number("child_pid")
            if tid in self._current:
                self._current[tid].ended = True
            self._life(tid).forked = True
        elif name == "sched_process_exit":
            life = self._life(event.number("pid"))
            life.leaving, life.job = True, None
        elif name == "sched_pi_setprio":
            boosted = event.number("newprio") < event.number("oldprio")
            self._life(event.number("pid")).counts["inherited"] += boosted
        elif event.pid:
            self._life(event.pid).counts["interrupts"] += 1
        else:
            self.idle_interrupts += 1

    def _switch(self, cpu: int, event: Event) -> None:
        state = event.number("prev_state") & _STATE
        if tid := event.number("prev_pid"):
            self._leave(self._life(tid), event.time, state)
        if tid not in self.trace.own:
            life = self._current.get(tid)
            yields = life is not None and life.call == _YIELD
            self._last[cpu] = (life.identity if life else None, bool(state) or yields or not tid)
        if tid and state & _DEAD:
            self._current[tid].ended = True
        self._seen[cpu] = (event.number("next_pid"), event.time)
        if tid := event.number("next_pid"):
            life = self._life(tid)
            life.name = event.text("next_comm") or life.name
            life.priorities[event.number("next_prio")] += 1
            self._enter(life, cpu, event.time)
            last, willing = self._last.get(cpu, (life.identity, False))
            if tid not in self.trace.own and last != life.identity:
                self.changes[Change(last, life.identity, willing)] += 1

    def _enter(self, life: Life, cpu: int, time: int) -> None:
        """Have a task get a CPU."""
        if life.asleep and life.early:  # it was woken while it was about to wait
            release, waker, by = life.early
            life.job = Job(release, waker, by, life.wait)
        elif life.asleep:  # what woke it is not in the trace
            life.job = Job(None, None, "semaphore", life.wait)
        life.asleep, life.early, life.lost = False, None, False
        life.migrations += life.cpu not in {None, cpu}
        life.cpu, life.running = cpu, time
        life.cpus.add(cpu)

    def _leave(self, life: Life, time: int, state: int) -> None:
        """Have a task leave its CPU."""
        if life.running is None:
            life.job = None
        self._account(life, time)
        life.running = None
        if state & _DEAD:
            life.job = None
        elif state:
            life.wait = _wait(life, state)
            life.counts["semaphore_waits"] += life.call in _SEMAPHORES
            life.blocked = life.asleep = True
            self._end_job(life)

    def _account(self, life: Life, time: int) -> None:
        """Add what a task has run to its job."""
        if life.running is None:
            return
        life.busy += time - life.running
        if life.job:
            life.job.work += time - life.running
        life.running = time

    def _end_job(self, life: Life) -> None:
        if life.job and not life.leaving:
            life.spans[-1].append(life.job)
        life.job = None

    def _waking(self, event: Event) -> None:
        life = self._life(event.number("pid"))
        context = self._life(event.pid) if event.pid else None
        waker = None if event.flags & (HARD_INTERRUPT | SOFT_INTERRUPT) else context
        if waker is None:
            life.interrupted[context.identity if context else None] += 1
        by: Wake = "queue" if waker and waker.call in _SENDS else "semaphore"
        source = waker.identity if waker else None
        if life.lost:  # it waited
            life.lost, life.asleep = False, True
            life.wait = _wait(life, 0)
            self._end_job(life)
        if life.running is not None:
            life.early = (event.time, source, by)
        elif life.asleep is not False:
            life.job = Job(event.time, source, by, life.wait)
            life.asleep, life.early = False, None

    def _call(self, event: Event, name: str, *, enters: bool) -> None:
        life = self._life(event.pid)
        life.early = None
        if enters:
            life.call, life.blocked = name, False
            life.operation = event.number(OPERATION) & _FUTEX_COMMAND
            life.counts["semaphore_calls"] += name in _SEMAPHORES
            life.counts["queue_calls"] += name in _SENDS or name in _RECEIVES
            life.counts["messages"] += name in _SENDS
            return
        if name in _SLEEPS and life.call == name and not life.blocked and life.job:
            # The time was past: the next job begins at once, and nobody saw its release.
            self._account(life, event.time)
            self._end_job(life)
            life.job = Job(None, None, "semaphore", "time", late=True)
        life.call = None

    # ---- what was read of them ----

    def thread(self, life: Life) -> Thread | None:
        """Return what was read of a task while it lived, None if nothing was."""
        tid, number = life.identity
        if number == 0 and not life.forked and tid in self.trace.before:
            return self.trace.before[tid]
        if self._current[tid] is life and not life.ended and tid in self.trace.after:
            return self.trace.after[tid]
        return self.trace.during.get(tid) if self._births[tid] == 1 else None

    def concerned(self, life: Life) -> bool:
        """Return whether a task is one of those to estimate."""
        if life.identity.tid in self.trace.own:
            return False
        if self.trace.process is None:
            return True
        thread = self.thread(life)
        return thread is not None and thread.process == self.trace.process


def joined(gaps: Iterable[Gap]) -> list[Gap]:
    """Return gaps in order, those that overlap as one."""
    wholes: list[Gap] = []
    for gap in sorted(gaps):
        if wholes and gap.start <= wholes[-1].end:
            last = wholes.pop()
            wholes.append(Gap(last.start, max(last.end, gap.end), last.lost + gap.lost))
        else:
            wholes.append(gap)
    return wholes


def _wait(life: Life, state: int) -> Wait:
    """Return what a task waits for as it leaves the CPU."""
    if state & (_UNINTERRUPTIBLE | _STOPPED):
        return "lock"
    if life.call in _FUTEXES:
        if life.operation in _FUTEX_LOCKS:
            return "lock"
        return "futex" if life.operation == _FUTEX_WAIT else "semaphore"
    if life.call in _SEMAPHORES:
        return "semaphore"
    if life.call in _RECEIVES or life.call in _SENDS:
        return "queue"
    return "time" if life.call in _SLEEPS else "other"
