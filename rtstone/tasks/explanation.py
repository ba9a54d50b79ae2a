"""What makes the tasks of a run slower than their analysis: simulations, part by part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import factorial
from typing import NamedTuple, get_args

import numpy as np

from rtstone.documents.tasks import Costs, Task, TaskSet
from rtstone.documents.tasks_explanation import Part, PartShare, TaskExplanation
from rtstone.simulate.taskset import Ints, no_ints
from rtstone.tasks.analysis.check import at
from rtstone.tasks.simulation import Load, Steals, System, simulate
from rtstone.units import NS_PER_S

PARTS: tuple[Part, ...] = get_args(Part)
# If all costs are known, the measured response is above those of so many drawings once in 20.
DRAWINGS = 19
_IN_TURN = 4096  # costs of switches that are drawn before they repeat


class Ran(NamedTuple):
    """The jobs of a task that ran: int64 arrays in ns since the set's start.

    ``arrival``: of a woken task, when it was woken.  ``release``: the arrival and the jitter of the
    file.  ``end``: negative if it never did.
    """

    arrival: Ints
    release: Ints
    work: Ints
    end: Ints


@dataclass(frozen=True)
class Distribution:
    """Costs in ns, and how often each was measured."""

    values: Ints
    counts: Ints

    @property
    def mean(self) -> float:
        """The mean cost."""
        return float(np.average(self.values, weights=self.counts))

    def draw(self, rng: np.random.Generator, n: int) -> Ints:
        """Return as many independent costs."""
        return rng.choice(self.values, n, p=self.counts / self.counts.sum()).astype(np.int64)


def constant(ns: int) -> Distribution:
    """Return a cost that is always the same."""
    return Distribution(np.array([ns]), np.array([1]))


NOTHING = constant(0)


@dataclass(frozen=True)
class PartCosts:
    """What each part costs on a system.

    ``tick`` in every ``tick_ns``, from an unknown phase on; ``switch``, ``timer`` (how late a task
    is released), ``resume`` (what a job does again after another had its CPU): each time.
    ``stall``: ``stalls`` times a second, at random.  ``runtime`` in every ``period``: what is left
    to tasks with a priority.
    """

    tick: Distribution = NOTHING
    tick_ns: int = 0
    switch: Distribution = NOTHING
    timer: Distribution = NOTHING
    stall: Distribution = NOTHING
    stalls: float = 0.0
    runtime: int = 0
    period: int = 0
    resume: Distribution = field(default=NOTHING)

    @property
    def present(self) -> list[Part]:
        """The parts that cost anything."""
        costly: dict[Part, bool] = {
            "ticks": self.tick_ns > 0 and self.tick.mean > 0,
            "switches": self.switch.mean > 0,
            "late timers": self.timer.mean > 0,
            "stalls": self.stalls > 0 and self.stall.mean > 0,
            "throttling": self.period > 0,
            "cache": self.resume.mean > 0,
        }
        return [part for part in PARTS if costly[part]]


class Drawing(NamedTuple):
    """What a run would have met of all parts: ``late``, by which each job's release is late."""

    system: System
    ticks: Mapping[int, Steals]
    stalls: Mapping[int, Steals]
    late: Sequence[Ints]


def explain(
    tasks: TaskSet, jobs: Mapping[str, Ran], costs: PartCosts, *, end: int, seed: int = 1,
    drawings: int = DRAWINGS,
) -> list[TaskExplanation]:  # fmt: skip
    """Return for each task what its worst response consists of.

    ``end``: until when, in ns, jobs were waited for.  The parts are switched on in all
    combinations; a drawing has the same costs in each of them.  Raises UsageError for what cannot
    be simulated.
    """
    ran = [jobs[task.name] for task in tasks.tasks]
    present = costs.present
    worst: dict[int, list[list[int | None]]] = {mask: [] for mask in range(1 << len(present))}
    for number in range(drawings if present else 1):
        drawing = _drawing(tasks, ran, costs, end, np.random.default_rng([seed, number]))
        for mask, answers in worst.items():
            if mask or not number:  # without any part all drawings are the same
                parts = {part for bit, part in enumerate(present) if mask >> bit & 1}
                answers.append(_worst(tasks, ran, drawing, parts, end))
    bounds = at(tasks, Costs(), Fraction(1))[0]
    return [
        _explained(
            task, ran[index], bounds[index].response_ns, present,
            {mask: [answers[index] for answers in of_mask] for mask, of_mask in worst.items()},
        )
        for index, task in enumerate(tasks.tasks)
    ]  # fmt: skip


# ---- simulations --------------------------------------------------------------------------------


def _drawing(
    tasks: TaskSet, ran: Sequence[Ran], costs: PartCosts, end: int, rng: np.random.Generator
) -> Drawing:
    cpus = sorted({cpu for task in tasks.tasks for cpu in task.cpus})
    ticks, stalls = {}, {}
    for cpu in cpus:
        if costs.tick_ns:
            times = np.arange(int(rng.integers(costs.tick_ns)), end, costs.tick_ns)
            ticks[cpu] = Steals(times, costs.tick.draw(rng, len(times)))
        if costs.stalls:
            number = int(rng.poisson(costs.stalls * end / NS_PER_S))
            times = np.sort(rng.integers(0, end, number))
            stalls[cpu] = Steals(times, costs.stall.draw(rng, number))
    system = System(
        switch=costs.switch.draw(rng, _IN_TURN),
        resume=costs.resume.draw(rng, _IN_TURN),
        runtime=costs.runtime,
        period=costs.period,
    )
    late = [costs.timer.draw(rng, len(own.arrival)) for own in ran]
    return Drawing(system, ticks, stalls, late)


def _worst(
    tasks: TaskSet, ran: Sequence[Ran], drawing: Drawing, parts: set[Part], end: int
) -> list[int | None]:
    """Return the worst response of each task with some parts; None: a job does not end."""
    loads = []
    for task, own, late in zip(tasks.tasks, ran, drawing.late, strict=True):
        release = own.release + late if "late timers" in parts else own.release
        woken = task.arrival == "woken"
        # A thread that is released late goes on at once: it is not released before the job before.
        loads.append(Load(release if woken else np.maximum.accumulate(release), own.work))
    system = replace(
        drawing.system,
        switch=drawing.system.switch if "switches" in parts else no_ints(),
        resume=drawing.system.resume if "cache" in parts else no_ints(),
        steals=_together(
            drawing.ticks if "ticks" in parts else {}, drawing.stalls if "stalls" in parts else {}
        ),
        period=drawing.system.period if "throttling" in parts else 0,
    )
    answers: list[int | None] = []
    for task, own, times in zip(
        tasks.tasks, ran, simulate(tasks, loads, system, end=end), strict=True
    ):
        since = times.released if task.arrival == "woken" else own.arrival
        ended = bool((times.ended >= 0).all())
        answers.append(int((times.ended - since).max(initial=0)) if ended else None)
    return answers


def _together(first: Mapping[int, Steals], second: Mapping[int, Steals]) -> dict[int, Steals]:
    """Return stolen times of two kinds in order."""
    steals = {}
    for cpu in {*first, *second}:
        both = [kind[cpu] for kind in (first, second) if cpu in kind]
        times = np.concatenate([steal.at for steal in both])
        lengths = np.concatenate([steal.length for steal in both])
        order = np.argsort(times, kind="stable")
        steals[cpu] = Steals(times[order], lengths[order])
    return steals


# ---- parts --------------------------------------------------------------------------------------


def _explained(
    task: Task, own: Ran, bound: int | None, present: list[Part],
    worst: Mapping[int, list[int | None]],
) -> TaskExplanation:  # fmt: skip
    jobs = len(own.end)
    lost = int((own.end < 0).sum())
    if not jobs or lost:
        reason = f"{lost} of its {jobs} jobs never ended" if jobs else "none of its jobs arrived"
        return TaskExplanation(task=task.name, jobs=jobs, bound_ns=bound, reason=reason)
    measured = int((own.end - own.arrival).max())
    sums: dict[int, Fraction] = {}
    for mask, answers in worst.items():
        ended = [answer for answer in answers if answer is not None]
        if len(ended) < len(answers):
            return TaskExplanation(
                task=task.name, jobs=jobs, bound_ns=bound, measured_ns=measured,
                reason="in the simulation not all of its jobs end",
            )  # fmt: skip
        sums[mask] = Fraction(sum(ended), len(ended))
    full = [answer for answer in worst[max(worst)] if answer is not None]
    free = round(sums[0])
    shares = [
        PartShare(
            part=part, ns=round(_shapley(bit, len(present), sums)),
            alone_ns=round(sums[1 << bit] - sums[0]),
        )
        for bit, part in enumerate(present)
    ]  # fmt: skip
    return TaskExplanation(
        task=task.name, jobs=jobs, bound_ns=bound, measured_ns=measured, free_ns=free,
        shares=shares, least_ns=min(full), most_ns=max(full),
        unexplained_ns=measured - free - sum(share.ns for share in shares),
        sure=not min(full) <= measured <= max(full),
    )  # fmt: skip


def _shapley(bit: int, n: int, sums: Mapping[int, Fraction]) -> Fraction:
    """Return the mean of what a part adds, over all orders in which ``n`` are switched on.

    ``sums``: of each combination, a bit for each part (Shapley 1953).
    """
    value = Fraction(0)
    for mask, total in sums.items():
        if not mask >> bit & 1:
            earlier = mask.bit_count()
            orders = factorial(earlier) * factorial(n - earlier - 1)
            value += Fraction(orders, factorial(n)) * (sums[mask | 1 << bit] - total)
    return value
