"""Events as a kernel would record them of a schedule that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from rtstone.explain.ring import HARD_INTERRUPT, Event
from rtstone.tasks.threads import Thread
from rtstone.tasks.trace import Gap, Trace

SLEEPS, RUNS, BLOCKED = 1, 0, 2  # a task's state as it leaves its CPU
MS, US = 10**6, 10**3
CALLS = {202: "futex", 230: "clock_nanosleep", 24: "sched_yield", 242: "mq_timedsend"}
FUTEX, SLEEP, YIELD, SEND = CALLS


class Tape:
    """Events in the order in which they are added."""

    def __init__(self) -> None:
        self.events: list[tuple[int, Event]] = []
        self.on: dict[int, int] = {}  # who has a CPU

    def add(self, time: int, cpu: int, name: str, flags: int = 0, **values: int | str) -> None:
        """Add an event of the task that has the CPU."""
        self.events.append((cpu, Event(time, name, self.on.get(cpu, 0), flags, 0, values)))

    def wake(self, time: int, tid: int, cpu: int = 0, *, interrupt: bool = True) -> None:
        self.add(time, cpu, "sched_waking", HARD_INTERRUPT if interrupt else 0, pid=tid)

    def switch(
        self, time: int, to: int, cpu: int = 0, *, state: int = SLEEPS, prio: int = 50,
        name: str = "", record: bool = True,
    ) -> None:  # fmt: skip
        """Change from whoever has the CPU; ``record``: the kernel records it."""
        before = self.on.get(cpu, 0)
        if record:
            self.add(
                time, cpu, "sched_switch", prev_pid=before, prev_state=state if before else 0,
                next_pid=to, next_comm=name or f"t{to}", next_prio=prio,
            )  # fmt: skip
        self.on[cpu] = to

    def call(self, time: int, number: int, cpu: int = 0, operation: int = 0) -> None:
        self.add(time, cpu, "sys_enter", id=number, operation=operation)

    def back(self, time: int, number: int, cpu: int = 0) -> None:
        self.add(time, cpu, "sys_exit", id=number)

    def job(self, at: int, tid: int, work: int, state: int = SLEEPS) -> None:
        """Add a job of a task that is alone on CPU 0, and begins 10 us after its release."""
        self.wake(at, tid)
        self.switch(at + 10 * US, tid)
        self.switch(at + 10 * US + work, 0, state=state)

    def trace(
        self, *, gaps: Sequence[Gap] = (), own: Sequence[int] = (), process: int | None = None,
        threads: Sequence[Thread] = (), after: Sequence[Thread] | None = None, end: int = 0,
    ) -> Trace:  # fmt: skip
        events = sorted(self.events, key=lambda pair: pair[1].time)
        return Trace(
            events, 0, end or events[-1][1].time + 1, gaps, CALLS, own,
            {each.tid: each for each in threads}, {},
            {each.tid: each for each in (threads if after is None else after)}, process,
        )  # fmt: skip


def thread(tid: int, process: int = 1, name: str = "", **members: object) -> Thread:
    return Thread(**({
        "tid": tid, "process": process, "name": name or f"t{tid}", "kernel": False,
        "policy": "fifo", "priority": 49, "cpus": (0,),
    } | members))  # type: ignore[arg-type]  # fmt: skip


@dataclass
class Simulated:
    """A task of a schedule; ``prio``: of the kernel, smaller is more urgent.

    ``releases``: when a timer releases its jobs, none of a task that ``waker`` wakes at the end of
    each of its jobs; ``works``: the execution times of the jobs, in turn.
    """

    tid: int
    prio: int
    works: Sequence[int]
    releases: Sequence[int] = ()
    waker: int | None = None
    ready: list[tuple[int, int]] = field(default_factory=list)  # release, work left
    n: int = 0
    cpu: int | None = None


def schedule(tasks: Sequence[Simulated], cpus: int = 1) -> Tape:
    """Return the events of tasks with fixed priorities which may run on any of so many CPUs."""
    tape = Tape()
    by_tid = {task.tid: task for task in tasks}
    timers = sorted((time, task.tid) for task in tasks for time in task.releases)
    now = 0

    def release(task: Simulated) -> bool:
        """Add a job; return whether the task had none, and so is woken."""
        task.ready.append((now, task.works[task.n % len(task.works)]))
        task.n += 1
        return len(task.ready) == 1

    while timers or any(task.ready for task in tasks):
        running = [task for task in tasks if task.cpu is not None]
        soonest = min((task.ready[0][1] for task in running), default=None)
        due = timers[0][0] - now if timers else None
        step = min(time for time in (soonest, due) if time is not None)
        now += step
        for task in running:
            task.ready[0] = (task.ready[0][0], task.ready[0][1] - step)
        done = [task for task in running if task.ready[0][1] == 0]
        for task in done:
            for other in tasks:
                if other.waker == task.tid and release(other):
                    tape.wake(now, other.tid, task.cpu or 0, interrupt=False)
        while timers and timers[0][0] == now:
            task = by_tid[timers.pop(0)[1]]
            if release(task):
                tape.wake(now, task.tid)
        leaving = set()
        for task in done:
            task.ready.pop(0)
            if not task.ready:
                leaving.add(task.tid)
        urgent = sorted((task for task in tasks if task.ready), key=lambda task: task.prio)[:cpus]
        chosen = {task.tid for task in urgent}
        free = []
        for cpu in range(cpus):
            holder = by_tid.get(tape.on.get(cpu, 0))
            if holder is None or holder.tid not in chosen:
                free.append(cpu)
                if holder:
                    holder.cpu = None
        new = [task for task in urgent if task.cpu is None]
        for cpu in free:
            state = SLEEPS if tape.on.get(cpu, 0) in leaving else RUNS
            if new:
                task = new.pop(0)
                task.cpu = cpu
                tape.switch(now, task.tid, cpu, state=state, prio=task.prio)
            elif tape.on.get(cpu, 0):
                tape.switch(now, 0, cpu, state=state)
    return tape
