from __future__ import annotations

from math import isclose

import pytest

from rtstone.documents.comparison import Column, Comparison, Effect, Row, Verdict
from rtstone.report.comparison.forest import Axis, Forest
from rtstone.report.comparison.page import compared
from rtstone.report.parts import frame
from rtstone.report.parts.model import Special
from rtstone.stats.comparison.compare import compare
from rtstone.stats.comparison.main_case import main_cases
from tests.report.synthetic import compose
from tests.report.test_html import Reader
from tests.stats.lab import study


def effect(verdict: Verdict, ratio: float | None, **members: object) -> Effect:
    interval = (ratio * 0.9, ratio * 1.1) if ratio else None
    members = {"part": "median", "statistic": "p50", "column": "b", "ci95": interval, **members}
    return Effect(verdict=verdict, ratio=ratio, **members)  # type: ignore[arg-type]


def comparison(*effects: Effect) -> Comparison:
    columns = [Column(label=name, target=name, runs=[f"run-{name}"]) for name in "ab"]
    rows = [
        Row(bench=f"x.{place}", params={}, load="none", unit="ns", cells=[None, None], effects=[e])
        for place, e in enumerate(effects)
    ]
    return Comparison(
        columns=columns, units=["ns"], equal={}, differences=[], rows=rows,
        main=main_cases(["a", "b"], rows, [], []),
    )  # fmt: skip


def forest_of(comparison: Comparison) -> Forest:
    block = compared(comparison).sections[0].blocks[0]
    assert isinstance(block, Special)
    assert isinstance(block.data, Forest)
    return block.data


def test_the_worst_come_first_and_the_largest_of_them() -> None:
    document = comparison(
        effect("no difference", 1.001), effect("better", 0.5), effect("worse", 1.2),
        effect("inconclusive", None, reason="too few", missing=120), effect("worse", 3.0),
    )  # fmt: skip
    table = forest_of(document)
    assert [entry.place for entry in table.rows] == [4, 2, 1, 3, 0]
    assert [entry.verdict for entry in table.rows] == [
        "- worse", "- worse", "+ better", "? inconclusive", "= no difference",
    ]  # fmt: skip
    assert table.counts == [
        ("worse", "- worse", 2), ("better", "+ better", 1), ("inconclusive", "? inconclusive", 1),
        ("no difference", "= no difference", 1),
    ]  # fmt: skip
    assert table.rows[0].change == "3 times longer"
    assert table.rows[3].reason == "too few: 120 more samples"
    assert table.picture(table.rows[3]) is None
    largest, balance = compared(document).answers
    assert largest.text == "b differs most from a in x.4: p50 3 times longer [2.7, 3.3]."
    assert largest.grade == "info"  # they point in different directions
    assert balance.text.startswith(
        "b is slower than a in 2 of 5 effects: the median (2 of 5 cases); and faster in 1: the "
        "median (1 of 5 cases); "
    )
    assert not balance.grade


@pytest.mark.parametrize(
    ("verdict", "grade"), [("worse", "bad"), ("better", "good"), ("no difference", "info")]
)
def test_the_grade_of_the_answer(verdict: Verdict, grade: str) -> None:
    page = compared(comparison(effect(verdict, 1.5), effect("inconclusive", 1.0)))
    assert page.answers[0].grade == grade


def test_ratios_stand_symmetric_about_1_and_what_lies_beyond_gets_an_arrow() -> None:
    axis = Axis(4.0)
    assert axis.x(1) == 100
    assert isclose(axis.x(2) - 100, 100 - axis.x(0.5))
    assert axis.x(4) == axis.x(1000) == 192
    assert (50.0, "1") in axis.ticks()
    table = forest_of(comparison(effect("worse", 18.0, ci95=(2.0, 50.0))))
    assert table.axis.end <= 20
    picture = table.picture(table.rows[0])
    assert picture
    assert picture["above"]
    assert not picture["below"]
    assert picture["low"] < picture["at"] < picture["high"]


@pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_the_page_has_a_row_for_each_effect_and_its_answer_first() -> None:
    runs = study()
    page = Reader(compose(runs))
    document = compared(compare(runs))
    table = forest_of(compare(runs))
    assert len(page.attributes("data-verdict")) == len(table.rows)
    assert sorted(page.attributes("data-verdict")) == sorted(t.effect.verdict for t in table.rows)
    ids = page.attributes("id")
    assert ids.index("compared-title") < ids.index("compared-verdicts") < ids.index("c-0")
    words = [word.replace("\u202f", " ").replace("\N{MINUS SIGN}", "-") for word in page.words]
    for answer in document.answers:
        assert answer.text in words
    assert "verdict" in page.attributes("name")


def test_without_effects_there_are_no_verdicts() -> None:
    page = compared(comparison())
    assert not page.answers
    assert [section.key for section in page.sections] == ["compared-table"]
