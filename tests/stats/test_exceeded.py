"""Which results are explained where a gate fails: those with the samples that exceeded limits."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from rtstone.documents.run import Result
from rtstone.stats.budget import load
from rtstone.stats.exceeded import Exceeded, exceeded
from rtstone.stats.gate import check
from tests.stats.test_gate import FLAT, entry, result, run


def exceedances(tmp_path: Path, budget: str, *results: Result) -> list[Exceeded]:
    path = tmp_path / "budget.toml"
    path.write_text(budget)
    measured_run = run(*results)
    return exceeded(measured_run, check(measured_run, load(path)))


def test_each_case_once_most_exceeded_first(tmp_path: Path) -> None:
    large = [10 * value for value in FLAT]
    results = [
        result(FLAT, case=0),
        result(large, case=1, load="heavy"),
        result(FLAT, case=2, load="quiet", bench="sem.post.higher"),
    ]
    limits = entry('p50 = "4us"', 'max = "9us"') + entry('max = "20us"', bench="sem.*")
    exceeded = exceedances(tmp_path, limits, *results)
    assert [(limit.check.load, limit.check.what, limit.result.case) for limit in exceeded] == [
        ("heavy", "p50", 1), ("none", "p50", 0),
    ]  # fmt: skip


def test_the_largest_sample_of_a_case_that_was_run_several_times(tmp_path: Path) -> None:
    results = [result([*FLAT, most], case=case) for case, most in ((0, 2e4), (1, 3e4), (2, 1e4))]
    (limit,) = exceedances(tmp_path, entry('max = "9us"'), *results)
    assert limit.result is results[1] or limit.result == results[1]


def test_each_series_is_a_case(tmp_path: Path) -> None:
    results = [result(FLAT, series="cpu 0"), result([*FLAT, 3e4], series="cpu 1")]
    (limit,) = exceedances(tmp_path, entry('max = "20us"'), *results)
    assert (limit.check.series, limit.result.series) == ("cpu 1", "cpu 1")


def test_what_no_single_sample_exceeds_has_no_cause(tmp_path: Path) -> None:
    late = structs.replace(result(FLAT), missed=5)
    assert exceedances(tmp_path, entry("missed = 0", 'mean = "1us"', 'max = "1s"'), late) == []
