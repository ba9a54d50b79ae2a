from __future__ import annotations

import random
import statistics as exact

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtstone.documents.run import Result
from rtstone.results.pool import pooled
from tests.stats.lab import result


def nearest(values: list[float], q: float) -> float:
    return sorted(values)[max(0, -(-int(q * 10000) * len(values) // 10000) - 1)]


@given(st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=50), min_size=2, max_size=4))
def test_samples_of_several_runs_are_one_set(parts: list[list[int]]) -> None:
    floats = [[float(v) for v in part] for part in parts]
    whole = [v for part in floats for v in part]
    distribution = pooled([result("null", part) for part in floats])
    assert distribution.n == len(whole)
    assert (distribution.min, distribution.max) == (min(whole), max(whole))
    assert distribution.mean == pytest.approx(exact.fmean(whole), abs=1e-3)
    assert distribution.p50 == (nearest(whole, 0.5) if len(whole) >= 20 else None)
    assert distribution.p90 == (nearest(whole, 0.9) if len(whole) >= 100 else None)
    assert sum(count for _, count in distribution.histogram) == distribution.n
    assert dict(distribution.histogram) == {v: whole.count(v) for v in whole}


def test_the_median_is_of_all_samples_and_not_of_medians() -> None:
    parts = [[1.0] * 100, [2.0] * 10, [9.0] * 10]
    assert exact.median([1.0, 2.0, 9.0]) == 2.0
    assert pooled([result("null", part) for part in parts]).p50 == 1.0


def test_the_spread_is_that_of_all_samples() -> None:
    rng = random.Random(1)
    parts = [[rng.gauss(middle, 5) for _ in range(300)] for middle in (100, 160)]
    results = [result("null", part, sd=exact.stdev(part), mean=exact.fmean(part)) for part in parts]
    assert pooled(results).sd == pytest.approx(exact.stdev(parts[0] + parts[1]), rel=1e-4)
    unknown = [result("null", part, sd=None) for part in parts]
    assert pooled(unknown).sd is None


def test_the_spread_of_a_few_samples_is_that_of_n_less_one() -> None:
    parts = [[1.0, 3.0], [5.0, 7.0]]
    results = [result("null", part, sd=2**0.5, mean=exact.fmean(part)) for part in parts]
    assert pooled(results).sd == pytest.approx((20 / 3) ** 0.5, abs=1e-4)
    assert pooled([result("null", [4.0], sd=None, mean=4.0), results[0]]).sd == pytest.approx(
        exact.stdev([4, 1, 3]), abs=1e-4
    )


def test_what_lies_beyond_a_histogram_has_no_percentile() -> None:
    """Only the largest of it is known, and no percentile is the largest sample."""

    def half(overflow: int) -> Result:
        values = [5.0] * 30 + [1e9] * overflow
        return result("null", values, overflow=overflow, histogram=[(5.0, 30)])

    distribution = pooled([half(31), half(31)])
    assert (distribution.n, distribution.p50, distribution.max) == (122, None, 1e9)
    assert pooled([half(2), half(2)]).p50 == 5.0
    # What one cut off is anywhere among the samples that the other has above its end.
    longer = result("null", [5.0] * 10 + [7.0] * 30)
    assert pooled([half(2), longer]).p50 == 5.0  # rank 36 of 72
    assert pooled([half(2), longer, longer]).p50 is None


def test_samples_that_no_histogram_holds_have_no_percentile() -> None:
    lost = result("null", [5.0] * 40, histogram=[(5.0, 30)])
    assert pooled([lost, lost]).p50 is None


def test_batched_samples_have_no_maximum() -> None:
    part = result("null", [2.5] * 10_000, batch=4, max=None, p999=None)
    distribution = pooled([part, part])
    assert (distribution.min, distribution.p50, distribution.p99) == (2.5, 2.5, 2.5)
    assert (distribution.max, distribution.p999, distribution.p9999) == (None, None, None)


def test_one_result_stays_as_it_is() -> None:
    measurement = result("null", [1.0, 2.0], p50=7.0)
    assert pooled([measurement]).p50 == 7.0
