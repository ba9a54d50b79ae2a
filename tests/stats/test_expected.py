"""Drafted gates on a simulated machine: their false alarms, and what they detect."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.check import Gate
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError
from rtstone.report.check.budget import budget_text
from rtstone.results.estimates import batches
from rtstone.results.omitted import Missed
from rtstone.results.pool import percentiles
from rtstone.stats.budget import load
from rtstone.stats.draft import draft
from rtstone.stats.gate import check
from rtstone.stats.prediction import Observed, Rules
from tests.stats.lab import lab
from tests.stats.lab import result as lab_result
from tests.stats.periodic import lasting, measured
from tests.stats.test_gate import run

pytestmark = pytest.mark.simulation

CASES, N, FROM, GATES = 8, 5000, 5, 40


def machine(number: int, tail: float = 1.0, stalls: float = 1.0) -> Run:
    """Simulate a run: each start has levels of its own, and the machine drifts by 1% per run.

    ``tail``: factor on the largest tenth of the samples of the first case; ``stalls``: factor on
    the rate of stalls of the periodic task.
    """
    rng = np.random.default_rng(number)
    drift = 1.01 ** (number % 10)
    results = [_case(rng, case, drift, tail if case == 0 else 1.0) for case in range(CASES)]
    results.append(_periodic(rng, drift, stalls))
    return run(*results, run_id=f"20261121-120000-quick-{number:04}")


def _case(rng: np.random.Generator, case: int, drift: float, tail: float) -> Result:
    scatter = 0.01 * (1 + case % 4)  # between starts of the system
    values = 1000 * (case + 1) * drift * np.exp(scatter * rng.standard_normal())
    values = values * np.exp(0.2 * rng.standard_normal(N))
    disturbed = rng.random(N) < 0.05 * np.exp(0.3 * rng.standard_normal())
    values = np.where(disturbed, 2 * values, values)
    values = np.where(values > np.quantile(values, 0.9), tail * values, values)
    values = np.exp2(np.round(128 * np.log2(values)) / 128)  # as coarse as the recorder's buckets
    distinct, counts = np.unique(values, return_counts=True)
    histogram = list(zip(distinct.tolist(), counts.tolist(), strict=True))
    result = Result(
        case=case, bench=f"case.{case}", params={}, load="none", status="ok",
        batches=batches(values), evidence={"section_ns": 10**9},
        n=N, min=histogram[0][0], mean=float(values.mean()), sd=float(values.std()),
        max=histogram[-1][0], histogram=histogram,
    )  # fmt: skip
    return structs.replace(result, **percentiles(histogram, N, 0))


def _periodic(rng: np.random.Generator, drift: float, extra: float) -> Result:
    each_s = 0.2 / extra * np.exp(0.05 * rng.standard_normal())
    stalls = lasting(lambda rng, n: rng.exponential(0.004, n), each_s)(rng, 60)
    late = drift * (5000 + 1000 * rng.exponential(size=60_000))
    return structs.replace(measured(late, stalls)[0], case=CASES, params={})


def drafted(path: Path, runs: list[Run]) -> Path:
    path.write_text(budget_text(draft(runs, 0.2)))
    return path


def words(gate: Gate, verdict: str) -> set[str]:
    return {f"{c.bench} {c.what}" for c in gate.checks if c.verdict == verdict}


@cache
def following() -> list[Run]:
    return [machine(number) for number in range(FROM + GATES)]


def test_at_most_one_of_twenty_unchanged_runs_fails_any_limit(tmp_path: Path) -> None:
    """Each gate is drafted from five runs, and the sixth is checked against it."""
    runs, open_ones = following(), []
    for place in range(GATES):
        budget = load(drafted(tmp_path / f"{place}.toml", runs[place : place + FROM]))
        assert len(budget.entries) == CASES + 1
        gate = check(runs[place + FROM], budget)
        if gate.verdict != "passed":
            open_ones.append((place, words(gate, "failed"), words(gate, "inconclusive")))
    assert len(open_ones) <= 0.05 * GATES, open_ones


def test_a_tail_twice_as_long_and_twice_as_many_misses_fail(tmp_path: Path) -> None:
    runs = following()
    long_tail, many_missed = 0, 0
    for place in range(0, 20):
        budget = load(drafted(tmp_path / f"{place}.toml", runs[place : place + FROM]))
        number = 1000 + place
        worse = check(machine(number, tail=2.0), budget)
        assert {name.split()[0] for name in words(worse, "failed")} <= {"case.0"}
        long_tail += "case.0 p99" in words(worse, "failed")
        missed = check(machine(number, stalls=2.0), budget)
        many_missed += "dk.periodic missed" in words(missed, "failed")
    assert long_tail >= 18
    assert many_missed >= 16


def test_misses_that_no_run_showed_are_limited_by_how_long_was_looked() -> None:
    none = [Missed(0, 60_000, 0)] * 5
    assert Rules([], 1).rate(none) == pytest.approx(3.0 / 300_000, rel=0.01)
    assert Rules([], 40).rate(none) > Rules([], 1).rate(none)


def test_runs_that_differ_by_more_than_their_stalls_widen_the_limit() -> None:
    alike = Rules([], 20).rate([Missed(400, 60_000, 100)] * 5)
    apart = Rules([], 20).rate([Missed(k * 100, 60_000, k * 25) for k in (1, 3, 4, 5, 7)])
    assert 400 / 60_000 < alike < 1.6 * 400 / 60_000
    assert apart > 2 * alike


def test_a_quiet_number_is_not_taken_for_quieter_than_its_like() -> None:
    quiet, noisy = [100.0, 100.1, 100.0, 99.9, 100.0], [100.0, 130.0, 90.0, 110.0, 95.0]
    alone, among = (
        Rules([Observed("p50", values) for values in numbers], 2).factor(Observed("p50", quiet))
        for numbers in ([quiet], [quiet, noisy])
    )
    assert alone < 1.01
    assert among > 1.15


def test_only_runs_of_one_system_make_a_draft() -> None:
    first, other = machine(1), machine(2)
    assert first.agent
    foreign = structs.replace(other, agent=structs.replace(first.agent, compiler="Clang 19"))
    with pytest.raises(UsageError, match="not runs of one system: compiler"):
        draft([first, foreign], 0.2)
    with pytest.raises(UsageError, match="a run is named twice"):
        draft([first, first], 0.2)


def test_where_nothing_but_the_system_counts_none_missed_is_none() -> None:
    seeds = [lab("linux-6.1", [lab_result("dk.nanosleep", [5.0, 6.0 + s] * 50, missed=0)], seed=s)
             for s in (1, 2, 3)]  # fmt: skip
    assert "\nmissed = 0\n" in budget_text(draft(seeds, 0.2))
    assert 'missed = "' in budget_text(draft([machine(k) for k in range(3)], 0.2))
