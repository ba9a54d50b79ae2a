"""Costs of known classes, with the noise of a machine; and runs of grow.* that have such costs.

The noise is in data/growth_noise.json: the least of 15 samples of eight benches at n = 1, in ns, in
each of 120 rounds of `rtstone run`, in their order, on a virtual machine with two CPUs that built
and tested other programs meanwhile.  Most scatter by 1 to 3%, malloc by less, the wake-up by 14%,
and the give of a semaphore by 50%.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import structs

from rtstone.cli.growth import ROUNDS
from rtstone.documents.growth import GrowthClass, GrowthPair, GrowthPoint, GrowthTable
from rtstone.documents.run import Result, Run, Target
from rtstone.stats.comparison.systems import systems
from rtstone.stats.growth import CLASSES, CURVES, UNDECIDED, classified, growth_table
from rtstone.wire.records import Bench
from tests.stats.lab import lab
from tests.stats.noise import Floats

SIZES = (1, 4, 16, 64, 256, 1024)
Cost = Callable[[int, int], tuple[float, float]]  # n, round or seed: least and largest sample

OF_EACH = 10  # pairs of each class in a scan


def planted(kind: GrowthClass, base: float, times: float) -> Floats:
    """Return the costs by ``SIZES``, which grow to ``1 + times`` of the base."""
    curve = CURVES[kind]
    rise = np.array([curve(n) - curve(1) for n in SIZES])
    costs: Floats = base + base * times * rise / (rise[-1] or 1)
    return costs


@cache
def recorded() -> list[Floats]:
    """Return the recorded costs of each bench, relative to their median."""
    data = json.loads((Path(__file__).parent / "data" / "growth_noise.json").read_text("utf-8"))
    return [np.array(costs, np.float64) / np.median(costs) for costs in data.values()]


def disturbed(costs: Floats, rng: np.random.Generator) -> GrowthPair:
    """Return a pair of such costs, disturbed as one of the benches was.

    Each round is a stretch of what was recorded, so that what lasts longer is in several points.
    """
    noise = recorded()[rng.integers(len(recorded()))]
    rounds = [
        costs * noise[first : first + len(SIZES)]
        for first in rng.integers(0, len(noise) - len(SIZES) + 1, ROUNDS)
    ]
    return in_rounds(dict(zip(SIZES, np.transpose(rounds).tolist(), strict=True)))


def in_rounds(minima: Mapping[Any, Sequence[float]]) -> GrowthPair:
    """Return a pair with these costs in its rounds."""
    return GrowthPair(
        bench="grow.x", service="x", over="things", load="none", params={}, unit="ns",
        points=[
            GrowthPoint(n=int(n), cost=float(np.median(costs)), minima=list(costs))
            for n, costs in minima.items()
        ],
    )  # fmt: skip


def scanned(rng: np.random.Generator) -> Iterator[tuple[GrowthClass, GrowthPair]]:
    """Yield the true class and the judged pair of scans without end, ``OF_EACH`` of each class.

    Costs from 300 ns to 100 us grow to between 5 and 1000 times.
    """
    while True:
        kinds = [kind for kind in CLASSES for _ in range(OF_EACH)]
        pairs = [
            disturbed(planted(kind, 10 ** rng.uniform(2.5, 5), 10 ** rng.uniform(0.6, 3)), rng)
            for kind in kinds
        ]
        yield from zip(kinds, classified(pairs, exact=False), strict=True)


def is_right(kind: GrowthClass, pair: GrowthPair) -> bool:
    """Return whether a pair's class is the true one, or one of two of which it is one."""
    return pair.growth == kind or (pair.growth == UNDECIDED and kind in {"linear", "n log n"})


def exact(cost: Callable[[int], float]) -> Cost:
    """Return a cost that no seed changes."""
    return lambda n, seed: (cost(n), cost(n))


def _results(costs: Mapping[str, Cost], number: int, unit: str) -> list[Result]:
    """Return the results of pairs ``bench/over``."""
    return [
        Result(
            case=1, bench=f"grow.{name.partition('/')[0]}", load="none", status="ok", unit=unit,
            params={"over": name.partition("/")[2], "n": n}, n=15, min=least, max=most,
        )
        for name, cost in costs.items()
        for n in SIZES
        for least, most in [cost(n, number)]
    ]  # fmt: skip


def _titled(run: Run, costs: Mapping[str, Cost]) -> Run:
    names = dict.fromkeys(name.partition("/")[0] for name in costs)
    return structs.replace(run, benches=[Bench(f"grow.{name}", name) for name in names])


def in_lab(system: str, costs: Mapping[str, Cost], seed: int = 1) -> Run:
    """Return a run of the lab."""
    return _titled(lab(system, _results(costs, seed, "instructions"), seed=seed), costs)


def on_machine(costs: Mapping[str, Cost], rounds: int = 5) -> Run:
    """Return a run of this machine."""
    results = [result for number in range(rounds) for result in _results(costs, number, "ns")]
    run = lab("local", results, unit="ns", changes={"target": Target(name="local")})
    return _titled(run, costs)


def tables(*runs: Run | Sequence[Run]) -> list[GrowthTable]:
    """Return the classes of each system."""
    return [growth_table(system) for system in systems(runs)]
