"""What a CPU did between two moments, from the events of its trace, in the words of KINDS.

The kernel's events divide the time: entry and exit of interrupts and softirqs, the wake-up of the
measured task, the switch to it, entry and exit of system calls.  What lies between two of them is
told by what is known of the CPU then: in which interrupt it is, which task has it, whether that
task is in a system call, and whether the measured task is ready to run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from rtstone.documents.explanation import Kind
from rtstone.explain.functions import Functions
from rtstone.explain.ring import HARD_INTERRUPT, SOFT_INTERRUPT, Event
from rtstone.explain.roles import LINUX

SOFTIRQS = (
    "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU",
)  # fmt: skip
_IDLE = 0  # the task that has a CPU when no other one is ready
_ENTRY, _EXIT = "_entry", "_exit"
_NO_CALL = "no system call"


class Part(NamedTuple):
    """A stretch of time in ns, what it was spent on, and by whom; ``None``: by nobody else."""

    start: int
    end: int
    kind: Kind
    by: str | None


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
    calls: dict[str, int] = field(default_factory=dict)

    def part(self) -> Part:
        """Return the part; a call is named that took most of it."""
        call, longest = max(self.calls.items(), key=lambda item: item[1], default=("", 0))
        known = self.who is not None and 2 * longest > self.end - self.start
        return Part(self.start, self.end, self.kind, f"{self.who}, {call}" if known else self.who)


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
    switched to since the sample was due.
    """

    task: int | None = None
    interrupts: tuple[_Interrupt, ...] = ()
    softirqs: tuple[str, ...] = ()
    timer: int = 0
    calls: Mapping[int, int | None] = field(default_factory=dict)
    ready: bool = False
    waking: bool = False
    had: bool = False


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


class Names(NamedTuple):
    """Names of tasks by their number, of system calls by theirs, and of functions by address."""

    tasks: Mapping[int, str]
    calls: Mapping[int, str]
    functions: Functions

    def task(self, pid: int | None) -> str:
        """Return what a task is called."""
        if pid is None:
            return "a task that is not known"
        if pid == _IDLE:
            return "the idle task"
        return self.tasks.get(pid, f"task {pid}")

    def call(self, number: int) -> str:
        """Return what a system call is called."""
        return self.calls.get(number, f"system call {number}")

    def function(self, address: int) -> str | None:
        """Return what the function at an address is called, None if that is not known."""
        found = self.functions.find(address)
        return found[0] if found else None


def tasks(events: Sequence[Event]) -> dict[int, str]:
    """Return the names of the tasks that events tell."""
    found: dict[int, str] = {}
    for event in events:
        for which in ("prev_", "next_", ""):
            if name := event.text(f"{which}comm"):
                found[event.number(f"{which}pid")] = name
    return found


def _priorities(events: Sequence[Event]) -> dict[int, int]:
    """Return the priorities that switches tell, as the kernel counts them: 0 is the most urgent."""
    found: dict[int, int] = {}
    for event in events:
        if event.name == "sched_switch":
            for which in ("prev", "next"):
                found[event.number(f"{which}_pid")] = event.number(f"{which}_prio")
    return found


def parts(
    events: Sequence[Event], sample: Sampled, names: Names, *, preemptible: bool
) -> list[Part]:
    """Return what the time of a sample was spent on, in order and without gaps.

    ``events``: up to one after the time stamp, the marker.  ``preemptible``: the kernel can be
    preempted in system calls, unless it forbids that.
    """
    due, stamp, measured = sample.due, sample.stamp, sample.task
    moments = list(_moments(events, sample))
    told = _Told(
        measured, _wakeup(moments, sample), names, _priorities(events), preemptible,
        woken=_was_away(moments, sample),
    )  # fmt: skip
    found: list[_Piece] = []
    at = due
    for moment in moments:
        if moment.time > at:
            until = min(moment.time, stamp)
            _add(found, at, until, told.of(moment.before))
            at = until
        if moment.time >= stamp:
            break
    return [piece.part() for piece in found]


def interrupted(events: Sequence[Event], sample: Sampled, names: Names) -> Interrupted | None:
    """Return what the interrupt came into that woke the task.

    None if that was a program, or where no stack was recorded or its functions have no names.
    """
    wakeup = _wakeup(list(_moments(events, sample)), sample)
    if wakeup is None or wakeup.interrupt is None:
        return None
    event = next((one for one in events if one.stack and one.time >= wakeup.time), None)
    found = [names.function(address) for address in event.stack] if event else []
    entries = [place for place, name in enumerate(found) if name in LINUX.interrupts]
    inner = [name or "?" for name in found[entries[0] + 1 :]] if entries else []
    return Interrupted(names.task(event.pid), inner) if event and inner else None


def _add(found: list[_Piece], start: int, end: int, spent: _Spent) -> None:
    """Append a piece, or lengthen the one before if that was spent by the same."""
    if start == end:
        return
    if not found or (found[-1].kind, found[-1].who) != (spent.kind, spent.who):
        found.append(_Piece(start, end, spent.kind, spent.who))
    found[-1].end = end
    if spent.call is not None:
        calls = found[-1].calls
        calls[spent.call] = calls.get(spent.call, 0) + end - start


# ---- the state of the CPU ------------------------------------------------------------------------


def _moments(events: Sequence[Event], sample: Sampled) -> Iterator[_Moment]:
    """Yield each event with the state before it."""
    state = _State()
    for event in events:
        state = _seen_by(state, event)
        yield _Moment(event.time, state, event)
        state = _STEPS.get(event.name, _interrupt)(state, event, sample)


def _seen_by(state: _State, event: Event) -> _State:
    """Return the state as the event has seen it: its end may have come without an event."""
    serving = event.flags & HARD_INTERRUPT or event.name.endswith((_ENTRY, _EXIT))
    soft = event.flags & (SOFT_INTERRUPT | HARD_INTERRUPT) or event.name.startswith("softirq")
    return replace(
        state,
        task=event.pid,
        interrupts=state.interrupts if serving else (),
        softirqs=state.softirqs if soft else (),
        timer=state.timer if serving or soft else 0,
    )


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
    return replace(state, ready=True, waking=event.name == "sched_waking")


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
    served = _Interrupt(_called(event), event.time, event.preempt)
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


def _called(event: Event) -> str:
    """Return what the interrupt is called that an event is the entry of."""
    if event.name == "irq_handler_entry":
        return f"{event.text('name')} (interrupt {event.number('irq')})"
    return event.name.removesuffix(_ENTRY).replace("_", " ")


def _wakeup(moments: Sequence[_Moment], sample: Sampled) -> _Wakeup | None:
    """Return the first wake-up of the measured task since the sample was due, None without any."""
    for time, before, event in moments:
        mine = event.name == "sched_waking" and event.number("pid") == sample.task
        if mine and sample.due <= time <= sample.stamp:
            if before.interrupts:
                return _Wakeup(time, before.interrupts[0], None)
            return _Wakeup(time, None, None if before.softirqs else before.task)
    return None


def _was_away(moments: Sequence[_Moment], sample: Sampled) -> bool:
    """Return whether another task than the measured one had the CPU when the sample was due."""
    first = next((moment for moment in moments if moment.time > sample.due), None)
    return first is not None and first.before.task != sample.task


# ---- what a state means --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Told:
    measured: int
    wakeup: _Wakeup | None
    names: Names
    priorities: Mapping[int, int]
    preemptible: bool
    woken: bool  # the measured task did not have the CPU when the sample was due

    def of(self, state: _State) -> _Spent:
        """Return what time is spent on in this state."""
        if state.interrupts:
            return self._interrupted(state)
        if state.softirqs:
            return _Spent("softirq", state.softirqs[-1], self._timer(state))
        if state.task == self.measured:
            returns = state.had and self.woken
            return _Spent("return") if returns else self._by(state, "task")
        if state.waking:
            return _Spent("wakeup")
        return self._by(state, self._ready(state) if state.ready else self._waited_for(state))

    def _waited_for(self, state: _State) -> Kind:
        """Return what it is if another task runs and the measured one waits for something."""
        if self.wakeup is not None and self.wakeup.task is not None:
            return "task"
        if self.wakeup is None:  # of one that was woken nevertheless, when that was is not known
            return "blocking" if self.woken else "task"
        # After it was woken once it waits again: for a lock that another task holds, say.
        return "blocking" if state.had else "irq-delay"

    def _interrupted(self, state: _State) -> _Spent:
        outermost, innermost = state.interrupts[0], state.interrupts[-1]
        if self.wakeup is None or outermost != self.wakeup.interrupt:
            return _Spent("irq", innermost.name, self._timer(state))
        if state.waking:
            return _Spent("wakeup")
        return _Spent("handler", innermost.name, self._timer(state))

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
        leaves = (in_user or free) and self._is_less_urgent(task)
        return "switch" if task == _IDLE or waker or leaves else "blocking"

    def _is_less_urgent(self, task: int | None) -> bool:
        """Return whether a task has to give way to the measured one."""
        mine, other = (self.priorities.get(one or 0) for one in (self.measured, task))
        return mine is None or other is None or mine < other

    def _by(self, state: _State, kind: Kind) -> _Spent:
        name = self.names.task(state.task)
        if state.task is None or state.task not in state.calls:
            return _Spent(kind, name)
        call = state.calls[state.task]
        return _Spent(kind, name, f"in {self.names.call(call) if call is not None else _NO_CALL}")
