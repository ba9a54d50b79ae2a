"""Calls that are timed one by one beside those in batches: what has a maximum and a tail."""

from __future__ import annotations

from typing import Any

from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, slim
from rtstone.results.rounds import merged
from tests.results.test_assembly import case, result, run_of, whole

BATCHED = {"batch": 10, "n": 100, "sum": 100 * 1020, "min": 1020, "max": 1020,
           "hist": [[511, 100]], "worst": [[1020, 3, 500]], "negative": 0,
           "trace": None, "blocks": None}  # fmt: skip
ALONE = {"series": "single", "n": 100, "sum": 99 * 120 + 5020, "min": 120, "max": 5020,
         "hist": [[120, 99], [796, 1]], "worst": [[5020, 42, 500]], "negative": 0,
           "trace": None, "blocks": None}  # fmt: skip


def measured(plan: Plan, *series: dict[str, Any]) -> list[Result]:
    lines = whole(case(1, *(result(1, **members) for members in series)), case(2), case(3))
    return [r for r in run_of(plan, lines).results if r.case == 1]


def test_single_calls_are_a_member_of_the_result_in_batches(plan: Plan) -> None:
    (whole_case,) = measured(plan, BATCHED, ALONE)
    assert (whole_case.series, whole_case.batch, whole_case.max, whole_case.p50) == (
        "",
        10,
        None,
        100.0,
    )
    single = whole_case.single
    assert single is not None
    assert (single.batch, single.n, single.max, single.p50) == (1, 100, 5000.0, 100.0)
    assert [(worst.value, worst.index) for worst in single.worst] == [(5000.0, 42)]
    assert (single.evidence, single.load_rates) == ({}, [])
    assert "batched" in whole_case.flags and "batched" not in single.flags


def test_series_that_another_bench_calls_so_stays_a_result(plan: Plan) -> None:
    first, second = measured(plan, {"series": ""}, {"series": "single"})
    assert (first.single, second.series) == (None, "single")


def test_without_them_there_is_none(plan: Plan) -> None:
    (whole_case,) = measured(plan, BATCHED)
    assert whole_case.single is None


def test_a_slim_result_has_slim_single_calls(plan: Plan) -> None:
    (whole_case,) = measured(plan, BATCHED, ALONE)
    small = slim(whole_case).single
    assert small is not None
    assert (small.max, small.histogram, small.worst) == (5000.0, [], [])


def test_rounds_are_merged_with_their_single_calls(plan: Plan) -> None:
    (first,) = measured(plan, BATCHED, ALONE)
    (second,) = measured(plan, BATCHED, ALONE | {"max": 9020, "sum": 99 * 120 + 9020,
                                                "hist": [[120, 99], [908, 1]],
                                                "worst": [[9020, 7, 500]]})  # fmt: skip
    (both,) = merged(None, [[first], [second]])
    assert both.single is not None
    assert (both.single.n, both.single.max, both.max) == (200, 9000.0, None)
    assert [(worst.value, worst.index) for worst in both.single.worst] == [(9000, 107), (5000, 42)]
