"""What numbers of a result have to add up to: each case is wrong in one way alone."""

from __future__ import annotations

import pytest

from rtstone.wire import totals
from rtstone.wire.buckets import index_of
from rtstone.wire.totals import Values

BITS = 7
WIDE = index_of(1001, BITS)  # a bucket of several values
assert WIDE == index_of(1002, BITS) != index_of(1010, BITS)
WINDOWS = [(0, 2, 2, 5, 3), (2, 0, 0, 0, 0), (4, 1, 7, 7, 7)]
WORST = [(7, 2, 30), (3, 1, 20)]
BATCHES = [(2, 5, 1), (1, 7, 1)]


@pytest.mark.parametrize(
    ("values", "possible"),
    [
        (Values(0, 0, None, None, 0, []), True),
        (Values(0, 1, None, None, 0, []), False),
        (Values(0, 0, 0, 0, 0, []), False),
        (Values(0, 0, None, None, 1, []), False),
        (Values(0, 0, None, None, 0, [(0, 1)]), False),
        (Values(1, 7, None, 7, 0, [(7, 1)]), False),
        (Values(1, -1, -1, -1, 1, []), False),  # negative
        (Values(2, 7, 7, 7, 0, [(7, 1)]), False),  # more than the buckets hold
        (Values(2, 9, 2, 7, 0, [(2, 1), (3, 0), (7, 1)]), False),  # an empty bucket
        (Values(4, 17, 2, 7, 0, [(2, 1), (5, 1), (3, 1), (7, 1)]), False),  # in no order
        (Values(2, 8, 2, 7, 0, [(2, 1), (6, 1)]), False),  # without the bucket of the largest
        (Values(2, 10, 2, 7, 0, [(3, 1), (7, 1)]), False),  # without that of the least
        (Values(2, 2003, 1001, 1002, 0, [(WIDE, 2)]), True),
        (Values(2, 2001, 1001, 1002, 0, [(WIDE, 2)]), False),  # less than the least
        (Values(2, 2005, 1001, 1002, 0, [(WIDE, 2)]), False),  # more than the largest
        # ---- above the highest bucket
        (Values(2, 105, 5, 100, 1, [(5, 1)]), True),
        (Values(2, 14, 7, 7, 1, [(7, 1)]), False),  # it is in a bucket
        (Values(2, 9, 5, 100, 1, [(5, 1)]), False),
        (Values(2, 106, 5, 100, 1, [(5, 1)]), False),
    ],
)
def test_a_distribution(values: Values, possible: bool) -> None:
    assert totals.distribution(values, BITS) is possible


@pytest.mark.parametrize(
    ("worst", "n", "possible"),
    [
        (WORST, 3, True),
        ([(6, 2, 30)], 3, False),
        ([(7, 0, 1), (3, -1, 1)], 1, False),  # more than there are
        ([(7, 0, 1), (-1, 1, 1)], 3, False),
        ([(7, 0, 1), (2, 1, 1), (3, 2, 1)], 3, False),
        ([(7, 2, 30), (3, 2, 20)], 3, False),  # one twice
        (WORST, 2, False),  # beyond the last
        ([(7, 2, -1)], 3, False),
    ],
)
def test_the_largest(worst: list[tuple[int, int, int]], n: int, possible: bool) -> None:
    assert totals.largest(worst, n, 7) is possible


@pytest.mark.parametrize(
    ("samples", "maxima", "possible"),
    [(1, [], True), (1, [2, 3, 7], True), (2, [2, 3], False), (1, [-1, 7], False), (1, [8], False)],
)
def test_maxima_of_blocks(samples: int, maxima: list[int], possible: bool) -> None:
    assert totals.blocks(samples, maxima, 3, 7) is possible


@pytest.mark.parametrize(
    ("rows", "n", "total", "possible"),
    [
        (BATCHES, 3, 12, True),
        (BATCHES, 4, 12, False),
        (BATCHES, 3, 13, False),
        ([(0, 5), (3, 7)], 3, 12, False),  # an empty one
        ([(2, 5, 3), (1, 7, 1)], 3, 12, False),  # more above the line than there are
    ],
)
def test_batches(rows: list[tuple[int, ...]], n: int, total: int, possible: bool) -> None:
    assert totals.batches(rows, n, total) is possible


@pytest.mark.parametrize(
    ("rows", "n", "total", "high", "possible"),
    [
        (WINDOWS, 3, 12, 7, True),
        (WINDOWS, 4, 12, 7, False),
        (WINDOWS, 3, 13, 7, False),
        (WINDOWS, 3, 12, 8, False),
        (WINDOWS[::-1], 3, 12, 7, False),
        ([(0, 1, -1, 7, 7)], 1, 7, 7, False),
        ([(0, 2, 3, 5, 4)], 2, 5, 4, False),  # a sum below that of so many of the least
        ([(0, 2, 1, 9, 4)], 2, 9, 4, False),  # above that of so many of the largest
    ],
)
def test_windows(
    rows: list[tuple[int, int, int, int, int]], n: int, total: int, high: int, possible: bool
) -> None:
    assert totals.windows(rows, n, total, high) is possible
