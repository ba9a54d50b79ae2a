"""The buckets of a result's histogram with both their edges, in the result's unit."""

from __future__ import annotations

from itertools import pairwise
from math import ceil, floor, inf, isfinite
from typing import NamedTuple

from rtstone.documents.imported import bucket_ns
from rtstone.documents.run import Distribution, Grid, Result
from rtstone.results.ticks import INSTRUCTIONS, Net
from rtstone.wire.buckets import bounds, index_of


class Bucket(NamedTuple):
    """Samples that are at least ``low`` and less than ``high``."""

    low: float
    high: float
    n: int


def edged(result: Result, samples: Result | Distribution | None = None) -> list[Bucket] | None:
    """Return the bucket of each value in the histogram of a result, or of its ``corrected``.

    The counts add up to n: samples beyond the histogram are in one more bucket, which ends at
    infinity.  The edges are those of the recorder, not of the samples in it.  None if they are not
    known.
    """
    samples = result if samples is None else samples
    if result.grid is None:
        width = bucket_ns([result])  # of another tool, whose values are lower edges
        if width <= 0 or any(b - a < width for (a, _), (b, _) in pairwise(samples.histogram)):
            return None
        buckets = [Bucket(value, value + width, count) for value, count in samples.histogram]
    else:
        grid, buckets = result.grid, []
        whole = result.unit == INSTRUCTIONS
        net = Net(grid.overhead, grid.per_tick, result.batch, whole=whole)
        for value, count in samples.histogram:
            gross = value * net.batch + net.gross(grid.overhead)
            ticks = gross / grid.per_tick
            if not isfinite(ticks) or ticks < -0.5:
                return None
            ends = (_rounded if whole else _single)(gross, grid)
            # Values are rounded where instructions are counted; edges are not.
            low, high = (
                round((end * net.per_tick - net.gross(net.overhead)) / net.batch, 4)
                if whole
                else net.exactly(end)
                for end in ends
            )
            buckets.append(Bucket(low, high, count))
    beyond = samples.n - sum(count for _, count in samples.histogram)
    if not beyond:
        return buckets
    return [*buckets, Bucket(buckets[-1].high, inf, beyond)] if buckets else None


def _single(gross: float, grid: Grid) -> tuple[int, int]:
    """Return the first tick of a value's bucket, and that after its last."""
    first, width = bounds(index_of(floor(gross / grid.per_tick + 0.5), grid.bits), grid.bits)
    return first, first + width


def _rounded(gross: float, grid: Grid) -> tuple[int, int]:
    """Return the same for a value that was rounded: of all buckets whose middle rounds to it.

    There is more than one where a tick is less than a unit.
    """
    least, most = (max(gross + half, 0) / grid.per_tick for half in (-0.5, 0.5))
    numbers = range(index_of(floor(least), grid.bits), index_of(ceil(most), grid.bits) + 1)
    ticks = (bounds(number, grid.bits) for number in numbers[:_MOST])
    fitting = [
        (first, first + width)
        for first, width in ticks
        if round((first + (width - 1) / 2) * grid.per_tick) == round(gross)
    ]
    # None: an extreme, which lies elsewhere in its bucket than in the middle.
    return (fitting[0][0], fitting[-1][1]) if fitting else _single(gross, grid)


_MOST = 4096  # buckets of one value


def whole_line(buckets: list[Bucket]) -> list[Bucket]:
    """Return each bucket once, and the empty stretches between them, one bucket each."""
    line: list[Bucket] = []
    for bucket in buckets:
        if line and line[-1].low == bucket.low:  # a round clipped its value to its own extremes
            line[-1] = bucket._replace(n=line[-1].n + bucket.n)
            continue
        if line and line[-1].high < bucket.low:
            line.append(Bucket(line[-1].high, bucket.low, 0))
        line.append(bucket)
    return line
