"""Costs derived from a measured run."""

from __future__ import annotations

from typing import Any

import pytest

from rtstone.documents.run import Result, Run, Target, Value
from rtstone.errors import UsageError
from rtstone.simulate.costs import of_run


def result(bench: str, p50: float | None, load: str = "none", **members: Any) -> Result:
    return Result(case=1, bench=bench, params=members.pop("params", {}), load=load, status="ok",
                  n=1000, p50=p50, **members)  # fmt: skip


def run(*results: Result, **conditions: Value) -> Run:
    return Run(run_id="r1", created="", status="complete", target=Target(name="local"),
               results=list(results), conditions=dict(conditions.items()))  # fmt: skip


INTERRUPTED = result("det.bintime", 40.0, histogram=[(40.0, 99_000), (100.0, 10), (8040.0, 20)])
CONFIG: dict[str, Value] = {"kernel.config": ["CONFIG_HZ_250=y", "CONFIG_HZ=250"]}


def test_the_least_ballast_is_the_switch() -> None:
    cost = of_run(run(
        result("sched.yield.pair", 900.0),
        result("ctx.ballast", 1500.4, params={"ballast": 129}),
        result("ctx.ballast", 1100.4, params={"ballast": 0}),
        result("ctx.ballast", 5000.0, "heavy", params={"ballast": 0}),
    ))  # fmt: skip
    assert (cost.switch_ns, cost.tick_ns, cost.tick_cost_ns) == (1100, 0, 0)
    assert cost.from_run == "r1"
    assert "ctx.ballast ballast=0" in cost.sources[0]
    assert "unknown" in cost.sources[1]
    assert of_run(run(result("sched.yield.pair", 900.0))).switch_ns == 900


def test_a_tick_costs_what_interruptions_take_of_its_period() -> None:
    """20 of 99 030 intervals took 8 us more than usual; one of 100 ns is not long enough."""
    cost = of_run(run(result("ctx.ballast", 1000.0), INTERRUPTED, **CONFIG))
    total = 99_000 * 40 + 10 * 100 + 20 * 8040
    assert cost.tick_ns == 4_000_000
    assert cost.tick_cost_ns == round(20 * 8000 / total * 4_000_000)


def test_what_is_half_a_microsecond_above_the_usual_was_not_interrupted() -> None:
    intervals = result("det.bintime", 40.0, histogram=[(40.0, 100), (540.0, 1), (541.0, 2)])
    cost = of_run(run(result("ctx.ballast", 1000.0), intervals, **CONFIG))
    assert cost.tick_cost_ns == round(2 * 501 / (4000 + 540 + 2 * 541) * 4_000_000)


@pytest.mark.parametrize(
    "lacking",
    [
        run(),
        run(result("ctx.ballast", None)),
        run(result("ctx.ballast", 900.0, unit="instructions")),
    ],
)
def test_a_run_without_a_switch_is_refused(lacking: Run) -> None:
    with pytest.raises(UsageError, match="no cost of a switch in run r1"):
        of_run(lacking)
    assert of_run(lacking, switch_known=True).switch_ns == 0
