"""Growth on several systems in words, and as a page."""

from __future__ import annotations

from io import StringIO
from math import log2
from typing import Any

import pytest
from rich.console import Console

from rtstone.report.growth import comparison, page, terminal
from rtstone.report.parts import frame
from rtstone.stats.growth_changes import growth_changes
from tests.report.test_html import Reader
from tests.stats.grown import Cost, exact, in_lab, on_machine, tables

LINEAR = exact(lambda n: 600 + 12 * n)
STEEPER = exact(lambda n: 600 + 13 * n)
LOG = exact(lambda n: 1300 + 20 * log2(n))
FLAT = exact(lambda n: 1000)
QUADRATIC = exact(lambda n: 700 + n * n)
OLD: dict[str, Cost] = {"fork/maps": FLAT, "mq/messages": LINEAR, "open/time-sharing-tasks": LINEAR}
NEW: dict[str, Cost] = {"fork/maps": FLAT, "mq/messages": STEEPER, "open/time-sharing-tasks": LOG}
OLD_AND_NEW = tables(in_lab("old", OLD), in_lab("new", NEW))


def test_where_classes_differ_comes_first() -> None:
    assert comparison.answer(growth_changes(OLD_AND_NEW)) == (
        "1 of 3 pairs is of another class on new than on old: open beside n time-sharing tasks, "
        "linear on old, logarithmic on new; 1 grow alike; 1 by the same class with another slope."
    )
    assert comparison.answer(growth_changes(tables(in_lab("a", OLD), in_lab("b", OLD)))) == (
        "No pair of 3 is of another class on b than on a: 3 grow alike."
    )
    apart = growth_changes(tables(in_lab("a", {"a/b": LOG}), in_lab("b", {"c/d": LOG})))
    assert comparison.answer(apart) == "No pair has a class on both a and b."
    assert comparison.undetermined(apart) is not None


def test_the_lab_has_the_algorithm_and_a_machine_what_one_pays() -> None:
    each = tables(in_lab("k", {"x/y": LINEAR}), on_machine({"x/y": QUADRATIC}))
    compared = growth_changes(each)
    assert comparison.answer(compared) == (
        "1 of 1 pair is of another class on local than on k: x beside n y, linear on k, quadratic "
        "on local."
    )
    assert list(comparison.notes(each, compared))[-1] == (
        "k has the class of the algorithm; local that of what one pays, caches included."
    )
    ((_, cells),) = comparison.grid(compared).rows
    assert [cell.text for cell in cells] == ["linear 12.0", "quadratic 1.00 ns !"]


@pytest.mark.parametrize("systems", [2, 6])
def test_systems_stand_side_by_side_in_80_columns(systems: int) -> None:
    each = tables(*(in_lab(f"linux-6.{i}", NEW if i else OLD) for i in range(systems)))
    out = Console(file=StringIO(), width=80, record=True)
    out.print(*terminal.changes_lines(each, growth_changes(each), 80), sep="\n")
    lines = out.export_text().splitlines()
    assert max(map(len, lines)) <= 80
    assert sum("linux-6.5" in line and "service" in line for line in lines) == (systems == 6)
    for text in ("constant 1.00 k", "linear 13.0 *", "log 20.0 !", "! another class than on"):
        assert any(text in line for line in lines), text


# ---- the page -----------------------------------------------------------------------------------


def charts(*each: Any) -> list[dict[str, Any]]:
    compared = growth_changes(each) if len(each) > 1 else None
    sections = page._sections(each, compared)
    return [chart.data for section in sections for chart in section.drawn]


def test_the_chart_of_what_grows_most_is_first() -> None:
    (table,) = tables(in_lab("k", {"a/x": FLAT, "b/x": LOG, "c/x": QUADRATIC, "d/x": LINEAR}))
    drawn = charts(table)
    last = [data["series"][0]["points"][-1][1] for data in drawn]
    assert last == [1_049_000, 12_890, 1500, 1000]
    for data in drawn:
        cost, fit = data["series"]
        assert [x for x, _ in cost["points"]] == [0, 2, 4, 6, 8, 10]
        assert [y for _, y in fit["points"]] == pytest.approx([y for _, y in cost["points"]], 0.01)


def test_units_that_differ_are_drawn_relative_to_the_least_n() -> None:
    (data,) = charts(*tables(in_lab("k", {"x/y": LINEAR}), on_machine({"x/y": QUADRATIC})))
    assert data["unit"] == "times"
    assert [series["points"][0][1] for series in data["series"]] == [1, 1]
    assert [series["name"] for series in data["series"]] == ["k", "local"]


@pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")
def test_a_page_has_the_answer_and_all_pairs() -> None:
    for each in (OLD_AND_NEW[:1], OLD_AND_NEW):
        compared = growth_changes(each) if len(each) > 1 else None
        reader = Reader(page.compose(each, compared))
        drawn = reader.attributes("data-chart")
        assert len(set(drawn)) == 3 and len(drawn) == 4  # one beside the verdict, too
        ids = reader.attributes("id")
        assert {"grows", "flat", "pairs"} <= set(ids)
