"""Speed against determinism in words and as a chart."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from msgspec import structs
from rich.console import Console

from rtstone.documents.comparison import Comparison, Effect, Verdict
from rtstone.report.comparison import axes, words
from rtstone.report.comparison.axes import Pair, Point
from rtstone.report.comparison.page import comparison_lines
from rtstone.report.parts.model import Chart, Notes
from rtstone.stats.comparison.compare import compare
from tests.stats.runs import session
from tests.stats.test_axes import planted
from tests.stats.test_verdicts import latencies


def effect(verdict: Verdict, ratio: float | None = None, reason: str | None = None) -> Effect:
    ends = None if ratio is None else (0.9 * ratio, 1.1 * ratio)
    return Effect(
        part="median", statistic="p50", column="b", verdict=verdict, ratio=ratio, ci95=ends,
        reason=reason,
    )  # fmt: skip


def pair(*cases: tuple[Effect, Effect]) -> Pair:
    points = [Point(f"case {n}", f"#c-{n}", "ns", *effects) for n, effects in enumerate(cases)]
    return Pair("b", "a", points)


FASTER, SLOWER, SAME = effect("better", 0.5), effect("worse", 1.8), effect("no difference", 1.0)
UNKNOWN = effect("inconclusive", 3.0, "about 2 more pairs")
NEITHER = effect("inconclusive", None, "no spread on either side")


@pytest.mark.parametrize(
    ("cases", "text"),
    [
        (
            [(FASTER, SLOWER), (effect("better", 0.9), UNKNOWN), (SLOWER, FASTER)],
            "b is faster than a in 2 of 3 cases (ratio of medians 0.5 to 0.9) and slower in 1 "
            "(ratio of medians 1.8); it is more deterministic in 1 (ratio of spreads 0.5) and less "
            "deterministic in 1 (ratio of spreads 1.8). Undetermined: determinism in 1.",
        ),
        (
            [(SAME, SAME)],
            "b is as fast as a in 1 case; it is as deterministic in all. "
            "No difference: speed in 1, determinism in 1.",
        ),
        (
            [(UNKNOWN, NEITHER), (SAME, UNKNOWN)],
            "b is not certainly faster or slower than a in any of 2 cases; it is not certainly "
            "more or less deterministic in any. No difference: speed in 1. "
            "Undetermined: speed in 1, determinism in 2.",
        ),
    ],
)
def test_the_sentence_claims_what_the_verdicts_do_and_counts_the_rest(
    cases: Sequence[tuple[Effect, Effect]], text: str
) -> None:
    assert axes.sentence(pair(*cases)) == text


def test_an_inconclusive_ratio_is_in_no_range() -> None:
    text = axes.sentence(pair((UNKNOWN, UNKNOWN), (FASTER, FASTER)))
    assert "3" not in text
    assert text.count("0.5") == 2


def test_a_case_without_a_ratio_is_not_drawn_but_named_with_its_reason() -> None:
    chart, notes = axes.blocks(pair((FASTER, SLOWER), (SAME, NEITHER)), "k")
    assert isinstance(chart, Chart)
    assert [row["label"] for row in chart.data["rows"]] == ["case 0"]
    assert isinstance(notes, Notes)
    assert notes.texts == ["Not drawn: 1 case without a ratio: no spread on either side (1)"]
    one_sided = structs.replace(UNKNOWN, ratio=None, ci95=None, difference=9.0)
    (alone,) = axes.blocks(pair((SAME, one_sided)), "k", "b beside a")
    assert isinstance(alone, Notes)
    assert alone.texts == [
        "b beside a: not drawn: 1 case without a ratio: a spread of 0 on one side (1)"
    ]


def test_the_table_beside_the_chart_has_ratios_intervals_verdicts_and_reasons() -> None:
    (chart,) = axes.blocks(pair((FASTER, UNKNOWN)), "k")
    assert isinstance(chart, Chart)
    (row,) = chart.data["rows"]
    facts = dict(row["told"])
    assert facts["speed"] == "faster"
    assert facts["ratio"] == "0.5"
    assert facts["of"] == "p50"
    assert facts["interval of speed"] == "[0.45, 0.55]"
    assert facts["determinism"] == "undetermined"
    assert facts["interval of spread"] == "[2.7, 3.3]"
    assert facts["why undetermined"] == "determinism: about 2 more pairs"
    assert row["ratios"] == [0.5, 3.0]
    assert row["verdicts"] == ["better", "inconclusive"]


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    samples = latencies(np.random.default_rng(1), 12, 3, n=10_000)
    planted(samples, 1, 0.5, 4.0)
    return compare(session(samples))


@pytest.mark.parametrize("width", [40, 120])
def test_a_terminal_has_the_sentence_and_it_is_that_of_the_document(
    comparison: Comparison, width: int
) -> None:
    (counts,) = comparison.axes
    (text,) = axes.sentences(comparison, words.row_names(comparison))
    assert f"faster than local (A) in {counts.speed.better} of {counts.cases} cases" in text
    assert f"less deterministic in {counts.determinism.worse}" in text
    assert (counts.speed.better, counts.determinism.worse) == (1, 1)
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*comparison_lines(comparison, width, everything=False), sep="\n")
    lines = captured.get().splitlines()
    assert max(map(len, lines)) <= width
    assert text in re.sub(r"\s+", " ", captured.get())
