"""Intervals with the omitted activations counted in, against truths that are known."""

from __future__ import annotations

from functools import cache
from math import exp
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
import pytest
from msgspec import structs

from rtstone.api import Measured
from rtstone.documents.run import Batches, Result, Trace
from rtstone.errors import Inconclusive
from rtstone.results.estimates import Estimate, estimate, estimate_whole
from rtstone.results.omitted import events, whole
from rtstone.stats.budget import load
from rtstone.stats.gate import check
from tests.report.synthetic import run
from tests.stats.periodic import PERIOD, SECOND, Stalls, bursts, lasting, measured

pytestmark = pytest.mark.simulation

MS = 1e-3
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
RUNS = 160


class World(NamedTuple):
    """What stalls come, how long is measured, and of which statistics there is an interval."""

    stalls: Stalls
    section_s: int
    statistics: tuple[str, ...]


WORLDS = {
    "100 ms, two a second": World(
        lasting(lambda _, n: np.full(n, 100 * MS), 0.5), 60, ("p50", "p90")
    ),
    "100 ms, each 2 s": World(
        lasting(lambda _, n: np.full(n, 100 * MS), 2), 300, ("mean", "p50", "p90")
    ),
    "5 ms, five a second": World(
        lasting(lambda _, n: np.full(n, 5 * MS), 0.2), 60, ("mean", "p50", "p90", "p99")
    ),
    "20 ms in bursts": World(bursts(20 * MS, 1), 60, ("p50", "p90")),
}  # fmt: skip


OWN = np.array([
    min(1e4 * exp(1.5 * NormalDist().inv_cdf((place + 0.5) / (1 << 16))), 9e5)
    for place in range(1 << 16)
]).astype(np.uint64)  # ns; each is as likely: a log-normal distribution  # fmt: skip


def own(rng: np.random.Generator, section_s: int) -> np.ndarray:
    """Mostly between 100 ns and 900 us, so that the buckets of the recorder are fine enough."""
    return OWN[rng.integers(len(OWN), size=section_s * SECOND, dtype=np.uint16)]


@cache
def runs(name: str, number: int = RUNS) -> tuple[list[Result], dict[str, float]]:
    """Results, and the truth: of all activations of all runs."""
    world, rng = WORLDS[name], np.random.default_rng(len(name))
    results, lates = [], []
    for _ in range(number):
        result, late = measured(own(rng, world.section_s), world.stalls(rng, world.section_s))
        results.append(result)
        lates.append(late.astype(np.uint32))
    late = np.concatenate(lates)
    mean = float(late.mean())
    exact = np.quantile(late, list(QUANTILES.values()), overwrite_input=True)  # 48 million of them
    return results, dict(zip(QUANTILES, exact.tolist(), strict=True)) | {"mean": mean}


@cache
def estimates(name: str, statistic: str, naive: bool = False) -> list[Estimate]:
    """The intervals that there are."""
    results, _ = runs(name)
    intervals = [
        estimate([whole(r)], statistic) if naive else estimate_whole([r], statistic)
        for r in results
    ]
    return [e for e in intervals if e]


def held(name: str, statistic: str, naive: bool = False) -> list[bool]:
    """Of each interval that there is whether it holds the truth."""
    _, truth = runs(name)
    return [e.low <= truth[statistic] <= e.high for e in estimates(name, statistic, naive)]


def width(name: str, statistic: str) -> float:
    """Of intervals, on average, by what the values of all runs scatter."""
    estimates_of_runs = estimates(name, statistic)
    scatter = np.std([e.value for e in estimates_of_runs])
    return float(np.mean([e.high - e.low for e in estimates_of_runs]) / (2 * 1.96 * scatter))


@pytest.mark.parametrize("name", WORLDS)
def test_an_interval_covers_as_often_as_it_says_or_there_is_none(name: str) -> None:
    for statistic in ("mean", *QUANTILES):
        held_intervals = held(name, statistic)
        wrong = held_intervals.count(False)
        assert wrong <= 0.05 * RUNS + 2 * (0.05 * RUNS) ** 0.5, (statistic, wrong)
        if statistic in WORLDS[name].statistics:
            assert len(held_intervals) >= RUNS / 3, statistic
            assert sum(held_intervals) / len(held_intervals) >= 0.91, statistic
            if statistic in ("mean", "p50"):  # a tail lies where values are far apart now and then
                assert 0.85 <= width(name, statistic) <= 1.3, statistic


def test_taken_for_independent_they_hold_hardly_ever() -> None:
    """What the intervals above would be, were each omitted activation a sample of its own."""
    name = "100 ms, each 2 s"
    assert all(sum(held(name, s, naive=True)) < 0.5 * RUNS for s in ("mean", "p90"))


def test_what_was_omitted_is_found_again_in_what_was_seen() -> None:
    (result, *_), _ = runs("100 ms, each 2 s")
    stalls = events(result)
    assert stalls
    assert stalls.period == pytest.approx(PERIOD, rel=0.005)
    assert stalls.n == pytest.approx(stalls.result.n + (result.missed or 0), rel=0.002)
    assert 100 <= stalls.stalls <= 200  # of 150 a run
    scaled = structs.replace(  # of a clock that counts something else
        result,
        histogram=[(value / 16, count) for value, count in result.histogram],
        mean=(result.mean or 0) / 16,
        corrected=structs.replace(result.corrected, mean=result.corrected.mean / 16),  # type: ignore[union-attr,operator,type-var]
    )
    again = events(scaled)
    assert again
    assert again.period == pytest.approx(PERIOD / 16, rel=0.005)
    assert again.stalls == stalls.stalls


def test_bursts_are_seen_in_the_trace() -> None:
    lone, _ = runs("5 ms, five a second")
    results, _ = runs("20 ms in bursts")
    assert np.mean([e.bursts.value for r in lone[:50] if (e := events(r))]) < 1.5
    assert np.mean([e.bursts.value for r in results[:50] if (e := events(r))]) > 2.5


def test_several_runs_know_more_than_one() -> None:
    results, truth = runs("100 ms, each 2 s")
    alone, five = estimate_whole(results[:1], "p90"), estimate_whole(results[:5], "p90")
    assert alone
    assert five
    assert five.high - five.low < alone.high - alone.low
    sets = [estimate_whole(results[k : k + 5], "p90") for k in range(0, RUNS, 5)]
    assert sum(e.low <= truth["p90"] <= e.high for e in sets if e) >= 0.86 * len(sets)


def test_of_a_run_that_omitted_nothing_it_is_the_interval_of_its_samples() -> None:
    clean, _ = measured(own(np.random.default_rng(1), 20), np.empty((0, 2)))
    assert clean.missed == 0
    assert estimate_whole([clean], "p99") == estimate([clean], "p99")


@pytest.mark.parametrize(
    "changes",
    [
        {"overflow": 1},
        {"missed": 17},  # not what the histograms tell
        {"histogram": [(1e3, 1000)]},  # nothing was late enough to hide others
    ],
)
def test_what_cannot_be_told_has_no_interval(changes: dict[str, Any]) -> None:
    (result, *_), _ = runs("100 ms, each 2 s")
    assert estimate_whole([structs.replace(result, **changes)], "p50") is None


def test_without_a_trace_independence_of_stalls_is_assumed_and_said() -> None:
    (result, *_), _ = runs("100 ms, each 2 s")
    for lacking in (None, Trace(width_s=300, rows=[(0, 1, 0, 0, 0)])):
        estimates_of_runs = estimate_whole([structs.replace(result, trace=lacking)], "p50")
        assert estimates_of_runs and estimates_of_runs.independent
    assert isinstance(result.batches, Batches)
    estimate = estimate_whole([result], "p50")
    assert estimate and not estimate.independent


def test_few_stalls_leave_a_gate_and_the_api_without_a_verdict(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    few, _ = measured(own(rng, 60), np.array([[7.0, 7.1], [30.0, 30.1], [31.0, 31.1]]))
    few = structs.replace(few, flags=["missed"])
    budget = tmp_path / "budget.toml"
    budget.write_text('[[case]]\nbench = "dk.periodic"\np99 = "20ms"\nmean = "1s"\n')
    measured_run = run(results=[few], slopes=[])
    gate = check(measured_run, load(budget))
    assert {c.verdict for c in gate.checks} == {"inconclusive"}
    assert {c.reason for c in gate.checks} == {
        "too few independent stalls for an interval; "
        "how much longer a run has to be cannot be predicted from this one"
    }
    assert not any(c.missing for c in gate.checks)
    with pytest.raises(Inconclusive, match="too few stalls"):
        Measured(measured_run, tmp_path, [few], frozenset()).interval("p99")
