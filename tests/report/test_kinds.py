"""Results of several kinds of CPUs: the page and the terminal name the kinds."""

from __future__ import annotations

import json
import random

import pytest
from msgspec import structs

from rtstone.documents.run import Result, Run, Value
from rtstone.report.run.answer import answer
from rtstone.report.run.html import facts, page_of
from rtstone.stats.evaluate import evaluate_run
from tests.report.synthetic import evidence, latencies, statistics
from tests.stats.runs import run as made

TWO: dict[str, Value] = {"cpu.model": "i5", "cpu.capacity": ["0-3: 1024", "4-7: 446"]}


def measured(*cpus: int, conditions: dict[str, Value] = TWO) -> Run:
    """Return a run of dk.periodic on these CPUs at once."""
    results = [
        Result(case=1, bench="dk.periodic", params={}, load="none", status="ok", unit="ns",
               series=f"cpu{cpu}" if len(cpus) > 1 else "",
               evidence=evidence(1.0, cpus=[*cpus]),
               **statistics(latencies(random.Random(cpu), 500, 5000, 0.2)))
        for cpu in cpus
    ]  # fmt: skip
    return structs.replace(made(results, "a"), conditions=conditions)


def test_the_overlay_of_all_cpus_names_their_kinds() -> None:
    page = page_of(evaluate_run(measured(3, 4)), "r0")
    assert page.lead is not None
    assert page.lead.caption == "dk.periodic by CPU"
    drawn = json.dumps(list(page.lead.drawings.values()), default=str)
    assert "cpu3 (performance)" in drawn and "cpu4 (efficiency)" in drawn


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        (measured(2), "performance"),
        (measured(5), "efficiency"),
        (measured(3, 4), "performance and efficiency"),
        (measured(5, conditions={"cpu.model": "i5", "cpu.capacity": ["0-7: 1024"]}), None),
        (measured(5, conditions={"cpu.model": "i5"}), None),
    ],
)
def test_the_head_says_on_which_kind(run: Run, expected: str | None) -> None:
    assert dict(facts(run)).get("Kind of CPU") == expected
    basis = f"i5, kind of CPU: {expected};" if expected else "i5;"
    assert basis in answer(evaluate_run(run)).rests
