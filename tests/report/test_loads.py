from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rtstone.documents.run import Misses, Result, Run
from rtstone.report.parts import frame
from rtstone.report.run.loads import LoadEffect, by_load, load_effects
from rtstone.results.estimates import batches
from rtstone.stats.evaluate import evaluate_run
from tests.report.synthetic import compose, run, statistics
from tests.report.test_html import Reader
from tests.stats.lab import counts


def result(load: str, times: float = 1.0, seed: int = 1, n: int = 4000, **members: Any) -> Result:
    """Return a result with a median of 1 µs times a factor."""
    spread = np.random.default_rng(seed).exponential(100, n)
    values = (times * (930 + spread)).round().tolist()
    members = {
        "bench": "dk.periodic", "params": {"period": 1_000_000}, **statistics(values),
        "histogram": counts(values), "batches": batches(np.array(values)),
        "evidence": {"section_ns": 4_000_000_000}, **members,
    }  # fmt: skip
    return Result(case=0, load=load, status="ok", **members)


def run_with(*results: Result) -> Run:
    return run(results=list(results), slopes=[])


def compared(*results: Result) -> tuple[LoadEffect, LoadEffect]:
    matrix = by_load(evaluate_run(run_with(*results)))
    assert matrix
    assert matrix.loads == ["none", "heavy"]
    none, heavy = matrix.cases[0].cells
    assert none
    assert heavy
    assert (none.verdict, none.strength) == ("", 0)
    return none, heavy


@pytest.mark.parametrize(
    ("times", "verdict"),
    [(5.3, "- worse, p50 5.2"), (0.2, "+ better, p50 0.2"), (2.3, "? inconclusive")],
)
def test_once_under_each_load_is_judged_as_single_runs_are(times: float, verdict: str) -> None:
    _, heavy = compared(result("heavy", times, seed=2), result("none"))
    assert heavy.verdict.startswith(verdict)
    assert bool(heavy.strength) == (verdict[0] in "+-")
    assert heavy.place == 0


def test_what_is_alike_is_no_difference_only_if_that_is_known() -> None:
    """A ratio near 1 with an interval of tens of percent says nothing."""
    _, wide = compared(result("none", n=40), result("heavy", 1.005, seed=2, n=40))
    assert wide.effect
    assert wide.effect.ratio == pytest.approx(1, abs=0.02)
    assert wide.verdict.startswith("? inconclusive")
    _, once = compared(result("none"), result("heavy", 1.005, seed=2))
    assert once.verdict.startswith("? inconclusive")
    thrice = [
        result(load, 1 + 0.001 * (seed % 3), seed=seed)
        for load, seeds in (("none", (1, 2, 3)), ("heavy", (4, 5, 6)))
        for seed in seeds
    ]
    _, repeated = compared(*thrice)
    assert repeated.verdict.startswith("= no difference")


def test_loads_that_were_repeated_tell_smaller_differences() -> None:
    repeated = [
        result(load, times * (1 + 0.001 * (seed % 3)), seed=seed)
        for load, times, seeds in (("none", 1, range(4)), ("heavy", 2.3, range(4, 8)))
        for seed in seeds
    ]
    _, heavy = compared(*repeated)
    assert heavy.word == "worse"
    assert len(heavy.subjects) == 4


def test_repetitions_under_a_load_are_one_set_of_samples() -> None:
    heavy = [result("heavy", 2, seed) for seed in (2, 3)]
    _, cell = compared(result("none", n=400), *heavy)
    assert (cell.whole.n, len(cell.subjects)) == (8000, 2)
    assert cell.whole.max == max(r.max for r in heavy if r.max)
    assert cell.observed == "4.00 s and 4.00 s"
    matrix = by_load(evaluate_run(run_with(result("none", n=400), *heavy)))
    assert matrix
    assert matrix.cases[0].statistic == "p50"  # not all have a p99


def test_one_load_makes_no_matrix() -> None:
    alone = evaluate_run(run_with(result("none"), result("none", bench="other")))
    assert by_load(alone) is None
    assert list(load_effects(alone)) == []


def test_cases_that_no_load_changes_are_counted() -> None:
    same = run_with(result("none"), result("heavy", 1.005, seed=2))
    (line,) = load_effects(evaluate_run(same))
    assert line.startswith("no difference of medians shown between loads in 1 case: ")
    repeated = run_with(*(result(load, 1 + 0.001 * (seed % 3), seed=seed)
                          for load, seeds in (("none", (1, 2, 3)), ("heavy", (4, 5, 6)))
                          for seed in seeds))  # fmt: skip
    assert list(load_effects(evaluate_run(repeated))) == [
        "no difference shown between loads in 1 case"
    ]


def test_a_case_in_which_a_load_made_it_miss_is_not_called_the_same() -> None:
    late = Misses(limit=10**6, n=81, late=37, squares=37, room=32, windows=[])
    for members, missed in (({"missed": 44}, 44), ({"missed": 44, "misses": late}, 81)):
        trial = run_with(result("none", missed=0), result("heavy", 1.005, seed=2, **members))
        (line,) = load_effects(evaluate_run(trial))
        assert line.startswith("dk.periodic")
        assert ", missed 0, n " in line and f", missed {missed}, n " in line


@pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_page_and_terminal_say_the_same() -> None:
    example = run_with(result("none"), result("heavy", 5.3, seed=2), result("none", bench="x.y"))
    evaluated = evaluate_run(example)
    (line,) = load_effects(evaluated)
    verdict = by_load(evaluated).cases[0].cells[1].verdict  # type: ignore[union-attr]
    assert verdict.startswith("- worse, p50 5.")
    assert f"({verdict}), max " in line
    page = Reader(compose([example]))
    words = [word.replace("\u202f", " ") for word in page.words]
    assert verdict in words
    assert "#r0-1" in page.attributes("href")
