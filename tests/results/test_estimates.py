"""Intervals against truths that are known, through the recorder of the agent itself."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterator
from math import atan, exp, lgamma, log, pi, sqrt
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.run import Batches, Result
from rtstone.results.estimates import (
    TOO_FEW,
    batches,
    estimate,
    estimate_samples,
    too_few,
    worth,
)
from rtstone.results.interval import autocorrelated_variance, samples_lacking, t_quantile
from rtstone.units import count, seconds
from tests.agent.test_recorder import LIBRARY, record
from tests.chance import is_fine
from tests.stats.lab import result
from tests.stats.periodic import MIDDLES

pytestmark = pytest.mark.simulation

NORMAL = NormalDist()
AT_ONCE = 100  # series are drawn

# Shares of intervals that miss the truth: what is stated, and what is noticed, each in 99 of 100
# (tests/chance.py).  Where series are long the steps are wider, for fewer of them are drawn.
STATED, TWICE, OFTEN, HARDLY = 0.05, 0.1, 0.12, 0.01
Draw = Callable[[np.random.Generator, int, int], np.ndarray]


class Known(NamedTuple):
    """Samples whose mean and quantiles are known: ``draw`` gives rows of them.

    ``low`` and ``high`` are where practically all of them lie.
    """

    draw: Draw
    mean: float
    quantile: Callable[[float], float]
    low: float = -5
    high: float = 5.5


def recorded(values: np.ndarray) -> Result:
    """The result that the agent's recorder makes of these ticks."""
    counts, (n, total, least, most) = record(values.astype(np.uint64))
    assert counts[-1] == 0  # there is no overflow
    lines, line, rows = ctypes.c_uint(), (ctypes.c_uint * 5)(), np.zeros((33, 7), np.uint64)
    batches = LIBRARY.recorder_batches(
        ctypes.byref(lines), line, rows.ctypes.data_as(ctypes.c_void_p)
    )
    table = rows[:batches].astype(int)
    (used,) = np.nonzero(counts)
    names = ("p50", "p90", "p99", "p999", "p9999")[: lines.value]
    points = list(zip(MIDDLES[used].clip(least, most).tolist(), counts[used].tolist(), strict=True))
    upto = np.cumsum(counts[used])
    percentiles = {
        name: points[int(np.searchsorted(upto, -(-n * q // 10000)))][0]
        for name, q in zip(names, (5000, 9000, 9900, 9990, 9999), strict=False)
    }
    whole = Result(
        case=1, bench="null", params={}, load="none", status="ok", n=n, mean=total / n,
        sd=float(np.std(values, ddof=1)), max=float(most), histogram=points,
        batches=Batches(
            n=table[:, 0].tolist(), mean=(table[:, 1] / table[:, 0]).tolist(),
            above={name: table[:, 2 + k].tolist() for k, name in enumerate(names)},
        ),
    )  # fmt: skip
    return structs.replace(whole, **percentiles)


def correlated(rho: float) -> Draw:
    """Autoregression of order 1 with standard normal values."""

    def draw(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
        values: np.ndarray = rng.standard_normal((n, rows))
        for i in range(1, n):
            values[i] = rho * values[i - 1] + sqrt(1 - rho * rho) * values[i]
        return values.T

    return draw


def disturbed(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Two of 37 samples in turn are six larger, from a random phase on."""
    phase = (np.arange(n) + rng.integers(0, 37, (rows, 1))) % 37
    return rng.standard_normal((rows, n)) + np.where(phase < 2, 6.0, 0.0)


def switching(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """A quarter of the time, for 15 samples on average, everything is three larger."""
    leave, enter = 1 / 15, 1 / 45
    chance = rng.random((n, rows))
    slow = np.empty((n, rows), bool)
    slow[0] = chance[0] < 0.25
    for i in range(1, n):
        slow[i] = np.where(slow[i - 1], chance[i] >= leave, chance[i] < enter)
    values: np.ndarray = rng.standard_normal((rows, n)) + 3 * slow.T
    return values


def mixture(share: float, shift: float) -> Callable[[float], float]:
    """Quantiles of a normal distribution of which a share lies higher."""

    def quantile(q: float) -> float:
        low, high = -9.0, 20.0
        for _ in range(60):
            middle = (low + high) / 2
            below = (1 - share) * NORMAL.cdf(middle) + share * NORMAL.cdf(middle - shift)
            low, high = (middle, high) if below < q else (low, middle)
        return low

    return quantile


KNOWN = {
    "normal": Known(lambda rng, rows, n: rng.standard_normal((rows, n)), 0, NORMAL.inv_cdf),
    "exponential": Known(
        lambda rng, rows, n: rng.exponential(1, (rows, n)), 1, lambda q: -log(1 - q), 0, 14
    ),
    "lognormal": Known(
        lambda rng, rows, n: np.exp(rng.standard_normal((rows, n))),
        exp(0.5), lambda q: exp(NORMAL.inv_cdf(q)),
    ),
    "correlated by a half": Known(correlated(0.5), 0, NORMAL.inv_cdf),
    "correlated by 0.9": Known(correlated(0.9), 0, NORMAL.inv_cdf),
    "disturbed": Known(disturbed, 12 / 37, mixture(2 / 37, 6), high=11),
    "switching": Known(switching, 0.75, mixture(0.25, 3), high=8.5),
}  # fmt: skip


def share(held: list[bool]) -> float:
    return sum(held) / len(held)


def missed_by_the_mean(process: Known, n: int, most: int) -> Iterator[bool]:
    """Of series after series whether its interval missed the truth.  The sums are exact."""
    truth, rng = 1e6 + 1e4 * process.mean, np.random.default_rng([n, 1])
    for _ in range(0, most, AT_ONCE):
        for row in (1e6 + 1e4 * process.draw(rng, AT_ONCE, n)).round():
            if interval := estimate([recorded(row)], "mean"):
                yield not interval.low <= truth <= interval.high


def missed_by_percentiles(process: Known, n: int, name: str, most: int) -> Iterator[bool]:
    """Likewise.  Quantiles go with any monotone function: one that buckets are fine for."""
    octaves, rng = 39 / (process.high - process.low), np.random.default_rng([n, 1])

    def ticks(x: np.ndarray) -> np.ndarray:
        return np.exp2(8 + octaves * (x.clip(process.low, process.high) - process.low))

    truth = float(ticks(np.array(process.quantile({"p50": 0.5, "p99": 0.99}[name]))))
    for _ in range(0, most, AT_ONCE):
        for row in ticks(process.draw(rng, AT_ONCE, n)):
            if interval := estimate([recorded(row)], name):
                # The ends are middles of buckets.
                yield not interval.low * 255 / 256 <= truth <= interval.high * 257 / 256


@pytest.mark.parametrize("name", KNOWN)
def test_the_interval_of_a_mean_covers_it_as_often_as_it_says(name: str) -> None:
    assert is_fine(missed_by_the_mean(KNOWN[name], 2000, 2000), STATED, TWICE, HARDLY)


@pytest.mark.parametrize("percentile", ["p50", "p99"])
@pytest.mark.parametrize("name", [name for name in KNOWN if name != "lognormal"])
def test_so_do_the_intervals_of_percentiles(name: str, percentile: str) -> None:
    # fewer than ten clusters of these lie above p99: 92%
    few = (name, percentile) == ("correlated by 0.9", "p99")
    stated, often = (0.08, 0.16) if few else (STATED, TWICE)
    assert is_fine(
        missed_by_percentiles(KNOWN[name], 2000, percentile, 2000), stated, often, HARDLY
    )


@pytest.mark.parametrize("name", ["correlated by 0.9", "disturbed", "switching"])
def test_and_those_of_series_that_are_too_long_to_be_kept(name: str) -> None:
    generator = KNOWN[name]
    assert is_fine(missed_by_the_mean(generator, 20_000, 1500), STATED, OFTEN, HARDLY)
    for percentile in ("p50", "p99"):
        assert is_fine(
            missed_by_percentiles(generator, 20_000, percentile, 1500), STATED, OFTEN, HARDLY
        )


def test_a_hundred_thousand_samples() -> None:
    assert is_fine(missed_by_the_mean(KNOWN["correlated by 0.9"], 100_000, 1000), STATED, OFTEN)


def test_a_clock_of_coarse_steps() -> None:
    """Steps of half a standard deviation: the interval holds the step that the quantile is."""
    rng = np.random.default_rng(5)
    values = (100 + 2 * rng.standard_normal((500, 2000))).round()
    intervals = [estimate([recorded(row)], "p50") for row in values]
    assert all(e is not None and e.low <= 100 <= e.high for e in intervals)
    cut = 100 - 2 * NORMAL.inv_cdf(0.99)
    assert abs(cut - round(cut)) < 0.4  # not where it may be either of two
    tails = [estimate([recorded(200 - row)], "p99") for row in values]
    held = [e.low <= 200 - round(cut) <= e.high for e in tails if e is not None]
    assert len(held) >= 490  # one in 100 seems correlated for long, and is too wide for a tail
    assert share(held) >= 0.93
    means = [estimate([recorded(row)], "mean") for row in values]
    assert 0.93 <= share([e.low <= 100 <= e.high for e in means if e]) <= 0.97


def test_without_batches_independence_is_assumed_and_said() -> None:
    draws = correlated(0.9)(np.random.default_rng(1), 200, 2000)
    results = [recorded(row) for row in (1e6 + 1e4 * draws).round()]
    blind = [estimate([structs.replace(r, batches=None)], "mean") for r in results]
    assert all(e is not None and e.independent for e in blind)
    assert share([e.low <= 1e6 <= e.high for e in blind if e]) < 0.6
    assert not any(e.independent for r in results if (e := estimate([r], "mean")))


@pytest.mark.parametrize("n", [20, 31, 1000, 16_384])
def test_samples_in_order_are_cut_as_the_recorder_cuts_them(n: int) -> None:
    values = np.random.default_rng(n + 1).integers(0, 200, n).astype(float)
    result = recorded(values)
    assert result.batches is not None
    mine = batches(values)
    assert (sorted(mine.n), mine.above.keys()) == (
        sorted(result.batches.n),
        result.batches.above.keys(),
    )
    assert {k: sum(v) for k, v in mine.above.items()} == {
        k: sum(v) for k, v in result.batches.above.items()
    }
    for statistic in ("mean", "p50"):
        interval, other = estimate([result], statistic), estimate_samples(values, statistic)
        assert interval is not None and other is not None
        assert interval == pytest.approx(other, rel=0.02)


def test_the_interval_of_a_drift_holds_where_it_has_been() -> None:
    rising = np.arange(5000) + np.random.default_rng(1).standard_normal(5000)
    interval = estimate_samples(rising, "mean")
    assert interval is not None
    assert interval.low < rising[:1250].mean()
    assert interval.high > rising[3750:].mean()
    assert estimate_samples(rising, "p50") is None  # it reaches beyond what was seen
    shuffled = estimate_samples(np.random.default_rng(1).permutation(rising), "mean")
    assert shuffled is not None
    assert shuffled.high - shuffled.low < 300


def test_why_samples_are_too_few_and_how_long_a_run_would_do() -> None:
    """Of 9 523 samples 200 are late, but they come in four bursts."""
    values = 1000 + np.random.default_rng(1).normal(0, 10, 9523)
    for start in range(500, 9523, 3000):
        values[start : start + 50] += 5000
    bursts = structs.replace(recorded(values), evidence={"section_ns": 9_523_000_000})
    assert estimate([bursts], "p99") is None
    text = too_few([bursts], "p99")
    why = rf"{TOO_FEW}: 9 523 are worth about (\d+), as they are correlated; about (.*) would do"
    match = re.fullmatch(why, text)
    assert match and 100 < int(match[1]) < 500, text
    needed = samples_lacking("p99", [bursts], 0.95)
    assert needed and match[2] == seconds((9523 + needed) / 1000)
    whole = structs.replace(bursts, evidence={})
    assert too_few([whole], "p99").endswith(f"; about {count(9523 + needed)} samples would do")
    apart = recorded(np.random.default_rng(2).permutation(values))
    assert estimate([apart], "p99") and worth([apart], "p99") == ""  # the same in any order


def test_correlation_that_outlasts_batches_widens_the_interval() -> None:
    """It is wider the longer it lasts, and seldom too narrow by much (reference/estimates.md)."""
    rng = np.random.default_rng(11)
    held, widths = {}, {}
    for rho in (0.9, 0.99):
        intervals = [estimate_samples(row, "mean") for row in correlated(rho)(rng, 300, 2000)]
        with_interval = [each for each in intervals if each is not None]
        assert len(with_interval) == len(intervals)
        held[rho] = sum(each.low <= 0 <= each.high for each in with_interval) / len(with_interval)
        widths[rho] = np.median([each.high - each.low for each in with_interval])
    assert widths[0.99] > 2 * widths[0.9]
    assert held[0.99] >= 0.86


def test_what_runs_differ_by_is_part_of_the_uncertainty() -> None:
    rng = np.random.default_rng(3)
    for apart, least in ((0, 0.93), (1, 0.92)):
        held = []
        for _ in range(250):
            shifts = apart * rng.standard_normal(5)
            runs = [recorded((1e6 + 1e4 * (rng.standard_normal(400) + s)).round()) for s in shifts]
            interval = estimate(runs, "mean")
            assert interval is not None and interval.n == 2000
            held.append(interval.low <= 1e6 <= interval.high)
        assert least <= share(held) <= 0.98


def test_two_runs_that_differ_say_how_little_two_tell() -> None:
    rng = np.random.default_rng(4)
    first, other = (recorded(1e6 + 1e4 * (rng.standard_normal(2000) + s)) for s in (0, 1))
    interval = estimate([first, other], "mean")
    assert interval is not None
    # 1e4 / 2 off their middle, and Student's t of one degree
    assert interval.high - interval.low == pytest.approx(2 * 12.7 * 0.5e4, rel=0.15)


def test_the_interval_of_another_level() -> None:
    values = np.random.default_rng(6).standard_normal(5000)
    narrow, wide = (estimate_samples(values, "p90", level) for level in (0.8, 0.99))
    assert narrow is not None and wide is not None
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [
        (0.95, 1, 12.7062), (0.95, 2, 4.3027), (0.95, 3, 3.1824), (0.95, 31, 2.0395),
        (0.90, 1, 6.3138), (0.90, 2.5, 2.5582), (0.99, 3, 5.8409), (0.5, 7, 0.7111),
        (0.999, 31, 3.6335), (0.95, 1e9, 1.9600),
    ],
)  # fmt: skip
def test_student_t(level: float, freedom: float, expected: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("freedom", [1, 1.2, 1.5, 1.9, 2, 2.1, 2.5, 3.7, 10.3, 120, 9000, 11000])
@pytest.mark.parametrize("level", [0.05, 0.5, 0.8, 0.95, 0.999])
def test_student_t_is_where_its_density_says(level: float, freedom: float) -> None:
    """The share within it, by Simpson's rule over the angle whose tangent is t / sqrt(freedom)."""
    angles = np.linspace(0, atan(t_quantile(level, freedom) / sqrt(freedom)), 20_001)
    heights = np.cos(angles) ** (freedom - 1)
    weights = np.where(np.arange(20_001) % 2, 4.0, 2.0)
    weights[[0, -1]] = 1
    constant = lgamma((freedom + 1) / 2) - lgamma(freedom / 2) - log(pi) / 2
    share = 2 * exp(constant) * float(weights @ heights) * angles[1] / 3
    assert share == pytest.approx(level, rel=1e-8)


def test_what_is_not_to_be_had() -> None:
    few = result("null", [1.0] * 19)
    assert estimate([few], "p50") is None
    assert estimate([], "mean") is None
    assert estimate([result("null", [])], "mean") is None
    assert estimate_samples([], "mean") is None
    with pytest.raises(KeyError):
        estimate([few], "p75")


def resampled(rng: np.random.Generator, values: np.ndarray, times: int, length: int) -> np.ndarray:
    """Means of stationary bootstrap samples: blocks of geometric length, wrapped around the end."""
    n = len(values)
    start = rng.random((times, n)) < 1 / length
    start[:, 0] = True
    first = rng.integers(0, n, (times, n))
    place = np.maximum.accumulate(np.where(start, np.arange(n), 0), axis=1)
    index = (np.take_along_axis(first, place, axis=1) + np.arange(n) - place) % n
    means: np.ndarray = values[index].mean(axis=1)
    return means


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("shares", [False, True])
def test_the_variance_is_that_of_the_stationary_bootstrap(rho: float, shares: bool) -> None:
    """Of means, and of the shares below the median that intervals of percentiles rest on."""
    rng = np.random.default_rng(5)
    length = 1 if rho == 0 else round(6 * (1 + rho) / (1 - rho))
    ratios = []
    for row in correlated(rho)(rng, 16, 2048):
        values = (row < np.median(row)).astype(float) if shares else row
        cut = batches(values)
        ours = autocorrelated_variance(cut.n, cut.mean).value
        ratios.append(ours / resampled(rng, values, 150, length).var())
    assert np.exp(np.log(ratios).mean()) == pytest.approx(1, abs=0.25)
