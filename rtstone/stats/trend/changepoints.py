"""Change points of a series by E-divisive means.

D. S. Matteson and N. A. James, A Nonparametric Approach for Multiple Change Point Analysis of
Multivariate Data, Journal of the American Statistical Association 109 (2014), sections 2 and 3,
with exponent 1.  A series is split where the energy distance of the parts, weighted by their
lengths, is largest; a permutation test shows whether series without order have one as large, and
then the parts are split in the same way.

The energy distance of numbers is an integral over their distribution functions, which are followed
at the distinct values, or at LEVELS quantiles of them: a series of n costs n LEVELS steps instead
of n squared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise, repeat
from math import ceil, comb
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05  # largest share of series without a change in which one is found
SHORTEST = 3  # runs between two changes: one or two outliers are not a change of the system
LEVELS = 64  # values at which a distribution function is followed
_PERMUTATIONS = 200  # as many more for a lower level that one beyond the statistic decides
_SEED = 20140612
_BATCHES = (20, 180, 400)  # permutations at once: most series have no change, which shows soon
_CELLS = 4_000_000  # numbers held at once

Floats = NDArray[np.float64]


class Split(NamedTuple):
    """A change: the place of the first value after it, and the share of orders with a larger one.

    ``p``: 0 where values repeat exactly, so that there is no chance in them.
    """

    at: int
    p: float


class _Part(NamedTuple):
    """A part of the series: its place, what its splits are computed from, and its best split."""

    begin: int
    end: int
    below: Floats  # by value and level: 1 if it is not above the level
    widths: Floats  # between levels
    at: int
    size: float


def steps(values: Sequence[float]) -> list[Split]:
    """Return the places where values that repeat exactly differ from those before."""
    return [
        Split(at, 0.0) for at, (first, other) in enumerate(pairwise(values), 1) if first != other
    ]


def change_points(values: Sequence[float], level: float = LEVEL) -> list[Split]:
    """Return the changes of a series in their order; none in one of less than 2 SHORTEST values.

    ``level``: the share of series without a change in which any is found is at most this.  The same
    values give the same changes.
    """
    array = np.asarray(values, np.float64)
    random = np.random.default_rng(_SEED)
    parts = [_part(array, 0, len(array))]
    splits: list[Split] = []
    while True:
        best = max(parts, key=lambda part: part.size)
        if best.size <= 0:
            break
        p = _chance(parts, best.size, level, random)
        if p > level:
            break
        splits.append(Split(best.at, p))
        parts.remove(best)
        parts += [_part(array, best.begin, best.at), _part(array, best.at, best.end)]
    return sorted(splits)


def fewest_runs(level: float) -> int:
    """Return the number of runs with fewer of which no change is found at a level.

    Of runs of which half are after a change, so many orders keep both halves apart, in either turn.
    """
    runs = 2 * SHORTEST
    while 2 / comb(runs, runs // 2) > level:
        runs += 1
    return runs


def _part(array: Floats, begin: int, end: int) -> _Part:
    values = array[begin:end]
    levels = np.unique(values)
    if len(levels) > LEVELS:
        levels = np.unique(np.quantile(values, np.linspace(0, 1, LEVELS), method="nearest"))
    # A value between two levels is taken for the one above it.
    below = (values[:, None] <= levels[None, :-1]).astype(np.float64)
    part = _Part(begin, end, below, np.diff(levels), 0, 0.0)
    if end - begin < 2 * SHORTEST:
        return part
    sizes = _sizes(part, np.arange(end - begin)[None, :])[0]
    place = int(sizes.argmax())
    return part._replace(at=begin + SHORTEST + place, size=float(sizes[place]))


def _sizes(part: _Part, orders: NDArray[np.intp]) -> Floats:
    """Return the weighted energy distance of every split, for each order of the values.

    With F and G, the distribution functions of the two sides, the mean distance of two values is
    the integral of F(1-G) + G(1-F), of different ones of a side that of 2 F(1-F), times a/(a-1).
    """
    n, widths = part.end - part.begin, part.widths
    total = part.below.sum(axis=0)
    a = np.arange(SHORTEST, n - SHORTEST + 1, dtype=np.float64)
    b = n - a
    inside = slice(SHORTEST - 1, n - SHORTEST)
    # Sums over the levels of: C, C T and C squared; C: values of the left side, T: of both.
    left = (part.below @ widths)[orders].cumsum(axis=1)[:, inside]
    both = (part.below @ (widths * total))[orders].cumsum(axis=1)[:, inside]
    counts = part.below[orders].cumsum(axis=1)[:, inside]
    square = np.square(counts, out=counts) @ widths
    whole, squares = float(total @ widths), float(total**2 @ widths)
    f, g = left / a, (whole - left) / b
    ff = square / a**2
    gg = (squares - 2 * both + square) / b**2
    fg = (both - square) / (a * b)
    distance = 2 * (f + g - 2 * fg)
    within = 2 * ((f - ff) * a / (a - 1) + (g - gg) * b / (b - 1))
    sizes: Floats = a * b / n * (distance - within)
    return sizes


def _chance(
    parts: Sequence[_Part], size: float, level: float, random: np.random.Generator
) -> float:
    """Return the share of orders within the parts in which a split is as large.

    It stops, above the level, as soon as there are too many of them.
    """
    too_many = max(1, int(_PERMUTATIONS * level))
    enough = [part for part in parts if part.size > 0]
    cells = max((part.below.size for part in enough), default=1)
    left = ceil(too_many / level) - 1
    done = beyond = 0
    for batch in chain(_BATCHES, repeat(_BATCHES[-1])):
        many = max(1, min(left, batch, _CELLS // max(cells, 1)))
        largest = np.zeros(many)
        for part in enough:
            orders = np.argsort(random.random((many, part.end - part.begin)), axis=1)
            np.maximum(largest, _sizes(part, orders).max(axis=1), out=largest)
        done, left = done + many, left - many
        # Sums in another order differ in their last digits.
        beyond += int((largest >= size * (1 - 1e-9)).sum())
        if beyond >= too_many or not left:
            break
    return (1 + beyond) / (1 + done)
