"""Breakdowns of Hartstone as measured, as simulated, and the gap between, on made-up results."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.run import Figure, Result
from rtstone.simulate.hartask import as_measured
from rtstone.simulate.hartstone import Ask
from rtstone.stats.breakdowns import shown


def _result(bench: str = "hart.PN.2", flags: list[str] | None = None, **ends: float) -> Result:
    """Return an experiment of set auto on a system of 16 000 KWIPS, in tests of 1.5 s."""
    names = {"held": "breakdown utilisation", "missed": "first miss at",
             "clean": "no breakdown up to", "again": "held again at"}  # fmt: skip
    figures = {names[name]: Figure(value=value, unit="%") for name, value in ends.items()}
    figures |= {"raw speed": Figure(value=16_000, unit="KWIPS"),
                "duration of a test": Figure(value=1.5, unit="s")}  # fmt: skip
    params: dict[str, Any] = {"set": "auto", "policy": "rm", "gaps": "whole"}
    return Result(case=1, bench=bench, params=params, load="none", status="ok", figures=figures,
                  flags=flags or [])  # fmt: skip


def _ends(quantity: Any, *results: Result) -> tuple[Any, Any]:
    interval = shown(quantity, results)
    assert interval.unit == "%"
    return interval.value, interval.most


def test_a_measured_breakdown_is_an_interval() -> None:
    assert _ends("measured", _result(held=60.0, missed=62.0)) == (60.0, 62.0)
    # A test above the first miss that held is a lucky one, or that miss was a disturbance.
    assert _ends("measured", _result(held=60.0, missed=62.0, again=90.0)) == (60.0, 62.0)
    two = _result(held=60.0, missed=62.0), _result(held=50.0, missed=52.0)
    assert _ends("measured", *two) == (50.0, 62.0)
    assert _ends("measured", _result(clean=83.04)) == ("above 83", None)
    assert _ends("measured", two[0], _result(clean=83.04)) == ("above 60", None)
    assert _ends("measured", _result()) == (None, None)


def test_the_simulation_has_the_set_the_test_and_the_speed_of_the_measurement() -> None:
    result = _result(held=60.0, missed=62.0)
    assert as_measured(result).ask == Ask("PN.2", raw=16_000, duration_ns=1_500_000_000)
    low, high = _ends("rm", result)
    least, most = _ends("edf", result)
    # All rates of PN.2, which are not harmonic, are raised by a tenth in each test.
    step = high - low
    assert step == pytest.approx(2, abs=0.2) == most - least
    assert low + 2 * step < least  # under EDF up to the whole processor
    assert least <= 100.1
    slow = structs.replace(result, figures=result.figures | {
        "raw speed": Figure(value=1_600, unit="KWIPS")})  # fmt: skip
    assert _ends("rm", slow) != (low, high)  # loads are whole KWIPP


def test_the_gap_is_what_may_lie_between_both_intervals() -> None:
    result = _result(held=60.0, missed=62.0)
    low, high = _ends("rm", result)
    assert _ends("gap", result) == pytest.approx((low - 62, high - 60), abs=1e-4)
    same = _result(held=low, missed=high)
    assert _ends("gap", same) == pytest.approx((low - high, high - low), abs=1e-4)


@pytest.mark.parametrize(
    "members",
    [
        {"held": 60.0, "missed": 62.0, "flags": ["steal"]},  # the hypervisor took the CPU
        {"held": 60.0, "missed": 62.0, "flags": ["not_monotone"]},
        {"clean": 60.0},
    ],
)
def test_a_gap_that_need_not_be_the_systems_is_undetermined(members: dict[str, Any]) -> None:
    assert _ends("gap", _result(**members)) == ("undetermined", None)
