"""The title of a drafted budget: what it is a budget of."""

from __future__ import annotations

import tomllib

import numpy as np
from msgspec import structs

from rtstone.report.check.budget import budget_text, warnings
from rtstone.stats.draft import draft
from tests.report.synthetic import run
from tests.stats.periodic import measured


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


def test_it_says_where_no_latency_is_limited_and_what_it_accepts() -> None:
    late = 1000 + 100 * np.random.default_rng(1).exponential(size=60_000)
    few, _ = measured(late, np.array([[7.0, 9.0], [30.0, 32.0], [41.0, 43.0]]))
    few = structs.replace(few, flags=["missed", "other_run"])
    drafted = draft([run(results=[few], slopes=[], run_id=f"r{k}") for k in range(5)], 0.2)
    lines = list(warnings(drafted))
    why = "activations were omitted in too few stalls to predict any statistic of a run"
    assert lines[0] == f"no latency is limited: {why}"
    assert lines[1].startswith("the budget accepts other_run, which the runs have: it passes runs")
    assert len(lines) == 2
    text = budget_text(drafted)
    assert f"# no latency is limited: {why}" in text
    (case,) = tomllib.loads(text)["case"]
    assert "missed" in case and not any(
        name.startswith("p") for name in case if name not in {"params", "predicted_for_n"}
    )
