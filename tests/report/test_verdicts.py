from __future__ import annotations

import numpy as np
import pytest
from rich.console import Console

from rtstone.documents.comparison import Comparison, Effect
from rtstone.report.comparison.text import lines
from rtstone.report.comparison.text_verdicts import change, interval, reason, word
from rtstone.stats.comparison.compare import compare
from tests.stats.lab import lab, result
from tests.stats.runs import session
from tests.stats.test_verdicts import latencies, shifted


def shown(comparison: Comparison, width: int) -> str:
    console = Console(width=width)
    with console.capture() as captured:
        console.print(*lines(comparison, width), sep="\n")
    return captured.get()


def effect(**members: object) -> Effect:
    base: dict[str, object] = {
        "part": "median", "statistic": "p50", "column": "b", "verdict": "worse",
    }  # fmt: skip
    return Effect(**(base | members))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({"ratio": 1.123, "ci95": (1.08, 1.164)}, "- worse +12% [+8.0%, +16%]"),
        ({"ratio": 0.97, "ci95": (0.9, 1.2), "verdict": "better"}, "+ better -3.0% [-10%, +20%]"),
        ({"ratio": 6.1, "ci95": (5.0, 7.0)}, "- worse x6.1 [x5, x7]"),
        ({"ratio": 0.0572, "ci95": (0.05, 1.5)}, "- worse x0.0572 [x0.05, x1.5]"),
        (
            {"difference": 3.0, "difference_ci95": (-1.0, 7.0)},
            "- worse +3.00 ns [-1.00 ns, +7.00 ns]",
        ),
        ({"ratio": 1.0, "verdict": "no difference"}, "= no difference +0.0%"),
        ({"verdict": "inconclusive"}, "? inconclusive"),
    ],
)  # fmt: skip
def test_an_effect_in_words(members: dict[str, object], text: str) -> None:
    told = effect(**members)
    parts = (word(told), change(told, "ns"), interval(told, "ns"))
    assert " ".join(filter(None, parts)) == text


def test_what_is_missing_is_told_with_two_digits() -> None:
    assert reason(effect(missing=12345, reason="about 3 more pairs")) == (
        "about 3 more pairs: 12 000 more samples"
    )


@pytest.fixture(scope="module")
def slower() -> Comparison:
    rng = np.random.default_rng(1)
    return compare(session(shifted(latencies(rng, 20, 3), 1.1)))


def test_the_answer_stands_first_with_the_largest_effects(slower: Comparison) -> None:
    text = shown(slower, 100)
    first, second, third, *_ = text.splitlines()
    assert first.startswith("local (B) against local (A): of 6 effects 2 worse, 0 better, ")
    assert all(line.startswith("  - worse case.0 p") for line in (second, third))
    assert "[+" in second
    assert "hold together with 95% (Bonferroni, 6 effects)" in text.replace("\n", " ")
    assert "Noise floor from 10 pairs of runs taken in turn." in text.replace("\n", " ")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 160])
def test_every_verdict_is_told_whole_at_any_width(slower: Comparison, width: int) -> None:
    text = shown(slower, width)
    assert all(len(line) <= width for line in text.splitlines())
    table = text.partition("\nVerdicts\n")[2]
    for row in slower.rows:
        for told in row.effects:
            for part in (word(told), change(told, "ns"), interval(told, "ns")):
                assert part in table


def test_three_columns_are_told_apart() -> None:
    runs = [
        lab(name, [result("null", [v] * 50)]) for name, v in (("a", 9.0), ("b", 8.0), ("c", 10.0))
    ]
    text = shown(compare(runs), 100)
    assert "b against a: of 3 effects 0 worse, 2 better" in text
    assert "c against a: of 3 effects 2 worse, 0 better" in text
    table = text.partition("\nVerdicts\n")[2]
    assert any(line.split()[:4] == ["null", "b", "p50", "+"] for line in table.splitlines())


def test_without_a_floor_it_says_what_to_do() -> None:
    sides = {"a": [9.0, 10.0] * 50, "b": [11.0, 12.0] * 50}
    timed = [lab(n, [result("null", v, unit="ns")], unit="ns") for n, v in sides.items()]
    text = shown(compare(timed), 100).replace("\n", " ")
    assert "The noise floor is unknown" in text
    assert "? inconclusive" in text


def test_in_the_lab_the_advice_is_more_seeds() -> None:
    runs = [
        lab(name, [result("null", [v, v + 3 * seed, v + 9] * 20)], seed=seed)
        for name, v in (("a", 90.0), ("b", 91.0))
        for seed in (1, 2)
    ]
    text = shown(compare(runs), 100).replace("\n", " ")
    assert "? inconclusive" in text
    assert "Seeds are repetitions here" in text
    assert "noise floor is unknown" not in text


def test_columns_that_are_not_compared_with_the_first_say_with_which() -> None:
    one, more = result("null", [5.0] * 30), result("proc.create", [9.0] * 30)
    text = shown(compare([lab("a", [one]), lab("b", [one, more]), lab("c", [one, more])]), 160)
    assert "c against b, in what a lacks: of 3 effects 0 worse, 0 better, 2 no difference" in text
