"""A second implementation of Hartstone tests: tasks as programs, by docs/guides/simulate.md."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any

from rtstone.simulate.hartengine import HartRules
from rtstone.simulate.hartsets import HartSet, Kind, arrivals

S = 10**9
Program = Generator[tuple[Any, ...], int, None]


@dataclass(eq=False)
class Task:
    """A task; a smaller ``urgency`` is more urgent; times are in ns."""

    index: int
    program: Program
    key: float = 0
    lent: float | None = None
    left: int = 0
    answer: int | None = None
    met: int = 0
    missed: int = 0
    skipped: int = 0
    late: int = 0
    longest: int = 0

    @property
    def urgency(self) -> float:
        return self.key if self.lent is None else min(self.key, self.lent)

    def counts(self) -> tuple[int, ...]:
        return self.met, self.missed, self.skipped, self.late, self.longest


class Oracle:
    """Simulate one test of a set whose KWI takes ``kwi`` ns."""

    def __init__(self, tasks: HartSet, kwi: int, duration: int, rules: HartRules) -> None:
        self.what, self.kwi, self.end, self.rules = tasks, kwi, duration, rules
        self.now = self.busy = 0
        self.next_tick = rules.tick_ns
        self.asleep: list[tuple[int, Task]] = []  # in the order in which they went to sleep
        self.ready: list[Task] = []
        self.waiting: list[Task] = []
        self.owner: Task | None = None
        self.current: Task | None = None
        self.last: object = None
        self.serves = False

    # ---- the programs ----------------------------------------------------------------------

    def activations(self, index: int) -> list[tuple[int, float]]:
        task = self.what.tasks[index]
        if task.kind is Kind.PERIODIC:
            segments: list[tuple[int, float]] = []
            j = 0
            while j * 10 * S // task.rate < self.end:
                segments.append((j * 10 * S // task.rate, (j + 1) * 10 * S // task.rate))
                j += 1
            return segments
        times = arrivals(task, index, self.end).tolist()
        if task.kind is Kind.BACKGROUND:
            return [(at, float("inf")) for at in times]
        return [(at, at + 10 * S // task.rate) for at in times]

    def key(self, index: int, release: int) -> float:
        task = self.what.tasks[index]
        if task.kind is Kind.BACKGROUND:
            return float("inf")
        return release + 10 * S // task.rate if self.rules.policy == "edf" else -task.rate

    def program(self, index: int) -> Program:
        task, me = self.what.tasks[index], self.tasks[index]
        todo = self.activations(index)
        while todo:
            release, due = todo.pop(0)
            yield ("sleep", release, self.key(index, release))
            if task.load:
                yield ("work", task.load * self.kwi)
            if task.calls:
                yield ("read",)
                yield ("lock",)
                yield ("work", self.what.service * self.kwi)
                yield ("unlock",)
            now = yield ("read",)
            me.longest = max(me.longest, now - release)
            if due <= self.end:
                me.met += now <= due
                me.missed += now > due
                me.late += int(max(0, now - due))
            while task.kind is not Kind.BACKGROUND and todo and todo[0][0] < now:
                me.skipped += todo.pop(0)[1] <= self.end
        yield ("leave", float("-inf") if self.rules.policy == "rm" else 1e30)

    # ---- the system ------------------------------------------------------------------------

    def run(self, order: list[int]) -> list[tuple[int, ...]]:
        """Run the test and return the counts of every task; tasks start in this order."""
        self.tasks = [Task(i, iter(())) for i in range(len(self.what.tasks))]  # type: ignore[arg-type]
        for i in order:
            self.tasks[i].program = self.program(i)
            self.current = self.tasks[i]
            self.go_on(self.tasks[i], begins=True)
        while self.asleep or self.ready or self.waiting or self.current:
            self.turn()
        return [task.counts() for task in self.tasks]

    def turn(self) -> None:
        self.serve()
        if self.busy > self.now:
            self.advance(self.busy)
            return
        task = self.choose()
        runs = "server" if task and self.serves and task is self.owner else task
        if runs is not self.last:
            self.last = runs
            if task and self.rules.switch_ns:
                self.busy = self.now + self.rules.switch_ns
                return
        if task is None:
            self.advance(None)
        elif not task.left:
            self.go_on(task)
        else:
            begin = self.now
            self.advance(self.now + task.left)
            task.left -= self.now - begin
            if not task.left:
                self.go_on(task)

    def serve(self) -> None:
        due = [entry for entry in self.asleep if entry[0] <= self.now]
        self.asleep = [entry for entry in self.asleep if entry[0] > self.now]
        self.ready += [task for _, task in sorted(due, key=lambda entry: entry[0])]
        if self.rules.tick_ns and self.next_tick == self.now:
            self.next_tick += self.rules.tick_ns
            self.busy = max(self.busy, self.now) + self.rules.tick_cost_ns

    def advance(self, until: int | None) -> None:
        times = [at for at, _ in self.asleep]
        times += [self.next_tick] if self.rules.tick_ns else []
        self.now = min([*times, *([] if until is None else [until])])

    def choose(self) -> Task | None:
        best = min(self.ready, key=lambda task: task.urgency, default=None)
        if self.current and best and best.urgency < self.current.urgency:
            self.ready.insert(0, self.current)
            self.current = None
        if self.current is None and best:
            self.ready.remove(best)
            self.current = best
        return self.current

    def go_on(self, task: Task, *, begins: bool = False) -> None:
        """Execute the next step of the running program."""
        try:
            tasks, *values = next(task.program) if begins else task.program.send(task.answer or 0)
        except StopIteration:
            self.current = None
            return
        task.answer = self.now
        if tasks == "leave":
            task.key = values[0]
        elif tasks == "work":
            task.left = values[0]
        elif tasks == "sleep":
            task.key = values[1]
            if values[0] > self.now or begins:
                self.asleep.append((values[0], task))
                self.current = None
        elif tasks == "lock":
            self.lock(task)
        elif tasks == "unlock":
            self.unlock(task)

    def lock(self, task: Task) -> None:
        if self.rules.form == "server":
            self.owner, self.serves, task.lent = task, True, float("-inf")
        elif self.owner is None:
            self.owner = task
        else:
            self.current = None
            self.waiting.append(task)
            if task.urgency < self.owner.urgency:
                self.owner.lent = task.urgency
                self.ready.remove(self.owner)
                self.ready.append(self.owner)

    def unlock(self, task: Task) -> None:
        task.lent, self.owner, self.serves = None, None, False
        if self.waiting:
            self.owner = min(self.waiting, key=lambda other: other.urgency)
            self.waiting.remove(self.owner)
            self.ready.append(self.owner)
