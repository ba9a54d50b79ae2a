"""The joint test of last runs, and correlated runs: exact results, and how often it is wrong."""

from __future__ import annotations

from itertools import pairwise
from math import log, sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from rtstone.results.interval import t_quantile
from rtstone.stats.trend import joint, serial
from rtstone.stats.trend.joint import Finding, History, Joint, least_runs, orders
from rtstone.stats.trend.serial import Floats, correlation, wander, widening
from tests.stats.noise import autoregressive

# ---- correlated runs ----------------------------------------------------------------------------


def covariances(r: float, n: int) -> NDArray[np.float64]:
    """Those of an autoregressive process of variance 1."""
    covariance: NDArray[np.float64] = r ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    return covariance


@pytest.mark.parametrize(("r", "n", "m"), [(0.0, 3, 3), (0.3, 11, 5), (0.8, 3, 3), (0.95, 37, 4)])
def test_the_widening_is_that_of_the_process(r: float, n: int, m: int) -> None:
    """The variance of the difference of means, over what the scatter within the sides tells."""
    c = covariances(r, n + m)
    weights = np.array([-1 / n] * n + [1 / m] * m)
    within = sum(len(s) - s.sum() / len(s) for s in (c[:n, :n], c[n:, n:]))
    expected = (weights @ c @ weights) / (within / (n + m - 2) * (1 / n + 1 / m))
    assert widening(r, n, m) == pytest.approx(sqrt(expected), rel=1e-9)


@pytest.mark.parametrize("r", [0.0, 0.3, 0.8])
def test_the_correlation_is_what_is_expected_of_the_process_with_levels_subtracted(
    r: float,
) -> None:
    products = squares = 0.0
    for n in (4, 9, 20):
        centred = np.eye(n) - 1 / n
        c = centred @ covariances(r, n) @ centred
        products, squares = products + np.trace(c, 1), squares + np.trace(c)
    assert serial._expected((4, 9, 20))[round(100 * r)] == pytest.approx(products / squares)


def test_a_correlation_is_known_from_its_neighbours_and_not_from_levels() -> None:
    slow = np.sin(np.arange(60) / 6)
    assert correlation([slow]) == serial.STRONGEST
    assert correlation([slow[::2], slow[1::2]]) > 0.8
    alternating = np.tile([1.0, -1.0], 30)
    assert correlation([alternating]) == 0
    assert correlation([alternating, alternating + 100]) == 0
    assert correlation([np.zeros(5), np.ones(4)]) == 0
    # 1, 2, 2, 1 about 1.5: products -1/4 + 1/4 - 1/4, squares 1; -1/4 is expected of no correlation
    assert correlation([np.array([1.0, 2.0, 2.0, 1.0])]) == pytest.approx(0, abs=0.01)
    # 1, 1, 2, 2: products +1/4 of squares 1; the expectation reaches that at 0.79
    assert correlation([np.array([1.0, 1.0, 2.0, 2.0])]) == serial.STRONGEST


def test_levels_wander_as_far_as_student_says_of_the_widened_difference() -> None:
    """Ten runs a side, of 0 and 1 in turn: squares of 5 in all, at 19 places."""
    before = np.tile([0.0, 1.0], 5)
    alone = sqrt(5.0 / 18 * 0.2)
    t = 3.4896  # t of 18 degrees, two-sided, at 0.05 / 19
    for r in (0.0, 0.5):
        edge = t * widening(r, 10, 10) * alone
        assert wander(before, before + 0.999 * edge, r, 0.05)
        assert not wander(before, before + 1.001 * edge, r, 0.05)


# ---- the joint test -----------------------------------------------------------------------------


def histories(values: NDArray[np.float64], step: float = 0.0) -> list[History]:
    return [History(value, step) for value in values]


def test_the_level_that_can_be_reached_depends_on_the_runs_alone() -> None:
    assert orders(6, 3) == 20  # ways to choose three of six
    assert orders(7, 5) == 35 * 4  # and the fourth of the last
    assert orders(40, 5) == 9880 * 37 * 36
    assert [least_runs(3, level) for level in (0.05, 0.025, 0.01, 0.001)] == [6, 8, 10, 20]
    assert least_runs(5, 0.025) == 7


def test_of_every_order_each_occurs_once_and_the_first_is_the_own() -> None:
    rows = joint._orders(7, 4, 0.05)
    assert rows[0].tolist() == [6, 5, 4, 3]
    choices = {(frozenset(row[:3]), row[3]) for row in rows.tolist()}
    assert len(choices) == len(rows) == orders(7, 4)
    assert all(len(set(row)) == 4 for row in rows.tolist())
    drawn = joint._orders(40, 5, 0.05)
    assert drawn[0].tolist() == [39, 38, 37, 36, 35]
    assert len(drawn) == 2000
    assert len(joint._orders(40, 5, 0.001)) == 20_000


def test_six_runs_show_what_is_far_beyond_their_scatter_in_any_of_many_series() -> None:
    values = autoregressive(90, 6, np.random.default_rng(1))
    values[17, 3:] += log(10) / 0.02
    joint = Joint(histories(values), 3, 0.05)
    assert [joint.judge(n).finding for n in (17, 18)] == [Finding.WORSE, Finding.NOTHING]
    assert joint.judge(17).after == 3
    assert not Joint(histories(values), 3, 0.049).reachable
    assert Joint(histories(values), 3, 0.049).judge(17).finding is Finding.NOTHING
    values[17] *= -1
    assert Joint(histories(values), 3, 0.05).judge(17).finding is Finding.NOTHING


BASE = np.array([0.0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0])


def test_the_place_of_a_change_is_where_it_is_largest() -> None:
    values = BASE.copy()
    values[-4:] += 20
    joint = Joint(histories(values[None, :]), 6, 0.05).judge(0)
    assert (joint.finding, joint.after) == (Finding.WORSE, 4)
    assert joint.rise == pytest.approx(20.5 - 6 / 12 + 0.0, abs=0.01)


def test_what_rose_before_the_last_runs_or_all_along_is_no_change_in_them() -> None:
    earlier = BASE.copy()
    earlier[8:] += 20
    assert Joint(histories(earlier[None, :]), 5, 0.05).judge(0).finding is Finding.EARLIER
    drift = BASE + 5 * np.arange(16, dtype=np.float64)
    assert Joint(histories(drift[None, :]), 5, 0.05).judge(0).finding is Finding.EARLIER


def test_what_lies_as_far_off_as_earlier_runs_in_a_row_wanders() -> None:
    values = np.concatenate([BASE, BASE])
    values[8:13] += 6
    values[-4:] += 5
    joint = Joint(histories(values[None, :]), 4, 0.05).judge(0)
    assert joint.finding in (Finding.WANDERS, Finding.EARLIER)
    values[8:13] -= 6
    assert Joint(histories(values[None, :]), 4, 0.05).judge(0).finding is Finding.WORSE


def test_a_rise_within_the_resolution_is_none() -> None:
    values = np.zeros(16)
    values[-5:] = 1
    assert Joint(histories(values[None, :], 0.99), 5, 0.05).judge(0).finding is Finding.WORSE
    assert Joint(histories(values[None, :], 1.0), 5, 0.05).judge(0).finding is Finding.NOTHING


def test_the_least_rise_is_that_from_which_on_the_test_finds_it() -> None:
    values = autoregressive(10, 16, np.random.default_rng(3))
    tested = Joint(histories(values), 5, 0.05)
    for number in (0, 7):
        least = tested.least_rise(number)
        assert least is not None
        for factor, expected in ((0.99, False), (1.01, True)):
            risen = values.copy()
            for side in (slice(None, -5), slice(-5, None)):
                risen[number, side] -= risen[number, side].mean()
            risen[number, -5:] += factor * least
            verdict = Joint(histories(risen), 5, 0.05).judge(number).finding
            assert (verdict is Finding.WORSE) is expected
    assert Joint(histories(values[:, -6:]), 3, 0.04).least_rise(0) is None


def test_the_runs_that_it_takes_are_those_that_narrow_students_interval() -> None:
    values = autoregressive(10, 16, np.random.default_rng(3))
    tested = Joint(histories(values), 5, 0.05)
    few, many = tested.runs_for(0, 6.0), tested.runs_for(0, 2.0)
    assert few == 17  # which are the next
    assert many is not None and few < many <= joint.MOST_RUNS
    assert tested.runs_for(0, 0.5) is None
    assert Joint(histories(values[:, -6:]), 3, 0.001).runs_for(0, 50.0) == 20


def failed(values: Floats, last: int) -> bool:
    tested = Joint(histories(values), last, 0.05)
    return any(tested.judge(n).finding is Finding.WORSE for n in range(len(values)))


@pytest.mark.parametrize(("correlated", "runs", "last", "most"), [(0.0, 8, 3, 4), (0.8, 10, 5, 8)])
def test_unchanged_suites_seldom_fail_also_if_runs_are_like_those_beside_them(
    correlated: float, runs: int, last: int, most: int
) -> None:
    """Of 80 suites of ten series: 4 expected at 5%, twice as many with a chance of 2%."""
    rng = np.random.default_rng(6)
    draws = (autoregressive(10, runs, rng, correlated) for _ in range(80))
    assert sum(failed(draw, last) for draw in draws) <= most


def test_the_constants_hold_what_they_were_chosen_for() -> None:
    """Without the reduction by the correlation, and without the place, many more fail."""
    rng = np.random.default_rng(7)
    draws = [autoregressive(10, 16, rng, 0.8) for _ in range(40)]
    several = [Joint(histories(draw), 5, 0.05) for draw in draws]
    findings = [{entry.judge(n).finding for n in range(10)} for entry in several]
    assert sum(Finding.WANDERS in finding for finding in findings) >= 10
    assert sum(Finding.WORSE in finding for finding in findings) <= 4


def test_more_series_need_a_larger_rise() -> None:
    values = autoregressive(45, 16, np.random.default_rng(8))
    rises = [Joint(histories(values[:n]), 5, 0.05).least_rise(0) or 0.0 for n in (1, 10, 45)]
    assert all(rise <= other for rise, other in pairwise(rises))
    assert rises[0] < rises[-1] < 3 * rises[0]


@pytest.mark.parametrize(("earlier", "finding"), [(1.1, "WORSE"), (1.3, "WANDERS")])
def test_three_earlier_runs_that_lay_further_off_make_three_last_ones_nothing_new(
    earlier: float, finding: str
) -> None:
    values = np.tile([0.0, 1.0], 20)
    values[-3:] += 1.2
    values[11:14] += earlier
    assert Joint(histories(values[None, :]), 3, 0.05).judge(0).finding.name == finding


def test_equal_values_are_known_to_their_resolution() -> None:
    """11 of 0, 5 of 1: squares of 55/16, and of each a twelfth of the square of the resolution."""
    values = np.repeat([0.0, 1.0], [11, 5])
    squares = 55 / 16
    prepared = joint._Series(History(values, 0.9), 5)
    assert prepared.statistic == pytest.approx(sqrt(squares / (squares + 16 * 0.81 / 12)))
    assert joint._Series(History(values, 0.0), 5).statistic == pytest.approx(1)
    assert (prepared.after, prepared.rise, prepared.earlier) == (5, 1, False)


@pytest.mark.parametrize(("series", "rise"), [(1, 0.65), (10, 0.9)])
def test_the_runs_that_it_takes_follow_from_students_one_sided_t(series: int, rise: float) -> None:
    """Of 0 and 1 in turn, a scatter of 1/2: without correlation but for what is unsure of it."""
    values = np.tile(np.tile([0.0, 1.0], 8), (series, 1))
    tested = Joint(histories(values), 4, 0.05)
    runs = tested.runs_for(0, rise)
    assert runs is not None

    def wide(n: int) -> float:
        t = t_quantile(1 - 2 * 0.05 / series, n - 2)  # one side of both
        unsure = min(serial.UNSURE / sqrt(n), serial.STRONGEST)
        return t * widening(unsure, n - 4, 4) * sqrt(4 / 14 * (1 / 4 + 1 / (n - 4)))

    assert wide(runs) <= rise < wide(int(runs / 1.06) - 1)


def test_a_rise_is_sought_up_to_a_thousandfold() -> None:
    least = Joint([History(np.zeros(16), 6.0)], 5, 0.05).least_rise(0)
    assert least == pytest.approx(6, rel=0.01)
    assert Joint([History(np.zeros(16), 8.0)], 5, 0.05).least_rise(0) is None
