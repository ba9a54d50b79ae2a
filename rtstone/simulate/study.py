"""Simulate thousands of task sets under several policies, and compute the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from rtstone.documents.simulation import Breakdown, Point
from rtstone.simulate.engine import Simulator
from rtstone.simulate.taskset import Ints, Rules, TaskSets, no_ints, stacked
from rtstone.simulate.workers import shared_out
from rtstone.simulate.workload import Shape, Workload, draw, fill, scaled

CHUNK = 50  # sets that a worker simulates at a time, in one call of the engine per rule
HEAVIEST = 1.5  # highest utilisation at which a breakdown is searched
STEPS = 1 << 11  # resolution of that search: 1/STEPS

# Numbers kept of each set under each policy: whole, so that sums do not depend on their order.
KEPT = ("due", "missed", "lateness", "worst", "released", "preemptions", "value_due", "value_met",
        "served", "requests", "response", "worst_response", "switches", "events")  # fmt: skip
_BY_TASK = ("due", "missed", "lateness", "released", "preemptions")
_OF_ALL = ("served", "response", "worst_response", "switches", "events")
NO_DUE = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Study:
    """The request: every number of tasks at every utilisation (in 1e-6), under every rule."""

    workload: Workload
    rules: tuple[Rules, ...]
    tasks: tuple[int, ...]
    ppm: tuple[int, ...]
    sets: int


class Chunk(NamedTuple):
    """Sets with ``n`` tasks at ``ppm`` utilisation; None: for their breakdown utilisation."""

    study: Study
    n: int
    ppm: int | None
    first: int
    last: int


def measure(study: Study, n: int, ppm: int, numbers: Iterable[int]) -> Ints:
    """Simulate sets under every rule; return an array of set, rule and the numbers of KEPT."""
    keys = [(n, ppm, number) for number in numbers]
    shapes = (draw(study.workload, *key) for key in keys)
    tasks = stacked(
        [
            fill(study.workload, shape, ppm / 1e6, key)
            for shape, key in zip(shapes, keys, strict=True)
        ]
    )
    simulator = Simulator(tasks)
    rows = np.empty((len(keys), len(study.rules), len(KEPT)), np.int64)
    for i, rules in enumerate(study.rules):
        counts, totals, *_ = simulator.run(rules)
        columns = {name: counts[name].sum(axis=1) for name in _BY_TASK}
        columns |= {name: totals[name] for name in _OF_ALL}
        columns |= {
            "worst": counts["worst"].max(axis=1),
            "value_due": (counts["due"] * tasks.value).sum(axis=1),
            "value_met": (counts["met"] * tasks.value).sum(axis=1),
            "requests": tasks.requests,
        }
        rows[:, i] = np.stack([columns[name] for name in KEPT], axis=1)
    return rows


def breakdown(study: Study, n: int, numbers: Iterable[int]) -> Ints:
    """Return the breakdown utilisations of sets in 1/STEPS: an array of set, rule, and one number.

    Execution times are exact, and scaled by one factor (Lehoczky, Sha, Ding).  Found by bisection,
    which assumes that a set with misses also misses at any higher utilisation.
    """
    keys = [(n, 0, number) for number in numbers]
    exact = replace(study.workload, exact=True)
    shapes = [draw(exact, *key) for key in keys]
    whole = stacked([fill(exact, shape, 1.0, key) for shape, key in zip(shapes, keys, strict=True)])
    heaviest = [_heaviest(whole, shapes, rules) for rules in study.rules]
    return np.stack(heaviest, axis=1)[:, :, None]


def _heaviest(whole: TaskSets, shapes: list[Shape], rules: Rules) -> Ints:
    """Return the highest utilisations, in 1/STEPS, without a miss; ``whole``: the sets at 1."""
    rules = replace(rules, first_miss=True)
    settled = _settled(whole, rules)
    if settled.any():
        none = np.zeros_like(whole.requests)
        whole = replace(whole, requests=none, arrival=no_ints(), request_work=no_ints())
    simulator = Simulator(whole)
    low, high = np.zeros(len(shapes), np.int64), np.full(len(shapes), int(HEAVIEST * STEPS) + 1)
    while len(which := np.flatnonzero(high - low > 1)):
        middle = (low + high) // 2
        simulator.renew(scaled(whole, shapes, middle / STEPS))
        counts = simulator.run(rules, which=which, settled=settled).counts
        missed = counts["missed"].any(axis=1)
        high[which[missed]] = middle[which[missed]]
        low[which[~missed]] = middle[which[~missed]]
    return low


def _settled(tasks: TaskSets, rules: Rules) -> Ints:
    """Return for each set until when the CPU has to idle for the first time, so that no deadline
    can be missed later; 0 if that shows nothing.

    It shows this where all tasks are released at 0, with deadlines within their periods, and need
    nothing but the CPU; requests in the background then delay no job, and may be left out.  The
    first busy period is the longest, so that any job is completed within its length: enough if no
    deadline is shorter.  Under fixed priorities no response is longer than that of a first job
    (Liu, Layland 1973).  Under EDF, if any deadline is missed, one is in the first busy period
    (Spuri 1996).  Under LLF the arrival of a request is an occasion to decide, and counts.
    """
    costs = rules.switch_cost or rules.tick
    never = np.zeros(len(tasks.period), np.int64)
    if costs or rules.server != "background" or len(tasks.action_at) or rules.policy == "llf":
        return never
    return never + (tasks.deadline.min(axis=1) if rules.policy in {"fifo", "rr"} else tasks.end)


def work(chunk: Chunk) -> Ints:
    """Simulate a chunk; return an array with the dimensions set, rule, number of KEPT."""
    study, n, ppm, first, last = chunk
    numbers = range(first, last)
    if ppm is None:
        return breakdown(study, n, numbers)
    return measure(study, n, ppm, numbers)


def chunks(study: Study) -> Iterator[Chunk]:
    """Yield the work of a study, in the order of its document."""
    for n in study.tasks:
        for ppm in (*study.ppm, None):
            for first in range(0, study.sets, CHUNK):
                yield Chunk(study, n, ppm, first, min(first + CHUNK, study.sets))


Progress = Callable[[int, int], None]


Share = Callable[[Callable[[Chunk], Ints], Sequence[Chunk]], Iterator[Ints]]


def run(
    study: Study, workers: int, progress: Progress | None = None, share: Share | None = None
) -> tuple[list[Point], list[Breakdown]]:
    """Simulate everything, with the same result for any number of workers.

    ``share``: what has others do the work and yields the results in order, instead of workers of
    this machine.  Raises TargetError.
    """
    todo = list(chunks(study))
    parts: dict[tuple[int, int | None], list[Ints]] = {}
    alone = workers == 1 or len(todo) == 1
    if share:
        results = share(work, todo)
    else:
        results = map(work, todo) if alone else shared_out(work, todo, workers)
    for done, (chunk, part) in enumerate(zip(todo, results, strict=True), 1):
        parts.setdefault((chunk.n, chunk.ppm), []).append(part)
        if progress:
            progress(done, len(todo))
    points, breakdowns = [], []
    for (n, ppm), arrays in parts.items():
        numbers = np.concatenate(arrays)
        for index, rules in enumerate(study.rules):
            if ppm is None:
                steps = numbers[:, index, 0]
                breakdowns.append(
                    Breakdown(
                        policy=rules.policy, tasks=n, sets=len(steps),
                        min=int(steps.min()) / STEPS, max=int(steps.max()) / STEPS,
                        mean=sum(steps.tolist()) / (STEPS * len(steps)),
                    )
                )  # fmt: skip
            else:
                points.append(_point(rules.policy, n, ppm, numbers[:, index]))
    return points, breakdowns


def _point(policy: str, n: int, ppm: int, rows: Ints) -> Point:
    column = {name: rows[:, i] for i, name in enumerate(KEPT)}
    total = {name: sum(values.tolist()) for name, values in column.items()}
    sets = len(rows)
    good = int((column["missed"] == 0).sum())
    worst = int(column["worst"].max())
    return Point(
        policy=policy,
        tasks=n,
        utilisation=ppm / 1e6,
        sets=sets,
        schedulable=good / sets,
        schedulable_ci95=wilson(good, sets),
        jobs=total["due"],
        missed=total["missed"],
        miss_ratio=_ratio(total["missed"], total["due"]),
        lateness_mean_ns=_ratio(total["lateness"], total["due"]),
        lateness_max_ns=None if worst == NO_DUE else worst,
        requests=total["requests"],
        served=total["served"],
        response_mean_ns=_ratio(total["response"], total["served"]),
        response_max_ns=int(column["worst_response"].max()) if total["served"] else None,
        preemptions_per_job=_ratio(total["preemptions"], total["released"]),
        value_ratio=_ratio(total["value_met"], total["value_due"]),
        switches=total["switches"],
        events=total["events"],
    )


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def wilson(good: int, n: int) -> tuple[float, float]:
    """Return the 95% interval of a share (Wilson 1927)."""
    z = 1.959964
    share, scale = good / n, 1 + z * z / n
    middle = (share + z * z / (2 * n)) / scale
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)
