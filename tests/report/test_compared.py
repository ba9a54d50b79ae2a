from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from rtstone.documents.run import Figure, Run
from rtstone.report.comparison.charts import charted
from rtstone.report.comparison.page import comparison_lines
from rtstone.report.comparison.words import number_text
from rtstone.report.parts import frame
from rtstone.report.parts.model import Cell, Chart, Page, Table
from rtstone.stats.comparison.compare import compare, compare_with_results
from tests.report.synthetic import HOSTILE, compose
from tests.report.test_html import Reader
from tests.stats.lab import agent, lab, result, study
from tests.stats.runs import session


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    return study()


def shown(runs: Sequence[Run], width: int) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*comparison_lines(compare(runs), width, everything=True), sep="\n")
    return captured.get()


def line(text: str, *parts: str) -> str:
    """Return the row of numbers that has these parts."""
    numbers = text.partition("\nVerdicts\n")[0]
    (match,) = [row for row in numbers.splitlines() if all(part in row for part in parts)]
    return match


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120, 200])
def test_the_table_fits_and_no_number_is_cut(runs: list[Run], width: int) -> None:
    text = shown(runs, width)
    assert all(len(row.rstrip()) <= width for row in text.splitlines())
    for row in compare(runs).rows:
        for cell in row.cells:
            assert cell
            values = [cell.min, cell.p50, cell.max] if cell.n else []
            assert all(number_text(value, row.unit) in text for value in values)


def test_systems_stand_beside_each_other_with_what_is_missing(runs: list[Run]) -> None:
    text = shown(runs, 160)
    comparison = compare(runs)
    _, stock, rt = next(row.cells for row in comparison.rows if row.bench == "proc.create")
    assert stock
    assert rt
    values = [number_text(v, "instructions") for c in (stock, rt) for v in (c.min, c.p50, c.max)]
    numbers = line(text, "proc.create variant=fork  ").split("1 200")[1]
    assert numbers.split() == " ".join(["unsupported [1]", *values]).split()
    assert "[1] unsupported on freertos-a64: no user processes" in text
    heads = [row.split() for row in text.splitlines()]
    assert ["freertos-a64", "linux-6.1", "linux-6.1-rt"] in heads


def test_in_a_narrow_terminal_loads_stand_below_their_case(runs: list[Run]) -> None:
    rows = [row.rstrip() for row in shown(runs, 80).splitlines()]
    at = rows.index("dk.nanosleep")
    assert [rows[at + 1].split()[0], rows[at + 2].split()[0]] == ["none", "exit"]


def test_boards_of_different_rates_are_named() -> None:
    fast, slow = (
        lab(name, [result("null", [9.0] * 50)], instructions_per_s=rate)
        for name, rate in (("a", 62_500_000), ("b", 125_000_000))
    )
    text = shown([fast, slow], 200).replace("\n", " ")
    assert "An instruction stands for 16 ns on a, 8 ns on b of its timers." in text


def test_what_the_numbers_are_is_said_between_the_answer_and_the_table(runs: list[Run]) -> None:
    text = shown(runs, 120)
    said = text.index("Counted in instructions of an emulated machine, not in time")
    assert " An instruction stands for 16 ns of its timers." in " ".join(text.split())
    assert text.startswith("linux-6.1 differs most from freertos-a64 in ")
    assert said < text.index("linux-6.1-rt: 3 runs, seeds 1, 2, 3")
    assert "linux-6.1-rt: 3 runs, seeds 1, 2, 3" in text
    assert "also different: other compiler flags" in text
    assert "care" not in text


def test_differences_are_told_with_values_and_systems() -> None:
    def first(system: str, **changes: Any) -> Run:
        return lab(system, [result("null", [1.0, 2.0])], **changes)

    text = shown([first("a"), first("b", shift=7), first("c", agent=agent(source="ff"))], 200)
    assert "compare only with care: shift: 4 on a and c, 7 on b" in text
    assert (
        "compare only with care: agent's common source: 0123456789abcdef on a and b, ff on c"
        in text
    )
    assert "equal: board virt-a53, QEMU 7.2.13" in text
    assert "-: no p50 of fewer than 20 samples" in text


def test_unequal_counts_are_told_for_each() -> None:
    many, few = [5.0] * 3000, [5.0] * 40
    text = shown([lab("a", [result("null", many)]), lab("b", [result("null", few)])], 100)
    assert "3 000/40" in line(text, "null")


def test_figures_over_seeds_are_a_span() -> None:
    def rate(system: str, value: float, seed: int) -> Run:
        figures = {"rate": Figure(value=value, unit="per s")}
        return lab(system, [result("rheal.rate", figures=figures)], seed=seed)

    text = shown([rate("a", 7, 1), rate("a", 9, 2), rate("b", 4, 1)], 100)
    assert line(text, "rheal.rate", "7.00 per s to 9.00 per s", "4.00 per s")


def test_time_is_told_where_time_is_measured() -> None:
    evidence = {"section_ns": 2_000_000_000}
    timed = [result("null", [1e6, 2e6], unit="ns", evidence=evidence)]
    text = shown([lab(name, timed, unit="ns") for name in "ab"], 120)
    assert "2.00 s" in line(text, "null")
    assert "1.00 ms" in line(text, "null")
    assert "nstructions" not in text


# ---- the page -----------------------------------------------------------------------------------

drawn = pytest.mark.skipif(not frame.BUNDLE.exists(), reason="no charts.js; run: make charts")


@drawn
def test_the_page_begins_with_the_table(runs: list[Run]) -> None:
    page = Reader(compose(runs))
    ids = page.attributes("id")
    assert len(ids) == len(set(ids))
    assert ids.index("compared-table") < ids.index("r0")
    words = [word.strip() for word in page.words if word.strip()]
    assert any(word.startswith("Counted in instructions of an emulated") for word in words)
    comparison = compare(runs)
    for place, row in enumerate(comparison.rows):
        assert f"c-{place}" in ids
        assert row.bench in words
    names = {name for name in page.attributes("data-name") if name.endswith(" max")}
    assert names == {f"{column.label} max" for column in comparison.columns}
    links = {link[1:] for link in page.attributes("href") if link.startswith("#")}
    assert "compared-table-n1" in links
    assert links <= set(ids)


@drawn
def test_every_chart_of_the_comparison_has_its_data(runs: list[Run]) -> None:
    page = Reader(compose(runs))
    charts = page.data["charts"]
    for name in page.attributes("data-chart"):
        assert name in charts
    first = charts["c-ranges-0"]
    assert first["unit"] == "instructions"
    assert {row["system"] for row in first["rows"]} == {0, 1, 2}


def drawn_in(page: Page, key: str) -> list[Chart]:
    """Return the charts of a section, none if the page has no such section."""
    return [chart for section in page.sections if section.key == key for chart in section.drawn]


def test_the_slowest_system_is_left_out_once_where_it_hides_the_others(runs: list[Run]) -> None:
    charts = drawn_in(charted(*compare_with_results(runs)), "compared-ranges")
    both = [chart for chart in charts if chart.caption.startswith("dk.nanosleep")]
    without = "dk.nanosleep without linux-6.1, the slowest"
    assert [chart.caption for chart in both] == ["dk.nanosleep", without]
    whole, rest = (chart.data["rows"] for chart in both)
    assert [row for row in whole if row["system"] != 1] == rest
    assert len(whole) == 6
    assert [chart.caption for chart in charts if chart.caption.startswith("null")] == ["null"]
    nothing = charted(*compare_with_results([lab(n, [result("null", [0.0] * 30)]) for n in "abc"]))
    assert [chart.caption for chart in drawn_in(nothing, "compared-ranges")] == ["null"]


def test_systems_by_load_hold_maximum_and_median(runs: list[Run]) -> None:
    comparison, behind = compare_with_results(runs)
    page = charted(comparison, behind)
    blocks = next(s for s in page.sections if s.key == "compared-loads").blocks
    tables = {block.title.partition(":")[0]: block for block in blocks if isinstance(block, Table)}
    table = tables["dk.nanosleep"]
    assert table.columns == ["system", "none", "exit"]
    assert [row[0] for row in table.rows] == ["freertos-a64", "linux-6.1", "linux-6.1-rt"]
    exits = next(
        row for row in comparison.rows if (row.bench, row.load) == ("dk.nanosleep", "exit")
    )
    for row, cell in zip(table.rows, exits.cells, strict=True):
        assert cell
        top, median = (number_text(value, "instructions") for value in (cell.max, cell.p50))
        assert row[2] == Cell(top, median)
    (lacking,) = (table for title, table in tables.items() if title.startswith("proc.create"))
    assert lacking.rows[0][1:] == ["unsupported", "unsupported"]


@drawn
def test_a_page_of_runs_that_cannot_be_compared_says_why(runs: list[Run]) -> None:
    time = lab("b", [result("null", [1.0], unit="ns")], unit="ns")
    page = Reader(compose([runs[0], time]))
    assert any("not compared: instructions and time cannot be" in word for word in page.words)
    assert "compared" not in page.attributes("id")
    assert {"r0", "r1"} <= set(page.attributes("id"))


@drawn
def test_one_run_is_not_compared(runs: list[Run]) -> None:
    text = compose(runs[:1])
    assert "not compared" not in text
    assert 'id="compared"' not in text


@drawn
def test_hostile_strings_of_a_comparison_are_text() -> None:
    bad = result("null", status="failed", reason=HOSTILE)
    runs = [lab(HOSTILE, [result("null", [1.0])]), lab("b", [bad], qemu=HOSTILE)]
    page = Reader(compose(runs))
    assert [tag for tag, _ in page.tags if tag == "img"] == []
    assert sum(tag == "script" for tag, _ in page.tags) == 2


def test_the_runs_of_a_session_are_folded_behind_what_they_say() -> None:
    samples = np.random.default_rng(1).lognormal(8, 0.1, (12, 20, 200))
    text = compose(session(samples))
    assert text.count('<details class="folded">') == 12
    assert "6 runs (s-000 to s-011)" in text
    assert text.count('href="#runs"') == text.count('id="runs"') == 1
    few = compose(session(samples[:4]))
    assert few.count('<details class="folded">') == 4
    assert "2 runs (s-000, s-003)" in few


@drawn
def test_a_comparison_is_short_and_lays_one_system_over_the_other(runs: list[Run]) -> None:
    """One sentence per system, a distribution, the largest differences; all the rest is folded."""
    page = Reader(compose(runs))
    charts = page.data["charts"]
    shown = page.attributes("data-chart")
    first, *_ = shown
    comparison, behind = compare_with_results(runs)
    place = int(first.split("-")[1])
    row = comparison.rows[place]
    assert (row.bench, row.load) == ("dk.nanosleep", "exit")  # no timer woke anything: most effect
    assert [name for name, _ in charts[first]["series"]] == [c.label for c in comparison.columns]
    for (_, flat), members in zip(charts[first]["series"], behind[place], strict=True):
        assert sum(flat[1::2]) == sum(r.n for r in members)  # no sample is lost in the overlay
    ratios = charts["c-ratios"]
    labels = {row["label"].rpartition(" · ")[2] for row in ratios["rows"]}
    assert labels == {"linux-6.1", "linux-6.1-rt"}  # each system has its share of the chart
    assert all(1 / ratios["end"] <= row["ratio"] <= ratios["end"] for row in ratios["rows"])
    assert page.attributes("id").index("compared-largest") < page.attributes("id").index("c-0")
    drawn_twice = [name for name in shown if shown.count(name) > 1]
    assert drawn_twice == []


def test_ratios_without_certainty_are_shown_as_such_and_only_where_they_have_a_size() -> None:
    rng = np.random.default_rng(5)
    first, two = (
        lab(name, [result("null", list(rng.lognormal(3, 0.2, 400).round()), unit="ns")], unit="ns")
        for name in "ab"
    )
    wide = result("null", [1.0, 1e12] * 15, unit="ns")
    page = charted(*compare_with_results([first, two]))
    (chart,) = drawn_in(page, "compared-largest")
    assert {row["verdict"] for row in chart.data["rows"]} == {"inconclusive"}
    assert "none of them certain" in page.sections[0].title
    apart = [lab(n, [wide], unit="ns") for n in "ab"]
    assert drawn_in(charted(*compare_with_results(apart)), "compared-largest") == []
