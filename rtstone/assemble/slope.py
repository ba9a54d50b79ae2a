"""Least-squares slopes with their certainty."""

from __future__ import annotations

from math import sqrt

from rtstone.assemble.interval import t_quantile


def fit(points: list[tuple[float, float]]) -> tuple[float, tuple[float, float]] | None:
    """Slope of y over x and its 95% interval; None for fewer than three different x."""
    if len({x for x, _ in points}) < 3:
        return None
    n = len(points)
    x0, y0 = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - x0) ** 2 for x, _ in points)
    slope = sum((x - x0) * (y - y0) for x, y in points) / sxx
    rest = sum((y - y0 - slope * (x - x0)) ** 2 for x, y in points)
    half = t_quantile(0.95, n - 2) * sqrt(rest / (n - 2) / sxx)
    return slope, (slope - half, slope + half)
