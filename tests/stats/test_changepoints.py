"""E-divisive means against their definition, and how often they are wrong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtstone.stats.trend import changepoints
from rtstone.stats.trend.changepoints import LEVELS, SHORTEST, Floats, Split, change_points, steps
from tests.chance import is_fine
from tests.stats.noise import drawn, shifted
from tests.stats.oracle import AVAILABLE, LACKING, otava


def defined(values: list[float], at: int) -> float:
    """The weighted energy distance of both sides of a split, from all pairs (equations 2 to 5)."""
    x, y = np.array(values[:at]), np.array(values[at:])
    n, m = len(x), len(y)

    def within(side: Floats) -> float:
        pairs = [abs(side[i] - side[k]) for k in range(len(side)) for i in range(k)]
        return float(sum(pairs) / math.comb(len(side), 2))

    between = float(np.abs(x[:, None] - y[None, :]).mean())
    return n * m / (n + m) * (2 * between - within(x) - within(y))


@given(st.lists(st.integers(-50, 50), min_size=2 * SHORTEST, max_size=40))
@settings(max_examples=60, deadline=None)
def test_the_sizes_of_splits_are_those_of_the_definition(numbers: list[int]) -> None:
    values = [float(number) for number in numbers]
    part = changepoints._part(np.array(values), 0, len(values))
    sizes = changepoints._sizes(part, np.arange(len(values))[None, :])[0]
    expected = [defined(values, at) for at in range(SHORTEST, len(values) - SHORTEST + 1)]
    assert sizes == pytest.approx(expected, abs=1e-9)
    assert part.size == pytest.approx(max(0.0, *expected), abs=1e-9) or part.size < 0


def test_more_values_than_levels_change_sizes_by_little() -> None:
    values = np.random.default_rng(1).normal(size=4 * LEVELS)
    values[150:] += 1
    part = changepoints._part(values, 0, len(values))
    assert part.at == max(range(3, len(values) - 2), key=lambda at: defined(list(values), at))
    assert part.size == pytest.approx(defined(list(values), part.at), rel=0.05)


def test_what_does_not_vary_does_not_change() -> None:
    assert change_points([]) == change_points([1.0]) == []
    assert change_points([3.0] * 50) == []
    assert change_points([1.0, 1.0, 2.0, 2.0]) == []  # too short for any


def test_several_changes_are_found_at_their_places_and_again() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=120)
    values[30:60] += 5
    values[90:] -= 5
    splits = change_points(values.tolist())
    assert {split.at for split in splits} >= {30, 60, 90}
    assert len(splits) <= 4  # each further split may be chance, at the level
    assert splits == change_points(values.tolist())


def test_two_runs_that_are_off_are_no_change() -> None:
    values = np.random.default_rng(3).normal(size=60)
    values[30:32] += 8
    assert change_points(values.tolist()) == []


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["normal", "heavy"])
@pytest.mark.parametrize("level", [0.05, 0.01])
def test_series_without_a_change_have_one_as_seldom_as_the_level_says(
    kind: str, level: float
) -> None:
    rng = np.random.default_rng(4)

    def draws() -> list[float]:
        values = rng.normal(size=40) if kind == "normal" else rng.standard_t(2, 40)
        numbers: list[float] = values.tolist()
        return numbers

    assert is_fine((bool(change_points(draws(), level)) for _ in range(3000)), level, 3 * level)


def test_numbers_that_repeat_change_wherever_they_differ() -> None:
    assert [split.at for split in steps([5, 5, 6, 5, 5])] == [2, 3]
    assert steps([1.0]) == steps([]) == []


# ---- the oracle ---------------------------------------------------------------------------------


def near(points: list[int], at: int) -> bool:
    return any(abs(place - at) <= 2 for place in points)


@pytest.mark.simulation
@pytest.mark.skipif(not AVAILABLE, reason=LACKING)
def test_apache_otava_finds_the_same_changes() -> None:
    """The same algorithm, but for its random orders: both find what is there, and where it is."""
    rng = np.random.default_rng(8)
    places = rng.integers(10, 50, 60).tolist()
    many = [shifted(drawn("quiet", "p50", 60, rng), at, 1.06).tolist() for at in places]
    many = [[math.log(value) for value in series] for series in many]
    findings = otava(many)
    ours = [[split.at for split in change_points(series)] for series in many]
    assert sum(near(split, at) for split, at in zip(ours, places, strict=True)) >= 57
    same = [split == theirs.original for split, theirs in zip(ours, findings, strict=True)]
    assert sum(same) >= 51  # each may split once too often, by chance
    assert (
        sum(near(finding.original, at) for finding, at in zip(findings, places, strict=True)) >= 54
    )


@pytest.mark.skipif(not AVAILABLE, reason=LACKING)
def test_apache_otava_splits_a_series_at_the_same_place_first() -> None:
    """Without chance: a change so large that every order of the values is beside it."""
    rng = np.random.default_rng(9)
    many = [shifted(rng.normal(100, 1, 40), at, 2).tolist() for at in range(5, 36)]
    for series, at, theirs in zip(many, range(5, 36), otava(many), strict=True):
        assert at in theirs.original
        assert at in theirs.hunter
        assert at in [split.at for split in change_points(series)]


def test_a_clear_change_is_beyond_each_of_199_orders() -> None:
    """At 5% ten of 199 would be too many; at 1%, two of 199."""
    values = [0.0, 0.1] * 8 + [5.0, 5.1] * 8
    assert change_points(values) == [Split(16, 1 / 200)]
    assert change_points(values, 0.01) == [Split(16, 1 / 200)]
    assert change_points(values, 0.001) == [Split(16, 1 / 1000)]


def test_a_distribution_function_is_followed_at_64_values() -> None:
    assert LEVELS == 64
    assert changepoints._part(np.arange(100.0), 0, 100).below.shape == (100, LEVELS - 1)
    assert changepoints._part(np.arange(50.0), 0, 50).below.shape == (50, 49)
