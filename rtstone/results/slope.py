"""Growth over a parameter: least-squares slopes of minima, with their confidence intervals.

The minimum is what the code path itself takes.  Whatever disturbs a sample makes it longer, and a
longer operation is disturbed more often: interrupts alone let a mean grow where the path does not.
Where a sample is a difference, what is subtracted may be disturbed as well, and the least sample is
the one whose subtrahend was longest: such a bench names the figure that stands for its path.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import log2, sqrt
from typing import NamedTuple

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.plan import Plan
from rtstone.documents.run import Growth, Result, Slope
from rtstone.results.interval import t_quantile
from rtstone.wire.records import Bench

_LEVEL = 0.95
_DOUBLING = 0.99  # of the interval that shows logarithmic growth where the line shows none
_NOTHING = 1e-9  # of the largest value: what a sum may be off by

Point = tuple[float, float]


class Line(NamedTuple):
    """A slope with its interval, and the sum of squares that the line leaves."""

    slope: float
    low: float
    high: float
    rest: float

    @property
    def flat(self) -> bool:
        """Whether the interval contains 0."""
        return self.low <= 0 <= self.high


def fit(points: Sequence[Point], level: float = _LEVEL) -> Line | None:
    """Return the line of y over x, None for fewer than three distinct x."""
    if len({x for x, _ in points}) < 3:
        return None
    n = len(points)
    x0, y0 = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - x0) ** 2 for x, _ in points)
    slope = sum((x - x0) * (y - y0) for x, y in points) / sxx
    if abs(slope) * sqrt(sxx) <= _NOTHING * max(abs(y) for _, y in points):
        slope = 0.0
    rest = sum((y - y0 - slope * (x - x0)) ** 2 for x, y in points)
    half = t_quantile(level, n - 2) * sqrt(rest / (n - 2) / sxx)
    return Line(slope, slope - half, slope + half, rest)


def growth(points: Sequence[Point]) -> tuple[Growth, Line | None]:
    """Return the class of growth, and of the logarithmic one the line over doublings of x.

    A logarithm over a wide range is so far from a line that the interval of its slope may hold 0.
    """
    straight, steps = fit(points), [(log2(max(x, 1.0)), y) for x, y in points]
    curve, sure = fit(steps), fit(steps, _DOUBLING)
    assert straight is not None
    if curve is None or sure is None or sure.flat or straight.rest <= curve.rest:
        return ("constant" if straight.flat else "linear"), None
    return "logarithmic", curve


def _cost(bench: Bench, result: Result) -> tuple[float, str] | None:
    """Return what a result adds to the slope of its bench, with its unit; None if nothing."""
    if bench.slope_of is None:
        return None if result.min is None else (result.min, result.unit)
    figure = result.figures.get(bench.slope_of)
    return None if figure is None or figure.value is None else (figure.value, figure.unit)


def slopes(plan: Plan, results: list[Result]) -> list[Slope]:
    """Return the slope of each series of results over the parameter that its bench names."""
    groups: dict[CaseKey, list[tuple[Result, float, str]]] = defaultdict(list)
    for result in results:
        bench = plan.benches[result.bench]
        over, cost = bench.slope_over, _cost(bench, result)
        if (
            over
            and result.status == "ok"
            and cost is not None
            and type(result.params.get(over)) in (int, float)
        ):
            key = case_key(result.bench, result.params, result.series, result.load, ignoring={over})
            groups[key].append((result, *cost))
    fitted = []
    for group in groups.values():
        first, _, unit = group[0]
        bench = plan.benches[first.bench]
        over = bench.slope_over
        assert over is not None
        points = [
            (float(result.params[over]), cost)  # type: ignore[arg-type]  # a number, above
            for result, cost, _ in group
        ]
        line = fit(points)
        if line is None:
            continue
        kind, curve = growth(points)
        param = bench.param(over)
        per = (param.unit if param else None) or over
        fitted.append(
            Slope(
                bench=first.bench,
                load=first.load,
                over=over,
                params={name: value for name, value in first.params.items() if name != over},
                statistic="min" if bench.slope_of is None else "figure",
                figure=bench.slope_of,
                points=points,
                slope=line.slope,
                ci95=(line.low, line.high),
                unit=f"{unit} per {per.removesuffix('s')}",
                constant=kind == "constant",
                growth=kind,
                doubling=curve and curve.slope,
                doubling_ci95=curve and (curve.low, curve.high),
            )
        )
    return fitted
