"""`rtstone list` of a kind: a screen that leads to all of it, and words that choose."""

from __future__ import annotations

import sys
from collections import Counter

import click
import pytest

from rtstone.cli import kind_list
from rtstone.cli.listing import Row, matching
from rtstone.documents.other_names import OTHER_NAMES
from rtstone.errors import UsageError
from tests.conftest import Cli


def lines_of(cli: Cli, *words: str) -> list[str]:
    """Return what a list prints on a terminal of 80 columns and 24 lines, without a pager."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys.stdout, "isatty", lambda: True)
        for name, value in {"COLUMNS": "80", "LINES": "24", "PAGER": "cat"}.items():
            patch.setenv(name, value)
        return click.unstyle(cli("list", *words).out).splitlines()


def test_the_benches_fit_a_screen_and_none_is_left_out(cli: Cli) -> None:
    benches = cli("list", "benches", "--json").document["benches"]
    first, *lines = lines_of(cli)
    assert first.startswith(f"{len(benches)} benches.")
    assert len(lines) < 23
    assert [line for line in lines if len(line) > 80] == []
    assert [line.split()[0] for line in lines[: len(OTHER_NAMES)]] == list(OTHER_NAMES)
    families = Counter(bench["id"].partition(".")[0] for bench in benches)
    rest = " ".join(lines[len(OTHER_NAMES) :])
    for name, number in families.items():
        assert (f" {name} {number}" if number > 1 else f" {name} ") in rest + " "
    names = [name for names in kind_list.QUESTIONS.values() for name in names]
    assert sorted(names) == sorted(families), "a family without a question, or the reverse"
    assert len(lines_of(cli, "benches", "--all")) == len(benches) + len(OTHER_NAMES)


def test_words_choose(cli: Cli) -> None:
    ids = [line.split()[0] for line in lines_of(cli, "benches", "sem")]
    assert len(ids) == 9
    assert {name.partition(".")[0] for name in ids} == {"sem"}
    assert [line.split()[0] for line in lines_of(cli, "benches", "cyclictest", "periodic")] == [
        "dk.periodic"
    ]
    chosen = cli("list", "benches", "gutsalov", "clk", "--json").document["benches"]
    assert [bench["id"] for bench in chosen] == ["clk.overhead"]
    targets = cli("list", "targets", "qemu", "rt", "--json").document["targets"]
    assert targets
    assert all(row["name"].startswith("qemu:") and "rt" in row["name"] for row in targets)
    assert "no bench matches 'semm'; did you mean 'sem'?" in cli("list", "benches", "semm").says
    assert "words are for benches, suites" in cli("list", "runs", "sem").says
    assert "words are for benches, suites" in cli("list", "wakeup", "sem").says


def test_the_targets_are_their_kinds(cli: Cli) -> None:
    rows = cli("list", "targets", "--json").document["targets"]
    kinds = [row["name"] for row in rows if ":" not in row["name"]]
    first, *lines, _ = lines_of(cli, "targets")
    assert first == (
        f"{len(kinds)} kinds of targets, {len(rows) - len(kinds)} of them listed in their kind:"
    )
    assert [line.split()[0] for line in lines] == kinds
    models = sum(row["name"].startswith("sim:") for row in rows)
    assert any(line.startswith("  sim ") and f"({models})" in line for line in lines)
    assert len(lines_of(cli, "targets", "--all")) == len(rows)


@pytest.mark.parametrize("kind", ["suites", "loads"])
def test_other_lists_have_a_line_for_each(kind: str, cli: Cli) -> None:
    members = cli("list", kind, "--json").document[kind]
    lines = lines_of(cli, kind)
    assert len(lines) == len(members)
    assert [line for line in lines if len(line) > 80] == []
    whole = " ".join(" ".join(lines_of(cli, "suites", "preemption")).split())
    assert whole.endswith("differ in it alone.") or "differ" in whole  # no text is cut


def test_a_word_is_the_begin_of_one() -> None:
    rows = [Row(("a.one", "x"), "a", "FreeRTOS real-time"), Row(("b.two", "y"), "b", "rt")]
    assert matching(rows, ["rt"], "row") == rows[1:]
    assert matching(rows, ["REAL"], "row") == rows[:1]
    assert matching(rows, ["time", "one"], "row") == rows[:1]
    assert matching(rows, ["a"], "row") == rows[:1]
    with pytest.raises(UsageError, match="no row matches 'rt one'"):
        matching(rows, ["rt", "one"], "row")
