"""What a run says of each part, from distributions whose parts are known."""

from __future__ import annotations

from typing import Any

import pytest

from rtstone.documents.run import Figure, Result, Run, Target
from rtstone.documents.tasks_explanation import PartCost
from rtstone.tasks.explanation import Distribution, PartCosts
from rtstone.tasks.part_costs import part_costs
from rtstone.wire.records import Bench, Param

PERIODIC = [
    Bench(id=name, title="", source="", params=[Param(name="period", type="duration")])
    for name in ("dk.periodic", "dk.a")
]


def result(bench: str, histogram: list[tuple[float, int]], **members: Any) -> Result:
    members = {"load": "heavy", "p50": histogram[0][0] if histogram else None} | members
    return Result(
        case=1, bench=bench, params=members.pop("params", {}), status=members.pop("status", "ok"),
        n=sum(n for _, n in histogram), histogram=histogram, **members,
    )  # fmt: skip


def costs(*results: Result, **conditions: Any) -> tuple[PartCosts, dict[str, PartCost]]:
    run = Run(
        run_id="r", created="2026-11-21T03:15:00+00:00", status="complete",
        target=Target(name="local"), results=list(results), benches=PERIODIC,
        conditions=conditions,
    )  # fmt: skip
    parts, sources = part_costs(run, "heavy")
    return parts, {cost.part: cost for cost in sources}


def rows(costs: Distribution) -> list[tuple[int, int]]:
    return list(zip(costs.values.tolist(), costs.counts.tolist(), strict=True))


HZ = {"kernel.config": ["CONFIG_HZ=1000"]}


def test_a_run_without_results_has_no_parts_and_says_so() -> None:
    parts, sources = costs()
    assert parts.present == []
    assert [part for part, cost in sources.items() if cost.measured] == ["throttling"]
    assert sources["switches"].source == (
        "not measured: no ctx.ballast or sched.yield.pair or rheal.ts under load heavy"
    )
    assert sources["throttling"].source == "its conditions have no limit of tasks"


def test_a_switch_is_what_was_timed_one_by_one_with_the_least_ballast() -> None:
    single = result("ctx.ballast", [(900.0, 5), (2000.0, 1)])
    parts, sources = costs(
        result("ctx.ballast", [(1.0, 1)], params={"ballast": 0}, load="none"),
        result("sched.yield.pair", [(5.0, 1)]),
        result("ctx.ballast", [(7.0, 1)], params={"ballast": 64}),
        result("ctx.ballast", [(6.0, 1)], params={"ballast": 0}, single=single),
        result("ctx.ballast", [(1.0, 1)], params={"ballast": 0}, status="failed", reason="x"),
    )
    assert rows(parts.switch) == [(900, 5), (2000, 1)]
    assert (sources["switches"].max_ns, parts.present) == (2000, ["switches"])


def test_a_late_timer_is_a_wake_up_less_the_switch_in_it() -> None:
    late = result("dk.periodic", [(400.0, 3), (3000.0, 2)], overflow=1, max=90_000.0)
    parts, sources = costs(
        result("dk.a", [(1.0, 99)]), late, result("sched.yield.pair", [(500.0, 9), (9e6, 2)])
    )
    assert rows(parts.timer) == [(0, 3), (2500, 2), (89_500, 1)]
    assert "less 500 ns of the switch" in sources["late timers"].source
    alone, sources = costs(late)
    assert rows(alone.timer)[0] == (400, 3)
    assert "with the switch in it" in sources["late timers"].source


# A second of readings of 100 ns: 1000 ticks of 20 us, and 3 stalls of 700 us.
READINGS = [(100.0, 9_778_000), (20_100.0, 1000), (700_100.0, 3)]


def test_ticks_and_stalls_are_told_apart_by_their_length() -> None:
    parts, sources = costs(result("det.bintime", READINGS), **HZ)
    assert (rows(parts.tick), parts.tick_ns) == ([(20_000, 1000)], 1_000_000)
    assert rows(parts.stall) == [(700_000, 3)]
    assert parts.stalls == pytest.approx(3, rel=0.01)
    assert parts.present == ["ticks", "stalls"]
    # Gaps are looked for longer, and ticks among them are none.
    gaps = result("hw.latency", [(20_000.0, 30_000), (900_000.0, 6)],
                  figures={"looked at": Figure(value=30e9, unit="ns")})  # fmt: skip
    parts, sources = costs(result("det.bintime", READINGS), gaps, **HZ)
    assert rows(parts.stall) == [(900_000, 6)]
    assert parts.stalls == pytest.approx(0.2)
    assert "6 gaps, longer than ticks, in 30 s" in sources["stalls"].source


def test_no_gap_is_a_result() -> None:
    gaps = result("hw.latency", [], figures={"looked at": Figure(value=30e9, unit="ns")})
    parts, sources = costs(gaps)
    assert "stalls" not in parts.present
    assert (sources["stalls"].measured, sources["stalls"].max_ns) == (True, 0)


def test_fewer_interruptions_than_ticks_are_shared_among_these() -> None:
    readings = [(100.0, 9_900_000), (50_100.0, 200)]
    parts, _ = costs(result("det.bintime", readings), **HZ)
    assert rows(parts.tick) == [(round(1e6 * 200 * 50_000 / 1_000_020_000), 1)]
    none, sources = costs(result("det.bintime", readings))
    assert none.tick_ns == 0 and not sources["ticks"].measured


def test_a_limit_and_a_cache() -> None:
    limits = {"sched.rt_runtime_us": 950_000, "sched.rt_period_us": 1_000_000}
    parts, sources = costs(
        result("dk.lat_ctx", [(3000.0, 9)], params={"size": 0}),
        result("dk.lat_ctx", [(3900.0, 9)], params={"size": 4096}),
        result("dk.lat_ctx", [(9900.0, 9)], params={"size": 65536}),
        **limits, **{"kernel.release": "6.1.0"},
    )  # fmt: skip
    assert (parts.runtime, parts.period) == (950_000_000, 1_000_000_000)
    assert rows(parts.resume) == [(900, 1)]
    assert "with 4096 bytes" in sources["cache"].source
    later, _ = costs(**limits, **{"kernel.release": "6.12.0"})
    assert later.period == 0


@pytest.mark.parametrize(("looked_ns", "measured"), [(0.99e8, False), (1.01e8, True)])
def test_a_tenth_of_a_second_is_needed_to_know_how_often_something_comes(
    looked_ns: float, *, measured: bool
) -> None:
    gaps = result(
        "hw.latency", [(5000.0, 3)], figures={"looked at": Figure(value=looked_ns, unit="ns")}
    )
    parts, sources = costs(gaps)
    assert sources["stalls"].measured == measured
    assert (rows(parts.stall) == [(5000, 3)]) == measured
    if not measured:
        assert sources["stalls"].source == (
            "not measured: 99 ms of hw.latency, n = 3 are less than 100 ms"
        )


def test_instructions_are_times_at_the_rate_of_their_run() -> None:
    single = result("ctx.ballast", [(1000.0, 2)], unit="instructions")
    run = Run(
        run_id="r", created="2026-11-21T03:15:00+00:00", status="complete",
        target=Target(name="qemu:linux-6.1", detail={"instructions_per_s": 62_500_000}),
        results=[result("ctx.ballast", [(1.0, 2)], unit="instructions", single=single)],
    )  # fmt: skip
    parts, _ = part_costs(run, "heavy")
    assert rows(parts.switch) == [(16_000, 2)]
