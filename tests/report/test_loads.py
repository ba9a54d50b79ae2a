from __future__ import annotations

from typing import Any

import pytest

from rtstone.model.documents import Result, Run
from rtstone.report import html
from rtstone.report.loads import by_load, lines
from tests.report.synthetic import run
from tests.report.test_html import Reader


def result(load: str, p99: float | None, **members: Any) -> Result:
    around = (p99 * 0.99, p99 * 1.01) if p99 else None
    members = {
        "bench": "dk.periodic", "params": {"period": 1_000_000}, "n": 4000, "p50": 1000.0,
        "p99": p99, "max": 9e3, "ci95": {"p50": (990.0, 1010.0), "p99": around},
        "histogram": [(1000.0, 4000)], "evidence": {"section_ns": 4_000_000_000}, **members,
    }  # fmt: skip
    return Result(case=0, load=load, status="ok", **members)


def of(*results: Result) -> Run:
    return run(results=list(results), slopes=[])


@pytest.mark.parametrize(
    ("p99", "verdict"),
    [
        (4600.0, "- worse, 2.3 times"),
        (1000.0, "+ better, 0.5 times"),
        (2030.0, "= no difference, 1.01 times"),
        (2100.0, "? inconclusive, 1.05 times"),
    ],
)
def test_verdict_beside_load_none(p99: float, verdict: str) -> None:
    matrix = by_load(of(result("heavy", p99), result("none", 2000.0)))
    assert matrix
    assert matrix.loads == ["none", "heavy"]
    (case,) = matrix.cases
    none, heavy = case.cells
    assert none
    assert heavy
    assert (none.verdict, heavy.verdict) == ("", verdict)
    assert bool(heavy.strength) == (verdict[0] in "+-")
    assert heavy.place == 0


def test_intervals_that_overlap_or_are_unknown_give_no_verdict() -> None:
    wide = result("heavy", 4600.0, ci95={"p99": (1500.0, 9000.0)})
    unknown = result("heavy", 4600.0, ci95={"p99": None})
    for other in (wide, unknown):
        matrix = by_load(of(result("none", 2000.0), other))
        assert matrix
        cell = matrix.cases[0].cells[1]
        assert cell
        assert cell.word == "inconclusive"
        assert cell.strength == 0


def test_repetitions_under_a_load_are_one_set_of_samples() -> None:
    heavy = [result("heavy", 2000.0, ci95={"p50": (900.0, 950.0)}, max=m) for m in (5e3, 7e3)]
    matrix = by_load(of(result("none", None), *heavy))
    assert matrix
    cell = matrix.cases[0].cells[1]
    assert cell
    assert (cell.whole.n, cell.whole.max, len(cell.subjects)) == (8000, 7e3, 2)
    assert cell.observed == "4.00 s and 4.00 s"
    assert matrix.cases[0].statistic == "p50"  # not all have a p99


def test_one_load_makes_no_matrix() -> None:
    alone = of(result("none", 2000.0), result("none", 2000.0, bench="other"))
    assert by_load(alone) is None
    assert list(lines(alone)) == []


@pytest.mark.skipif(not html.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_page_and_terminal_say_the_same() -> None:
    made = of(result("none", 2000.0), result("heavy", 4600.0), result("none", 5.0, bench="x.y"))
    head, line = lines(made)
    assert head.startswith("against load none, by the samples of this run alone")
    assert line == (
        "dk.periodic: none p99 2.00 µs, max 9.00 µs in 4.00 s, n 4 000; "
        "heavy p99 4.60 µs (- worse, 2.3 times), max 9.00 µs in 4.00 s, n 4 000"
    )
    page = Reader(html.compose([made]))
    words = [word.replace("\u202f", " ") for word in page.words]
    assert "- worse, 2.3 times" in words
    assert "#r0-1" in page.attributes("href")
