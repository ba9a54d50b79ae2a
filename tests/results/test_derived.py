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
    given: dict[str, Any] = {
        "case": 1, "bench": "sync.test1", "params": {"type": "unnamed", "config": "bound"},
        "load": "none", "status": "ok", "n": 3, "mean": 150.0,
    }  # fmt: skip
    return Result(**given | members)


def trip(entity: str = "thread", **members: Any) -> Result:
    """Return round trips of 1000, 2000 and, twice, 3000 ns."""
    given: dict[str, Any] = {
        "case": 2, "bench": "sync.test2", "load": "none", "status": "ok", "n": 4,
        "params": {"type": "unnamed", "entity": entity, "config": "bound"},
        "min": 1000.0, "mean": 2250.0, "sd": 957.4271, "p50": 2500.0, "max": 3000.0,
        "histogram": [(1000.0, 1), (2000.0, 1), (3000.0, 2)],
        "worst": [Worst(value=3000.0, index=2, at_s=0.5)], "ci95": {"p50": (1000.0, 3000.0)},
    }  # fmt: skip
    return Result(**given | members)


def switches(plan: Plan, *measured: Result) -> list[Result]:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "ctx.sync", {})])
    return derived.results(plan, list(measured))


def test_ctx_sync_is_half_a_round_trip_less_the_calls(plan: Plan) -> None:
    (found,) = switches(plan, calls(), trip())
    # 1000/2 - 150, 2000/2 - 150, 3000/2 - 150
    assert found.histogram == [(350, 1), (850, 1), (1350, 2)]
    assert (found.min, found.mean, found.p50, found.max) == (350, 975, 1100, 1350)
    assert found.mean == sum(value * count for value, count in found.histogram) / found.n
    assert found.sd == pytest.approx(957.4271 / 2, abs=1e-4)
    assert (found.worst[0].value, found.ci95["p50"]) == (1350, (350, 1350))
    assert (found.status, found.n, found.negative, found.p99) == ("ok", 4, 0, None)
    assert "derived" in found.flags
    assert found.params == {"entity": "thread", "config": "bound"}


def test_a_load_that_is_not_to_be_had_is_a_result_with_its_reason(plan: Plan) -> None:
    lacks = [UnsupportedCase(5, "sync.test2", {}, "heavy", "no load heavy on this target"),
             UnsupportedCase(6, "sync.test2", {"type": "named"}, "none", "no named semaphores"),
             UnsupportedCase(7, "sem.create", {}, "min", "not what it is made from")]  # fmt: skip
    found = switches(msgspec.structs.replace(plan, absent=lacks), calls(), trip())
    assert [(r.load, r.status, r.reason) for r in found] == [
        ("none", "ok", None), ("heavy", "unsupported", "no load heavy on this target"),
    ]  # fmt: skip


def test_ctx_sync_counts_what_lies_below_zero(plan: Plan) -> None:
    (found,) = switches(plan, calls(mean=900.0), trip())
    assert (found.negative, found.min) == (1, -400)


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
    found = switches(
        plan, named, elsewhere, calls(), loaded, trip("thread"), trip("process", load="heavy")
    )
    assert [(r.params["entity"], r.load, r.mean) for r in found] == [
        ("thread", "none", 975), ("process", "heavy", 875),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("measured", "told"),
    [
        ([], "sync.test2 did not run"),
        ([trip()], "sync.test1 did not run beside it"),
        ([calls(load="heavy"), trip()], "sync.test1 did not run beside it"),
        ([calls(status="failed", reason="killed"), trip()], "sync.test1 is failed: killed"),
        ([calls(), trip(status="incomplete", reason="load heavy: x")], "sync.test2 is incomplete"),
        ([calls(mean=None), trip()], "sync.test1 is ok: no samples"),
    ],
)
def test_ctx_sync_says_what_it_lacks(plan: Plan, measured: list[Result], told: str) -> None:
    (found,) = switches(plan, *measured)
    assert (found.status, found.n) == ("incomplete", 0)
    assert told in (found.reason or "")


@pytest.mark.parametrize(
    "measured",
    [
        [calls(), trip(status="unsupported", reason="one CPU")],
        [calls(status="unsupported", reason="one CPU"), trip()],
    ],
)
def test_ctx_sync_of_what_is_not_to_be_had(plan: Plan, measured: list[Result]) -> None:
    (found,) = switches(plan, *measured)
    assert found.status == "unsupported"
    assert "one CPU" in (found.reason or "")


def test_ctx_sync_on_a_target_that_lacks_the_bench(plan: Plan) -> None:
    lacking = UnsupportedCase(8, "sync.test2", {}, "none", "this target has no bench sync.test2")
    (found,) = switches(msgspec.structs.replace(plan, absent=[lacking]), calls())
    assert (found.status, found.reason) == ("unsupported", lacking.reason)


def test_compare_needs_several_loads(plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "dk.compare", {})])
    (found,) = derived.results(plan, [calls()])
    assert found.status == "unsupported"
    (found,) = derived.results(plan, [trip(), trip(load="heavy", mean=4000.0, max=9000.0)])
    assert found.tables == [
        TextTable(
            "mean / maximum by load",
            ["bench", "none", "heavy"],
            [["sync.test2 entity=thread config=bound", "2250.0 / 3000.0 ns", "4000.0 / 9000.0 ns"]],
        )
    ]


def test_compare_has_a_row_for_every_case(plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "dk.compare", {})])
    made = [
        trip(load=load, mean=mean, params={**trip().params, "size": size, "time": time})
        for load, time in (("none", 0), ("heavy", 9))
        for size, mean in ((64, 100.0), (128, 200.0))
    ]
    (found,) = derived.results(plan, made)
    (table,) = found.tables
    name = "sync.test2 entity=thread config=bound"
    assert [row[0] for row in table.rows] == [f"{name} size=64", f"{name} size=128"]
    assert [[cell.split()[0] for cell in row[1:]] for row in table.rows] == [
        ["100.0", "100.0"], ["200.0", "200.0"],
    ]  # fmt: skip


def test_the_checklist_is_that_of_the_run(plan: Plan) -> None:
    plan = msgspec.structs.replace(plan, derived=[Case(9, "env.check", {})])
    (found,) = derived.results(plan, [])
    assert found.status == "unsupported"
    facts = TextTable("checklist", ["line"], [["good"]])
    (found,) = derived.results(msgspec.structs.replace(plan, environment=facts), [])
    assert (found.status, found.tables) == ("ok", [facts])
