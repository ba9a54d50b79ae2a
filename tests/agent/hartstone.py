"""The task sets of Hartstone, and two ways to compute their outcome without running them."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

S = 1_000_000_000  # ns


class Periodic(NamedTuple):
    """``rate`` in tenths of a hertz; ``work`` in ns per activation."""

    rate: int
    work: int

    def due(self, j: int) -> int:
        """Return when activation j is released, in ns after the start, rounded as in the bench."""
        return j * 10 * S // self.rate


BASE = {
    "PH": [(2, 32), (4, 16), (8, 8), (16, 4), (32, 2)],
    "PN": [(2, 32), (5, 13), (9, 7), (17, 4), (31, 2)],
    "golatowski": [(1, 512), (2, 256), (4, 128), (8, 64), (16, 32)],
}


def periodic_set(base: str, experiment: int, test: int, m: int, kwi: int) -> list[Periodic]:
    """Return the task set of a test, numbered from 1; `kwi`: ns per KWI."""
    step = test - 1
    rates = [10 * hz for hz, _ in BASE[base]]
    loads = [load * m for _, load in BASE[base]]
    if experiment == 1:
        rates[4] += step * rates[3]
        if base == "PN" and step and any(rates[4] % rate == 0 for rate in rates[:4]):
            rates[4] += 10
    if experiment == 2:
        rates = [rate * (10 + step) // 10 for rate in rates]
    if experiment == 3:
        loads = [load + step * m for load in loads]
    tasks = [Periodic(rate, load * kwi) for rate, load in zip(rates, loads, strict=True)]
    return tasks + [tasks[2]] * (step if experiment == 4 else 0)


def utilisation(tasks: list[Periodic]) -> Fraction:
    """Return the share of the CPU that a set needs."""
    return sum((Fraction(t.work * t.rate, 10 * S) for t in tasks), Fraction(0))


def meets_all(tasks: list[Periodic]) -> bool:
    """Analyse response times exactly under rate-monotonic priorities (Joseph and Pandya 1986)."""
    for i, task in enumerate(tasks):
        rivals = [
            t for k, t in enumerate(tasks) if t.rate > task.rate or (t.rate == task.rate and k != i)
        ]
        response, last = task.work, 0  # in whole ns, so that all of it is exact
        while last != response and response * task.rate <= 10 * S:
            last = response
            # -(-a // b): a / b, rounded up
            response = task.work + sum(-(-last * t.rate // (10 * S)) * t.work for t in rivals)
        if response * task.rate > 10 * S:
            return False
    return True


class Told(NamedTuple):
    """What a test reports about a task; times in ns."""

    met: int
    missed: int
    skipped: int
    late: int
    longest: int


class _Job:
    def __init__(self, task: Periodic) -> None:
        self.task, self.j, self.left, self.due = task, 0, task.work, task.due(0)
        self.met = self.missed = self.skipped = self.late = self.longest = 0

    def complete(self, now: int, end: int) -> None:
        deadline = self.task.due(self.j + 1)
        self.longest = max(self.longest, now - self.due)
        if deadline <= end:
            late = max(now - deadline, 0)
            self.met, self.missed = self.met + (not late), self.missed + (late > 0)
            self.late += late
        self.j, self.left = self.j + 1, self.task.work
        while self.task.due(self.j) < now:
            self.skipped += self.task.due(self.j + 1) <= end
            self.j += 1
        self.due = self.task.due(self.j)


def play(tasks: list[Periodic], duration: int, switch: int = 0) -> list[Told]:
    """Play a test under rate-monotonic priorities; all rates must differ.

    ``switch``: cost in ns of switching to a task, from another one or from idling;
    a release during a switch waits for its end.
    """
    jobs = sorted(map(_Job, tasks), key=lambda job: -job.task.rate)
    now, last = 0, None
    while True:
        active = [job for job in jobs if job.due < duration]
        if not active:
            break
        ready = [job for job in active if job.due <= now]
        if not ready:
            now, last = min(job.due for job in active), None
            continue
        if ready[0] is not last:
            now, last = now + switch, ready[0]
            continue
        job = ready[0]
        ahead = [other.due for other in active[: active.index(job)]]
        stop = min([now + job.left, *(due for due in ahead if due > now)])
        job.left -= stop - now
        now = stop
        if not job.left:
            job.complete(now, duration)
            last = job if job.due <= now else last
    by_task = {id(job.task): job for job in jobs}
    return [
        Told(job.met, job.missed, job.skipped, job.late, job.longest)
        for job in (by_task[id(task)] for task in tasks)
    ]
