"""Runs on CPUs of different kinds: nothing compares or pools them without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.capacity import KIND
from rtstone.documents.case_name import result_names
from rtstone.documents.comparison import Difference
from rtstone.documents.run import Result, Run, Value
from rtstone.errors import UsageError
from rtstone.results.identity import Heads, difference
from rtstone.stats.budget import load
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.conditions import mixed
from rtstone.stats.gate import check
from rtstone.stats.trend.differences import differences
from rtstone.stats.worstcase.guarantee import guarantee
from rtstone.wire.records import Conditions
from tests.stats.runs import distributions, result, run

TWO: dict[str, Value] = {"kernel.release": "6.12", "cpu.capacity": ["0-3: 1024", "4-7: 446"]}
ALIKE = TWO | {"cpu.capacity": ["0-7: 1024"]}
DRIFTED = TWO | {"cpu.capacity": ["0-2: 1024", "3: 960", "4-7: 450"]}
SILENT = TWO | {"cpu.capacity": None, "cpu.types": None}


def case(cpu: int | list[Value], bench: str = "dk.periodic", series: str = "") -> Result:
    samples = np.random.default_rng(7).normal(1000, 10, (1, 1, 1000)).round()
    cpus: Any = cpu if isinstance(cpu, list) else [cpu]
    measured = result(bench, distributions(samples)[0])
    return structs.replace(measured, series=series, evidence={"cpus": cpus})


def on(name: str, *cpus: int | list[Value], conditions: dict[str, Value] = TWO) -> Run:
    """Return a run whose cases were measured on these CPUs."""
    cases = [case(cpu, f"case.{place}") for place, cpu in enumerate(cpus)]
    return structs.replace(run(cases, name), conditions=conditions)


def of_kind(a: Run, b: Run) -> list[Difference]:
    return [d for d in compare([a, b]).differences if d.aspect == KIND]


# ---- comparisons --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (on("b", 2), []),
        (on("b", 5), [("care", ["performance", "efficiency"])]),
        (on("b", [2, 5]), [("care", ["performance", "performance and efficiency"])]),
        (on("b", 3, conditions=ALIKE), [("care", ["performance", "all alike"])]),
        (on("b", 3, conditions=SILENT), [("note", ["performance", "unknown"])]),
        (on("b", 3, conditions={}), []),  # no Linux
        # capacities change a little while the system runs, kinds do not
        (on("b", 3, conditions=DRIFTED), []),
    ],
)
def test_another_kind_is_a_difference_of_conditions(other: Run, expected: list[Any]) -> None:
    listed = of_kind(on("a", 3), other)
    assert [(d.grade, [held.value for held in d.values]) for d in listed] == expected


def test_it_is_named_first() -> None:
    other = on("b", 5, conditions=TWO | {"cpu.model": "other", "machine.product": "M"})
    listed = compare([on("a", 3), other]).differences
    assert [d.aspect for d in listed[:2]] == [KIND, "CPU"]


def test_cases_that_changed_places_are_named() -> None:
    """As many of either kind on both sides, but not the same ones."""
    listed = of_kind(on("a", 3, 5, 2), on("b", 5, 3, 1))
    assert [(d.grade, d.benches, [held.value for held in d.values]) for d in listed] == [
        ("care", ["case.0"], ["performance", "efficiency"]),
        ("care", ["case.1"], ["efficiency", "performance"]),
    ]


def test_runs_on_different_kinds_are_not_of_one_system() -> None:
    why = f"{KIND} is not the same"
    assert mixed([on("a", 3), on("b", 5)]) == why
    assert mixed([on("a", 3), on("b", 2)]) is None
    with pytest.raises(UsageError, match=why):
        compare([[on("a", 3), on("b", 5)], on("c", 3)])


# ---- gates, trends, guarantees ------------------------------------------------------------------


def test_a_baseline_of_another_kind_is_no_baseline(tmp_path: Path) -> None:
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "case.0"\np50 = "+10%"\n')

    def remarks(cpu: int) -> str:
        return " ".join(check(on("b", cpu), load(budget), [on("a", 3)]).remarks)

    held = f"{KIND} (the run: efficiency, the baseline: performance)"
    assert f"not measured as the baseline was: {held}" in remarks(5)
    assert "not measured as the baseline was" not in remarks(2)


def test_a_trend_names_the_kind_before_anything_else() -> None:
    before = [on(f"a{n}", 3) for n in range(4)]
    after = [on(f"b{n}", 5, conditions=TWO | {"kernel.release": "6.13"}) for n in range(4)]
    listed = differences(before, after)
    assert [(d.aspect, d.before, d.after) for d in listed] == [
        (KIND, "performance", "efficiency"), ("kernel", "6.12", "6.13"),
    ]  # fmt: skip
    assert differences(before, [on("c", 3, conditions=DRIFTED)]) == []


def test_a_guarantee_is_of_one_kind() -> None:
    with pytest.raises(UsageError, match=KIND):
        guarantee([on("a", 3), on("b", 5)])
    assert guarantee([on("a", 3), on("b", 3, conditions=DRIFTED)], "case.0").hardware


def test_a_run_is_resumed_although_a_capacity_moved() -> None:
    then, now = (Heads(None, None, Conditions(dict(values))) for values in (TWO, DRIFTED))
    assert difference(then.as_far_as(now), now.as_far_as(then)) is None


# ---- one run ------------------------------------------------------------------------------------


def test_names_have_the_kind_where_there_are_several() -> None:
    def labels(document: Run) -> list[str]:
        return [name.label for name in result_names(document)]

    def labels_of(*cpus: int) -> list[str]:
        cases = [case([*cpus], series=f"cpu{cpu}") for cpu in cpus]
        return labels(structs.replace(run(cases, "a"), conditions=TWO))

    assert labels_of(2, 3) == ["cpu2", "cpu3"]
    assert labels_of(3, 4) == ["cpu3 (performance)", "cpu4 (efficiency)"]
    parts = structs.replace(run([case(3), case(5)], "a"), conditions=TWO)
    assert labels(parts) == ["(performance)", "(efficiency)"]


def test_nothing_is_told_where_nothing_is_known() -> None:
    cases = [case([0, 4], series=f"cpu{cpu}") for cpu in (0, 4)]
    for conditions in (SILENT, ALIKE, {}):
        names = result_names(structs.replace(run(cases, "a"), conditions=conditions))
        assert [name.label for name in names] == ["cpu0", "cpu4"]
