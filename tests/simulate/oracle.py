"""A second, slow scheduler, tick by tick, from docs/guides/simulate.md alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from rtstone.simulate.taskset import Rules, Section, TaskSet


@dataclass(eq=False)
class Job:
    number: int
    released: int
    due: int
    work: int
    done: int = 0
    began: bool = False


@dataclass(eq=False)
class Task:
    index: int
    period: int
    deadline: int
    offset: int
    nominal: int
    value: int
    work: list[int]
    sections: tuple[Section, ...]
    jobs: deque[Job] = field(default_factory=deque)
    turn: int = 0
    released: int = 0
    missed: int = 0
    met: int = 0
    preemptions: int = 0
    lateness: list[int] = field(default_factory=list)
    late: int = 0
    completed: dict[int, int] = field(default_factory=dict)
    holds: dict[int, int] = field(default_factory=dict)  # resource: progress at its end

    def wants(self) -> Section | None:
        """Return the section that has been reached and not yet entered."""
        if not self.jobs:
            return None
        done = self.jobs[0].done
        entering = [s for s in self.sections if s.at == done and s.resource not in self.holds]
        return max(entering, key=lambda s: s.length, default=None)


URGENCY: dict[str, Callable[[Task], Any]] = {
    "fifo": lambda t: (t.jobs[0].released,),
    "rr": lambda t: (t.turn,),
    "edf": lambda t: (t.jobs[0].due,),
    "llf": lambda t: (t.jobs[0].due - (t.nominal - t.jobs[0].done),),
    "rm": lambda t: (t.period, 1, t.index),
    "dm": lambda t: (t.deadline, 1, t.index),
    "value": lambda t: (-t.value / t.nominal, 1, t.index),
}


class Oracle:
    """Simulate a set; times are in ticks."""

    def __init__(self, tasks: TaskSet, rules: Rules) -> None:
        self.rules, self.end = rules, tasks.end
        self.tasks = [self._task(tasks, i) for i in range(len(tasks.period))]
        self.arrivals = list(zip(tasks.arrival.tolist(), tasks.request_work.tolist(), strict=True))
        self.queue: deque[list[int]] = deque()  # [number, left]
        self.served: dict[int, int] = {}
        self.budget = rules.server_budget if rules.server == "sporadic" else 0
        self.active: int | None = None  # when the server became ready
        self.used = 0
        self.refills: list[tuple[int, int]] = []
        self.server_turn = self.server_due = 0
        self.current: Task | str | None = None
        self.kernel = self.slice = self.turns = 0
        self.event = True  # laxities are evaluated
        self.switches = self.clock_ticks = self.idle = self.overhead = 0

    @staticmethod
    def _task(tasks: TaskSet, i: int) -> Task:
        first = tasks.first
        nominal = int(tasks.nominal[i])
        number = int(first[i + 1] - first[i])
        work = [nominal] * number
        if tasks.work is not None:
            work = tasks.work[first[i] : first[i + 1]].tolist()
        return Task(
            i, int(tasks.period[i]), int(tasks.deadline[i]),
            0 if tasks.offset is None else int(tasks.offset[i]), nominal,
            1 if tasks.value is None else int(tasks.value[i]), work,
            tasks.sections[i] if tasks.sections else (),
        )  # fmt: skip

    # ---- urgency: smaller first ------------------------------------------------------------

    def key(self, who: Task | str) -> Any:
        policy = self.rules.policy
        if isinstance(who, Task):
            return URGENCY[policy](who)
        if self.rules.server == "background":
            return (float("inf"),)
        return {
            "fifo": (self.active,),
            "rr": (self.server_turn,),
            "edf": (self.server_due,),
            "llf": (self.server_due - self.budget,),
            "value": (float("-inf"),),
        }.get(policy, (self.rules.server_period, 0, 0))

    def level(self, who: Task | str) -> Any:
        """Return the preemption level: a larger one may preempt."""
        if self.rules.policy in ("fifo", "rr"):
            return 0
        if self.rules.policy in ("edf", "llf"):
            return -self.rules.server_period if isinstance(who, str) else -who.deadline
        return tuple(-x for x in self.key(who))

    # ---- resources -------------------------------------------------------------------------

    def owner(self, resource: int) -> Task | None:
        return next((t for t in self.tasks if resource in t.holds), None)

    def blocker(self, who: Task | str) -> Task | None:
        section = None if isinstance(who, str) else who.wants()
        return None if section is None else self.owner(section.resource)

    def may_start(self, who: Task | str) -> bool:
        if self.rules.protocol != "ceiling":
            return True
        if isinstance(who, str):
            if self.rules.server == "background":
                return True
        elif who.jobs[0].began:
            return True
        ceilings = [self.level(t) for t in self.tasks for s in t.sections if self.owner(s.resource)]
        return all(self.level(who) > ceiling for ceiling in ceilings)

    def executes_for(self, who: Task | str) -> Task | str | None:
        seen: list[Task | str] = []
        while (by := self.blocker(who)) is not None:
            if self.rules.protocol != "inherit" or who in seen:
                return None
            seen.append(who)
            who = by
        return who

    # ---- time ------------------------------------------------------------------------------

    def pending(self) -> list[Task | str]:
        busy: list[Task | str] = [t for t in self.tasks if t.jobs]
        return busy + (["server"] if self.active is not None else [])

    def choose(self) -> Task | str | None:
        options = []
        for who in self.pending():
            by = self.executes_for(who) if self.may_start(who) else None
            if by is not None:
                index = len(self.tasks) if isinstance(who, str) else who.index
                options.append((self.key(who), by is not self.current, index, by))
        return min(options, key=lambda o: o[:3])[3] if options else None

    def decide(self) -> None:
        while True:
            who = self.choose()
            old = self.current
            if who is not old:
                begun = isinstance(old, Task) and bool(old.jobs) and old.jobs[0].done > 0
                if isinstance(old, Task) and begun and not self.blocker(old):
                    old.preemptions += 1
                self.current, self.slice = who, self.rules.quantum
                if who is not None:
                    self.switches += 1
                    if self.rules.switch_cost:
                        self.kernel = self.rules.switch_cost
                        return
            if not isinstance(who, Task):
                return
            who.jobs[0].began = True
            while (section := who.wants()) and not self.owner(section.resource):
                who.holds[section.resource] = section.at + section.length
            if not who.wants():
                return

    def head_changed(self, task: Task) -> None:
        if task.jobs:
            task.turn = self.turns
            self.turns += 1
            if task is self.current:
                self.slice = self.rules.quantum

    def execute(self) -> None:
        """Execute one tick of the job that has the CPU, and what happens at its end."""
        who = self.current
        self.slice -= 1
        if isinstance(who, str):
            self.budget -= 1
            self.used += 1
            self.queue[0][1] -= 1
        elif who is not None:
            who.jobs[0].done += 1

    def settle(self, now: int) -> None:
        who = self.current
        if isinstance(who, Task):
            job = who.jobs[0]
            ends = [job.work, *(s.at for s in who.sections), *who.holds.values()]
            self.event |= job.done in ends
        elif who is not None:
            exhausted = self.rules.server != "background" and self.budget == 0
            self.event |= exhausted or self.queue[0][1] == 0
        self.event |= self.slice == 0
        if isinstance(who, Task):
            job = who.jobs[0]
            if job.done == job.work:
                who.jobs.popleft()
                who.holds.clear()
                who.completed[job.number] = now
                if job.due <= self.end:
                    self.account(who, now - job.due, now <= job.due)
                self.head_changed(who)
                return
            who.holds = {r: end for r, end in who.holds.items() if end != job.done}
        elif who is not None and self.queue[0][1] == 0:
            self.served[self.queue.popleft()[0]] = now
            self.slice = self.rules.quantum
            return
        if self.slice == 0 and self.rules.policy in ("rr", "llf"):
            self.slice = self.rules.quantum
            if isinstance(who, Task):
                who.turn = self.turns
                self.turns += 1
            elif self.rules.policy == "rr" and self.rules.server != "background":
                self.server_turn = self.turns
                self.turns += 1

    def account(self, task: Task, lateness: int, met: bool) -> None:
        task.met += met
        task.missed += not met
        task.late += 0 if met else lateness
        task.lateness.append(lateness)

    def happen(self, now: int) -> None:
        for t in self.tasks:
            number, rest = divmod(now - t.offset, t.period)
            if rest or number < 0:
                continue
            t.released += 1
            self.event = True
            t.jobs.append(Job(number, now, now + t.deadline, t.work[number]))
            if len(t.jobs) == 1:
                self.head_changed(t)
        for number, (at, work) in enumerate(self.arrivals):
            if at == now:
                self.event = True
                self.queue.append([number, work])
        self.serve(now)
        if self.rules.tick and now and now % self.rules.tick == 0:
            self.clock_ticks += 1
            self.event = True
            self.kernel += self.rules.tick_cost

    def serve(self, now: int) -> None:
        rules = self.rules
        if rules.server in ("polling", "deferrable") and now % rules.server_period == 0:
            self.event |= bool(self.arrivals)
            full = bool(self.queue) or rules.server == "deferrable"
            self.budget = rules.server_budget if full else 0
        if rules.server in ("polling", "deferrable"):
            self.server_due = (now // rules.server_period + 1) * rules.server_period
        due = [amount for at, amount in self.refills if at <= now]
        self.budget += sum(due)
        self.event |= bool(due)
        self.refills = [r for r in self.refills if r[0] > now]
        if rules.server == "polling" and not self.queue:
            self.budget = 0
        ready = bool(self.queue) and (rules.server == "background" or self.budget > 0)
        if ready and self.active is None:
            self.active, self.used = now, 0
            if rules.server == "sporadic":
                self.server_due = now + rules.server_period
            if rules.policy == "rr" and rules.server != "background":
                self.server_turn = self.turns
                self.turns += 1
        elif not ready and self.active is not None:
            if rules.server == "sporadic" and self.used:
                self.refills.append((self.active + rules.server_period, self.used))
                self.active = None
                self.serve(now)  # it may be due already
                return
            self.active = None

    def run(self) -> Oracle:
        for now in range(self.end):
            self.happen(now)
            if not self.kernel and (self.event or self.rules.policy != "llf"):
                self.decide()
            self.event = False
            if self.kernel:
                self.kernel -= 1
                self.overhead += 1
                self.event = True
            elif self.current is None:
                self.idle += 1
            else:
                self.execute()
                self.settle(now + 1)
        for t in self.tasks:
            for job in t.jobs:
                if job.due <= self.end:
                    self.account(t, self.end - job.due, met=False)
        return self
