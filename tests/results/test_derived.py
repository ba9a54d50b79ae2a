"""Benches derived from the results of others."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from rtstone.documents.plan import Case, Plan, UnsupportedCase
from rtstone.documents.run import Result, Worst
from rtstone.results import derived
from rtstone.wire.records import Bench, TextTable


@pytest.fixture
def plan(plan: Plan) -> Plan:
    """Return a plan with derived benches, and with benches that the target may lack."""
    tables = {name: entry.bench for name, entry in derived.DERIVED.items()}
    lacking = {name: Bench(name, "") for name in ("sync.test2", "sem.create")}
    return msgspec.structs.replace(plan, benches=plan.benches | tables | lacking)


def calls(**members: Any) -> Result:
    defaults: dict[str, Any] = {
        "case": 1, "bench": "sync.test1", "params": {"type": "unnamed", "config": "bound"},
        "load": "none", "status": "ok", "n": 3, "mean": 150.0,
    }  # fmt: skip
    return Result(**defaults | members)


def trip(entity: str = "thread", **members: Any) -> Result:
    """Return round trips of 1000, 2000 and, twice, 3000 ns."""
    defaults: dict[str, Any] = {
        "case": 2, "bench": "sync.test2", "load": "none", "status": "ok", "n": 4,
        "params": {"type": "unnamed", "entity": entity, "config": "bound"},
        "min": 1000.0, "mean": 2250.0, "sd": 957.4271, "p50": 2500.0, "max": 3000.0,
        "histogram": [(1000.0, 1), (2000.0, 1), (3000.0, 2)],
        "worst": [Worst(value=3000.0, index=2, at_s=0.5)], "ci95": {"p50": (1000.0, 3000.0)},
    }  # fmt: skip
    return Result(**defaults | members)


def switches(plan: Plan, *measured: Result) -> list[Result]:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "ctx.sync", {})])
    return derived.results(plan, list(measured))


def test_ctx_sync_is_half_a_round_trip_less_the_calls(plan: Plan) -> None:
    (result,) = switches(plan, calls(), trip())
    # 1000/2 - 150, 2000/2 - 150, 3000/2 - 150
    assert result.histogram == [(350, 1), (850, 1), (1350, 2)]
    assert (result.min, result.mean, result.p50, result.max) == (350, 975, 1100, 1350)
    assert result.mean == sum(value * count for value, count in result.histogram) / result.n
    assert result.sd == pytest.approx(957.4271 / 2, abs=1e-4)
    assert (result.worst[0].value, result.ci95["p50"]) == (1350, (350, 1350))
    assert (result.status, result.n, result.negative, result.p99) == ("ok", 4, 0, None)
    assert "derived" in result.flags
    assert result.params == {"entity": "thread", "config": "bound"}


def test_a_load_that_is_not_to_be_had_is_a_result_with_its_reason(plan: Plan) -> None:
    lacks = [UnsupportedCase(5, "sync.test2", {}, "heavy", "this target has no load heavy"),
             UnsupportedCase(6, "sync.test2", {"type": "named"}, "none", "no named semaphores"),
             UnsupportedCase(7, "sem.create", {}, "min", "not what it is made from")]  # fmt: skip
    result = switches(msgspec.structs.replace(plan, absent=lacks), calls(), trip())
    assert [(r.load, r.status, r.reason) for r in result] == [
        ("none", "ok", None), ("heavy", "unsupported", "this target has no load heavy"),
    ]  # fmt: skip


def test_ctx_sync_counts_what_lies_below_zero(plan: Plan) -> None:
    (result,) = switches(plan, calls(mean=900.0), trip())
    assert (result.negative, result.min) == (1, -400)


def test_ctx_sync_subtracts_a_median_that_a_disturbance_does_not_move(plan: Plan) -> None:
    stalled = calls(n=5000, mean=1950.0, p50=150.0, ci95={"p50": (140.0, 170.0)})
    (switch,) = switches(plan, stalled, trip())
    assert (switch.status, switch.mean) == ("ok", 975)
    both = (500 - 170, 1500 - 140)
    assert (switch.ci95["p50"], [*switch.figures]) == (both, ["median of sync.test1, subtracted"])


def test_ctx_sync_refuses_a_switch_that_takes_no_time(plan: Plan) -> None:
    (switch,) = switches(plan, calls(mean=1250.0), trip())
    assert (switch.status, switch.n) == ("incomplete", 0)
    assert "half a round trip (1250 ns) is not longer than the calls alone" in str(switch.reason)


def test_ctx_sync_takes_the_calls_of_the_same_load_and_configuration(plan: Plan) -> None:
    loaded = calls(load="heavy", mean=250.0)
    elsewhere = calls(params={"type": "unnamed", "config": "1cpu"}, mean=350.0)
    named = calls(params={"type": "named", "config": "bound"}, mean=450.0)
    result = switches(
        plan, named, elsewhere, calls(), loaded, trip("thread"), trip("process", load="heavy")
    )
    assert [(r.params["entity"], r.load, r.mean) for r in result] == [
        ("thread", "none", 975), ("process", "heavy", 875),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "message"),
    [
        ([], "sync.test2 did not run"),
        ([trip()], "sync.test1 did not run beside it"),
        ([calls(load="heavy"), trip()], "sync.test1 did not run beside it"),
        ([calls(status="failed", reason="killed"), trip()], "sync.test1 is failed: killed"),
        ([calls(), trip(status="incomplete", reason="load heavy: x")], "sync.test2 is incomplete"),
        ([calls(mean=None), trip()], "sync.test1 is ok: no samples"),
    ],
)
def test_ctx_sync_says_what_it_lacks(plan: Plan, measured: list[Result], message: str) -> None:
    (result,) = switches(plan, *measured)
    assert (result.status, result.n) == ("incomplete", 0)
    assert message in (result.reason or "")


@pytest.mark.parametrize(
    "measured",
    [
        [calls(), trip(status="unsupported", reason="one CPU")],
        [calls(status="unsupported", reason="one CPU"), trip()],
    ],
)
def test_ctx_sync_of_what_is_not_to_be_had(plan: Plan, measured: list[Result]) -> None:
    (result,) = switches(plan, *measured)
    assert result.status == "unsupported"
    assert "one CPU" in (result.reason or "")


def test_ctx_sync_on_a_target_that_lacks_the_bench(plan: Plan) -> None:
    lacking = UnsupportedCase(8, "sync.test2", {}, "none", "this target has no bench sync.test2")
    (result,) = switches(msgspec.structs.replace(plan, absent=[lacking]), calls())
    assert (result.status, result.reason) == ("unsupported", lacking.reason)


def test_compare_needs_several_loads(plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "dk.compare", {})])
    (result,) = derived.results(plan, [calls()])
    assert result.status == "unsupported"
    assert result.reason == "a run under a single load has nothing to compare; repeat --load"
    lacking = [UnsupportedCase(5, "sync.test2", {}, "copy", "load copy needs a file system"),
               UnsupportedCase(6, "sync.test2", {"type": "named"}, "none", "no names")]  # fmt: skip
    (result,) = derived.results(msgspec.structs.replace(plan, absent=lacking), [calls()])
    assert result.reason == "there is no second load: load copy needs a file system"
    (result,) = derived.results(plan, [trip(), trip(load="heavy", mean=4000.0, max=9000.0)])
    assert result.tables == [
        TextTable(
            "mean / maximum by load",
            ["bench", "none", "heavy"],
            [["sync.test2 entity=thread config=bound", "2250.0 / 3000.0 ns", "4000.0 / 9000.0 ns"]],
        )
    ]


def test_compare_has_a_row_for_every_case(plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "dk.compare", {})])
    trips = [
        trip(load=load, mean=mean, params={**trip().params, "size": size, "time": time})
        for load, time in (("none", 0), ("heavy", 9))
        for size, mean in ((64, 100.0), (128, 200.0))
    ]
    (result,) = derived.results(plan, trips)
    (table,) = result.tables
    name = "sync.test2 entity=thread config=bound"
    assert [row[0] for row in table.rows] == [f"{name} size=64", f"{name} size=128"]
    assert [[cell.split()[0] for cell in row[1:]] for row in table.rows] == [
        ["100.0", "100.0"], ["200.0", "200.0"],
    ]  # fmt: skip


def test_the_checklist_is_that_of_the_run(plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "env.check", {})])
    (result,) = derived.results(plan, [])
    assert result.status == "unsupported"
    assert result.reason and "of a machine or container that runs Linux" in result.reason
    facts = TextTable("checklist", ["line"], [["good"]])
    (result,) = derived.results(msgspec.structs.replace(plan, environment=facts), [])
    assert (result.status, result.tables) == ("ok", [facts])
