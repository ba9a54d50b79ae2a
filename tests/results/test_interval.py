"""Intervals of fixed numbers, and their constants against docs/reference/estimates.md."""

from __future__ import annotations

import re
from math import sqrt
from pathlib import Path

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.run import Result
from rtstone.results import interval, omitted
from rtstone.results.estimates import estimate_samples
from rtstone.results.interval import Part, Variance, autocorrelated_variance, combined, ranks
from rtstone.results.pool import pooled

DOCS = Path("docs/reference/estimates.md").read_text()
T_7 = 2.364624  # Student's t, 95%, 7 degrees of freedom

# 32 batches of 1 and -1 as often; the correlation of neighbours is 1 - changes / 16
TEN_CHANGES = "+++---+++---+++---+++---++----++"
NINE_CHANGES = "++++----+++---+++---+++---+++---"


def series(signs: str) -> list[float]:
    return [1.0 if sign == "+" else -1.0 for sign in signs]


def test_the_docs_state_the_constants() -> None:
    for words in (
        f"correlated by more than {interval._HIGHEST:g}",
        f"fewer than {interval._SHORT} samples",
        f"fewer than {omitted.FEWEST} stalls",
        f"equal size, {2 * omitted.FEWEST} for the mean",
    ):
        assert words in re.sub(r"\s+", " ", DOCS), words
    assert pytest.approx(1 / 5) == interval._LOWEST
    assert "a fifth of what the batches alone would give" in re.sub(r"\s+", " ", DOCS)


def test_of_independent_batches_it_is_that_of_their_mean() -> None:
    """Neighbours correlate by -1/4 + 1/4 = 0: the variance of four values, over four."""
    variance = autocorrelated_variance([5, 5, 5, 5], [3.0, -3.0, -3.0, 3.0])
    assert variance.value == pytest.approx(9 * 4 / 3 / 4)
    assert variance.freedom == 1


def test_batches_that_take_turns_give_a_fifth_of_the_variance_at_least() -> None:
    variance = autocorrelated_variance([10] * 32, [1.0, -1.0] * 16)
    assert variance.value == pytest.approx(0.2 / 31)
    assert variance.freedom == pytest.approx(31 / 3)
    assert not variance.lasting


def test_a_correlation_of_a_batch_and_the_next_is_added_twice() -> None:
    variance = autocorrelated_variance([10] * 32, series(TEN_CHANGES))
    assert variance.value == pytest.approx((1 + 2 * (1 - 10 / 16)) / 31)
    assert variance.freedom == pytest.approx(31 / 3)
    assert not variance.lasting


def test_where_it_is_higher_eight_parts_tell_and_the_farthest_of_them_is_reached() -> None:
    variance = autocorrelated_variance([10] * 32, series(NINE_CHANGES))
    assert variance.lasting
    # eighths of ++++ ---- +++- --++ +--- +++- --++ +---: the first two lie 1 from the mean
    assert variance.freedom == 7
    assert variance.value == pytest.approx((1 / T_7) ** 2, rel=1e-5)


def test_a_drift_is_told_by_four_parts() -> None:
    """Eighths of a rise correlate by 5/8, more than 0.3, and reach 3.5 parts from the mean."""
    variance = autocorrelated_variance([1] * 32, [float(k) for k in range(32)])
    assert (variance.freedom, variance.lasting) == (3, True)
    quarters = np.array([3.5, 11.5, 19.5, 27.5])
    seen = quarters.var(ddof=1) / 4
    assert variance.value == pytest.approx(max(seen, (14 / 3.182446) ** 2), rel=1e-5)


@pytest.mark.parametrize(("signs", "freedom"), [("++--++--", 7), ("++----++", 3)])
def test_eight_parts_do_if_they_are_hardly_correlated(signs: str, freedom: int) -> None:
    """They correlate by 1 - changes / 4: by 0.25 and by 0.5; 0.3 is the limit."""
    variance = autocorrelated_variance([10] * 32, series("".join(4 * sign for sign in signs)))
    assert (variance.freedom, variance.lasting) == (freedom, True)


def test_the_farthest_eighth_is_reached_though_quarters_tell() -> None:
    eighths = [3.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -3.0]
    variance = autocorrelated_variance([10] * 32, [value for value in eighths for _ in range(4)])
    assert variance.freedom == 3
    assert variance.value == pytest.approx((3 / 3.182446) ** 2, rel=1e-5)


def test_runs_of_which_one_lasts_are_marked_and_weighted() -> None:
    parts = [Part(300, 10.0, Variance(4.0, 9.0)), Part(100, 10.0, Variance(8.0, 3.0, True))]
    variance = combined(parts)
    first, second = 9 / 16 * 4, 1 / 16 * 8
    assert variance.value == pytest.approx(first + second)
    assert variance.freedom == pytest.approx((first + second) ** 2 / (first**2 / 9 + second**2 / 3))
    assert variance.lasting
    assert not combined(parts[:1]).lasting


def test_ranks_of_independent_samples_are_those_of_the_binomial() -> None:
    """n = 1000, q = 0.9: the 2.5% and 97.5% points of the count are 881 and 918 (exact)."""
    low, high = ranks(1000, 0.9, Variance(0.9 * 0.1 / 1000), 0.95)
    assert low == pytest.approx(900 - 0.8 * 2.8415 / 6 + 0.5 - 1.959964 * sqrt(90), abs=1e-3)
    assert high == pytest.approx(900 - 0.8 * 2.8415 / 6 + 0.5 + 1.959964 * sqrt(90), abs=1e-3)


@pytest.mark.parametrize(("n", "expected"), [(63, False), (64, True)])
def test_few_samples_that_depend_on_each_other_have_no_interval(n: int, expected: bool) -> None:
    interval = estimate_samples([float(k) for k in range(n)], "mean")
    assert (interval is not None) == expected
    assert interval is None or interval.lasting
    shuffled = np.random.default_rng(1).permutation(np.arange(float(n)))
    free = estimate_samples(shuffled, "mean")
    assert free is not None and not free.lasting


# ---- correlation that lasts ---------------------------------------------------------------------


def telegraph(random: np.random.Generator, phase: int, n: int) -> np.ndarray:
    """Two states, three standard deviations apart, in phases of so many samples on average."""
    turns = random.random(n) < 1 / phase
    state = (np.cumsum(turns) + random.integers(2)) % 2
    values: np.ndarray = random.standard_normal(n) + 3 * state - 1.5
    return values


def autoregressive(random: np.random.Generator, rho: float, n: int) -> np.ndarray:
    """Order 1, standard normal."""
    values = random.standard_normal(n)
    for k in range(1, n):
        values[k] = rho * values[k - 1] + sqrt(1 - rho * rho) * values[k]
    return values


@pytest.mark.parametrize("kind", ["telegraph", "autoregressive"])
def test_what_outlasts_batches_is_marked_and_then_held(kind: str) -> None:
    """Of 80 series of 400 and 100 samples; before, 80 and 87% held and none was marked."""
    random = np.random.default_rng(2)
    drawn = [
        telegraph(random, 100, 400) if kind == "telegraph" else autoregressive(random, 0.9, 100)
        for _ in range(80)
    ]
    intervals = [estimate_samples(samples, "mean") for samples in drawn]
    marked = [interval for interval in intervals if interval and interval.lasting]
    held = [interval.low <= 0 <= interval.high for interval in marked]
    assert len(marked) >= 0.85 * len(intervals)
    assert sum(held) / len(held) >= 0.94
    wrong = [
        interval
        for interval in intervals
        if interval and not interval.lasting and not interval.low <= 0 <= interval.high
    ]
    assert len(wrong) <= 0.1 * len(intervals)


def test_independent_samples_are_seldom_marked() -> None:
    random = np.random.default_rng(3)
    intervals = [estimate_samples(random.standard_normal(400), "mean") for _ in range(80)]
    assert (
        sum(interval is not None and interval.lasting for interval in intervals) <= 4
    )  # 1% of 80, and chance


# ---- with omitted activations -------------------------------------------------------------------


def stalled(stalls: int, own: int = 10_000) -> omitted.Events:
    """Return the events of ``own`` samples at 100 and stalls of 5500, which hid five each."""
    return omitted.Events(
        result=_result(stalls, own),
        values=np.array([100.0, 5500.0]),
        counts=np.array([float(own), float(stalls)]),
        sizes=np.array([1.0, 6.0]),
        period=1000.0,
        bursts=Variance(1.0),
    )


def _result(stalls: int, own: int) -> Result:
    hid = [5500.0 - 1000 * k for k in range(1, 6)]
    late = [5500.0, *hid]
    histogram = [(100.0, own), *((value, stalls) for value in sorted(late))]
    n, total = own + 6 * stalls, own * 100 + stalls * sum(late)
    upto = np.cumsum([count for _, count in histogram])
    p50, p90, p99 = (
        histogram[int(np.searchsorted(upto, -(-n * q // 100)))][0] for q in (50, 90, 99)
    )
    whole = pooled([])
    corrected = structs.replace(
        whole, n=n, mean=total / n, sd=None, min=100.0, max=5500.0, histogram=histogram,
        p50=p50, p90=p90, p99=p99,
    )  # fmt: skip
    return Result(
        case=1, bench="dk.periodic", params={}, load="none", status="ok", n=own + stalls,
        mean=(own * 100 + stalls * 5500) / (own + stalls), max=5500.0, missed=5 * stalls,
        histogram=[(100.0, own), (5500.0, stalls)], corrected=corrected,
    )  # fmt: skip


def test_stalls_scatter_as_so_many_events_of_equal_size() -> None:
    """40 stalls, of which each has six activations above the line; the others have none."""
    moments = omitted._moments("p90", stalled(40), 150.0)
    n, above = 10_240, 240
    share = above / n
    own, late = share, 6 - 6 * share  # how far an event's weight is from that of its size
    second = 10_000 * own**2 + 40 * late**2
    assert moments.value == pytest.approx(1 - share)
    assert moments.second == pytest.approx(second)
    assert moments.third == pytest.approx(-10_000 * own**3 + 40 * late**3)
    number = second**2 / (10_000 * own**4 + 40 * late**4)
    assert moments.events == pytest.approx(number)
    assert moments.freedom == pytest.approx(2 * number)  # twice as many degrees as events


def test_an_interval_rests_on_24_stalls_at_least() -> None:
    """Of equal stalls that make nearly all of the scatter, 25 are enough for p50, 23 are not."""
    for stalls, expected in ((23, False), (25, True)):
        interval = omitted.interval("p50", [_result(stalls, 10_000)], 0.95)
        assert (interval is not None) == expected, stalls
    assert omitted.interval("p50", [_result(23, 10_000)], 0.95, fewest=20) is not None


@pytest.mark.parametrize(("stalls", "expected"), [(46, False), (50, True)])
def test_that_of_the_mean_on_twice_as_many(stalls: int, expected: bool) -> None:
    assert (omitted.interval("mean", [_result(stalls, 10_000)], 0.95) is not None) == expected


def test_ranks_lean_by_the_size_of_a_stall() -> None:
    """A sixth of z^2 - 1 times the size; and Student's t of 12 degrees, 2.178813."""
    low, high = omitted._ranks(10_000, 0.9, Variance(1e-6, 12.0), 6.0, 0.95)
    middle = 9000 - (1.959964**2 - 1) / 6 * 6 + 0.5
    assert (low + high) / 2 == pytest.approx(middle, abs=1e-4)
    assert (high - low) / 2 == pytest.approx(2.178813 * 10_000 * 1e-3, rel=1e-6)


def test_the_mean_has_the_score_interval_of_wilson() -> None:
    """Of a share: 10 of 10 000 events, whose score interval is 5.434e-4 to 18.394e-4."""
    share, n = 1e-3, 10_000
    variance = Variance(share * (1 - share) / n)
    low, high = omitted._mean_ends(1000 * share, n, variance._replace(value=1e6 * variance.value),
                                   1000 * (1 - 2 * share), 0.95)  # fmt: skip
    assert [low, high] == pytest.approx([0.5434, 1.8394], abs=2e-3)


@pytest.mark.parametrize(
    ("stalls", "low", "high"),
    [(10, 4.795, 18.390), (30, 20.241, 42.827), (1, 0.0253, 5.572)],  # exact, of Poisson counts
)
def test_the_share_of_omitted_activations_has_byars_interval(
    stalls: float, low: float, high: float
) -> None:
    interval = omitted.Missed(omitted=round(5 * stalls), due=1000, stalls=stalls).interval
    assert interval[0] * 1000 / 5 == pytest.approx(low, rel=5e-3, abs=0.03)
    assert interval[1] * 1000 / 5 == pytest.approx(high, rel=5e-3)


def test_no_omission_in_so_many_leaves_about_three_of_them_possible() -> None:
    low, high = omitted.Missed(omitted=0, due=1000, stalls=0).interval
    assert low == 0
    assert high * 1000 == pytest.approx(3.669, abs=1e-3)  # exact: 3.689
