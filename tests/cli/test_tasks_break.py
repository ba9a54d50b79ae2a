"""`rtstone tasks break`, on systems of known costs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rtstone.documents.breakdown import breakdown
from rtstone.store.index import find
from rtstone.store.rundir import load
from tests.conftest import Cli
from tests.report.test_html import Reader

TASKS = """
[[task]]
name = "a"
period = "4ms"
work = "1ms"
priority = 90
[[task]]
name = "b"
period = "6ms"
work = "1ms"
priority = 80
[[task]]
name = "c"
period = "10ms"
work = "2ms"
priority = 70
"""
EXACT = "sim:exact"
# Each switch takes 50 us, so that less work is left.
SLOW = """
title = "Slow"
label = "a test's own"
[cost]
read = "1ns"
add = { amount = "1ns" }
switch = "50us"
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    path = tmp_path / "tasks.toml"
    path.write_text(TASKS)
    return path


def search(cli: Cli, *args: object) -> dict[str, Any]:
    """Return the document of a search that has a breakdown."""
    done = cli("tasks", "break", *args, "--json")
    assert done.status == 0, done.err
    document: dict[str, Any] = json.loads(done.out)
    assert document["schema"] == "rtstone.breakdown/1"
    return document


@pytest.mark.parametrize(
    ("scale", "low", "late"), [("work", 1.4285, "c"), ("rates", 1.4285, "c"), ("b", 2.5, "c")]
)
def test_without_costs_it_is_the_analysis_own(
    cli: Cli, tasks: Path, scale: str, low: float, late: str
) -> None:
    """In 10 ms there are 3 jobs of a, 2 of b and one of c: 3 + 2 + 2 = 7 ms, with 10 / 7 times."""
    document = search(cli, tasks, "--target", EXACT, "--scale", scale)
    assert document["exact"] and document["limit"] == 0
    assert document["low"]["factor"] == document["analysed"]["at"]["factor"] == low
    assert document["high"]["factor"] == pytest.approx(low + 0.0001)
    assert document["first"] == document["analysed"]["first"] == [late]
    assert document["tests"] <= 18 and document["linear_tests"] == round(low * 10_000) + 1


def test_the_answer_comes_first(cli: Cli, tasks: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    done = cli("tasks", "break", tasks, "--target", EXACT, "-o", page)
    assert done.status == 0, done.err
    answer = (
        "all needs hold up to 88.1% of the CPU, 1.4285 times the work; with 1.4286 c misses; "
        "by analysis they hold up to 1.4285"
    )
    assert " ".join(done.out.split()).startswith(answer)
    text = "".join(Reader(page.read_text()).words)
    assert answer in " ".join(text.split())


def test_costs_of_the_system_lower_it(cli: Cli, tasks: Path, tmp_path: Path) -> None:
    model = tmp_path / "slow.toml"
    model.write_text(SLOW)
    document = search(cli, tasks, "--target", f"sim:{model}")
    assert document["low"]["factor"] < document["analysed"]["at"]["factor"] - 0.01
    again = search(cli, tasks, "--target", f"sim:{model}")
    for each in (document, again):
        for point in each["points"]:
            for test in point["tests"]:
                assert load(find(test.pop("run"))).results
    assert again == document


def test_a_set_that_is_drawn_is_tested_several_times(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "drawn.toml"
    path.write_text(TASKS.replace('work = "2ms"', 'work = "0.1..4ms"'))
    document = search(cli, path, "--target", EXACT)
    assert not document["exact"] and document["limit"] == 0.01
    assert document["low"]["factor"] < document["at"]["factor"] < document["high"]["factor"]
    seeds = [test["seed"] for point in document["points"] for test in point["tests"]]
    assert sorted(seeds) == list(range(1, document["tests"] + 1))
    assert document["tests"] <= document["linear_tests"] / 7


def test_needs_beyond_deadlines_are_those_of_tests(cli: Cli, tmp_path: Path) -> None:
    """Before a's third job, at 8 ms, there are 2 + 2 + 2 = 6 ms of work."""
    path = tmp_path / "needs.toml"
    path.write_text(f'{TASKS}needs = {{ response = {{ max = "9ms" }} }}\n')
    document = search(cli, path, "--target", EXACT)
    assert (document["counted"], document["exact"]) == ("tests", True)
    assert document["low"]["factor"] == document["analysed"]["at"]["factor"] == 1.3333  # 8 / 6


def test_a_set_that_needs_nothing_is_refused(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "no.toml"
    path.write_text('[[task]]\nname = "x"\nsporadic = "poisson 5ms"\nwork = "1ms"\npriority = 9\n')
    done = cli("tasks", "break", path, "--target", EXACT)
    assert done.status == 2 and "nothing needs" in done.err


@pytest.mark.parametrize("bench", ["hart.PH.2", "hart.SA.4"])
def test_hartstone_searched_is_hartstone_in_linear_steps(cli: Cli, bench: str) -> None:
    """The same tests on both sides of the breakdown, in fewer tests."""
    document = search(cli, bench, "--target", "sim")
    assert cli("run", bench, "-p", "start=500ms", "--target", "sim").status == 0
    (result,) = load(find("last")).results
    linear = breakdown(result)
    assert linear is not None and linear.missed is not None
    assert 100 * document["low"]["utilisation"] == pytest.approx(linear.held, abs=0.01)
    assert 100 * document["high"]["utilisation"] == pytest.approx(linear.missed, abs=0.01)
    assert document["linear_tests"] == document["high"]["factor"]
    assert document["tests"] < document["linear_tests"] / 4


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--scale", "q"], "unknown scale 'q', in --scale; known: a, b, c, rates, work"),
        (["--scale", "aa"], "unknown scale 'aa', in --scale"),
    ],
)
def test_what_cannot_be_scaled_is_refused(
    cli: Cli, tasks: Path, args: list[str], says: str
) -> None:
    done = cli("tasks", "break", tasks, "--target", EXACT, *args)
    assert done.status == 2 and says in done.err


def test_an_experiment_has_its_own_scale(cli: Cli) -> None:
    done = cli("tasks", "break", "hart.PH.1", "--scale", "work", "--target", "sim")
    assert done.status == 2 and "--scale work: hart.PH.1 has its own; leave it out" in done.err
