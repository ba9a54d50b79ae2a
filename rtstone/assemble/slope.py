"""Least-squares slopes with their confidence intervals."""

from __future__ import annotations

from collections import defaultdict
from math import sqrt

from rtstone.assemble.interval import t_quantile
from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Slope


def fit(points: list[tuple[float, float]]) -> tuple[float, tuple[float, float]] | None:
    """Return the slope of y over x with its 95% interval, None for fewer than three distinct x."""
    if len({x for x, _ in points}) < 3:
        return None
    n = len(points)
    x0, y0 = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - x0) ** 2 for x, _ in points)
    slope = sum((x - x0) * (y - y0) for x, y in points) / sxx
    rest = sum((y - y0 - slope * (x - x0)) ** 2 for x, y in points)
    half = t_quantile(0.95, n - 2) * sqrt(rest / (n - 2) / sxx)
    return slope, (slope - half, slope + half)


def slopes(plan: Plan, results: list[Result]) -> list[Slope]:
    """Return the slope of each series of results over the parameter that its bench names."""
    groups: dict[CaseKey, list[Result]] = defaultdict(list)
    for result in results:
        over = plan.benches[result.bench].slope_over
        if over and result.status == "ok" and result.mean is not None and _number(result, over):
            key = case_key(result.bench, result.params, result.series, result.load, ignoring={over})
            groups[key].append(result)
    found = (_slope(plan, group) for group in groups.values())
    return [slope for slope in found if slope]


def _number(result: Result, param: str) -> bool:
    """Return whether a parameter is a number, whatever the table of its bench says."""
    return type(result.params.get(param)) in (int, float)


def _slope(plan: Plan, group: list[Result]) -> Slope | None:
    first = group[0]
    over = plan.benches[first.bench].slope_over
    assert over is not None
    points = [
        (float(result.params[over]), result.mean)  # type: ignore[arg-type]  # a number in the table
        for result in group
        if result.mean is not None
    ]
    line = fit(points)
    if line is None:
        return None
    param = plan.benches[first.bench].param(over)
    per = (param.unit if param else None) or over
    return Slope(
        bench=first.bench,
        load=first.load,
        over=over,
        params={name: value for name, value in first.params.items() if name != over},
        points=points,
        slope=line[0],
        ci95=line[1],
        unit=f"{first.unit} per {per.removesuffix('s')}",
        constant=line[1][0] <= 0 <= line[1][1],
    )
