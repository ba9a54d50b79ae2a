from __future__ import annotations

import random
import statistics as exact

import pytest

from rtstone.model.interval import t_quantile
from rtstone.stats.estimates import estimate
from tests.stats.lab import result


@pytest.mark.parametrize(
    ("level", "freedom", "expected"),
    [
        (0.95, 1, 12.7062), (0.95, 2, 4.3027), (0.95, 3, 3.1824), (0.95, 31, 2.0395),
        (0.90, 1, 6.3138), (0.90, 2.5, 2.5582), (0.99, 3, 5.8409), (0.5, 7, 0.7111),
        (0.999, 31, 3.6335), (0.95, 1e9, 1.9600),
    ],
)  # fmt: skip
def test_student_t(level: float, freedom: float, expected: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(expected, rel=1e-3)


def test_the_mean_of_independent_samples() -> None:
    rng = random.Random(1)
    values = [rng.gauss(100, 5) for _ in range(4000)]
    found = estimate([result("null", values, sd=exact.stdev(values))], "mean")
    assert found is not None
    assert found.value == pytest.approx(exact.fmean(values), abs=1e-3)
    assert found.high - found.value == pytest.approx(1.96 * 5 / 4000**0.5, rel=0.05)
    assert (found.n, found.independent) == (4000, True)


def test_what_is_not_to_be_had() -> None:
    few = result("null", [1.0] * 19)
    assert estimate([few], "p50") is None
    assert estimate([], "mean") is None
    assert estimate([result("null", [])], "mean") is None
