"""Classes of growth: planted costs of each class, without noise and with recorded noise."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations
from math import factorial, log2

import numpy as np
import pytest

from rtstone.cli.growth import ROUNDS, select
from rtstone.documents.growth import GrowthClass, GrowthPair
from rtstone.stats import growth
from rtstone.stats.growth import UNDECIDED, classified, fit, judge, trend
from rtstone.stats.holm import holm
from tests.chance import is_fine
from tests.stats.grown import SIZES, in_rounds, is_right, planted, scanned


def instructions(kind: GrowthClass, base: float, times: float) -> list[tuple[float, float]]:
    """Return the points of planted costs, which are whole."""
    costs = planted(kind, base, times)
    return [(float(n), float(round(cost))) for n, cost in zip(SIZES, costs, strict=True)]


# ---- without noise ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", growth.CLASSES)
def test_a_planted_cost_without_noise_has_its_class(kind: GrowthClass) -> None:
    """1000 of 1000, from 300 to 100,000 instructions that grow to between 5 and 1000 times."""
    draw = random.Random(kind)
    for _ in range(1000):
        base, times = 10 ** draw.uniform(2.5, 5), 10 ** draw.uniform(0.6, 3)
        judgement = judge(instructions(kind, base, times))
        assert judgement.fit.growth == kind, (base, times)
        assert judgement.outlier is None


def test_the_slope_of_a_planted_cost() -> None:
    judgement = judge([(n, 350 + 5 * n) for n in SIZES])
    assert (judgement.fit.base, judgement.fit.slope) == pytest.approx((350, 5))
    judgement = judge([(n, 2206 + 19 * log2(n)) for n in SIZES])
    assert (judgement.fit.base, judgement.fit.slope) == pytest.approx((2206, 19))


def test_a_fit_has_no_negative_part() -> None:
    assert fit([(1, 30), (2, 20), (3, 10)], "linear").slope == 0
    steep = fit([(1, 1), (2, 30), (3, 80)], "linear")
    assert steep.base == 0 and steep.slope > 0


def test_what_one_point_makes_is_no_growth() -> None:
    for place in range(len(SIZES)):
        costs = [333.0] * len(SIZES)
        costs[place] = 5000
        judgement = judge(list(zip(SIZES, costs, strict=True)))
        assert (judgement.fit.growth, judgement.outlier) == ("constant", SIZES[place])
    # Herd on 6.1-rt: a quadratic cost would fit it.
    herd = list(zip(SIZES, (6240, 6315, 6315, 6315, 6240, 6546), strict=True))
    assert judge(herd).fit.growth == "constant"


def test_one_disturbed_point_changes_no_class_and_no_slope() -> None:
    for place in range(len(SIZES)):
        points = [(n, 350.0 + 5 * n) for n in SIZES]
        points[place] = (points[place][0], 3 * points[place][1])
        judgement = judge(points)
        assert (judgement.fit.growth, judgement.outlier) == ("linear", SIZES[place])
        assert judgement.fit.slope == pytest.approx(5)


def test_what_follows_no_class_is_irregular() -> None:
    points = list(zip(SIZES, (6345, 13009, 33417, 57247, 214974, 848638), strict=True))
    assert judge(points).fit.growth == "irregular"


def test_falling_costs_do_not_grow() -> None:
    assert judge([(n, 1000 / n) for n in SIZES]).fit.growth == "irregular"
    assert judge([(n, 1000 - n / 20) for n in SIZES]).fit.growth == "constant"


# ---- the constants of the rule ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("last", "expected"), [(829_648, "linear"), (772_494, "constant")]
)  # fmt: skip
def test_one_point_that_the_others_predict_is_growth(last: int, expected: str) -> None:
    """fork() on Linux 7.2 beside open descriptors: without the last point less than 1%."""
    ns = [1, 4, 16, 64, 256, 1024, 4096]
    costs = [751_831, 752_290, 752_157, 754_086, 756_961, 772_494, last]
    judgement = judge(list(zip(map(float, ns), map(float, costs), strict=True)))
    assert judgement.fit.growth == expected
    if expected == "linear":
        assert judgement.fit.slope == pytest.approx(18.9, abs=0.1)


def test_the_tolerance_is_1_percent() -> None:
    """The rms of six steps of 1 + r is 1.71 r."""
    assert growth.TOLERANCE == 0.01
    step = growth.TOLERANCE / (35 / 12) ** 0.5
    assert judge(instructions("logarithmic", 1e6, 5 * 0.95 * step)).fit.growth == "constant"
    assert judge(instructions("logarithmic", 1e6, 5 * 1.05 * step)).fit.growth == "logarithmic"


def test_a_larger_class_removes_80_percent_of_the_squared_error() -> None:
    """Costs that rise in doublings and alternate by d: at d = 6% the line removes that share."""

    def alternating(d: float) -> list[tuple[float, float]]:
        return [(n, 1e6 * (1 + i / 20 + d * (-1) ** i)) for i, n in enumerate(SIZES)]

    def removed(points: list[tuple[float, float]]) -> float:
        return 1 - (fit(points, "logarithmic").misfit / fit(points, "constant").misfit) ** 2

    little, much = alternating(0.043), alternating(0.037)
    assert removed(little) < 0.8 < removed(much)
    assert removed(much) - removed(little) < 0.12
    assert (judge(little).fit.growth, judge(much).fit.growth) == ("constant", "logarithmic")


def test_a_misfit_above_10_percent_is_irregular() -> None:
    def alternating(d: float) -> list[tuple[float, float]]:
        return [(n, 1e6 * (1 + d * (-1) ** i)) for i, n in enumerate(SIZES)]

    little, much = alternating(0.095), alternating(0.105)
    assert fit(little, "constant").misfit < 0.1 < fit(much, "constant").misfit
    assert (judge(little).fit.growth, judge(much).fit.growth) == ("constant", "irregular")
    assert judge(much, tolerance=0.12).fit.growth == "constant"  # where that is noise


def test_noise_tells_classes_apart_by_two_standard_errors() -> None:
    """Five rounds that are apart by s have a median with a standard error of 0.83 s.

    They rise alike, so that the trend is certain.  Five steps of 1 + r are off their mean by 1.41 r
    each, which sums to 10 r squared: at 4 squared errors that is the growth, as one of the six
    points may be left out.
    """
    assert growth.ERRORS == 2
    s = 0.05
    error = 1.2533 * s / 0.67449 / 5**0.5
    rounds = [1 + s * place for place in (-2, -1, 0, 1, 2)]

    def rising(step: float) -> GrowthPair:
        (judged,) = classified(
            [in_rounds({n: [1e6 * (1 + step * i) * each for each in rounds]
                             for i, n in enumerate(SIZES)})], exact=False
        )  # fmt: skip
        assert judged.p is not None and judged.p < growth.LEVEL
        return judged

    step = error * (4 / 10) ** 0.5
    assert (rising(0.9 * step).growth, rising(1.2 * step).growth) == ("constant", "logarithmic")


@pytest.mark.parametrize("kind", ["linear", "n log n"])
def test_what_noise_leaves_undecided_is_said(kind: GrowthClass) -> None:
    """Between the line and n log n lie at most 7% of the cost, where it grows to 6 times."""
    costs = planted(kind, 1e4, 5)

    def judged(spread: float) -> GrowthClass | None:
        rounds = [1 + spread * place for place in (-2, -1, 0, 1, 2, 0)]
        minima = {n: [cost * each for each in rounds] for n, cost in zip(SIZES, costs, strict=True)}
        (pair,) = classified([in_rounds(minima)], exact=False)
        return pair.growth

    assert (judged(0.01), judged(0.2)) == (kind, UNDECIDED)


@pytest.mark.parametrize("kind", growth.CLASSES)
def test_with_the_noise_of_a_machine_95_percent_have_their_class(kind: GrowthClass) -> None:
    """`python -m tests.bench.growth` counts 1000 of each; with 10% wrong this fails."""
    scan = scanned(np.random.default_rng(5))
    wrong = (not is_right(kind, pair) for true, pair in scan if true == kind)
    assert is_fine(wrong, 0.045, 0.1)


def test_six_rounds_show_a_trend_of_four_points_among_all_pairs() -> None:
    """With the rounds that an interval takes, three, none would be seen."""
    pairs = sum(map(len, select([], []).values()))
    assert (ROUNDS, pairs) == (6, 51)

    def certain(rounds: int) -> float:
        return trend([[1.0, 2.0, 3.0, 4.0]] * rounds) * pairs

    assert certain(ROUNDS) < growth.LEVEL < certain(growth.ROUNDS)


def test_how_many_points_and_rounds_it_takes() -> None:
    assert (growth.LEAST, growth.ROBUST, growth.ROUNDS) == (4, 5, 3)
    points = [(float(n), 350.0 + 5 * n) for n in SIZES]
    (few,) = classified([pair(points[:3])], exact=True)
    assert few.growth is None
    (enough,) = classified([pair(points[:4])], exact=True)
    assert enough.growth == "linear"
    odd = [*points[:4], (points[4][0], 9 * points[4][1])]
    assert judge(odd).outlier == 256
    assert judge(odd[1:]).outlier is None
    minima = {n: [cost, cost, cost + 1] for n, cost in points}
    (rounds,) = classified([in_rounds(minima)], exact=False)
    assert rounds.interval == "rounds"
    (two,) = classified([in_rounds({n: m[:2] for n, m in minima.items()})], exact=False)
    assert two.interval == "points"


# ---- many pairs ---------------------------------------------------------------------------------


def test_the_p_of_a_trend_is_that_of_all_orders() -> None:
    """Two rounds of four: brute force over all orders, and the normal approximation near it."""
    rounds = [[1.0, 2.0, 4.0, 3.0], [2.0, 1.0, 3.0, 4.0]]

    def statistic(orders: Sequence[Sequence[int]]) -> int:
        return sum(place * rank for order in orders for place, rank in enumerate(order, 1))

    seen = statistic([[1, 2, 4, 3], [2, 1, 3, 4]])
    every = list(permutations(range(1, 5)))
    exact = sum(statistic((a, b)) >= seen for a in every for b in every) / factorial(4) ** 2
    assert trend(rounds) == pytest.approx(exact, abs=0.01)
    assert trend([[4.0, 3.0, 2.0, 1.0]] * 3) > 0.99
    assert trend([[1.0] * 4] * 3) == 0.5


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def pair(points: list[tuple[float, float]]) -> GrowthPair:
    return in_rounds({n: [cost] for n, cost in points})


def test_noise_alone_grows_in_5_percent_of_the_scans() -> None:
    """Of 300 scans of 20 constant pairs each, with noise that no other point shares."""
    assert growth.LEVEL == 0.05
    draw = np.random.default_rng(3)
    false = 0
    for _ in range(300):
        noise = draw.exponential(0.02, (20, len(SIZES), 5))
        pairs = [
            in_rounds({n: list(1e4 * (1 + row)) for n, row in zip(SIZES, errors, strict=True)})
            for errors in noise
        ]
        false += any((p.p or 0) <= growth.LEVEL for p in classified(pairs, exact=False))
    assert 4 <= false <= 28  # 15, with a spread of 3.8


def test_rounds_show_a_growth_of_half_the_noise() -> None:
    draw = np.random.default_rng(4)
    noise = draw.exponential(0.02, (len(SIZES), 5))
    minima = {
        n: list(1e4 * (1 + 0.03 * log2(n)) * (1 + row)) for n, row in zip(SIZES, noise, strict=True)
    }
    (result,) = classified([in_rounds(minima)], exact=False)
    assert result.growth == "logarithmic" and result.p is not None and result.p < 1e-3
    assert result.low is not None and result.high is not None
    assert result.low < 300 < result.high
