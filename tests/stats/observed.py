"""Results of stored runs, made up, as a history returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import structs

from rtstone.documents.check import Gate
from rtstone.documents.observation import Observation
from rtstone.documents.run import Clock, Figure, Result, Run, Target
from rtstone.documents.trend import Series, Trend
from rtstone.stats.trend.trend import TrendRequest, trend
from rtstone.stats.trend.trend_gate import gate
from rtstone.wire.records import Bench
from tests.stats.runs import run

CMDLINE = "root=/dev/sda1 quiet"
COUNTED = Clock(source="icount", hz=10**9, resolution_ns=1, overhead_ns=0, unit="instructions")
LAB: dict[str, Any] = {
    "board": "virt", "system": "linux-6.1-rt", "icount": True, "instructions_per_s": 1, "seed": 7,
}  # fmt: skip


def result(value: float | None, **members: Any) -> Result:
    """Return a result of 2000 samples, all of that value."""
    distribution: dict[str, Any] = dict.fromkeys(("p50", "p99", "max"), value)
    distribution["histogram"] = [] if value is None else [(value, 2000)]
    bare = {"case": 1, "bench": "dk.periodic", "params": {}, "load": "none", "status": "ok"}
    return Result(**{**bare, "unit": "ns", "n": 2000, **distribution, **members})


def observation(
    place: int, result: Result, *, table: Bench | None = None, **members: Any
) -> Observation:
    """Return a result of a run, the one in that place; a run each minute."""
    bare = run([], f"run-{place:04}", minute=place)
    conditions = {"kernel.release": "6.1.0", "kernel.cmdline": CMDLINE,
                  "machine.load": f"{place}"}  # fmt: skip
    conditions |= members.pop("conditions", {})
    return Observation(structs.replace(bare, conditions=conditions, **members), 0, result, table)


def observed(values: Sequence[float], **members: Any) -> list[Observation]:
    """Return a run for each value."""
    return [observation(place, result(float(v)), **members) for place, v in enumerate(values)]


def counted(values: Sequence[float]) -> list[Observation]:
    """Return runs of the lab, which count instructions."""
    target = Target(name="qemu:linux-6.1-rt+seed=7", detail=LAB)
    return [
        observation(place, result(v, unit="instructions"), target=target, clock=COUNTED)
        for place, v in enumerate(values)
    ]


def experiment(place: int, held: float, missed: float | None, **members: Any) -> Observation:
    """Return an experiment of Hartstone that held to one utilisation, and missed at another."""
    name = "no breakdown up to" if missed is None else "breakdown utilisation"
    figures = {name: Figure(value=held, unit="%")}
    if missed is not None:
        figures["first miss at"] = Figure(value=missed, unit="%")
    bare = result(None, n=0, bench="hart.PH.1", figures=figures, missed=None)
    return observation(place, structs.replace(bare, **members))


def followed(observations: Sequence[Observation], *metrics: Any, **options: Any) -> Trend:
    """Return the trend, of results with their histograms."""
    return trend(
        observations,
        TrendRequest(metrics or ("p50",), **options),
        lambda observation: observation.result,
    )


def only(trend: Trend) -> Series:
    (series,) = trend.series
    return series


def suite_checked(values: Any, last: int) -> Gate:
    """Return the gate on the trend of cases (rows) over runs (columns), which misses nothing."""
    results = [
        observation(run, result(float(value), params={"size": case}, missed=0))._replace(place=case)
        for run, column in enumerate(values.T)
        for case, value in enumerate(column)
    ]
    return gate(results[-1].run, results, last, lambda observation: observation.result)


def noisy(seed: int, runs: int, sd: float = 0.01) -> Any:
    """Return values about 10 µs, with noise that has a heavy tail."""
    rng = np.random.default_rng(seed)
    return 10_000 * np.exp(sd * rng.standard_t(5, runs))


def with_conditions(observation: Observation, **conditions: Any) -> Observation:
    """Return a result of a run with other conditions; names with `_` for a dot."""
    named = {name.replace("_", "."): value for name, value in conditions.items()}
    changed: Run = structs.replace(observation.run, conditions=observation.run.conditions | named)
    return observation._replace(run=changed)
