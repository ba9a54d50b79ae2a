"""Run documents that look real, from a seeded generator; nothing is measured."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from rtstone.documents.run import (
    Agent,
    Blocks,
    Clock,
    Distribution,
    Figure,
    Result,
    Run,
    Slope,
    Target,
    Trace,
    Worst,
)
from rtstone.report import page
from rtstone.report.run import answer as answers
from rtstone.report.run.answer import Answer
from rtstone.stats.evaluate import evaluate_run, evaluate_runs
from rtstone.summary import PERCENTILES, WHOLE
from rtstone.wire.records import Rate, TextTable

HOSTILE = '</script><img src=x onerror="document.title=1">\u2028{{7*7}}'
TRACE_ROWS = 4096
BLOCK = 64
Floats = npt.NDArray[np.float64]


def answer(run: Run) -> Answer:
    """Return the answer of a run."""
    return answers.answer(evaluate_run(run))


def compose(runs: Sequence[Run | Sequence[Run]]) -> str:
    """Return the page of runs."""
    return page.compose(evaluate_runs(runs))


def histogram(values: Floats) -> list[tuple[float, int]]:
    """Count values by their bucket, with the recorder's precision of 1/128."""
    steps = np.where(values < 128, 1.0, 2.0 ** (np.frexp(values)[1] - 8))
    buckets = np.where(values < 128, values.round(), np.floor(values / steps) * steps) + 0.0
    occupied, counts = np.unique(buckets, return_counts=True)
    return list(zip(occupied.tolist(), counts.tolist(), strict=True))


def statistics(values: list[float], *, batched: bool = False) -> dict[str, Any]:
    """Return the members of a distribution as in a document."""
    array = np.sort(np.array(values, float))
    ordered = array.tolist()
    n = len(ordered)
    mean = sum(ordered) / n

    def percentile(q: float) -> float | None:
        return ordered[math.ceil(q * n) - 1] if n >= 10 / (1 - q) else None

    return {
        "n": n,
        "min": ordered[0],
        "mean": mean,
        "sd": float(array.std()),
        **{name: percentile(share / WHOLE) for name, share in PERCENTILES.items()},
        "max": None if batched else ordered[-1],
        "histogram": histogram(array),
    }


def latencies(rng: random.Random, n: int, median: float, spread: float) -> list[float]:
    """Draw log-normal latencies with a second mode and rare long ones, as interrupts cause them."""
    values = []
    for _ in range(n):
        value = median * math.exp(abs(rng.gauss(0, spread)) - spread / 2)
        roll = rng.random()
        if roll < 0.0008:
            value += rng.uniform(5, 60) * 1000
        elif roll < 0.02:
            value *= rng.uniform(2, 3)
        values.append(round(value, 1))
    return values


def trace(values: list[float], rows: int, width_s: float) -> Trace:
    each = max(1, len(values) // rows)
    parts = [values[i : i + each] for i in range(0, rows * each, each)]
    return Trace(
        width_s=width_s,
        rows=[
            (i * width_s, len(p), min(p), sum(p) / len(p), max(p)) for i, p in enumerate(parts) if p
        ],
    )


def worst(values: list[float], length_s: float) -> list[Worst]:
    order = sorted(range(len(values)), key=lambda i: -values[i])[:16]
    return [Worst(value=values[i], index=i, at_s=length_s * i / len(values)) for i in order]


def blocks(values: list[float]) -> Blocks:
    whole = range(0, len(values) - BLOCK + 1, BLOCK)
    return Blocks(samples=BLOCK, max=[max(values[at : at + BLOCK]) for at in whole])


def evidence(length_s: float, **members: Any) -> dict[str, Any]:
    return {
        "section_ns": int(length_s * 1e9),
        "cpu_ns": int(length_s * 7e8),
        "minflt": 0,
        "majflt": 0,
        "nvcsw": 1200,
        "nivcsw": 3,
        "migrations": 0,
        "steal_ns": None,
        "smi": None,
        "tasks": 2,
        "sched": "fifo",
        "prio": 98,
        "locked": True,
        "cpus": [2],
        "shared": False,
        "rests": 0,
        **members,
    }


class Maker:
    """Collect results one by one."""

    def __init__(self, seed: int, samples: int) -> None:
        self.rng = random.Random(seed)
        self.samples = samples
        self.results: list[Result] = []

    def add(self, bench: str, **members: Any) -> None:
        members = {"params": {}, "load": "none", "status": "ok", **members}
        self.results.append(Result(case=len(self.results), bench=bench, **members))

    def timed(
        self, bench: str, median: float, spread: float = 0.12, n: int = 0, **members: Any
    ) -> None:
        values = latencies(self.rng, n or self.samples, median, spread)
        length = max(0.2, len(values) * median * 3e-9)
        self.add(bench, **self.distribution(values, length), **members)

    def distribution(self, values: list[float], length: float, rows: int = 5) -> dict[str, Any]:
        ordered = sorted(values)
        middle = ordered[len(ordered) // 2]
        return {
            **statistics(values),
            "warmup": 10,
            "raw_min": ordered[0] + 21.4,
            "raw_max": ordered[-1] + 21.4,
            "ci95": {"p50": (middle * 0.99, middle * 1.01), "p99": None},
            "negative": sum(v < 0 for v in values),
            "worst": worst(values, length),
            "trace": trace(values, rows, length / rows),
            "blocks": blocks(values),
            "evidence": evidence(length),
            "ended": "samples",
        }

    def periodic(self, cpu: int, missed: int) -> None:
        values = latencies(self.rng, 3 * TRACE_ROWS, 2400, 0.3)
        values[3000] = 8_012_345.0 if missed else 61_000.0
        members = self.distribution(values, 12.288, TRACE_ROWS)
        late = [8_012_345.0 - 1e6 * k for k in range(1, missed + 1)]
        self.add(
            "dk.periodic",
            **members,
            params={"period": 1_000_000, "cpu": cpu},
            series=f"cpu {cpu}",
            missed=missed,
            corrected=Distribution(**statistics(values + late)) if missed else None,
            flags=["missed"] if missed else [],
        )


@cache
def results(samples: int) -> tuple[Result, ...]:
    """Return sixty results: every family, and every way in which one can be incomplete."""
    make = Maker(7, samples)
    noise = [float(make.rng.choice([-0.5, 0, 0, 0, 0, 0.5])) for _ in range(samples)]
    noise[17] = 14_210.0
    make.add("null", **make.distribution(noise, 0.5))
    make.timed("clk.overhead", 21.4, 0.02)
    make.add(
        "clk.resolution",
        figures={
            "nominal": Figure(value=0.357, unit="ns"),
            "smallest": Figure(value=14, unit="ns"),
            "backwards": Figure(value=0, unit="steps"),
            "odd": Figure(value=None, unit=HOSTILE),
        },
    )
    for size in (64, 1024, 5120, 16384, 65536, 1048576):
        for name, rate in (("memcpy.fwd", 14), ("memcpy.rev", 14), ("memset", 30)):
            make.timed(f"mem.{name}", 12 + size / rate, 0.05, params={"size": size, "touch": True})
    make.timed("mem.malloc.small", 74, 0.5)
    make.timed("mem.malloc.large", 1900, 0.6)
    make.timed("mem.free", 210, 0.8, params={"order": "fifo", "budget": 16777216})
    batch = statistics([abs(make.rng.gauss(3.2, 0.05)) for _ in range(400)], batched=True)
    make.add("mem.memset.tiny", **batch, batch=64, flags=["batched"], evidence=evidence(0.2))
    make.timed("sched.yield", 310, params={"mode": "alone"})
    make.timed("sched.yield", 890, params={"mode": "pair"})
    for policy in ("fifo", "rr"):
        for tasks in (0, 1, 33, 65, 129):
            make.timed(
                "ctx.ballast",
                900 + (2.4 * tasks if policy == "rr" else 0),
                params={"tasks": tasks, "policy": policy, "state": "ready"},
            )
    for name, median in (("post.empty", 38), ("wait.free", 41), ("create", 160), ("delete", 140)):
        make.timed(f"sem.{name}", median)
    for queue in (0, 1, 33, 65, 129):
        make.timed("sem.wait.busy", 1200 + 11.5 * queue, params={"queue": queue})
    make.timed("sem.few", 400, n=12, flags=["shared_cpu"])
    for count in (1, 20):
        make.add("sem.odd", params={"count": count}, n=1, min=5.0, mean=5.0, sd=None, max=5.0,
                 histogram=[(5.0, 1)])  # fmt: skip
    make.timed("det.bintime", 1_040_000, 0.01, flags=["preempted", "smi"])
    make.periodic(2, 8)
    make.periodic(3, 0)
    make.add("sem.named", status="unsupported", reason="the port has no named semaphores")
    make.add("dk.sched", status="unsupported", reason=HOSTILE, params={HOSTILE: HOSTILE})
    make.add("sem.crash", status="failed", reason="the agent was killed by signal 9")
    make.add("irq.thread", status="unsupported", reason=None)
    make.timed("dk.latencytest", 5300, 0.4, status="incomplete", reason="the load died after 3 s")
    rates = [
        Rate(component="disk", unit="ms", wanted=100.0, achieved=97.5, window_s=3.0),
        Rate(component=HOSTILE, unit="files", achieved=0, window_s=3.0, alive=False, why=HOSTILE),
    ]
    make.timed(
        "sched.heavy", 700, 0.4, load="heavy", params={"mode": HOSTILE}, flags=[HOSTILE],
        load_rates=rates,
    )  # fmt: skip
    options = TextTable(
        "options", ["option", HOSTILE], [["_POSIX_TIMERS", "200809"], [HOSTILE, "no"]]
    )
    make.add("posix.options", tables=[options])
    while len(make.results) < 60:
        make.timed("sem.round", 2100, 0.2, params={"round": len(make.results)})
    return tuple(make.results)


def run(samples: int = 3000, **changes: Any) -> Run:
    """Return a run of sixty results."""
    members: dict[str, Any] = {
        "run_id": "20261121T031500-8f3a",
        "created": "2026-11-21T03:15:00Z",
        "status": "complete",
        "command": ["rtstone", "run", "quick", "--cpus", "2,3", "-p", "note=it's"],
        "suite": "quick",
        "target": Target(name="local", detail={"host": HOSTILE}),
        "agent": Agent(
            version="0.1.0",
            source="9f86d081884c7d65",
            port="posix",
            os="Linux",
            arch="x86_64",
            compiler="gcc 12.2.0",
            flags="-O2 -std=c11 -static",
            caps=["affinity", "process", "signal"],
            binary="sha256:2c26b46b68ffc68f",
        ),
        "clock": Clock(source="tsc", hz=2_799_927_113, resolution_ns=0.357, overhead_ns=21.4),
        "conditions": {
            "kernel.release": "6.12.48-rt-amd64",
            "kernel.cmdline": f"quiet isolcpus=2,3 nohz_full=2,3 {HOSTILE}",
            "kernel.realtime": "1",
            "kernel.config": ["CONFIG_HZ=1000", "CONFIG_PREEMPT_RT=y"],
            "cpu.model": "AMD Ryzen 9 7945HX",
            "cpu.governor": "performance",
            "cpu.isolated": [2, 3],
            "cpu.microcode": None,
            "machine.product": "Workbench 9000",
            "machine.virtual": False,
            "sched.rt_runtime_us": 950_000,
            "sched.rt_period_us": 1_000_000,
            "libc": "glibc 2.36, static",
            HOSTILE: HOSTILE,
        },
        "slopes": [
            Slope(
                bench="sem.wait.busy",
                load="none",
                over="queue",
                params={},
                points=[(0, 1204.0), (1, 1215.0), (33, 1570.0), (65, 1955.0), (129, 2680.0)],
                slope=11.45,
                ci95=(11.1, 11.8),
                unit="ns per task",
                constant=False,
            ),
            *(
                Slope(
                    bench="ctx.ballast",
                    load="none",
                    over="tasks",
                    params={"policy": policy},
                    points=[(x, 900 + slope * x + (x % 3) * 6) for x in (0, 1, 33, 65, 129)],
                    slope=slope,
                    ci95=(slope - 0.3, slope + 0.3),
                    unit="ns per task",
                    constant=slope < 0.3,
                )
                for policy, slope in (("fifo", 0.02), ("rr", 2.4))
            ),
        ],
        "notes": ["CPU 2 and 3 shared their second-level cache with the load."],
        "duration_s": 61.3,
    }
    members |= changes
    if "results" not in members:
        members["results"] = list(results(samples))
    return Run(**members)


def unprivileged(samples: int = 500) -> Run:
    """Return the same run under SCHED_OTHER, cut short."""
    base = run(samples)
    results = [
        Result(
            **{
                **_members(r),
                "evidence": evidence(0.5, sched="other", locked=False),
                "flags": [*r.flags, "no_rt", "no_mlock"],
            }
        )
        for r in base.results
    ]
    return run(samples, results=results, status="incomplete", reason=HOSTILE)


def instructions() -> Run:
    """Return a run of an emulated target, which counts instructions instead of time."""
    make = Maker(3, 2000)
    make.timed("sem.wait.busy", 700, unit="instructions")
    make.timed("null", 4, unit="instructions")
    return run(
        results=make.results,
        slopes=[],
        conditions={},
        clock=Clock(source="icount", hz=1, resolution_ns=1, overhead_ns=6, unit="instructions"),
        agent=None,
        notes=[],
        suite=None,
        duration_s=None,
        command=[],
    )


def _members(r: Result) -> dict[str, Any]:
    return {name: getattr(r, name) for name in r.__struct_fields__}
