"""Run documents like those of the emulated lab; nothing is measured."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import structs

from rtstone.documents.run import Agent, Clock, Result, Run, Target, Value
from rtstone.wire.records import Bench, Component, Loaded, Param
from tests.report.synthetic import Maker, statistics

SOURCE = "0123456789abcdef"
BENCHES = [
    Bench("null", "Nothing"),
    Bench("sched.yield.pair", "Yield to another"),
    Bench(
        "sem.wait.busy", "Semaphore",
        params=[
            Param("waiters", "int", default=0),
            Param("samples", "int", default=1000),
            Param("prio", "int", default=98),
        ],
    ),
    Bench("proc.create", "Creation", params=[Param("variant", "choice", default="thread")]),
    Bench("dk.nanosleep", "Sleep", params=[Param("request", "duration", default=50_000_000)]),
    Bench("rheal.rate", "Rhealstone"),
]  # fmt: skip
# Median and spread of a wake-up under a load, by system; roughly as in lab.md.
SYSTEMS: dict[str, dict[str, tuple[float, float]]] = {
    "freertos-a64": {"none": (410, 3), "exit": (410, 5)},
    "linux-6.1": {"none": (5400, 900), "exit": (9000, 300_000)},
    "linux-6.1-rt": {"none": (6100, 700), "exit": (7200, 2500)},
}


def detail(system: str, **changes: Value) -> dict[str, Value]:
    """Return the target's members of a lab run."""
    base: dict[str, Value] = {
        "system": system,
        "board": "virt-a53",
        "shift": 4,
        "instructions_per_s": 62_500_000,
        "seed": 1,
        "icount": True,
        "qemu": "QEMU emulator version 7.2.13",
        "kernel_sha256": "11" * 32 if system.startswith("linux") else None,
        "image_sha256": "22" * 32,
        "agent_sha256": "33" * 32,
        "preempt": None,
    }
    return base | changes


AGENT = Agent(
    version="0.2.0", source=SOURCE, port="posix", os="Linux", arch="aarch64",
    compiler="GNU 12.2.0", flags="-O2 -g -static",
)  # fmt: skip


def agent(**changes: Any) -> Agent:
    """Return the agent common to all systems, with changes."""
    return structs.replace(AGENT, **changes)


def lab(
    system: str,
    results: Sequence[Result],
    *,
    run_id: str = "",
    agent: Agent | None = AGENT,
    unit: str = "instructions",
    loads: Sequence[Loaded] = (),
    changes: Mapping[str, Any] | None = None,
    **settings: Value,
) -> Run:
    """Return a run of a lab system; ``more``: members of its target's detail."""
    details = detail(system, **settings)
    members: dict[str, Any] = {
        "run_id": run_id or f"20261121-{system}-{details['seed']}",
        "created": "2026-11-21T12:00:00+00:00",
        "status": "complete",
        "suite": "lab",
        "target": Target(name=f"qemu:{system}+seed={details['seed']}", detail=details),
        "agent": agent,
        "clock": Clock(source="cntvct", hz=62_500_000, resolution_ns=1, overhead_ns=2, unit=unit),
        "results": list(results),
        "loads": list(loads),
        "benches": BENCHES,
    }
    return Run(**(members | dict(changes or {})))


def result(bench: str, values: Sequence[float] = (), case: int = 1, **members: Any) -> Result:
    """Return the result of samples that its histogram represents exactly."""
    base: dict[str, Any] = {"params": {}, "load": "none", "status": "ok", "unit": "instructions"}
    if values:
        figures = statistics(list(values))
        base |= figures | {"histogram": counts(values)}
    return Result(case=case, bench=bench, **(base | members))


def counts(values: Sequence[float]) -> list[tuple[float, int]]:
    """Return a histogram with buckets of width one."""
    return sorted(Counter(values).items())


def loaded(name: str, *parts: str, **params: Value) -> Loaded:
    """Return a running load."""
    return Loaded(name, "ok", None, params, [Component(part, "rounds") for part in parts])


def study(seeds: Sequence[int] = (1, 2, 3), samples: int = 400) -> list[Run]:
    """Return runs of three systems, idle and under a load, with several seeds."""
    return [
        lab(system, _results(system, seed, samples), loads=[loaded("exit", "exit", place="same")],
            agent=_agent(system), seed=seed)
        for system in SYSTEMS
        for seed in seeds
    ]  # fmt: skip


def _agent(system: str) -> Agent:
    if system.startswith("linux"):
        return agent()
    return agent(port="freertos", os="FreeRTOS", flags="-O2 -ffreestanding -nostdlib")


def _results(system: str, seed: int, samples: int) -> list[Result]:
    rng = random.Random(f"{system} {seed}")
    make = Maker(seed, samples)

    def timed(bench: str, load: str, median: float, spread: float, **params: Value) -> None:
        values = [float(round(median + rng.expovariate(3 / spread))) for _ in range(samples)]
        members = make.distribution(values, 1.0) | {"histogram": counts(values)}
        make.add(bench, **members, params=params, load=load, unit="instructions")

    for load, (median, spread) in SYSTEMS[system].items():
        timed("null", load, 2, 0.1)
        timed("sched.yield.pair", load, median / 2.5, spread / 8)
        for waiters in (0, 33):
            timed("sem.wait.busy", load, median + 4 * waiters, spread / 4,
                  waiters=waiters, samples=samples, prio=98)  # fmt: skip
        if system == "freertos-a64":
            make.add("proc.create", status="unsupported", reason="no user processes", load=load,
                     params={"variant": "fork"}, unit="instructions")  # fmt: skip
        else:
            timed("proc.create", load, 80_000, 4000, variant="fork")
        timed("dk.nanosleep", load, median, spread, request=50_000_000)
    return make.results
