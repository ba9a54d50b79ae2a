"""The constants of a comparison's verdicts, each by numbers worked out by hand."""

from __future__ import annotations

import re
from functools import partial
from math import expm1, log, log1p, sqrt
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.comparison import Effect
from rtstone.documents.run import Result
from rtstone.results import omitted
from rtstone.results.estimates import batches
from rtstone.stats.comparison import effects, scatter, verdicts
from rtstone.stats.comparison.effects import Judged, Noise, Sides, judge, margin
from rtstone.stats.comparison.verdicts import JudgedCase, Side, judged
from rtstone.stats.trend import baseline_gate
from tests.stats.runs import result

DOCS = Path(__file__).parents[2] / "docs" / "guides"


# ---- Welch's degrees of freedom -----------------------------------------------------------------


def test_welch_by_numbers() -> None:
    """First: mean 1, s² 1, n 3; other: mean 11, s² 100, n 5.

    se² = 1/3 + 100/5 = 61/3; df = (61/3)² / ((1/3)²/2 + 20²/4) = 4.1322; t(0.95; df) = 2.7418.
    """
    first = [0.0, 1.0, 2.0]
    other = [11 + 10 * z for z in (-sqrt(2), 0.0, 0.0, 0.0, sqrt(2))]
    estimate = effects._welch(first, other)
    assert estimate.df == pytest.approx((61 / 3) ** 2 / ((1 / 3) ** 2 / 2 + 20**2 / 4))
    assert estimate.df == pytest.approx(4.1322, abs=1e-4)
    assert estimate.se == pytest.approx(sqrt(61 / 3))
    assert estimate.once == pytest.approx(sqrt(101))
    judged = judge(Sides(first, other, False), 0.05, -1)
    half = 2.7418 * sqrt(61 / 3)
    assert judged.interval == pytest.approx((10 - half, 10 + half), abs=2e-3)


def test_welch_never_has_fewer_degrees_than_the_smaller_side() -> None:
    """A side without scatter adds none: df is that of the other alone."""
    estimate = effects._welch([5.0, 5.0, 5.0, 5.0], [1.0, 3.0])
    assert (estimate.df, estimate.se) == (1, 1.0)
    assert effects._welch([5.0, 5.0, 5.0], [7.0, 7.0]).df == 1
    assert effects._welch([5.0], [1.0, 3.0, 5.0]).df == 2  # a single exact value has no scatter


# ---- episodes -----------------------------------------------------------------------------------


def test_a_single_run_has_to_be_twice_as_far_off_as_any_other() -> None:
    """Runs that scatter little in this case, and by 0.2 (of a logarithm) in another."""
    noise = Noise(1e-8, 20, 21, 1e-4)
    for off, verdict in ((0.41, "worse"), (0.39, "inconclusive")):
        sides = Sides([0.0], [off], True, noise=noise, envelope=0.2)
        judged = judge(sides, 0.01, -1)
        assert judged.verdict == verdict
        assert judged.interval == pytest.approx((off - 0.4, off + 0.4))
    assert effects.EPISODE == 2.0


# ---- the margin ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("floor", "ends"), [(0.0, 0.02), (0.019, 0.02), (0.05, 0.05), (0.1, 0.1), (0.5, 0.1)]
)
def test_the_margin_is_two_percent_or_the_noise_floor_up_to_ten(floor: float, ends: float) -> None:
    assert margin(Sides([0.0], [0.0], True), log1p(floor)) == pytest.approx(log1p(ends))
    assert margin(Sides([50.0], [-200.0], False), 200 * floor) == pytest.approx(200 * ends)


def test_an_interval_within_the_margin_is_no_difference() -> None:
    """Pairs of which the mean is 0 and the half-width t(3; 95%) s / 2 = 3.1824 s / 2."""
    for half, verdict in ((0.0197, "no difference"), (0.0199, "inconclusive")):
        s = half * 2 / 3.18244631
        apart = [s * sqrt(3) / 2 * sign for sign in (1, -1, 1, -1)]
        sides = Sides([0.0] * 4, apart, True, paired=True)
        judged = judge(sides, 0.05, -1)
        assert judged.interval
        assert judged.interval[1] == pytest.approx(half, rel=1e-6)
        within = margin(sides, 0.0)
        assert within == pytest.approx(0.0198026, abs=1e-6)  # log 1.02
        assert effects._verdict(sides, 0.0, judged.interval, 0.0, -1) == verdict


def constant(interval: tuple[float, float], _: float) -> tuple[float, float]:
    return interval


# ---- an unknown noise floor ---------------------------------------------------------------------


def test_without_a_noise_floor_medians_beyond_a_ratio_of_four_are_different() -> None:
    for low, verdict in ((4.01, "worse"), (3.99, "inconclusive")):
        median = Sides([0.0], [log(6)], True, within=partial(constant, (log(low), log(9))))
        assert judge(median, 0.05, -1).verdict == verdict
        assert judge(median._replace(tail=True), 0.05, -1).verdict == "inconclusive"
        assert judge(median._replace(tail=True, counted=True), 0.05, -1).verdict == verdict
        down = Sides([0.0], [-log(6)], True, within=partial(constant, (-log(9), -log(low))))
        assert judge(down, 0.05, -1).verdict == verdict.replace("worse", "better")
    losses = Sides([0.0], [40.0], False, losses=True, tail=True, within=lambda _: (30.0, 50.0))
    assert judge(losses, 0.05, -1).reason == "noise floor unknown"


# ---- correlated samples -------------------------------------------------------------------------


def test_of_samples_in_bursts_the_reason_says_what_they_are_worth() -> None:
    """Of 9 523 samples 200 are late, in four bursts: their p99 has no interval, the median has."""

    def side_of(seed: int, middle: float) -> Side:
        values = np.random.default_rng(seed).integers(0, 100, 9523) + middle
        for start in range(500, 9523, 3000):
            values[start : start + 50] += 5000
        points, counts = np.unique(values, return_counts=True)
        histogram = list(zip(points.tolist(), counts.tolist(), strict=True))
        numbers: dict[str, float | int | None] = {
            "n": 9523, "p50": middle + 50, "p99": middle + 5000, "max": middle + 5099,
        }  # fmt: skip
        own = structs.replace(
            result("x", numbers), histogram=histogram, batches=batches(values),
            evidence={"section_ns": 9_523_000_000},
        )  # fmt: skip
        return Side([[own]], 1.0, False, False)

    case = JudgedCase(0, "b", None, -1, side_of(1, 1000.0), side_of(2, 9000.0), False, [])
    effects_ = {effect.part: effect for effect in judged([case])[0][0]}
    assert effects_["median"].verdict == "worse"
    reason = effects_["tail"].reason or ""
    assert re.fullmatch(
        "too few independent samples for an interval: 9 523 are worth about \\d+, as they are "
        "correlated; about [\\d.]+ s would do", reason,
    ), reason  # fmt: skip
    apart = case._replace(
        first=Side([[structs.replace(case.first.runs[0][0], batches=None)]], 1.0, False, False),
        other=Side([[structs.replace(case.other.runs[0][0], batches=None)]], 1.0, False, False),
    )
    assert "correlated" not in str(judged([apart])[0][0])


# ---- shorter runs -------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "shorter"), [(799, True), (800, False), (1000, False)])
def test_a_run_with_less_than_four_fifths_of_the_samples_is_less_certain(
    n: int, shorter: bool
) -> None:
    """The scatter of runs of 1000 and 2000 samples does not tell that of one of 799."""

    def columns_of(number: int) -> list[list]:  # type: ignore[type-arg]
        return [[result("x", {"n": number, "p50": 1.0})]]

    noise = [*columns_of(1000), *columns_of(2000)]
    case = JudgedCase(
        0, "b", None, -1, Side(columns_of(n), 1, False, False),
        Side(columns_of(5000), 1, False, False), False, noise,
    )  # fmt: skip
    sets = [[r for results in side.runs for r in results] for side in (case.first, case.other)]
    assert verdicts._shorter(sets, case) is shorter
    assert (verdicts._within(case, "p50", True, observed=False) is not None) is shorter


@pytest.mark.parametrize(
    ("n", "verdict", "reason"),
    [(5, "inconclusive", "too few independent samples for an interval"), (900, "worse", None)],
)
def test_a_run_too_short_for_an_interval_is_not_as_certain_as_those_of_the_floor(
    n: int, verdict: str, reason: str | None
) -> None:
    """The long runs of the floor scatter by 1%, of which that of five samples is no part."""

    def columns_of(number: int, median: float) -> list[list[Result]]:
        return [[result("x", {"n": number, "p50": median, "max": median})]]

    noise = [columns_of(1000, 1 + 0.01 * (place % 3))[0] for place in range(12)]
    first, other = (Side(columns_of(n, median), 1e-6, False, False) for median in (1.0, 2.0))
    case = JudgedCase(0, "b", None, -1, first, other, False, noise)
    (median,) = (effect for effect in judged([case])[0][0] if effect.part == "median")
    assert (median.verdict, median.reason, median.ratio) == (verdict, reason, 2.0)
    assert (median.ci95 is None) is (reason is not None)


# ---- what is said of what is open ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "floor", "within"),
    [
        ((0.965, 1.025), 0.01, 0.035), ((0.98, 1.099), 0.01, 0.099), ((0.98, 1.101), 0.01, None),
        ((0.899, 1.02), 0.01, None), ((1.01, 1.05), 0.01, None), ((0.965, 1.025), None, None),
    ],
)  # fmt: skip
def test_what_is_open_within_ten_percent_says_above_what_there_is_no_difference(
    ends: tuple[float, float], floor: float | None, within: float | None
) -> None:
    """Not where the interval is of the samples alone, or lies on one side."""
    bare = Effect(part="median", statistic="p50", column="b", verdict="inconclusive")
    judged = Judged(0.0, (log(ends[0]), log(ends[1])), floor, "inconclusive", "pairs", 8)
    assert verdicts._ratio(bare, judged).within == (within and pytest.approx(within))
    sure = verdicts._ratio(bare, judged._replace(verdict="no difference"))
    assert sure.within is None


# ---- what would settle it -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("deviation", "centre", "pairs"),
    [
        # 0.05 sqrt(2) t(p-1; 99%) / sqrt(p) <= 0.8 log 1.1 = 0.0762, of the margin of this floor:
        # 0.0840 with seven, 0.0750 with eight
        (0.05, 0.0, 8),
        # Away by 0.5, of which 0.0707 may be scatter: 0.284 <= 0.343 with three, but only four rule
        # out that a system with two states was in one of them here, in the other there.
        (0.05, 0.5, 4),
        (0.05, 0.0707 + 0.0953, 8),  # no more than the margin
        (0.05, 0.3, 4),  # 0.1605 <= 0.1834
        (1.0, 0.0, 1865),
        (3.0, 0.0, None),  # more than anybody would measure
    ],
)
def test_the_pairs_that_would_settle_what_single_runs_do_not(
    deviation: float, centre: float, pairs: int | None
) -> None:
    noise = Noise(deviation**2, 20, 21, 0.0)
    sides = Sides([0.0], [centre], True, noise=noise, envelope=0.3)
    judged = judge(sides, 0.02, -1)
    assert (judged.verdict, judged.pairs) == ("inconclusive", pairs)


# ---- what the documentation says ----------------------------------------------------------------


def test_the_documentation_states_these_constants() -> None:
    words = " ".join((DOCS / "comparing.md").read_text().split())
    episode = {2.0: "twice"}[effects.EPISODE]
    assert f"has to be {episode} as far off as any two of these runs" in words
    ratio = {4.0: "4"}[1 + effects.UNKNOWN]
    assert f"only medians beyond a ratio of {ratio} are called different" in words
    margins = f"within {effects.MARGIN:.0%}, or within the noise floor up to {effects.WIDEST:.0%}"
    assert margins in words
    share = {0.2: "A fifth"}[effects.KEPT]
    assert f"{share} of the {effects.LEVEL:.0%} is held in reserve" in words
    fewer = {0.8: "four fifths"}[verdicts._FEWER]
    assert f"less than {fewer} of the samples" in words
    room = {0.8: "four fifths"}[effects._ROOM]
    assert f"half the interval has to be {room} of the margin" in words
    assert f"A difference of more than {effects.LOST:g} point in what was missed" in words
    assert f"Differences below {effects.LOST:g} point are certain only if" in words
    assert f"room for {omitted.FEWEST} stalls" in words
    assert f"up to {scatter.MOST} runs of the same target" in words
    gates = " ".join((DOCS / "gate.md").read_text().split())
    assert f"missed over {effects.LOST:g} point more" in gates
    assert f"more than {1 + effects.UNKNOWN:g} times that of the earlier runs" in gates
    assert {3: "three"}[baseline_gate.LEAST] + " earlier runs do not show how runs scatter" in gates
    assert re.search(r"1/128 or one tick", words)
    assert verdicts._BUCKET == 1 / 128
    assert expm1(log1p(effects.MARGIN)) == pytest.approx(0.02)
