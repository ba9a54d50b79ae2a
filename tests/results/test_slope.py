"""Growth over a parameter: the fitted line, and planted costs of each class."""

from __future__ import annotations

from collections.abc import Callable
from math import log2
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from rtstone.documents.plan import Plan
from rtstone.documents.run import Figure, Result, Slope
from rtstone.results.slope import fit, growth, slopes
from rtstone.wire.records import Bench, Param
from tests.stats.lab import result

SIZES = (1, 4, 16, 64, 256, 1024)


def test_a_textbook_line() -> None:
    # x = 1..5, y = 2 4 5 4 5: slope 0.6, residual sum 2.4, t(3) = 3.182, half = 3.182 sqrt(.8/10)
    line = fit([(1, 2), (2, 4), (3, 5), (4, 4), (5, 5)])
    assert line is not None
    slope, low, high, rest = line
    assert slope == pytest.approx(0.6)
    assert low == pytest.approx(0.6 - 3.182446 * 0.08**0.5)
    assert high == pytest.approx(0.6 + 3.182446 * 0.08**0.5)
    assert rest == pytest.approx(2.4)


def test_many_points() -> None:
    """With 1000 degrees of freedom t is 1.9623, not 2.042 as with 30."""
    line = fit([(x, x + (-1) ** x) for x in range(1002)])
    assert line is not None
    xs = range(1002)
    sxx = sum((x - 500.5) ** 2 for x in xs)
    left = sum((x + (-1) ** x - (500.5 + line.slope * (x - 500.5))) ** 2 for x in xs)
    assert line.high - line.slope == pytest.approx(1.962339 * (left / 1000 / sxx) ** 0.5, rel=1e-4)


def test_an_exact_line_has_no_width() -> None:
    line = fit([(0, 1), (1, 3), (2, 5)])
    assert line is not None
    assert [*line] == pytest.approx([2, 2, 2, 0])


def test_fewer_than_three_places_give_none() -> None:
    assert fit([(0, 1), (1, 2)]) is None
    assert fit([(0, 1), (0, 2), (1, 3), (1, 2)]) is None


# ---- planted costs ------------------------------------------------------------------------------

PLANTED: dict[str, Callable[[float], float]] = {
    "constant": lambda x: 333.0,
    "logarithmic": lambda x: 2206.0 + 80 * log2(x),
    "linear": lambda x: 354.0 + 5 * x,
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_class_of_a_planted_cost(name: str) -> None:
    points = [(float(x), PLANTED[name](x)) for x in SIZES]
    assert growth(points)[0] == name


def test_a_logarithm_is_no_constant_though_the_line_cannot_tell() -> None:
    points = [(float(x), 100 + 10 * log2(x)) for x in SIZES]
    line = fit(points)
    assert line is not None and line.flat
    kind, curve = growth(points)
    assert kind == "logarithmic" and curve is not None
    assert [curve.slope, curve.low, curve.high] == pytest.approx([10, 10, 10])


def test_none_and_one_have_the_same_logarithm() -> None:
    points = [(0.0, 100.0), (1.0, 100.0), (4.0, 120.0), (16.0, 140.0), (64.0, 160.0)]
    kind, curve = growth(points)
    assert kind == "logarithmic" and curve is not None
    assert curve.slope == pytest.approx(10)


def test_a_sum_that_is_not_exact_is_no_growth() -> None:
    kind, _ = growth([(x, 0.1) for x in (1.0, 2.0, 4.0, 7.0, 8.0, 9.0, 10.0)])
    assert kind == "constant"
    assert growth([(x, 1e6 + 1e-7 * x) for x in (1.0, 2.0, 3.0)])[0] == "constant"
    assert growth([(x, 1e3 + 1e-3 * x) for x in (1.0, 2.0, 3.0)])[0] == "linear"


def test_noise_alone_seldom_grows() -> None:
    """5% by the line and at most 1% by the logarithm: 90 of 1500, with a spread of 9."""
    noise = np.random.default_rng(1).standard_normal((1500, len(SIZES)))
    kinds = [
        growth([(float(x), 1e3 + y) for x, y in zip(SIZES, row, strict=True)])[0] for row in noise
    ]
    assert 50 <= sum(kind != "constant" for kind in kinds) <= 110


# ---- of results ---------------------------------------------------------------------------------


def measured(cost: Any, disturbed: Any) -> list[Slope]:
    """Return the slopes of a bench whose path takes ``cost``, with disturbance in its samples."""
    bench = Bench("ctx.waiters", "waiters", slope_over="tasks", params=[Param("tasks", "int")])
    plan = cast("Plan", SimpleNamespace(benches={bench.id: bench}))
    results: list[Result] = [
        result(bench.id, [cost(x) + extra for extra in disturbed(x)], params={"tasks": x})
        for x in SIZES
    ]
    return slopes(plan, results)


def test_ticks_that_hit_long_operations_more_often_are_no_growth_of_the_path() -> None:
    """A tick walks over all tasks: 350 instructions each, in every second sample or so."""
    (slope,) = measured(lambda x: 354 + 5 * x, lambda x: [0, 0, 350 * x, 350 * x, 0])
    assert (slope.statistic, slope.growth, slope.constant) == ("min", "linear", False)
    assert [slope.slope, *slope.ci95] == pytest.approx([5, 5, 5])
    assert slope.unit == "instructions per task"
    (flat,) = measured(lambda x: 333, lambda x: [0, 858 * x, 858 * x])
    assert (flat.slope, flat.constant, flat.growth) == (0, True, "constant")
    assert flat.points == [(x, 333) for x in SIZES]


def test_logarithmic_growth_says_what_a_doubling_adds() -> None:
    (slope,) = measured(lambda x: 100 + 10 * log2(x), lambda _: [0, 7, 30])
    assert (slope.growth, slope.constant) == ("logarithmic", False)
    assert slope.doubling == pytest.approx(10)
    assert slope.doubling_ci95 == pytest.approx((10, 10))


def test_a_bench_of_differences_grows_by_the_figure_that_it_names() -> None:
    """What is subtracted was disturbed: the least samples fall, even below 0."""
    bench = Bench(
        "dk.lat_ctx", "ring", slope_over="size", slope_of="lowest of 3",
        params=[Param("size", "size", unit="B")],
    )  # fmt: skip
    plan = cast("Plan", SimpleNamespace(benches={bench.id: bench}))

    def series(name: str, size: int, **members: Any) -> Result:
        params = {"size": size, "processes": 2}
        return result(bench.id, [-size, 3000 + size], params=params, series=name, **members)

    lowest = [
        series("run 1", x, figures={bench.slope_of: Figure(value=2860 + x / 50, unit="ns")})
        for x in SIZES
    ]
    (slope,) = slopes(plan, [*lowest, *(series("run 2", x) for x in SIZES)])
    assert (slope.statistic, slope.figure, slope.growth) == ("figure", "lowest of 3", "linear")
    assert slope.points == [(x, 2860 + x / 50) for x in SIZES]
    assert slope.slope == pytest.approx(1 / 50)
    assert slope.unit == "ns per B"
