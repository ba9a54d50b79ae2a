"""The summaries that the agent's recorder keeps of samples, without an agent."""

from __future__ import annotations

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from rtstone.documents.run import Agent, Blocks, Clock, Result, Run, Target, Trace, Value
from rtstone.wire.records import Bench, Component, Loaded

_BITS, _CHUNK, _BLOCKS, _WINDOWS = 7, 64, 2048, 60


def recorded(samples: NDArray[np.float64], section_s: float = 600.0, tick: int = 1) -> Result:
    """Return a result of samples in ns, from a clock that advances in steps of ``tick``."""
    ticks = samples.astype(np.int64) // tick * tick
    values, counts = np.unique(_middles(ticks), return_counts=True)
    size = _CHUNK
    while len(ticks) // size > _BLOCKS:
        size *= 2
    maxima = ticks[: len(ticks) // size * size].reshape(-1, size).max(axis=1)
    windows = np.array_split(ticks, _WINDOWS)
    width = section_s / _WINDOWS
    return Result(
        case=1, bench="dk.periodic", params={}, load="none", status="ok", n=len(ticks),
        min=float(ticks.min()), max=float(ticks.max()),
        histogram=list(zip(values.tolist(), counts.tolist(), strict=True)),
        blocks=Blocks(samples=size, max=maxima.astype(float).tolist()),
        trace=Trace(width_s=width, rows=[
            (place * width, len(part), float(part.min()), float(part.mean()), float(part.max()))
            for place, part in enumerate(windows)
        ]),
        evidence={"section_ns": round(section_s * 1e9)},
    )  # fmt: skip


def _middles(ticks: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the middle of each value's bucket, clipped to the extremes (rts_bucket)."""
    shift = np.maximum(np.frexp(ticks.astype(float))[1] - 1 - _BITS, 0)
    start = ticks >> shift << shift
    middle: NDArray[np.float64] = start + ((1 << shift) - 1) / 2
    return middle.clip(ticks.min(), ticks.max())


CONDITIONS: dict[str, Value] = {
    "kernel.release": "6.1.0-rt", "kernel.version": "#1 SMP PREEMPT_RT", "cpu.model": "a CPU",
    "memory.total": "8 GB", "drivers": "pci:ahci, pci:e1000e", "modules": "",
}  # fmt: skip


def latencies(
    scale: float = 10_000.0, *, load: str = "none", seed: int = 1, section_s: float = 3600.0
) -> Result:
    """Return a result of dk.periodic of that duration with independent exponential samples."""
    values = 5_000 + scale * np.random.default_rng(seed).exponential(size=40_000)
    result = recorded(values, section_s)
    conditions = {"sched": "fifo", "prio": 98, "locked": True, "cpus": [1]}
    return structs.replace(
        result, load=load, missed=0, params={"period": 1_000_000, "prio": 98, "time": 10**9},
        evidence={**result.evidence, **conditions},
    )  # fmt: skip


def run(run_id: str, *results: Result, **conditions: Value) -> Run:
    """Return a run of one machine; ``conditions`` are those that differ from other runs."""
    loads = dict.fromkeys(result.load for result in results if result.load != "none")
    return Run(
        run_id=run_id, created="2026-11-21T12:00:00+00:00", status="complete",
        target=Target(name="local"),
        agent=Agent(version="0.2.0", source="0123456789abcdef", port="posix", os="Linux 6.1.0-rt",
                    arch="x86_64", compiler="GNU 12.2.0", flags="-O2"),
        clock=Clock(source="tsc", hz=10**9, resolution_ns=1, overhead_ns=10),
        conditions=CONDITIONS | conditions, results=list(results),
        loads=[Loaded(load, "ok", None, {"place": "other"}, [Component("cpu", "rounds")])
               for load in loads],
        benches=[Bench("dk.periodic", "Periodic wake-up")],
    )  # fmt: skip
