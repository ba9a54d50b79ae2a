"""The search for a breakdown: what it tests, and how often the truth is between its bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from math import exp, log
from typing import NamedTuple

import numpy as np
import pytest

from rtstone.stats import breakdown_curve
from rtstone.stats.breakdown_curve import (
    MOST_TESTS,
    TESTS,
    Crossing,
    Design,
    Point,
    Step,
    Trial,
    bounds,
    crossing,
    following,
    rising,
    scatter,
)

LIMIT = 0.01
NOISY = Design(0, 300, 1, LIMIT)  # levels of half a per cent up to 150%
EXACT = Design(0, 15_000, 1, 0.0, exact=True)
Draw = Callable[[int], Trial]


def search(design: Design, draw: Draw) -> list[Point]:
    """Return the points of a whole search."""
    trials: dict[int, list[Trial]] = {}
    points: list[Point] = []
    while step := following(design, points):
        of_level = trials.setdefault(step.level, [])
        of_level += [draw(step.level) for _ in range(step.tests)]
        points = [Point(level, tests) for level, tests in trials.items()]
    return points


def number_of_tests(points: Sequence[Point]) -> int:
    return sum(len(point.trials) for point in points)


# ---- what it tests ------------------------------------------------------------------------------


@pytest.mark.parametrize("first", [1, 5000, 8341, 14_999])
def test_an_exact_step_is_located_to_a_level_in_as_many_tests_as_halvings(first: int) -> None:
    points = search(EXACT, lambda level: Trial(30 if level >= first else 0, 100))
    end = crossing(EXACT, bounds(EXACT, points))
    assert (end.low, end.high) == (first - 1, first)
    assert number_of_tests(points) == len(points) <= 14 + 2  # 2**14 > 15,000; steps of the curve


def test_a_step_under_noise_has_no_width_beyond_the_resolution() -> None:
    points = search(NOISY, lambda level: Trial(150 if level >= 167 else 0, 1000))
    assert crossing(NOISY, bounds(NOISY, points))[1:] == (166, 167)
    assert number_of_tests(points) < 167 * TESTS / 10  # a tenth of linear steps


def test_what_never_misses_has_no_crossing() -> None:
    points = search(NOISY, lambda level: Trial(0, 1000))
    assert crossing(NOISY, bounds(NOISY, points)) == Crossing(None, 299, None)


def test_what_always_misses_crosses_below_the_first_level() -> None:
    points = search(NOISY, lambda level: Trial(1000, 1000))
    assert crossing(NOISY, bounds(NOISY, points)) == Crossing(0.01, 0, 1)


def test_it_begins_in_the_middle_and_goes_to_the_side_of_the_limit() -> None:
    assert following(NOISY, []) == Step(150, 3)
    assert following(EXACT, []) == Step(7500, 1)
    assert following(NOISY, [Point(150, [Trial(0, 1000)] * 3)]) == Step(225, 3)
    assert following(NOISY, [Point(150, [Trial(900, 1000)] * 3)]) == Step(75, 3)


def test_then_it_tests_what_is_furthest_from_being_sure() -> None:
    """With few jobs neither level is surely on its side."""
    points = [Point(149, [Trial(0, 20)] * 3), Point(150, [Trial(1, 20)] * 3)]
    assert following(NOISY, points) == Step(225, 3)  # 150 to 300, not 0 to 149
    points.append(Point(225, [Trial(20, 20)] * 3))
    assert following(NOISY, points) == Step(74, 3)


def test_at_the_end_it_halves_wide_steps_of_the_curve() -> None:
    sure = [Point(150, [Trial(0, 10**5)] * 3), Point(151, [Trial(10**4, 10**5)] * 3)]
    assert following(NOISY, [*sure, Point(167, [Trial(21 * 10**3, 10**5)] * 3)]) == Step(159, 3)
    assert following(NOISY, [*sure, Point(167, [Trial(20 * 10**3, 10**5)] * 3)]) is None
    assert following(NOISY, [*sure, Point(166, [Trial(90 * 10**3, 10**5)] * 3)]) is None


def test_it_ends_with_its_tests() -> None:
    draw = drawing(CURVES["shallow"](150), NOISES["independent, 100 jobs"], 5)
    assert MOST_TESTS - TESTS < number_of_tests(search(NOISY, draw)) <= MOST_TESTS == 100


def test_the_same_tests_are_followed_by_the_same() -> None:
    first, second = (
        search(NOISY, drawing(CURVES["steep"](170), NOISES["bursts of 5"], 3)) for _ in range(2)
    )
    assert first == second


# ---- the curve ----------------------------------------------------------------------------------


def test_the_curve_is_the_nearest_that_rises() -> None:
    assert rising([0.0, 0.3, 0.1, 0.5], [1, 1, 3, 1]) == pytest.approx([0.0, 0.15, 0.15, 0.5])
    assert rising([0.4, 0.3, 0.2], [1, 1, 1]) == pytest.approx([0.3, 0.3, 0.3])


def test_bounds_of_a_level_are_hoeffdings() -> None:
    """Nothing missed: -n log(1 - high) = log(2 * 2 / 0.05), with 95% and as for two bounds."""
    (bound,) = bounds(NOISY, [Point(10, [Trial(0, 500)] * 3)])
    assert bound[:3] == (10, 0.0, 0.0)
    assert bound.high == pytest.approx(1 - exp(-log(80) / 1500), abs=1e-8)
    (bound,) = bounds(NOISY, [Point(10, [Trial(125, 500)] * 3)])
    for end in (bound.low, bound.high):
        entropy = 0.25 * log(0.25 / end) + 0.75 * log(0.75 / (1 - end))
        assert 1500 * entropy == pytest.approx(log(80), rel=1e-5)


def test_tests_that_miss_all_or_nothing_count_as_one_value_each() -> None:
    (bound,) = bounds(NOISY, [Point(10, [Trial(500, 500), Trial(0, 500), Trial(0, 500)])])
    entropy = 1 / 3 * log(1 / 3 / bound.high) + 2 / 3 * log(2 / 3 / (1 - bound.high))
    assert 3 * entropy == pytest.approx(log(80), rel=1e-5)


def test_a_level_that_scatters_more_than_others_has_wider_bounds() -> None:
    """Three tests of it are three values, whatever the others are."""
    steady = [Point(level, [Trial(100, 500)] * 3) for level in range(1, 9)]
    wild = Point(9, [Trial(0, 500), Trial(0, 500), Trial(500, 500)])
    assert scatter([*steady, wild]) < 200
    high = bounds(NOISY, [*steady, wild])[-1].high
    entropy = 1 / 3 * log(1 / 3 / high) + 2 / 3 * log(2 / 3 / (1 - high))
    assert 3 * entropy == pytest.approx(log(80), rel=1e-5)


def test_levels_above_tighten_the_upper_bound_and_levels_below_the_lower() -> None:
    clean = [Point(level, [Trial(0, 500)] * 3) for level in (10, 20, 30)]
    alone = bounds(NOISY, clean[:1])[0].high
    together = [bound.high for bound in bounds(NOISY, clean)]
    assert together == sorted(together)
    assert together[2] == alone  # none above
    assert together[0] == pytest.approx(1 - exp(-log(80) / 4500), abs=1e-8)
    full = [Point(level, [Trial(500, 500)] * 3) for level in (10, 20, 30)]
    assert bounds(NOISY, full)[2].low == pytest.approx(exp(-log(80) / 4500), abs=1e-8)


def test_scatter_is_the_largest_that_is_likely() -> None:
    """The squares over the quantile of chi squared that a tenth is below: 0.2107 of 2 degrees."""
    trials = [Trial(40, 100), Trial(50, 100), Trial(60, 100)]
    assert scatter([Point(1, trials)]) == pytest.approx(8 / 0.2107, rel=0.08)
    assert scatter([Point(1, trials)] * 5) == pytest.approx(40 / 4.865, rel=0.005)
    assert scatter([Point(1, [Trial(0, 9)] * 3), Point(2, [Trial(9, 9)] * 3)]) == 1
    assert scatter([Point(1, [Trial(50, 100)] * 3)]) == 1


# ---- how often the truth is between the bounds --------------------------------------------------

Truth = Callable[[float], float]


def logistic(centre: float, width: float) -> Truth:
    return lambda x: float(1 / (1 + np.exp(-np.clip((x - centre) / width, -700, 700))))


def power(centre: float) -> Truth:
    return lambda x: min(1.0, (max(0.0, x - centre + 30) / 200) ** 2)


def plateau(centre: float) -> Truth:
    return lambda x: 0.0 if x < centre else 0.015 if x < centre + 60 else 0.4


CURVES: dict[str, Callable[[float], Truth]] = {
    "step": lambda centre: lambda x: 0.3 if x >= centre else 0.0,
    "steep": lambda centre: logistic(centre, 3),
    "shallow": lambda centre: logistic(centre, 25),
    "power": power,
    "plateau": plateau,
}


class Noise(NamedTuple):
    """How the jobs of a test miss.

    ``alike``: the correlation of jobs of a test (beta-binomial); ``burst``: they miss together;
    ``shift``: standard deviation of the level at which a test really is.
    """

    jobs: int
    alike: float = 0.0
    burst: int = 1
    shift: float = 0.0


NOISES = {
    "independent": Noise(500),
    "independent, 100 jobs": Noise(100),
    "alike": Noise(500, alike=0.005),
    "very alike": Noise(500, alike=0.05),
    "bursts of 5": Noise(500, burst=5),
    "bursts of 20": Noise(500, burst=20),
}


def drawing(truth: Truth, noise: Noise, seed: int) -> Draw:
    """Return what makes a test of a level."""
    random = np.random.default_rng(seed)

    def draw(level: int) -> Trial:
        share = truth(level - random.normal(0, noise.shift) if noise.shift else level)
        if noise.alike and 0 < share < 1:
            size = 1 / noise.alike - 1
            share = random.beta(share * size, (1 - share) * size)
        bursts = random.binomial(noise.jobs // noise.burst, share)
        return Trial(int(bursts) * noise.burst, noise.jobs)

    return draw


class Score(NamedTuple):
    """Of searches: shares whose limit, and whose whole curve, was between the bounds; tests."""

    limit: float
    curve: float
    tests: float
    width: float


@cache
def score(curve: str, noise: Noise, searches: int) -> Score:
    limits, curves, tests, widths = 0, 0, 0, []
    for seed in range(searches):
        centre = float(np.random.default_rng(1000 + seed).uniform(100, 270))
        truth = CURVES[curve](centre)
        points = search(NOISY, drawing(truth, noise, seed))
        band = bounds(NOISY, points)
        end = crossing(NOISY, band)
        surely_below = end.low == NOISY.low or truth(end.low) <= LIMIT
        limits += surely_below and (end.high is None or truth(end.high) >= LIMIT)
        curves += all(b.low - 1e-8 <= truth(b.level) <= b.high + 1e-8 for b in band)
        tests += number_of_tests(points)
        widths.append((NOISY.high if end.high is None else end.high) - end.low)
    return Score(limits / searches, curves / searches, tests / searches, float(np.median(widths)))


@pytest.mark.simulation
def test_the_truth_is_between_the_bounds_as_often_as_they_say() -> None:
    """1050 searches: 35 of each of 5 curves under each of 6 noises."""
    scores = {(c, n): score(c, noise, 35) for c in CURVES for n, noise in NOISES.items()}
    assert np.mean([s.curve for s in scores.values()]) >= 0.95
    assert np.mean([s.limit for s in scores.values()]) >= 0.95
    assert {key: s for key, s in scores.items() if s.curve < 0.85 or s.limit < 0.9} == {}


@pytest.mark.simulation
@pytest.mark.parametrize(("name", "value"), [("BOUNDS", 0.04), ("UNSURE", -2.0)])
def test_it_would_not_be_with_less_doubt(
    monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    monkeypatch.setattr(breakdown_curve, name, value)
    noises = [NOISES["independent, 100 jobs"], NOISES["very alike"]]
    curves = [score.__wrapped__(c, n, 20).curve for c in ("steep", "power") for n in noises]
    assert np.mean(curves) < 0.95


@pytest.mark.simulation
def test_a_steep_curve_has_narrow_bounds_in_a_tenth_of_linear_steps() -> None:
    """Linear: each of the levels up to the breakdown, as often as the search tests one."""
    steep = score("steep", NOISES["independent"], 35)
    assert steep.width <= 5  # 2.5% of a CPU
    step = score("step", NOISES["independent"], 35)
    assert step.width <= 1
    assert step.tests < 100 * TESTS / 10  # of the least breakdown
    points = search(NOISY, drawing(CURVES["steep"](185), NOISES["independent"], 1))
    assert number_of_tests(points) <= 185 * (number_of_tests(points) / len(points)) / 10
