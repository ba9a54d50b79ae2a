"""Exact statistics of sparse histograms (docs/reference/wire.md), in ticks.

A bucket's values are taken at its middle, clipped to the minimum and maximum: at most 1/256 off.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from rtstone.wire.buckets import bounds
from rtstone.wire.records import Buckets


class Histogram(NamedTuple):
    """A set of samples; ``n``, ``sum``, ``min``, ``max`` are exact and include the overflow."""

    n: int
    sum: int
    min: int | None
    max: int | None
    bits: int
    buckets: Buckets
    overflow: int = 0

    def plus(self, other: Histogram) -> Histogram:
        """Return the union of both sets, which must have the same ``bits``."""
        if self.bits != other.bits:
            raise ValueError("histograms of different resolution")
        counts = dict(self.buckets)
        for index, count in other.buckets:
            counts[index] = counts.get(index, 0) + count
        return Histogram(
            self.n + other.n,
            self.sum + other.sum,
            min((v for v in (self.min, other.min) if v is not None), default=None),
            max((v for v in (self.max, other.max) if v is not None), default=None),
            self.bits,
            sorted(counts.items()),
            self.overflow + other.overflow,
        )

    def points(self) -> list[tuple[float, int]]:
        """Return (value, count) of every bucket in rising order, without the overflow."""
        low, high = self.min or 0, self.max or 0
        points = []
        for index, count in self.buckets:
            first, width = bounds(index, self.bits)
            points.append((min(max(first + (width - 1) / 2, low), high), count))
        return points


def spread(histogram: Histogram) -> float | None:
    """Return the standard deviation in ticks, from the buckets; None for fewer than 2 samples."""
    if histogram.n < 2 or histogram.max is None:
        return None
    mean = histogram.sum / histogram.n
    squares = sum(count * (value - mean) ** 2 for value, count in histogram.points())
    squares += histogram.overflow * (histogram.max - mean) ** 2
    return sqrt(squares / (histogram.n - 1))
