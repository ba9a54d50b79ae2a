"""Which effects have verdicts: exact numbers, figures, values without a ratio."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rtstone.documents.comparison import Comparison, Effect
from rtstone.documents.run import Figure, Result, Run
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.effects import Sides, judge
from tests.stats.lab import lab, result
from tests.stats.runs import run


def only(comparison: Comparison, part: str = "median") -> Effect:
    (selected,) = [e for row in comparison.rows for e in row.effects if e.part == part]
    return selected


def counted(system: str, *values: float, **members: Any) -> Run:
    return lab(system, [result("null", [v for v in values for _ in range(100)])], **members)


# ---- exact numbers ------------------------------------------------------------------------------


def test_instructions_that_are_equal_are_no_difference_and_need_no_second_run() -> None:
    for values in ((410.0,), (410.0, 412.0, 977.0)):
        effect = only(compare([counted("a", *values), counted("b", *values)]))
        assert (effect.verdict, effect.ratio, effect.ci95) == ("no difference", 1.0, (1.0, 1.0))
        assert effect.basis == "exact"


def test_constants_that_differ_by_one_instruction_differ() -> None:
    effect = only(compare([counted("a", 410), counted("b", 411)]))
    assert effect.verdict == "worse"
    assert effect.ci95 == pytest.approx((411 / 410, 411 / 410))
    assert only(compare([counted("a", 411), counted("b", 410)])).verdict == "better"


def test_what_is_counted_repeats_so_any_difference_is_real_if_need_be_for_one_seed() -> None:
    sides = [(410.0, 500.0, 510.0), (420.0, 505.0, 515.0)]
    for seed in (None, 1):
        runs = [counted(name, *v, seed=seed) for name, v in zip("ab", sides, strict=True)]
        comparison = compare(runs)
        effect = only(comparison)
        assert (effect.basis, effect.verdict) == ("exact", "worse")
        assert comparison.rules
        assert ["of one seed each" in remark for remark in comparison.rules.remarks] == [
            True
        ] * bool(seed)


def test_in_the_lab_maxima_are_judged_too() -> None:
    """3.82 M against 18 k instructions is a difference."""
    comparison = compare([counted("a", 410, 3_820_000), counted("b", 410, 18_000)])
    effect = only(comparison, "maximum")
    assert (effect.basis, effect.verdict, effect.statistic) == ("exact", "better", "max")
    assert effect.ratio == pytest.approx(18 / 3820)
    seeds = [
        counted(name, 410, top * (1 + seed / 20), seed=seed)
        for name, top in (("a", 3_820_000.0), ("b", 18_000.0))
        for seed in (1, 2, 3)
    ]
    several = only(compare(seeds), "maximum")
    assert (several.basis, several.verdict, several.runs) == ("runs", "better", 6)


def test_where_time_is_measured_a_maximum_is_a_single_sample() -> None:
    runs = [
        lab(name, [result("null", [v] * 99, unit="ns")], unit="ns")
        for name, v in (("a", 1.0), ("b", 9.0))
    ]
    assert all(e.part != "maximum" for row in compare(runs).rows for e in row.effects)


def test_what_the_first_column_lacks_is_judged_between_the_others() -> None:
    def results_of(null: float, create: float) -> list[Result]:
        return [result("null", [null] * 30), result("proc.create", [create] * 30)]

    comparison = compare(
        [lab("a", results_of(5, 0)[:1]), lab("b", results_of(5, 9)), lab("c", results_of(6, 8))]
    )
    verdicts = {
        (row.bench, e.column, e.against): e.verdict
        for row in comparison.rows
        for e in row.effects
        if e.part == "median"
    }
    assert verdicts == {
        ("null", "b", None): "no difference", ("null", "c", None): "worse",
        ("proc.create", "c", "b"): "better",
    }  # fmt: skip


def test_seeds_are_runs() -> None:
    def seeded(name: str, middle: float) -> list[Run]:
        return [
            counted(name, middle - 9, middle + seed % 3, middle + 40, seed=seed)
            for seed in range(1, 7)
        ]

    effect = only(compare([*seeded("a", 4000), *seeded("b", 4200)]))
    assert (effect.verdict, effect.basis, effect.runs) == ("worse", "runs", 12)
    few = only(compare([*seeded("a", 4000)[:2], *seeded("b", 4200)[:2]]))
    assert (few.verdict, few.missing is not None) == ("inconclusive", True)


# ---- figures ------------------------------------------------------------------------------------


def figures(name: str, values: list[float], unit: str) -> list[Run]:
    return [
        run([result("hart.PH.1", figures={name: Figure(value=v, unit=unit)}, unit="ns")],
            f"{place}-{v}", minute=place)
        for place, v in enumerate(values)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "unit", "verdict"),
    [
        ("breakdown utilisation", "%", "better"),
        ("sum of rates", "1/s", "better"),
        ("sum of times", "us", "worse"),
        ("tests", "", None),
        ("time scale", "", None),
    ],
)
def test_figures_have_a_verdict_where_it_is_known_which_way_is_better(
    name: str, unit: str, verdict: str | None
) -> None:
    first = figures(name, [50.0, 50.4, 49.8, 50.1], unit)
    other = figures(name, [70.1, 70.4, 69.8, 70.3], unit)
    (row,) = compare([first, other]).rows
    assert [effect.verdict for effect in row.effects] == ([verdict] if verdict else [])


def test_a_single_figure_of_a_machine_has_none() -> None:
    first, other = figures("sum of times", [50.0, 90.0], "us")
    assert compare([first, other]).rows[0].effects == []


# ---- values that have no ratio ------------------------------------------------------------------


def test_net_values_at_zero_have_a_difference_in_place_of_a_ratio() -> None:
    rng = np.random.default_rng(1)

    def net(middle: float) -> list[Run]:
        return [
            lab("a", [result("null", list(np.round(rng.normal(middle, 8, 200))), unit="ns")],
                unit="ns", run_id=f"{middle}-{place}")
            for place in range(6)
        ]  # fmt: skip

    effect = only(compare([net(0), net(30)]))
    assert (effect.ratio, effect.ci95) == (None, None)
    assert effect.difference == pytest.approx(30, abs=3)
    assert effect.difference_ci95
    assert effect.difference_ci95[0] < 30 < effect.difference_ci95[1]
    assert effect.verdict == "worse"


def test_equal_values_at_zero_are_no_difference_if_the_clock_can_tell() -> None:
    judged = judge(Sides([0.0] * 6, [0.0] * 6, False, paired=True), 0.01, -1)
    assert judged.verdict == "no difference"
    coarse = judge(Sides([10.0] * 6, [10.0] * 6, False, paired=True, resolution=10), 0.01, -1)
    assert (coarse.verdict, coarse.reason) == (
        "inconclusive",
        "the steps of the values are too coarse",
    )


# ---- what cannot be judged ----------------------------------------------------------------------


def test_what_is_incomplete_or_too_short_says_so() -> None:
    short = [lab(name, [result("null", [5.0] * 15)]) for name in "ab"]
    effect = only(compare(short))
    assert (effect.verdict, effect.missing, effect.reason) == (
        "inconclusive", 5, "no p50 of 15 samples",
    )  # fmt: skip
    bad = lab("b", [result("null", [5.0] * 100, status="incomplete", reason="load died")])
    effect = only(compare([counted("a", 5), bad]))
    assert (effect.verdict, effect.reason) == ("inconclusive", "incomplete on b")


def test_means_over_batches_of_different_sizes_have_no_common_tail() -> None:
    runs = [
        lab(name, [result("null", [5.0] * 2000, batch=batch)])
        for name, batch in (("a", 16), ("b", 32))
    ]
    effect = only(compare(runs), "tail")
    assert (effect.verdict, effect.ratio) == ("inconclusive", None)
    assert "batches of different sizes" in (effect.reason or "")


def test_each_column_is_compared_with_the_first() -> None:
    comparison = compare([counted(name, value) for name, value in (("a", 9), ("b", 8), ("c", 10))])
    effects = [e for row in comparison.rows for e in row.effects if e.part == "median"]
    assert [(e.column, e.verdict) for e in effects] == [("b", "better"), ("c", "worse")]
