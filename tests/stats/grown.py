"""Runs of grow.* whose costs are known: of the lab with seeds, of a machine in rounds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from rtstone.documents.growth import GrowthTable
from rtstone.documents.run import Result, Run, Target
from rtstone.stats.comparison.systems import systems
from rtstone.stats.growth import growth_table
from rtstone.wire.records import Bench
from tests.stats.lab import lab

SIZES = (1, 4, 16, 64, 256, 1024)
Cost = Callable[[int, int], tuple[float, float]]  # n, round or seed: least and largest sample


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
