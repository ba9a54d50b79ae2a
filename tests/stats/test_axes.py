"""Speed against determinism: the ratio of medians and the ratio of spreads, over all cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from rtstone.documents.comparison import Axes, Comparison, Effect, Tally
from rtstone.documents.run import Run
from rtstone.stats.comparison import verdicts
from rtstone.stats.comparison.compare import compare
from rtstone.summary import TAILS
from tests.chance import Sequential
from tests.stats.lab import lab
from tests.stats.lab import result as counted_result
from tests.stats.runs import Samples, result, run, session
from tests.stats.test_verdicts import COMPARISONS, PAIRS, SYSTEMS, WAYS, Rng, latencies

pytestmark = pytest.mark.simulation

N = 10_000


def planted(samples: Samples, case: int, faster: float, wider: float) -> None:
    """Make B's median and its spread in a case so many times those of A."""
    for place in range(len(samples)):
        if place % 4 in (1, 2):
            values = samples[place, case]
            middle = np.median(values)
            samples[place, case] = faster * middle + wider * (values - middle)


def in_pairs(samples: Samples) -> Comparison:
    return compare(session(samples))


def spread(comparison: Comparison, case: int = 0) -> Effect:
    (row,) = [row for row in comparison.rows if row.bench == f"case.{case}"]
    (effect,) = row.spreads
    return effect


def only(comparison: Comparison) -> Axes:
    (axes,) = comparison.axes
    return axes


# ---- planted pairs ------------------------------------------------------------------------------


def test_both_axes_find_what_was_planted_and_nothing_else() -> None:
    """Same, faster and less deterministic, slower and more deterministic, unknown."""
    samples = latencies(np.random.default_rng(1), 20, 4, n=N)
    planted(samples, 1, 0.5, 3.0)
    planted(samples, 2, 2.0, 0.4)
    samples[:, 3] = latencies(np.random.default_rng(2), 20, 1, n=N)[:, 0]
    samples[:, 3] *= np.exp(0.5 * np.random.default_rng(3).standard_normal((20, 1)))
    comparison = in_pairs(samples)
    assert [
        (next(e.verdict for e in row.effects if e.part == "median"), row.spreads[0].verdict)
        for row in comparison.rows[1:]
    ] == [("better", "worse"), ("worse", "better"), ("inconclusive", "inconclusive")]
    assert spread(comparison).verdict not in {"better", "worse"}
    for case, ratio in ((1, 3.0), (2, 0.4)):
        effect = spread(comparison, case)
        assert effect.ratio == pytest.approx(ratio, rel=0.1)
        assert effect.ci95
        assert effect.ci95[0] < ratio < effect.ci95[1]
        assert (effect.part, effect.statistic) == ("spread", "p999")
    axes = only(comparison)
    assert (axes.cases, axes.column, axes.against) == (4, "local (B)", None)
    assert (axes.speed.better, axes.speed.worse) == (1, 1)
    assert (axes.determinism.better, axes.determinism.worse) == (1, 1)
    for tally in (axes.speed, axes.determinism):
        assert tally.different + tally.no_difference + tally.inconclusive == axes.cases


def test_a_system_that_is_faster_throughout_is_more_deterministic_by_the_same_factor() -> None:
    """The spread is a time, not a share of the median: what halves all times halves it."""
    samples = latencies(np.random.default_rng(4), 20, 1, n=N)
    planted(samples, 0, 0.5, 0.5)
    effect = spread(in_pairs(samples))
    assert effect.verdict == "better"
    assert effect.ratio == pytest.approx(0.5, rel=0.1)


def test_a_longer_median_alone_is_no_spread() -> None:
    samples = latencies(np.random.default_rng(5), 20, 1, n=N)
    planted(samples, 0, 3.0, 1.0)
    comparison = in_pairs(samples)
    assert spread(comparison).verdict not in {"better", "worse"}
    assert only(comparison).speed == Tally(worse=1)


# ---- what the data do not decide ----------------------------------------------------------------


def test_single_runs_with_an_unknown_floor_never_decide_a_spread() -> None:
    samples = latencies(np.random.default_rng(6), 4, 1, n=N)
    planted(samples, 0, 1.0, 30.0)
    first, other = session(samples)[:2]
    bare = [run([*each.results], each.run_id) for each in (first, other)]
    effect = spread(compare(bare))
    assert effect.verdict == "inconclusive"
    assert effect.ratio == pytest.approx(30, rel=0.3)
    assert effect.reason


def test_few_samples_have_no_spread() -> None:
    effect = spread(in_pairs(latencies(np.random.default_rng(7), 20, 1, n=500)))
    assert (effect.verdict, effect.ratio, effect.missing) == ("inconclusive", None, 500)
    assert effect.reason == "no p99 of 500 samples"


def timed(name: str, *values: float, **members: Any) -> Run:
    """Return a run with 1000 samples of which the last 20 have the second value."""
    usual, late = values
    statistics: dict[str, Any] = {"n": 1000, "min": usual, "p50": usual, "p99": late, "max": late}
    return run([result("case.0", statistics | members)], name)


def on_both_sides(first: tuple[float, float], other: tuple[float, float]) -> Comparison:
    sides = [
        [timed(f"{side}{n}", *v) for n in range(8)] for side, v in (("a", first), ("b", other))
    ]
    return compare(sides)


def test_without_a_spread_on_either_side_nothing_is_said() -> None:
    comparison = on_both_sides((100, 100), (100, 100))
    effect = spread(comparison)
    assert (effect.verdict, effect.ratio, effect.difference) == ("inconclusive", None, None)
    assert effect.reason == verdicts.NO_SPREAD
    assert only(comparison).determinism == Tally(inconclusive=1)


@pytest.mark.parametrize(
    ("late", "verdict"),
    [(101, "inconclusive"), (102, "worse")],  # a tick of the clock is 1 ns
)
def test_a_spread_that_one_clock_does_not_show_has_a_difference_in_place_of_a_ratio(
    late: float, verdict: str
) -> None:
    effect = spread(on_both_sides((100, 100), (100, late)))
    assert (effect.ratio, effect.ci95, effect.verdict) == (None, None, verdict)
    assert effect.difference == late - 100
    assert effect.difference_ci95 == (late - 100, late - 100)


@pytest.mark.parametrize(("late", "verdict"), [(102, "inconclusive"), (103, "worse")])
def test_spreads_of_a_few_ticks_differ_by_more_than_a_tick(late: float, verdict: str) -> None:
    """A spread of a tick may be anything up to two, so that of two ticks need not be longer."""
    effect = spread(on_both_sides((100, 101), (100, late)))
    assert effect.ratio == pytest.approx(late - 100)
    assert effect.verdict == verdict


@pytest.mark.parametrize(("late", "verdict"), [(101_700, "inconclusive"), (102_000, "worse")])
def test_long_times_are_known_to_a_bucket_of_the_recorder(late: float, verdict: str) -> None:
    """1/128 of 101 us is 0.79 us: a spread of 1 us may be one of 1.79 us."""
    effect = spread(on_both_sides((100_000, 101_000), (100_000, late)))
    assert effect.ratio == pytest.approx((late - 100_000) / 1000)
    assert effect.verdict == verdict


def test_no_number_of_a_spread_is_infinite_or_no_number() -> None:
    for other in ((100, 100), (100, 101), (100, 150), (0, 0), (-3, 40)):
        effect = spread(on_both_sides((100, 100), other))
        numbers = [effect.ratio, effect.difference, effect.floor, *(effect.ci95 or ())]
        assert all(math.isfinite(n) for n in numbers if n is not None)


def test_counts_that_repeat_decide_exactly_and_one_sided() -> None:
    def guest(system: str, *values: float) -> Run:
        return lab(system, [counted_result("case.0", list(values))])

    steady, jumping = [100.0] * 1000, [100.0] * 900 + [150.0] * 100
    wider = [100.0] * 900 + [250.0] * 100
    effect = spread(compare([guest("a", *jumping), guest("b", *wider)]))
    assert (effect.verdict, effect.basis) == ("worse", "exact")
    assert effect.ratio == pytest.approx(3)
    effect = spread(compare([guest("a", *jumping), guest("b", *steady)]))
    assert (effect.verdict, effect.ratio, effect.difference) == ("better", None, -50.0)
    effect = spread(compare([guest("a", *steady), guest("b", *steady)]))
    assert (effect.verdict, effect.reason) == ("inconclusive", verdicts.NO_SPREAD)


def test_rates_are_no_case_of_the_axes_but_a_wider_spread_of_them_is_worse_too() -> None:
    def of_unit(name: str, unit: str) -> Run:
        late = {"a": 400.0, "b": 900.0}[name[0]]
        statistics: dict[str, Any] = {
            "n": 1000,
            "min": 100.0,
            "p50": 200.0,
            "p99": late,
            "max": 1e3,
        }
        return run([result("case.0", statistics, unit)], name)

    rates = compare([[of_unit(f"{side}{n}", "1/s") for n in range(8)] for side in "ab"])
    assert rates.axes == []
    assert [(e.verdict, e.ratio) for e in rates.rows[0].spreads] == [("worse", 3.5)]
    assert only(compare([[of_unit(f"{s}{n}", "ns") for n in range(8)] for s in "ab"])).cases == 1


# ---- false alarms -------------------------------------------------------------------------------


@pytest.mark.parametrize("system", SYSTEMS)
def test_identical_systems_differ_in_determinism_in_one_of_twenty_comparisons(system: str) -> None:
    """This is the share of whole comparisons of 8 cases each, in every way of comparing."""
    rng: Rng = np.random.default_rng(8)
    alarms = {way: Sequential(fine=0.01, wrong=0.08) for way in WAYS}
    for _ in range(COMPARISONS):
        runs = session(SYSTEMS[system](rng, 2 * PAIRS))
        for way, test in alarms.items():
            axes = only(WAYS[way](runs))
            assert axes.determinism.inconclusive or axes.determinism.no_difference
            test.take(axes.determinism.different > 0)
        if all(test.decided for test in alarms.values()):
            break
    assert {test.verdict for test in alarms.values()} == {"fine"}, alarms


def test_spreads_make_no_other_verdict_less_certain() -> None:
    samples = latencies(np.random.default_rng(9), 12, 4)
    rules = in_pairs(samples).rules
    assert rules
    assert (rules.effects, rules.spreads) == (8, 4)


def test_the_rule_is_that_of_the_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    """p99.9 less p50 from 10 000 samples on, else p99; a family of spreads of its own at 5%."""
    assert TAILS == ("p999", "p99")
    samples = latencies(np.random.default_rng(10), 12, 4)
    effect = spread(in_pairs(samples))
    assert effect.statistic == "p99"
    assert effect.ci95
    width = math.log(effect.ci95[1] / effect.ci95[0])
    apart = []
    for a, b in ((0, 1), (3, 2), (4, 5), (7, 6), (8, 9), (11, 10)):  # the pairs of A B B A
        first, other = (
            float(np.sort(samples[p, 0])[989] - np.sort(samples[p, 0])[499]) for p in (a, b)
        )
        apart.append(math.log(other / first))
    mean, sd = np.mean(apart), np.std(apart, ddof=1)
    assert effect.ratio == pytest.approx(math.exp(mean))
    # Student's t of 5 degrees of freedom at the two-sided level 0.8 * 0.05 / 4 = 0.01, from tables.
    assert width / 2 == pytest.approx(4.0321 * sd / math.sqrt(6), rel=1e-3)
