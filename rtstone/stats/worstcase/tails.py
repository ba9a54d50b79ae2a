"""Distributions of extremes, fitted to counts in bins.

Generalised Pareto for the excesses over a threshold, generalised extreme value for the maxima of
blocks (Coles, An Introduction to Statistical Modeling of Extreme Values, 2001, chapters 3 and 4).
Recorded values are known to an interval: their bucket, or the step of the clock.  So the likelihood
is that of intervals, log(F(b) - F(a)), which is not misled by ties.

Both use the reduced depth t(y) = log(1 + shape y / scale) / shape, y / scale for shape 0: an excess
is beyond y with probability exp(-t), a maximum below it with probability exp(-exp(-t)).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_NEARLY = 1e-8  # replaces smaller shapes: as good as 0, but can be divided by
_GRID = 11  # points per axis of the search
_ROUNDS = 8
_SHRINK = 0.42  # factor of the searched region per round


class Bins(NamedTuple):
    """Counts of values in the intervals (low, high], ascending without overlap."""

    low: Floats
    high: Floats
    counts: Floats

    @property
    def n(self) -> int:
        """The number of values."""
        return int(self.counts.sum())

    def coarse(self, bins: int) -> Bins:
        """Return about ``bins`` bins at most: neighbours joined, except for the largest values."""
        if len(self.counts) <= bins:
            return self
        rank = np.cumsum(self.counts[::-1])[::-1]  # of the bin's first value, counted from the top
        group = np.where(rank <= bins / 2, -np.arange(len(rank)), 0)
        body = rank > bins / 2
        group[body] = 1 + (rank[body] * (bins // 2) // (rank[0] + 1)).astype(int)
        first = np.flatnonzero(np.r_[True, group[1:] != group[:-1]])
        last = np.r_[first[1:], len(rank)] - 1
        return Bins(self.low[first], self.high[last], np.add.reduceat(self.counts, first))


class Fit(NamedTuple):
    """Location, logarithm of the scale, shape, and their log-likelihood."""

    location: float
    log_scale: float
    shape: float
    likelihood: float


def depth(y: Floats, log_scale: Floats | float, shape: Floats | float) -> Floats:
    """Return the reduced depth, infinite beyond an end of the distribution."""
    shape = np.where(np.abs(shape) < _NEARLY, _NEARLY, shape)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        inner = shape * (y * np.exp(-np.asarray(log_scale)))
        reached: Floats = np.log1p(np.fmax(inner, -1)) / shape
    return reached


def excess_likelihood(bins: Bins, log_scale: Floats, shape: Floats) -> Floats:
    """Return log-likelihoods of the generalised Pareto distribution; parameters broadcast."""
    log_scale, shape = np.asarray(log_scale)[..., None], np.asarray(shape)[..., None]
    low, high = depth(bins.low, log_scale, shape), depth(bins.high, log_scale, shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.log(-np.expm1(low - high)) - low
    return _total(terms, bins)


def maxima_likelihood(bins: Bins, location: Floats, log_scale: Floats, shape: Floats) -> Floats:
    """Return log-likelihoods of the generalised extreme-value distribution, broadcast."""
    location, log_scale, shape = (np.asarray(v)[..., None] for v in (location, log_scale, shape))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        low, high = (
            np.exp(-depth(edge - location, log_scale, shape)) for edge in (bins.low, bins.high)
        )
        terms = np.log(-np.expm1(high - low)) - high
    return _total(terms, bins)


def _total(terms: Floats, bins: Bins) -> Floats:
    """Return the sum over all values, -inf if one is impossible with the parameters."""
    terms = np.where(np.isnan(terms), -np.inf, terms)
    total: Floats = np.einsum("...i,i", terms, bins.counts)  # einsum stays in this thread
    return total


def fit_excesses(bins: Bins, least_shape: float = -2.0) -> Fit:
    """Return the most likely generalised Pareto distribution; excesses start at 0."""
    middle = float(np.log(max(_quantile(bins, 0.5), 1e-12) / np.log(2)))

    def likelihood(log_scale: Floats, shape: Floats) -> Floats:
        return excess_likelihood(bins, log_scale, shape)

    (log_scale, shape), best = _search_from(likelihood, [middle, 0.0], [2.0, 1.5], least_shape)
    return Fit(0.0, log_scale, shape, best)


def fit_maxima(bins: Bins, least_shape: float = -2.0) -> Fit:
    """Return the most likely generalised extreme-value distribution."""
    low, middle, high = (_quantile(bins, share) for share in (0.25, 0.5, 0.75))
    scale = max(high - low, 1e-12) / 1.573  # of a Gumbel distribution

    def likelihood(place: Floats, log_scale: Floats, shape: Floats) -> Floats:
        return maxima_likelihood(bins, middle + scale * (place - 0.367), log_scale, shape)

    centre, reach = [0.0, float(np.log(scale)), 0.0], [1.0, 1.5, 1.0]
    (place, log_scale, shape), best = _search_from(likelihood, centre, reach, least_shape)
    return Fit(middle + scale * (place - 0.367), log_scale, shape, best)


def _search_from(
    likelihood: Callable[..., Floats], centre: list[float], reach: list[float], least: float
) -> tuple[list[float], float]:
    """Find the maximum over all parameters, the last of which, the shape, is ``least`` or more.

    Clipping the shape within the search would not do: on the plateau that this makes the search
    goes astray.  The likelihood has one maximum, so if that is beyond, the best lies on the edge.
    """
    best, value = _search(likelihood, centre, reach)
    if best[-1] >= least:
        return best, value
    best, value = _search(lambda *free: likelihood(*free, np.array(least)), centre[:-1], reach[:-1])
    return [*best, least], value


def _quantile(bins: Bins, share: float) -> float:
    upto = np.cumsum(bins.counts)
    place = int(np.searchsorted(upto, share * upto[-1]))
    return float(bins.low[place] + bins.high[place]) / 2


def _search(
    likelihood: Callable[..., Floats], centre: Sequence[float], reach: Sequence[float]
) -> tuple[list[float], float]:
    """Find the maximum by shrinking grids, without derivatives or a start that can be wrong."""
    points = _GRID if len(centre) < 3 else 7
    best, highest = list(centre), -np.inf
    span = np.asarray(reach, dtype=float)
    for _ in range(_ROUNDS):
        axes = [np.linspace(c - r, c + r, points) for c, r in zip(best, span, strict=True)]
        grid = np.meshgrid(*axes, indexing="ij")
        values = likelihood(*grid)
        place = np.unravel_index(int(np.argmax(values)), values.shape)
        if values[place] > highest:
            best, highest = [float(axis[place]) for axis in grid], float(values[place])
        span = span * _SHRINK
    return best, highest


# ---- goodness of fit ----------------------------------------------------------------------------


def gpd_pit(bins: Bins, fit: Fit) -> Floats:
    """Return the probability integral transform of each excess, ascending."""
    low, high = (
        -np.expm1(-depth(edge, fit.log_scale, fit.shape)) for edge in (bins.low, bins.high)
    )
    return _spread(low, high, bins)


def gev_pit(bins: Bins, fit: Fit) -> Floats:
    """Return the probability integral transform of each maximum, ascending."""
    with np.errstate(over="ignore"):
        low, high = (
            np.exp(-np.exp(-depth(edge - fit.location, fit.log_scale, fit.shape)))
            for edge in (bins.low, bins.high)
        )
    return _spread(low, high, bins)


def _spread(low: Floats, high: Floats, bins: Bins) -> Floats:
    """Spread the values of each bin evenly over its share of the distribution."""
    count = bins.counts.astype(int)
    start = np.repeat(np.cumsum(count) - count, count)
    within = (np.arange(count.sum()) - start + 0.5) / np.repeat(count, count)
    shares: Floats = np.repeat(low, count) + within * np.repeat(high - low, count)
    return shares


def anderson_darling(shares: Floats) -> float:
    """Return A squared of Anderson and Darling for uniform shares; tails weigh most."""
    n = len(shares)
    inside = np.clip(shares, 1e-300, 1 - 1e-15)
    weight = 2 * np.arange(1, n + 1) - 1
    return float(-n - np.mean(weight * (np.log(inside) + np.log1p(-inside[::-1]))))


# ---- how far a value may lie --------------------------------------------------------------------

_SHAPES, _SCALES = 17, 41  # grid points over a confidence region
_FEW = 9  # shapes if there is also a location
_SHARES = (0.0, 0.1, 0.3)  # shares of the deviance that the rate of excesses may take


class Limit(NamedTuple):
    """Upper confidence limits of a level and of the shape, and the likeliest shape, 0 or more."""

    level: float
    shape: float
    likely: float


def excess_limit(bins: Bins, times_rarer: float, deviance: float) -> Limit:
    """Return upper limits of the level exceeded ``times_rarer`` more rarely than the threshold.

    By profile likelihood: the farthest level of all distributions that lose at most ``deviance`` in
    twice the log-likelihood; the rate at which the threshold is exceeded is as uncertain as its
    count.  Distributions with an end (shape < 0) are excluded: that a tail gets shorter as far as
    it was seen does not show that it ends.  Infinite if the data set no limit.
    """
    best = fit_excesses(bins, least_shape=0.0)
    unit = (1 + best.shape) / np.sqrt(bins.n)  # scale of the parameters' uncertainty
    scales = best.log_scale + unit * np.linspace(-7, 5, _SCALES)
    low, high = 0.0, best.shape + 6 * unit
    limit = Limit(0.0, np.inf, best.shape)
    for _ in range(3):  # closing in on the farthest
        shapes = np.linspace(low, high, _SHAPES)
        loss = 2 * (best.likelihood - excess_likelihood(bins, scales[:, None], shapes[None, :]))
        if np.isinf(limit.shape):
            limit = limit._replace(shape=float(_last(shapes, loss.min(axis=0), deviance)))
            if np.isinf(limit.shape):
                return limit._replace(level=np.inf)
        levels = np.zeros(len(shapes))  # the farthest for each shape
        for share in _SHARES:
            part = deviance * share
            rise = np.sqrt(part / bins.n) + part / (3 * bins.n)  # of the rate
            rarer = np.log(times_rarer * (1 + rise))
            edge = _last(scales, loss, deviance * (1 - share))
            levels = np.maximum(levels, return_level(rarer, edge, shapes))
        place = int(np.argmax(levels))
        limit = limit._replace(level=max(limit.level, float(levels[place])))
        low, high = shapes[max(place - 1, 0)], shapes[min(place + 1, _SHAPES - 1)]
    return limit


def _last(places: Floats, loss: Floats, deviance: float) -> Floats:
    """Return where a nearly quadratic loss rises above the deviance, along the first axis.

    Infinite if it does not before the axis ends, minus infinity if it is never below.
    """
    inside = loss <= deviance
    ends = len(places) - 1
    at = ends - np.argmax(inside[::-1], axis=0)
    after = np.minimum(at + 1, ends)
    here, beyond = (
        np.sqrt(np.maximum(np.take_along_axis(loss, index[None], 0)[0], 0)) for index in (at, after)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(np.isfinite(beyond), (np.sqrt(deviance) - here) / (beyond - here), 0)
        edge = places[at] + share * (places[after] - places[at])
    edge = np.where(at == ends, np.inf, edge)
    return np.where(inside.any(axis=0), edge, -np.inf)


def return_level(
    log_rarer: Floats | float, log_scale: Floats | float, shape: Floats | float
) -> Floats:
    """Return the excess that is exceeded exp(log_rarer) times more rarely than the threshold."""
    shape = np.where(np.abs(shape) < _NEARLY, _NEARLY, shape)
    with np.errstate(over="ignore"):
        return np.exp(log_scale) * np.expm1(shape * log_rarer) / shape


def maxima_limit(bins: Bins, times_rarer: float, deviance: float) -> Limit:
    """Return upper limits of the level exceeded ``times_rarer`` more rarely than once per block.

    As ``excess_limit``, but the level is that of the values themselves.
    """
    best = fit_maxima(bins, least_shape=0.0)
    unit = (1 + best.shape) / np.sqrt(bins.n)
    scales = best.log_scale + unit * np.linspace(-5, 5, _SCALES // 2)
    places = best.location + np.exp(best.log_scale) * unit * np.linspace(-6, 6, _SCALES // 2)
    low, high = 0.0, best.shape + 6 * unit
    limit = Limit(-np.inf, np.inf, best.shape)
    for _ in range(3):
        shapes = np.linspace(low, high, _FEW)
        grid = places[:, None, None], scales[:, None], shapes
        loss = 2 * (best.likelihood - maxima_likelihood(bins, *grid))
        if np.isinf(limit.shape):
            limit = limit._replace(shape=float(_last(shapes, loss.min(axis=(0, 1)), deviance)))
            if np.isinf(limit.shape):
                return limit._replace(level=np.inf)
        edges = _last(places, loss, deviance)
        levels = (edges + return_level(np.log(times_rarer), scales[:, None], shapes)).max(axis=0)
        place = int(np.argmax(levels))
        limit = limit._replace(level=max(limit.level, float(levels[place])))
        low, high = shapes[max(place - 1, 0)], shapes[min(place + 1, _FEW - 1)]
    return limit
