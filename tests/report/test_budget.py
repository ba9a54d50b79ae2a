"""The title of a drafted budget: what it is a budget of."""

from __future__ import annotations

import tomllib

from rtstone.report.check.budget import budget_text
from rtstone.stats.draft import draft
from tests.report.synthetic import run


def title(suite: str | None) -> str:
    text: str = tomllib.loads(budget_text(draft([run(suite=suite)], 0.2)))["title"]
    return text


def test_a_draft_is_called_by_target_bench_and_day() -> None:
    assert title(suite="quick") == "local: quick, 2026-11-21"
    first, second, third, *rest = dict.fromkeys(r.bench for r in run().results)
    expected = f"local: {first}, {second}, {third} and {len(rest)} more, 2026-11-21"
    assert title(suite=None) == expected


def test_it_is_of_the_last_of_its_runs() -> None:
    runs = [run(run_id="a", created="2026-12-24T03:15:00+00:00"), run(run_id="b")]
    text = budget_text(draft(runs, 0.2))
    assert tomllib.loads(text)["title"].endswith(", 2026-12-24")
    assert "# Drafted from runs a, b on target local" in text  # which runs, in a comment
