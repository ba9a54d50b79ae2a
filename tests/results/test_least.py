"""The least and most that a percentile can be, and the samples that its interval lacks."""

from __future__ import annotations

from fractions import Fraction
from math import comb, log

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.run import Result
from rtstone.results.estimates import batches, estimate, estimate_whole
from rtstone.results.interval import most_below
from rtstone.results.omitted import FEWEST, lacking, lacking_most, least, most
from rtstone.results.pool import percentiles, pooled
from rtstone.summary import PERCENTILES, WHOLE
from tests.report.synthetic import statistics
from tests.stats.lab import counts
from tests.stats.periodic import SECOND, lasting, measured


def result(values: np.ndarray, omitted: int = 0, *, ordered: bool = False) -> Result:
    """Return the result of samples; ``ordered``: with batches, which show how they depend."""
    floats = [float(value) for value in values]
    return Result(
        case=1, bench="dk.periodic", params={}, load="none", status="ok", missed=omitted,
        batches=batches(values) if ordered else None,
        **(statistics(floats) | {"histogram": counts(floats)}),
    )  # fmt: skip


@pytest.mark.parametrize("level", [0.95, 0.975])
@pytest.mark.parametrize("share", [1, 5, 9, 50])  # of 100 beyond the quantile
def test_a_rank_is_exact(level: float, share: int) -> None:
    """The binomial probabilities, summed up as integers, for each n."""
    for n in (1, 2, 5, 6, 29, 60, 400):
        terms = [comb(n, k) * (100 - share) ** k * share ** (n - k) for k in range(n + 1)]
        above = [sum(terms[:rank]) / 100**n for rank in range(1, n + 1)]
        expected = sum(chance <= (1 - level) / 2 for chance in above)
        below = most_below(n, 1 - share / 100, level)
        assert (0 if below is None else int(below) + 1) == expected, n


def test_no_lateness_of_what_was_omitted_gives_less() -> None:
    rng = np.random.default_rng(7)
    reached = 0
    for _ in range(300):
        n, omitted = int(rng.integers(20, 3000)), int(rng.integers(0, 60))
        values = np.round(rng.exponential(1000, n))
        few = result(values, omitted)
        for name, share in PERCENTILES.items():
            low = least(name, [few])
            if low is None:
                continue
            reached += 1
            for hidden in (np.zeros(omitted), np.round(rng.exponential(1000, omitted))):
                every = np.sort(np.concatenate([values, hidden]))
                assert low <= every[-(-len(every) * share // WHOLE) - 1], (n, omitted, name)
    assert reached > 900


def test_of_independent_samples_it_is_too_high_as_seldom_as_it_says() -> None:
    rng, q, n = np.random.default_rng(3), 0.9, 200
    truth = -1000 * log(1 - q)
    lows = [least("p90", [result(rng.exponential(1000, n))]) for _ in range(3000)]
    wrong = sum(low is not None and low > truth for low in lows) / len(lows)
    # The probability of the rank that is taken, 172, is 1.66%: the next one's is above 2.5%.
    assert 0.010 < wrong < 0.024


def test_of_samples_that_depend_on_each_other_it_is_lower() -> None:
    """Each sample 20 times: as many independent ones are a twentieth of them."""
    rng = np.random.default_rng(5)
    truth, wrong, naive = 1000 * log(2), 0, 0
    for _ in range(400):
        values = np.repeat(rng.exponential(1000, 200), 20)
        low, plain = least("p50", [result(values, ordered=True)]), least("p50", [result(values)])
        assert plain is not None
        wrong += low is not None and low > truth
        naive += plain > truth
    assert wrong <= 0.05 * 400
    assert naive > 0.2 * 400


def test_few_stalls_leave_it_though_there_is_no_interval() -> None:
    rng, below = np.random.default_rng(9), 0
    stalls = lasting(lambda _, n: np.full(n, 0.040), 10.0)
    for _ in range(60):
        few, late = measured(1000 + 100 * rng.exponential(size=60 * SECOND), stalls(rng, 60))
        low = least("p99", [few])
        assert low is not None
        if few.missed:
            assert estimate_whole([few], "p99") is None
        below += low <= np.quantile(late, 0.99)
    assert below >= 58


def test_omissions_that_may_be_all_leave_nothing() -> None:
    values = np.arange(1.0, 101.0)
    assert least("p50", [result(values)]) == 40  # P(at most 39 of 100 below it) is 1.8%, 40: 2.8%
    assert least("p50", [result(values, 1000)]) is None


@pytest.mark.parametrize("statistic", PERCENTILES)
def test_the_most_is_the_largest_sample_of_enough_independent_ones(statistic: str) -> None:
    """All of n are below the quantile with a probability of 2.5% or less: counted up, exactly."""
    share, enough = Fraction(PERCENTILES[statistic], WHOLE), 1
    while float(share) ** enough > 0.025:
        enough += 1
    assert most(statistic, [result(np.arange(1.0, enough + 1))]) == enough
    few = result(np.arange(1.0, enough))
    assert most(statistic, [few]) is None
    assert lacking_most(statistic, [few]) == 1


def test_of_independent_samples_the_most_is_too_low_as_seldom_as_it_says() -> None:
    rng, q = np.random.default_rng(3), 0.9
    truth = -1000 * log(1 - q)
    highs = [most("p90", [result(rng.exponential(1000, 36))]) for _ in range(3000)]
    wrong = sum(high is not None and high < truth for high in highs) / len(highs)
    assert None not in highs
    assert 0.015 < wrong < 0.032  # 0.9^36 is 2.25%


def test_of_samples_that_depend_on_each_other_the_most_needs_more() -> None:
    """Each sample 20 times: of 20 independent ones all are below p90 in 12%."""
    rng = np.random.default_rng(5)
    truth, wrong, naive = -1000 * log(0.1), 0, 0
    for _ in range(400):
        values = np.repeat(rng.exponential(1000, 20), 20)
        high = most("p90", [result(values, ordered=True)])
        plain = most("p90", [result(values)])
        assert plain is not None
        wrong += high is not None and high < truth
        naive += plain < truth
    assert wrong <= 0.025 * 400
    assert naive > 0.08 * 400  # 0.9^20 is 12%


def test_longer_runs_are_not_later_than_the_most_of_a_short_one() -> None:
    """Stalls of 10 ms on average, of exponential length; the truth is that of 20 000 of them."""
    rng, each_s = np.random.default_rng(11), 2.0
    stalls = lasting(lambda drawn, n: drawn.exponential(0.010, n) + 0.001, each_s)
    ends = 1000 * rng.exponential(0.010, 20_000) + 1  # ms
    late = np.concatenate([end - np.arange(int(end)) for end in ends]) * 1e6
    endless = np.sort(late)[::-1]
    bounds, wrong = 0, 0
    for _ in range(20):
        few, late = measured(1000 + 100 * rng.exponential(size=20 * SECOND), stalls(rng, 20))
        for name in ("p90", "p99", "p999"):
            high = most(name, [few])
            if high is None or not few.missed:
                continue
            bounds += 1
            assert high >= late.max() - 1  # no omitted activation was later
            rank = int(20_000 * each_s * SECOND * (1 - PERCENTILES[name] / WHOLE))
            wrong += rank < len(endless) and high < endless[rank]
    assert bounds >= 20
    assert wrong <= 1


def test_a_run_as_much_longer_as_the_most_lacks_has_it() -> None:
    """Each stall takes six activations: p99.9 needs 6 x 3688 of them as of independent ones."""
    few = _stalled(1)
    missing = lacking_most("p999", [few])
    assert most("p999", [few]) is None and missing is not None
    assert 1 + missing / few.n == pytest.approx(6 * log(0.025) / log(0.999) / 10_072, rel=1e-3)
    assert most("p999", [_stalled(3)]) == 5500
    assert most("p999", [_stalled(2)]) is None


def test_what_does_not_follow_from_the_samples_has_no_most() -> None:
    values = np.arange(1.0, 101.0)
    assert most("p90", [result(values)]) == 100
    assert most("p90", [result(values, 1)]) is None  # what hid it is not recorded
    assert most("p90", [structs.replace(_stalled(1), missed=61)]) is None
    batched = structs.replace(result(np.arange(1.0, 20_001.0)), batch=8)
    assert most("p999", [batched]) is None


def test_a_run_too_short_for_a_percentile_lacks_what_its_stalls_do() -> None:
    """Of p99.99: room for 24 stalls of six beyond it, not only the 100 000 samples."""
    few = _stalled(1)
    missing = lacking("p9999", [few])
    assert few.corrected and few.corrected.p9999 is None and missing is not None
    assert 1 + missing / few.n == pytest.approx(FEWEST * 6 / (10_072 * 0.0001), rel=1e-3)


def test_means_of_operations_have_no_tail() -> None:
    batched = structs.replace(result(np.arange(1.0, 20_001.0)), batch=8)
    assert least("p999", [batched]) is None
    assert least("p99", [batched]) is not None


def _stalled(times: int, own: int = 10_000, stalls: int = 12) -> Result:
    """Return stalls of 5500 among samples of 100, each of which hid five, so many times."""
    late = [5500.0 - 1000 * k for k in range(6)]
    seen = [(100.0, own * times), (5500.0, stalls * times)]
    histogram = [(100.0, own * times), *((value, stalls * times) for value in sorted(late))]
    n = sum(count for _, count in histogram)
    mean = sum(value * count for value, count in histogram) / n
    base = result(np.full(20, 100.0), 5 * stalls * times)
    corrected = structs.replace(
        pooled([]), n=n, mean=mean, histogram=histogram, max=5500.0,
        **percentiles(histogram, n, 0),
    )  # fmt: skip
    observed = sum(count for _, count in seen)
    own_mean = sum(value * count for value, count in seen) / observed
    return structs.replace(
        base, n=observed, mean=own_mean, max=5500.0, histogram=seen, corrected=corrected
    )


@pytest.mark.parametrize("statistic", ["p50", "p99", "mean"])
def test_a_run_as_much_longer_as_it_lacks_has_an_interval(statistic: str) -> None:
    few = _stalled(1)
    assert estimate_whole([few], statistic) is None
    missing = lacking(statistic, [few])
    assert missing is not None
    times = 1 + missing / few.n
    assert times > 1
    assert estimate_whole([_stalled(int(times))], statistic) is None
    assert estimate_whole([_stalled(int(times) + 1)], statistic) is not None


def test_of_a_tail_there_is_room_for_so_many_stalls() -> None:
    few = _stalled(1, 5000, 40)
    missing = lacking("p99", [few])
    assert missing is not None
    whole = 5240
    assert 1 + missing / few.n == pytest.approx(FEWEST * 6 / (whole * 0.01), rel=1e-3)


def test_samples_without_omissions_lack_as_many_as_their_ranks_need() -> None:
    few = result(np.arange(1.0, 21.0))
    named = structs.replace(few, p90=18.0)
    assert estimate([named], "p90") is None
    missing = lacking("p90", [named])
    assert missing is not None
    longer = structs.replace(result(np.arange(1.0, 21.0 + missing)), p90=18.0)
    shorter = structs.replace(result(np.arange(1.0, 20.0 + missing)), p90=18.0)
    assert estimate([longer], "p90") is not None
    assert estimate([shorter], "p90") is None


def test_omissions_that_do_not_follow_from_the_samples_lack_no_number() -> None:
    strange = structs.replace(_stalled(1), missed=61)
    assert lacking("p50", [strange]) is None
