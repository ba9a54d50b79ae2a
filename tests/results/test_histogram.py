from __future__ import annotations

from collections import Counter
from math import ceil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rtstone.results.histogram import Histogram, spread
from rtstone.results.interval import Ordered
from rtstone.results.pool import percentiles
from rtstone.summary import PERCENTILES, WHOLE
from rtstone.wire.buckets import bounds

BITS = 7


def bucket(value: int) -> int:
    """Return the bucket of a value, as in agent/core/recorder.h."""
    shift = max(value.bit_length() - BITS - 1, 0)
    return (shift << BITS) + (value >> shift)


def histogram_of(samples: list[int]) -> Histogram:
    buckets = sorted(Counter(map(bucket, samples)).items())
    return Histogram(len(samples), sum(samples), min(samples), max(samples), BITS, buckets)


def percentiles_of(histogram: Histogram) -> dict[str, float | None]:
    return percentiles(histogram.points(), histogram.n, histogram.overflow)


def ranks_of(histogram: Histogram) -> Ordered:
    return Ordered(histogram.points(), histogram.overflow)


def bimodal(low: int, high: int, share: int) -> list[int]:
    return [low + k % 7 for k in range(1000 - share)] + [high + k % 1000 for k in range(share)]


shapes = st.one_of(
    st.lists(st.integers(0, 2**47), min_size=1, max_size=3000),
    st.lists(st.integers(0, 300), min_size=1, max_size=3000),
    st.builds(lambda value, n: [value] * n, st.integers(0, 2**47), st.integers(1, 3000)),
    st.builds(bimodal, st.integers(0, 2000), st.integers(10**5, 10**11), st.integers(1, 500)),
    st.lists(st.sampled_from([0, 1, 255, 256, 257, 2**47, 2**48 - 1]), min_size=1, max_size=2000),
)


@given(st.integers(0, 2**48 - 1))
def test_every_value_lies_in_its_bucket(value: int) -> None:
    first, width = bounds(bucket(value), BITS)
    assert first <= value < first + width
    assert width == 1 or width * 2**BITS <= first


@settings(max_examples=150, deadline=None)
@given(shapes)
def test_against_exact_sorted_samples(samples: list[int]) -> None:
    exact = np.sort(np.array(samples, dtype=np.int64))
    histogram = histogram_of(samples)
    ranks, values = ranks_of(histogram), percentiles_of(histogram)
    assert sum(count for _, count in histogram.buckets) == len(samples)
    for name, q in PERCENTILES.items():
        got = values[name]
        if len(samples) < 10 / (1 - q / WHOLE) - 1e-6:
            assert got is None, name
            continue
        want = int(exact[ceil(round(q * len(samples) / WHOLE, 9)) - 1])
        assert got is not None
        assert abs(got - want) * 128 <= want, name
    least, most = ranks.at(1), ranks.at(len(samples))
    assert least is not None
    assert least >= min(samples)
    assert most is not None
    assert most <= max(samples)
    assert ranks.at(0) is ranks.at(len(samples) + 1) is None


def test_values_below_256_are_exact() -> None:
    ranks = ranks_of(histogram_of(list(range(256))))
    assert [ranks.at(k + 1) for k in range(256)] == list(range(256))


@pytest.mark.parametrize(
    ("n", "enough"),
    [(19, 0), (20, 1), (99, 1), (100, 2), (999, 2), (1000, 3), (10000, 4), (99999, 4), (10**5, 5)],
)
def test_a_percentile_needs_samples_enough(n: int, enough: int) -> None:
    values = percentiles_of(Histogram(n, n, 1, 1, BITS, [(1, n)]))
    present = [values[name] is not None for name in ("p50", "p90", "p99", "p999", "p9999")]
    assert present == [True] * enough + [False] * (5 - enough)


def test_overflow_has_ranks_but_no_values() -> None:
    histogram = Histogram(100, 0, 5, 2**50, BITS, [(5, 40)], overflow=60)
    ranks = ranks_of(histogram)
    assert ranks.at(40) == 5
    assert ranks.at(41) is None
    assert ranks.share(5) == 0.4
    assert percentiles_of(histogram)["p50"] is None


@given(shapes, shapes)
def test_plus_is_the_histogram_of_both(a: list[int], b: list[int]) -> None:
    assert histogram_of(a).plus(histogram_of(b)) == histogram_of(a + b)


def test_spread_against_numpy() -> None:
    samples = [100 + k % 90 for k in range(1000)]
    assert spread(histogram_of(samples)) == pytest.approx(np.std(samples, ddof=1))
    assert spread(histogram_of([5])) is None
    assert spread(histogram_of([5] * 9)) == 0
