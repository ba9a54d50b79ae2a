"""Simulate thousands of task sets under several policies, and compute the metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from rtstone.documents.simulation import Breakdown, Point
from rtstone.simulate.engine import Simulator
from rtstone.simulate.taskset import Ints, Rules, TaskSet
from rtstone.simulate.workers import shared_out
from rtstone.simulate.workload import Shape, Workload, draw, fill, scaled

CHUNK = 50  # sets that a worker simulates at a time
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


def measure(study: Study, n: int, ppm: int, number: int) -> list[list[int]]:
    """Simulate a set under every rule, and return the numbers of KEPT for each."""
    key = (n, ppm, number)
    tasks = fill(study.workload, draw(study.workload, *key), ppm / 1e6, key)
    simulator = Simulator(tasks)
    value = tasks.value
    rows = []
    for rules in study.rules:
        outcome = simulator.run(rules)
        counts, totals = outcome.counts, outcome.totals._asdict()
        kept = {name: int(counts[name].sum()) for name in _BY_TASK}
        kept |= {name: totals[name] for name in _OF_ALL}
        kept |= {
            "worst": int(counts["worst"].max()),
            "value_due": int((counts["due"] * value).sum()),
            "value_met": int((counts["met"] * value).sum()),
            "requests": len(tasks.arrival),
        }
        rows.append([kept[name] for name in KEPT])
    return rows


def breakdown(study: Study, n: int, number: int) -> list[list[int]]:
    """Return the breakdown utilisation of a set in 1/STEPS for every rule (Lehoczky, Sha, Ding).

    Execution times are exact, and scaled by one factor.  Found by bisection, which assumes that a
    set with misses also misses at any higher utilisation.
    """
    key = (n, 0, number)
    shape = draw(study.workload, *key)
    whole = fill(replace(study.workload, exact=True), shape, 1.0, key)
    return [[_heaviest(whole, shape, rules)] for rules in study.rules]


def _heaviest(whole: TaskSet, shape: Shape, rules: Rules) -> int:
    """Return the highest utilisation, in 1/STEPS, without a miss; ``whole``: the set at 1."""
    rules = replace(rules, stop_after_misses=1)
    low, high = 0, int(HEAVIEST * STEPS) + 1
    while high - low > 1:
        middle = (low + high) // 2
        outcome = Simulator(scaled(whole, shape, middle / STEPS)).run(rules)
        if outcome.counts["missed"].any():
            high = middle
        else:
            low = middle
    return low


def work(chunk: Chunk) -> Ints:
    """Simulate a chunk; return an array with the dimensions set, rule, number of KEPT."""
    study, n, ppm, first, last = chunk
    if ppm is None:
        found = [breakdown(study, n, number) for number in range(first, last)]
    else:
        found = [measure(study, n, ppm, number) for number in range(first, last)]
    return np.array(found, np.int64)


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
        made = share(work, todo)
    else:
        made = map(work, todo) if alone else shared_out(work, todo, workers)
    for done, (chunk, part) in enumerate(zip(todo, made, strict=True), 1):
        parts.setdefault((chunk.n, chunk.ppm), []).append(part)
        if progress:
            progress(done, len(todo))
    points, breakdowns = [], []
    for (n, ppm), found in parts.items():
        numbers = np.concatenate(found)
        for index, rules in enumerate(study.rules):
            if ppm is None:
                breakdowns.append(_breakdown(rules.policy, n, numbers[:, index, 0]))
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


def _breakdown(policy: str, n: int, found: Ints) -> Breakdown:
    return Breakdown(
        policy=policy,
        tasks=n,
        sets=len(found),
        min=int(found.min()) / STEPS,
        mean=sum(found.tolist()) / (STEPS * len(found)),
        max=int(found.max()) / STEPS,
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
