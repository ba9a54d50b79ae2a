"""Least-squares slopes with their certainty."""

from __future__ import annotations

from math import sqrt

# 97.5% quantiles of Student's t for 1 to 30 degrees of freedom.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip


def fit(points: list[tuple[float, float]]) -> tuple[float, tuple[float, float]] | None:
    """Slope of y over x and its 95% interval; None for fewer than three different x."""
    if len({x for x, _ in points}) < 3:
        return None
    n = len(points)
    x0, y0 = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    sxx = sum((x - x0) ** 2 for x, _ in points)
    slope = sum((x - x0) * (y - y0) for x, y in points) / sxx
    rest = sum((y - y0 - slope * (x - x0)) ** 2 for x, y in points)
    half = _T[min(n - 2, len(_T)) - 1] * sqrt(rest / (n - 2) / sxx)
    return slope, (slope - half, slope + half)
