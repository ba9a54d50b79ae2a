"""What the numbers of a result have to add up to, whoever counted them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rtstone.wire.buckets import bounds, index_of


class Missing(NamedTuple):
    """``n`` misses, ``late`` of them samples; of runs of them the squared lengths; windows."""

    n: int
    late: int
    squares: int
    room: int
    windows: Sequence[int]


class Values(NamedTuple):
    """``n`` values with their sum and extremes, in buckets; ``overflow``: above the highest."""

    n: int
    total: int
    low: int | None
    high: int | None
    overflow: int
    hist: Sequence[tuple[int, int]]


def distribution(values: Values, bits: int) -> bool:
    """Return whether there can be such values, none of them negative."""
    n, total, low, high, overflow, hist = values
    if not n:
        return (total, low, high, overflow) == (0, None, None, 0) and not hist
    if low is None or high is None or not 0 <= low <= high:
        return False
    if sum(count for _, count in hist) + overflow != n or any(not count for _, count in hist):
        return False
    if hist and not _in_order([index for index, _ in hist], low, high, bits, bool(overflow)):
        return False
    least = most = 0
    for index, count in hist:
        first, width = bounds(index, bits)
        least += count * max(first, low)
        most += count * min(first + width - 1, high)
    return least + overflow * low <= total <= most + overflow * high


def _in_order(indexes: list[int], low: int, high: int, bits: int, beyond: bool) -> bool:
    """Return whether buckets rise, the first holds the least value and the last the largest.

    ``beyond``: the largest is above all buckets.
    """
    rises = all(before < after for before, after in pairwise(indexes))
    top = index_of(high, bits)
    last = indexes[-1] < top if beyond else indexes[-1] == top
    return rises and last and indexes[0] == index_of(low, bits)


def largest(worst: Sequence[tuple[int, int, int]], n: int, high: int | None) -> bool:
    """Return whether (value, index, time) can be the largest of ``n`` values, in their order."""
    values = [value for value, _, _ in worst]
    return (
        values[0] == high
        and len(worst) <= n
        and all(before >= after >= 0 for before, after in pairwise(values))
        and len({index for _, index, _ in worst}) == len(worst)
        and all(index < n and at >= 0 for _, index, at in worst)
    )


def blocks(samples: int, maxima: Sequence[int], n: int, high: int | None) -> bool:
    """Return whether these can be the maxima of blocks of so many of ``n`` values each."""
    return not maxima or (
        samples * len(maxima) <= n and min(maxima) >= 0 and max(maxima) <= (high or 0)
    )


def batches(rows: Sequence[Sequence[int]], n: int, total: int) -> bool:
    """Return whether batches (n, sum, above a line...) hold exactly all values."""
    return (sum(row[0] for row in rows), sum(row[1] for row in rows)) == (n, total) and all(
        0 < row[0] >= max(row[2:], default=0) for row in rows
    )


def windows(
    rows: Sequence[tuple[int, int, int, int, int]], n: int, total: int, high: int | None
) -> bool:
    """Return whether windows (window, n, min, sum, max) in their order hold all values."""
    held = [row for row in rows if row[1]]
    return (
        all(before[0] < after[0] for before, after in pairwise(rows))
        and all(
            0 <= low <= top and count * low <= part <= count * top
            for _, count, low, part, top in held
        )
        and sum(row[1] for row in held) == n
        and sum(row[3] for row in held) == total
        and max((row[4] for row in held), default=None) == high
    )


def misses(misses: Missing, n: int, missed: int) -> bool:
    """Return whether these can be the misses among ``n`` samples and activations without one.

    ``missed``: how many activations had no sample, all of which are misses.
    """
    windows = misses.windows
    return (
        misses.late <= n
        and misses.n == misses.late + missed
        and misses.n <= misses.squares <= misses.n**2
        and len(windows) == min(misses.n, misses.room)
        and all(before < after for before, after in pairwise([0, *windows]))
        and max(windows, default=0) <= n + missed
    )
