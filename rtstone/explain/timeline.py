"""Find what a CPU did between two moments, from the events of its trace, in the words of KINDS.

The kernel's events divide the time: entry and exit of interrupts and softirqs, the wake-up of the
measured task, the switch to it, entry and exit of system calls.  What lies between two of them is
known by the state of the CPU then: in which interrupt it is, which task has it, whether that
task is in a system call, and whether the measured task is ready to run.

Time can also go where no event is: to the hypervisor or to firmware.  What had the CPU is the cause
only if it can be, and if the kernel gave it that time: it subtracts what was stolen from the time
that it accounts to a task (update_rq_clock_task() in kernel/sched/core.c).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import NamedTuple

from rtstone.documents.explanation import Cause, Kind
from rtstone.explain.functions import Functions
from rtstone.explain.ring import HARD_INTERRUPT, SOFT_INTERRUPT, Event
from rtstone.explain.roles import LINUX

SOFTIRQS = (
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
)  # fmt: skip
_IDLE = 0  # the task that has a CPU when no other one is ready
_ENTRY, _EXIT = "_entry", "_exit"
_NO_CALL = "no system call"
_RUNTIME = "sched_stat_runtime"  # the event with the time that a task has run
LEAST_THEFT_NS = 20_000  # below it, what is missing may lie between clock reading and event
LEAST_DOUBT_NS = 100_000  # of a part that steal or an SMI somewhere around it puts in doubt
HALT_EXIT_NS = 100_000  # that idling may delay an interrupt by where its states are not known


class Part(NamedTuple):
    """A stretch of time in ns, what it was spent on, and by whom; ``None``: by nobody else.

    ``cause``: where the time went: to who had the CPU, or past it.
    """

    start: int
    end: int
    kind: Kind
    by: str | None
    cause: Cause = "code"


class _Spent(NamedTuple):
    """What time is spent on, by whom, and what that does as far as known: its system call."""

    kind: Kind
    who: str | None = None
    call: str | None = None


@dataclass
class _Piece:
    """A part in the making: ``calls`` has the time of each call in it."""

    start: int
    end: int
    kind: Kind
    who: str | None
    cause: Cause
    calls: dict[str, int] = field(default_factory=dict)

    def part(self) -> Part:
        """Return the part; a call is named that took most of it."""
        call, longest = max(self.calls.items(), key=lambda item: item[1], default=("", 0))
        mostly = self.who is not None and 2 * longest > self.end - self.start
        by = f"{self.who}, {call}" if mostly else self.who
        return Part(self.start, self.end, self.kind, by, self.cause)


class _Interrupt(NamedTuple):
    """An interrupt that is being served.

    ``since``: the time of its entry.  ``preempt``: for how many reasons preemption was off in what
    it interrupted.
    """

    name: str
    since: int
    preempt: int


@dataclass(frozen=True)
class _State:
    """What is known of the CPU at a moment.

    ``task``: that has it, None if unknown.  ``timer``: address of the timer's function that runs,
    0 without one.  ``calls``: the system call that each task is in, None
    if it is in none; a task of which nothing is known is missing.  Of the measured task:
    ``ready``: it could run, but does not; ``waking``: it is being made ready; ``had``: it has been
    switched to, ``woken``: it has been woken since the sample was due.
    """

    task: int | None = None
    interrupts: tuple[_Interrupt, ...] = ()
    softirqs: tuple[str, ...] = ()
    timer: int = 0
    calls: Mapping[int, int | None] = field(default_factory=dict)
    ready: bool = False
    waking: bool = False
    had: bool = False
    woken: bool = False


class _Moment(NamedTuple):
    time: int
    before: _State  # up to then
    event: Event


class _Wakeup(NamedTuple):
    """The first wake-up of the measured task: when, in which interrupt, or else by which task."""

    time: int
    interrupt: _Interrupt | None
    task: int | None


class Interrupted(NamedTuple):
    """A task, and the functions of the kernel that it was in, the innermost first."""

    task: str
    functions: list[str]


class Sampled(NamedTuple):
    """A sample: when it was due, when its time stamp was taken, and by which task."""

    due: int
    stamp: int
    task: int


class Around(NamedTuple):
    """What is known of a sample's surroundings beside its trace.

    ``closed``: an emulated machine whose instructions are counted: no time goes past them.
    ``virtual``: there is a hypervisor.  ``steal_ns``, ``smi``: by how much the steal time of its
    CPU and the count of SMIs grew around it.  ``idle_exit_ns``: the longest that leaving an idle
    state takes.  ``irq_time``: the kernel subtracts the time of interrupts from that of tasks, too
    (CONFIG_IRQ_TIME_ACCOUNTING); None: not known.
    """

    closed: bool = False
    virtual: bool = False
    steal_ns: int = 0
    smi: int = 0
    idle_exit_ns: int = HALT_EXIT_NS
    irq_time: bool | None = None


_NOTHING = Around()


class Names(NamedTuple):
    """Names of tasks by their number, of system calls by theirs, and of functions by address."""

    tasks: Mapping[int, str]
    calls: Mapping[int, str]
    functions: Functions

    def task(self, pid: int | None) -> str:
        """Return the name of a task."""
        if pid is None:
            return "a task that is not known"
        if pid == _IDLE:
            return "the idle task"
        return self.tasks.get(pid, f"task {pid}")

    def call(self, number: int) -> str:
        """Return the name of a system call."""
        return self.calls.get(number, f"system call {number}")

    def function(self, address: int) -> str | None:
        """Return the name of the function at an address, None if unknown."""
        entry = self.functions.find(address)
        return entry[0] if entry else None


def tasks(events: Sequence[Event]) -> dict[int, str]:
    """Return the names of the tasks in events, by their number."""
    names: dict[int, str] = {}
    for event in events:
        for which in ("prev_", "next_", ""):
            if name := event.text(f"{which}comm"):
                names[event.number(f"{which}pid")] = name
    return names


class Accounts(NamedTuple):
    """Stolen time by the kernel's accounts of tasks.

    ``thefts``: when each ended, and how long it was.  ``sound``: spans of time, from and to, of
    which nothing is missing; ``robbed``: those in which a theft lies somewhere.
    """

    thefts: Mapping[int, int]
    sound: Sequence[tuple[int, int]]
    robbed: Sequence[tuple[int, int]]

    def clear(self, start: int, end: int) -> bool:
        """Return whether nothing is missing in all that time."""
        return _overlap(self.sound, start, end) == end - start

    def suspect(self, start: int, end: int) -> bool:
        """Return whether there may have been a theft in that time."""
        return _overlap(self.robbed, start, end) > 0


def _overlap(spans: Sequence[tuple[int, int]], start: int, end: int) -> int:
    return sum(max(0, min(end, b) - max(start, a)) for a, b in spans)


def accounts(events: Sequence[Event], around: Around) -> Accounts:
    """Return what was stolen, by what is missing in the time that the kernel gave to each task.

    A theft is taken to have ended at the first event after it, as interrupts were pending then.
    """
    thefts: dict[int, int] = {}
    sound: list[tuple[int, int]] = []
    robbed: list[tuple[int, int]] = []
    first = 0  # event since when the account is of the time that follows
    whole = False  # what began before the trace may have been stolen before it
    task: int | None = None
    for place, event in enumerate(events):
        if event.name == "sched_switch":
            first, whole, task = place, True, event.number("next_pid")
        elif event.pid != task:  # the switch to it is not in the trace
            first, whole, task = place, False, event.pid
        elif event.name == _RUNTIME and event.number("pid") == event.pid:
            between = events[first : place + 1]
            missing = event.time - between[0].time - event.number("runtime")
            if around.irq_time is not False:
                missing -= _in_interrupts(between)
            span = between[0].time, event.time
            if missing >= LEAST_THEFT_NS:
                robbed.append(span)
            elif whole:
                sound.append(span)
            # What is missing was stolen in the longest gaps.
            gaps = sorted(((b.time - a.time, b.time) for a, b in pairwise(between)), reverse=True)
            for length, end in gaps:
                if missing < LEAST_THEFT_NS:
                    break
                thefts[end] = min(length, missing)
                missing -= thefts[end]
            first, whole = place, True
    return Accounts(thefts, sound, robbed)


def _in_interrupts(events: Sequence[Event]) -> int:
    """Return how long interrupts and softirqs were served between these events."""
    total = depth = 0
    for a, b in pairwise(events):
        if a.name.endswith(_ENTRY) and not a.name.startswith("hrtimer"):
            depth += 1
        elif a.name.endswith(_EXIT) and not a.name.startswith("hrtimer"):
            depth = max(0, depth - 1)
        total += b.time - a.time if depth else 0
    return total


def parts(
    events: Sequence[Event], sample: Sampled, names: Names, *, preemptible: bool,
    around: Around = _NOTHING,
) -> list[Part]:  # fmt: skip
    """Return what the time of a sample was spent on, in order and without gaps.

    ``events``: up to one after the time stamp, the marker.  ``preemptible``: the kernel can be
    preempted in system calls, unless it forbids that.
    """
    due, stamp, measured = sample.due, sample.stamp, sample.task
    moments = list(_moments(events, sample))
    first = next((moment for moment in moments if moment.time > due), None)
    away = first is not None and first.before.task != measured  # another task had the CPU
    priorities = {  # of tasks by their number, as the kernel has them: 0 is most urgent
        event.number(f"{which}_pid"): event.number(f"{which}_prio")
        for event in events
        if event.name == "sched_switch"
        for which in ("prev", "next")
    }
    meaning = _Meaning(
        measured, _wakeup(moments, sample), names, priorities, preemptible,
        woken=away, around=around, accounts=accounts(events, around),
        in_kernel=interrupted(events, sample, names) is not None,
    )  # fmt: skip
    pieces: list[_Piece] = []
    at = due
    for moment in moments:
        if moment.time > at:
            until = min(moment.time, stamp)
            spent = meaning.spent(moment.before)
            stolen = max(at, moment.time - meaning.accounts.thefts.get(moment.time, 0))
            own = min(stolen, until)
            _add(pieces, at, own, spent, meaning.cause(moment.before, spent.kind, at, own))
            _add(pieces, own, until, spent, "hypervisor")
            at = until
        if moment.time >= stamp:
            break
    return [piece.part() for piece in pieces]


def interrupted(events: Sequence[Event], sample: Sampled, names: Names) -> Interrupted | None:
    """Return what the interrupt came into that woke the task.

    None if that was a program, or where no stack was recorded or its functions have no names.
    """
    wakeup = _wakeup(list(_moments(events, sample)), sample)
    if wakeup is None or wakeup.interrupt is None:
        return None
    event = next((other for other in events if other.stack and other.time >= wakeup.time), None)
    functions = [names.function(address) for address in event.stack] if event else []
    entries = [place for place, name in enumerate(functions) if name in LINUX.interrupts]
    inner = [name or "?" for name in functions[entries[0] + 1 :]] if entries else []
    return Interrupted(names.task(event.pid), inner) if event and inner else None


def _add(pieces: list[_Piece], start: int, end: int, spent: _Spent, cause: Cause) -> None:
    """Append a piece, or lengthen the one before if that was spent by the same."""
    if start == end:
        return
    last = pieces[-1] if pieces else None
    if last is None or (last.kind, last.who, last.cause) != (spent.kind, spent.who, cause):
        pieces.append(_Piece(start, end, spent.kind, spent.who, cause))
    pieces[-1].end = end
    if spent.call is not None:
        calls = pieces[-1].calls
        calls[spent.call] = calls.get(spent.call, 0) + end - start


# ---- the state of the CPU ------------------------------------------------------------------------


def _moments(events: Sequence[Event], sample: Sampled) -> Iterator[_Moment]:
    """Yield each event with the state before it."""
    # The system call that each task is in when the trace begins, None: in none.  Its next event
    # shows it: who leaves a call was in it.  Without one it is not known.
    calls: dict[int, int | None] = {}
    for event in events:
        if event.name in {"sys_enter", "sys_exit"}:
            calls.setdefault(event.pid, None if event.name == "sys_enter" else event.number("id"))
    state = _State(calls=calls)
    for event in events:
        # As the event has seen it: what was served may have ended without an event.
        serving = event.flags & HARD_INTERRUPT or event.name.endswith((_ENTRY, _EXIT))
        soft = event.flags & (SOFT_INTERRUPT | HARD_INTERRUPT) or event.name.startswith("softirq")
        state = replace(
            state,
            task=event.pid,
            interrupts=state.interrupts if serving else (),
            softirqs=state.softirqs if soft else (),
            timer=state.timer if serving or soft else 0,
        )
        yield _Moment(event.time, state, event)
        state = _STEPS.get(event.name, _interrupt)(state, event, sample)


def _switch(state: _State, event: Event, sample: Sampled) -> _State:
    to, mine = event.number("next_pid"), sample.task
    if to == mine:
        had = state.had or event.time >= sample.due
        return replace(state, task=to, ready=False, waking=False, had=had)
    if event.number("prev_pid") == mine:  # it is ready only if it was preempted
        preempted = not event.number("prev_state") & 0xFF
        return replace(state, task=to, ready=preempted, waking=False)
    return replace(state, task=to)


def _wake(state: _State, event: Event, sample: Sampled) -> _State:
    if event.number("pid") != sample.task:
        return state
    woken = state.woken or event.time >= sample.due
    return replace(state, ready=True, waking=event.name == "sched_waking", woken=woken)


def _call(state: _State, event: Event, sample: Sampled) -> _State:
    call = event.number("id") if event.name == "sys_enter" else None
    return replace(state, calls={**state.calls, event.pid: call})


def _softirq(state: _State, event: Event, sample: Sampled) -> _State:
    if event.name.endswith(_EXIT):
        return replace(state, softirqs=state.softirqs[:-1])
    vector = event.number("vec")
    name = SOFTIRQS[vector] if vector < len(SOFTIRQS) else str(vector)
    return replace(state, softirqs=(*state.softirqs, name))


def _timer(state: _State, event: Event, sample: Sampled) -> _State:
    return replace(state, timer=event.number("function"))  # of its end, which has none: 0


def _interrupt(state: _State, event: Event, sample: Sampled) -> _State:
    """Handle all other events: entry and exit of interrupts, of which there are many kinds."""
    if event.name.endswith(_EXIT):
        return replace(state, interrupts=state.interrupts[:-1])
    if not event.name.endswith(_ENTRY):
        return state
    name = event.name.removesuffix(_ENTRY).replace("_", " ")
    if event.name == "irq_handler_entry":
        name = f"{event.text('name')} (interrupt {event.number('irq')})"
    served = _Interrupt(name, event.time, event.preempt)
    return replace(state, interrupts=(*state.interrupts, served))


_STEPS: dict[str, Callable[[_State, Event, Sampled], _State]] = {
    "sched_switch": _switch,
    "sched_waking": _wake,
    "sched_wakeup": _wake,
    "sys_enter": _call,
    "sys_exit": _call,
    "softirq_entry": _softirq,
    "softirq_exit": _softirq,
    "hrtimer_expire_entry": _timer,
    "hrtimer_expire_exit": _timer,
}


def _wakeup(moments: Sequence[_Moment], sample: Sampled) -> _Wakeup | None:
    """Return the first wake-up of the measured task since the sample was due, None without any."""
    for time, before, event in moments:
        mine = event.name == "sched_waking" and event.number("pid") == sample.task
        if mine and sample.due <= time <= sample.stamp:
            if before.interrupts:
                return _Wakeup(time, before.interrupts[0], None)
            return _Wakeup(time, None, None if before.softirqs else before.task)
    return None


# ---- what a state means --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Meaning:
    measured: int
    wakeup: _Wakeup | None
    names: Names
    priorities: Mapping[int, int]
    preemptible: bool
    woken: bool  # the measured task did not have the CPU when the sample was due
    around: Around
    accounts: Accounts
    in_kernel: bool  # the interrupt that woke the task is known to have come into the kernel

    def spent(self, state: _State) -> _Spent:
        """Return what time is spent on in this state."""
        if state.interrupts:
            outermost, innermost = state.interrupts[0], state.interrupts[-1]
            if self.wakeup is None or outermost != self.wakeup.interrupt:
                return _Spent("irq", innermost.name, self._timer(state))
            if state.waking:
                return _Spent("wakeup")
            return _Spent("handler", innermost.name, self._timer(state))
        if state.softirqs:
            return _Spent("softirq", state.softirqs[-1], self._timer(state))
        if state.task == self.measured:
            returns = state.had and self.woken
            return _Spent("return") if returns else self._by(state, "task")
        if state.waking:
            return _Spent("wakeup")
        if state.ready:
            return self._by(state, self._ready(state))
        kind: Kind = "irq-delay"
        if self.wakeup is not None and self.wakeup.task is not None:
            kind = "task"
        elif self.wakeup is None:  # of one that was woken nevertheless, when is not known
            kind = "blocking" if self.woken else "task"
        elif state.had:  # after it was woken once it waits again: for another task's lock, say
            kind = "blocking"
        return self._by(state, kind)

    def cause(self, state: _State, kind: Kind, start: int, end: int) -> Cause:
        """Return where time went of which nothing is known to be stolen."""
        around = self.around
        if around.closed:
            return "code"
        stolen = around.steal_ns > 0 or self.accounts.suspect(start, end)
        if self._cannot_be(state, kind, end - start):
            if around.smi:
                return "firmware"
            return "hypervisor" if stolen else "outside"
        # The time of a task includes that of an SMI: no account clears it of that.
        doubtful = around.smi or (stolen and not self.accounts.clear(start, end))
        # What a hypervisor does for a program that touches new memory is in no account, either.
        program = kind == "irq-delay" and state.task not in state.calls and not self.in_kernel
        doubtful = doubtful or (around.virtual and program and state.task != _IDLE)
        return "unsure" if doubtful and end - start >= LEAST_DOUBT_NS else "code"

    def _cannot_be(self, state: _State, kind: Kind, length: int) -> bool:
        """Return whether what had the CPU cannot have held back what was due.

        A program cannot hold an interrupt back, an idle CPU only while it wakes up.  A softirq has
        interrupts on; it can turn them off, which is only to be believed where nothing else can be.
        """
        if state.softirqs and not state.interrupts:
            waits = self.wakeup is not None and self.wakeup.interrupt is not None
            return self.around.virtual and waits and not state.woken and length >= LEAST_DOUBT_NS
        if state.interrupts:
            return False
        if state.task == _IDLE:
            return length > self.around.idle_exit_ns
        return (
            kind == "irq-delay"
            and not self.in_kernel
            and state.calls.get(state.task or 0, 0) is None
        )

    def _timer(self, state: _State) -> str | None:
        name = self.names.function(state.timer) if state.timer else None
        return name and f"in {name}"

    def _ready(self, state: _State) -> Kind:
        """Return what it is if another task runs although the measured one is ready to run.

        Who is less urgent, and is not in the kernel or can be preempted there, has to leave at
        once: what remains is the scheduler's.
        """
        task = state.task
        waker = self.wakeup is not None and task == self.wakeup.task
        in_user = task is not None and state.calls.get(task, 0) is None
        interrupt = self.wakeup.interrupt if self.wakeup else None
        free = self.preemptible and (interrupt is None or not interrupt.preempt)
        mine, other = (self.priorities.get(pid or 0) for pid in (self.measured, task))
        urgent = mine is None or other is None or mine < other
        leaves = (in_user or free) and urgent
        return "switch" if task == _IDLE or waker or leaves else "blocking"

    def _by(self, state: _State, kind: Kind) -> _Spent:
        name = self.names.task(state.task)
        if state.task is None or state.task not in state.calls:
            return _Spent(kind, name)
        call = state.calls[state.task]
        return _Spent(kind, name, f"in {self.names.call(call) if call is not None else _NO_CALL}")
