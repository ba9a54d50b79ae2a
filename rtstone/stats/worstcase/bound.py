"""The worst-case bound: choose, fit and check a tail, and extrapolate it to rare events."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, log, log2
from typing import NamedTuple

import numpy as np

from rtstone.documents.run import Blocks, Result
from rtstone.documents.worstcase import Check, WorstCase
from rtstone.results.pool import section_s
from rtstone.stats.worstcase.blocks import few, joined, merged
from rtstone.stats.worstcase.critical import EXTREME as MAXIMA
from rtstone.stats.worstcase.critical import GIVEN_1, PARETO, critical
from rtstone.stats.worstcase.outcome import (
    EXCESSES,
    LEAST_BLOCKS,
    LEAST_VALUES,
    SHAPE,
    TAIL,
    document,
)
from rtstone.stats.worstcase.stationarity import ABOVE, EXTREME, follow, stationarity
from rtstone.stats.worstcase.tails import (
    Bins,
    Fit,
    Floats,
    Limit,
    anderson_darling,
    depth,
    excess_limit,
    fit_excesses,
    fit_maxima,
    gev_pit,
    gpd_pit,
    maxima_limit,
    return_level,
)

_HOUR_S = 3600
_DEVIANCE = 3.0  # one-sided 95%: 2.71 asymptotically, a little more for finite data
_TOP = 16  # number of largest samples examined one by one
_GAP = 0.005 / _TOP
_AMPLE = 1.25  # measure for this many times the needed number, to get enough despite chance
_BINS = 64  # number of bins in which a tail is fitted
_FEWER = 40  # the same for maxima, which have one parameter more
_MANY = 256  # largest number of maxima that are fitted
_COARSE = "the histogram is too coarse for so short a tail"


class _Tail(NamedTuple):
    """The samples above a threshold, and the distribution fitted to them."""

    threshold: float
    excesses: Bins
    fit: Fit
    square: float  # A squared of Anderson and Darling

    @property
    def n(self) -> int:
        return self.excesses.n


def _step(results: Sequence[Result]) -> float:
    """Return the step of the clock: the smallest difference of two values of a result."""
    return max(
        min((b - a for (a, _), (b, _) in pairwise(result.histogram)), default=0.0)
        for result in results
    )


def _around(values: Floats, half: Floats, counts: Floats) -> Bins:
    """Return values as intervals that do not overlap."""
    between = (values[1:] + values[:-1]) / 2
    low = np.maximum(values - half, np.r_[-np.inf, between])
    high = np.minimum(values + half, np.r_[between, np.inf])
    return Bins(low, high, counts)


def _maxima(blocks: Blocks, step: float) -> Bins:
    """Return block maxima as intervals; they are exact up to a step of the clock."""
    values, count = np.unique(np.array(blocks.max), return_counts=True)
    return _around(values, np.full(len(values), max(step, 1e-4) / 2), count.astype(float))


# ---- is the largest of the same kind ------------------------------------------------------------


def _apart(survival: Floats) -> int:
    """Return how many of the largest stand apart from the rest, 0 if none.

    ``survival``: of the largest in descending order, under a distribution fitted to the others.
    The probability that j of them leave so wide a gap below them is (S(x_j) / S(x_j+1))**j.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = (survival[:-1] / survival[1:]) ** np.arange(1, len(survival))
    alone = np.flatnonzero(np.nan_to_num(chance) < _GAP)
    return int(alone[-1]) + 1 if len(alone) else 0


def _censored(bins: Bins, top: int) -> Bins:
    """Return the bins with the ``top`` largest values censored: only known to be larger."""
    rank = np.cumsum(bins.counts[::-1])[::-1]
    first = min(int(np.sum(rank > top)), len(rank) - 1)
    return Bins(
        bins.low[: first + 1],
        np.r_[bins.high[:first], np.inf],
        np.r_[bins.counts[:first], bins.counts[first:].sum()],
    )


def _largest(bins: Bins, top: int) -> Floats:
    """Return the ``top`` + 1 largest values in descending order."""
    middle = (bins.low + bins.high) / 2
    count = np.minimum(bins.counts[::-1], top + 1).astype(int)
    return np.repeat(middle[::-1], count)[: top + 1]


# ---- the estimate --------------------------------------------------------------------------------


class Estimate:
    """The estimate from results with enough samples of the right kind."""

    def __init__(self, results: Sequence[Result], exceedance: float, checks: list[Check]) -> None:
        """``checks``: those made before, all of which passed."""
        self._results = results
        self._exceedance = exceedance
        self._checks = checks
        self._more_s: list[float | None] = []
        counts: dict[float, int] = {}
        for result in results:
            for value, count in result.histogram:
                counts[value] = counts.get(value, 0) + count
        values = np.array(sorted(counts))
        half = np.maximum(np.abs(values) / 256, _step(results) / 2)
        self._samples = _around(
            values, half, np.array([float(counts[value]) for value in values.tolist()])
        )
        self._blocks = joined(results)
        self._n = self._samples.n
        self._measured = section_s(results) or 0.0

    def outcome(self) -> WorstCase:
        """Return the document."""
        self._checks.append(check := stationarity(self._results, self._blocks))
        if not check.passed:
            self._more_s.append(None)
        tails = self._tails()
        why = self._clustered(tails) if tails else _COARSE
        limit = self._by_maxima(why) if why else self._by_peaks(tails)
        if limit is not None:
            self._shape(limit)
            if all(check.passed for check in self._checks):
                return document(
                    self._results, self._exceedance, self._checks,
                    bound=limit.level, method="block maxima" if why else "pot",
                )  # fmt: skip
        durations = [duration for duration in self._more_s if duration is not None]
        hopeless = len(durations) < len(self._more_s)
        more_s = None if hopeless else max(durations)
        return document(self._results, self._exceedance, self._checks, more_s=more_s)

    def _check(self, name: str, passed: bool, detail: str, more_s: float | None = None) -> None:
        """Add a check, and how much longer to measure if it failed."""
        self._checks.append(Check(name=name, passed=passed, detail=detail))
        if not passed:
            self._more_s.append(more_s)

    # ---- thresholds ----------------------------------------------------------------------------

    def _tails(self) -> list[_Tail]:
        """Return fitted tails, lowest threshold first; the last only checks the one before.

        Empty if buckets or clock steps are too wide to show the form of all of them.
        """
        bins = self._samples
        upto = np.cumsum(bins.counts[::-1])
        tails = []
        for number in [k for k in EXCESSES if k <= TAIL * self._n] + [EXCESSES[-1] // 2]:
            place = int(np.searchsorted(upto, number))
            if place and upto[place] > 1.5 * number:
                place -= 1
            if not 0.5 * number <= upto[place] <= 2 * number or place + 1 < LEAST_VALUES:
                return []
            first = len(upto) - 1 - place
            start = float(bins.low[first])
            excesses = Bins(
                bins.low[first:] - start, bins.high[first:] - start, bins.counts[first:]
            )
            fit = fit_excesses(excesses.coarse(_BINS))
            tails.append(_Tail(start, excesses, fit, anderson_darling(gpd_pit(excesses, fit))))
        return tails

    def _clustered(self, tails: list[_Tail]) -> str | None:
        """Return in words that large samples come in clusters, None if they come alone.

        The test counts blocks without large samples.  If k samples fall into K blocks at random,
        K exp(-k/K) blocks get none, with the variance of the occupancy problem (Feller); clusters
        leave more blocks empty.
        """
        number = len(self._blocks.max)
        for tail in (tails[0], tails[-2]):
            each = tail.n * self._blocks.samples / self._n
            empty = np.exp(-each)
            seen = int(np.sum(np.array(self._blocks.max) < tail.threshold))
            spread = np.sqrt(max(number * empty * (1 - (1 + each) * empty), 1e-12))
            if (seen - number * empty) / spread > EXTREME:
                size = each / -np.log(seen / number) if 0 < seen < number else 1.0
                return f"large samples come in clusters of about {max(size, 1.0):.1f}"
        if follow(np.array(self._blocks.max)) > EXTREME:
            return "large samples come in clusters longer than a block"
        return None

    # ---- peaks over threshold ------------------------------------------------------------------

    def _by_peaks(self, tails: list[_Tail]) -> Limit | None:
        """Estimate from the lowest threshold not rejected at 10%, nor any higher at 1%, and up."""
        self._check("independence", True, "large samples come one by one, not in clusters")
        *usable, _ = tails
        sound = (
            place
            for place, tail in enumerate(usable)
            if _fits(tail) and all(_fits(higher, at=1) for higher in usable[place:])
        )
        place = next(sound, None)
        tail = usable[-1 if place is None else place]
        detail = (
            f"the samples follow no single law above any threshold, up to that of the largest "
            f"{tail.n}: the largest have another cause than the others"
            if place is None
            else f"the {tail.n} samples above {tail.threshold / 1e3:.4g} us follow a generalised "
            f"Pareto distribution of shape {tail.fit.shape:.2f}"
        )
        self._check("goodness of fit", place is not None, detail, 3 * self._measured)
        rest = _censored(tail.excesses, _TOP)
        fit = fit_excesses(rest.coarse(_BINS), least_shape=0.0)
        largest = _largest(tail.excesses, _TOP)
        apart = _apart(np.exp(-depth(largest, fit.log_scale, fit.shape)))
        self._no_gap(apart, largest + tail.threshold, EXCESSES[-1])
        if place is None:
            return None
        above = tails[place + 1]
        # Variances of nested samples subtract.
        unit = max(1 + tail.fit.shape, 0.2) * (1 / above.n - 1 / tail.n) ** 0.5
        moved = (above.fit.shape - tail.fit.shape) / unit
        detail = f"shape {tail.fit.shape:.2f}, and {above.fit.shape:.2f} above a higher threshold"
        self._check("stability", abs(moved) < EXTREME, detail, 3 * self._measured)
        self._agreeing(tail)
        limits = []
        for tail in usable[place:]:
            if _fits(tail):
                rarer = tail.n / self._measured * _HOUR_S / self._exceedance
                limit = excess_limit(tail.excesses.coarse(_BINS), rarer, _DEVIANCE)
                limits.append(limit._replace(level=tail.threshold + limit.level))
        return _farthest(limits)

    def _agreeing(self, tail: _Tail) -> None:
        """Check that block maxima are as the peaks predict."""
        each = tail.n * self._blocks.samples / self._n
        times = 1 << max(0, ceil(log2(4 / each)))  # so that hardly any is below the threshold
        blocks = merged(self._blocks, times)
        per_block = log(each * times)
        start = float(return_level(per_block, tail.fit.log_scale, tail.fit.shape)) + tail.threshold
        predicted = Fit(start, tail.fit.log_scale + tail.fit.shape * per_block, tail.fit.shape, 0.0)
        shares = gev_pit(_maxima(blocks, _step(self._results)), predicted)
        passed = anderson_darling(shares) <= GIVEN_1
        are = "are" if passed else "are not"
        detail = f"the maxima of {len(blocks.max)} blocks {are} as the samples above predict"
        self._check("agreement", passed, detail)

    # ---- block maxima --------------------------------------------------------------------------

    def _by_maxima(self, why: str) -> Limit | None:
        """Estimate from the smallest blocks with independent maxima that follow one law, and up."""
        blocks, check, trouble = few(self._blocks, _MANY), "", ""
        limits: list[Limit] = []
        while len(blocks.max) >= LEAST_BLOCKS:
            bins = _maxima(blocks, _step(self._results))
            fit = fit_maxima(bins.coarse(_FEWER))
            if len(bins.counts) < LEAST_VALUES:
                check = "resolution"
                trouble = (
                    f"have fewer than {LEAST_VALUES} values: the clock's steps hide their form"
                )
            elif follow(np.array(blocks.max)) > ABOVE:
                check, trouble = "independence", "come in clusters too"
            elif anderson_darling(gev_pit(bins, fit)) > critical(MAXIMA, fit.shape)[0]:
                check, trouble = "goodness of fit", "follow no single law"
            else:
                if not limits:
                    self._check_maxima(why, blocks, bins, fit)
                rarer = len(blocks.max) / self._measured * _HOUR_S / self._exceedance
                limits.append(maxima_limit(bins.coarse(_FEWER), rarer, _DEVIANCE))
            blocks = merged(blocks, 2)
        if limits:
            return _farthest(limits)
        detail = f"{why}; the maxima of few large blocks {trouble}"
        self._check(check, False, detail, 3 * self._measured)
        return None

    def _check_maxima(self, why: str, blocks: Blocks, bins: Bins, fit: Fit) -> None:
        """Add the checks of a fit that was not rejected."""
        detail = f"{why}; the maxima of blocks of {blocks.samples} samples come one by one"
        self._check("independence", True, detail)
        detail = (
            f"{len(blocks.max)} maxima follow a generalised extreme-value distribution of shape "
            f"{fit.shape:.2f}"
        )
        self._check("goodness of fit", True, detail)
        top = min(_TOP, bins.n // 8)
        rest = fit_maxima(_censored(bins, top).coarse(_FEWER), least_shape=0.0)
        largest = _largest(bins, top)
        deep = depth(largest - rest.location, rest.log_scale, rest.shape)
        self._no_gap(_apart(-np.expm1(-np.exp(-deep))), largest, LEAST_BLOCKS)
        squares = []
        for times in (2, 4):  # blocks together
            larger = _maxima(merged(blocks, times), _step(self._results))
            step = float(return_level(log(times), fit.log_scale, fit.shape))
            log_scale = fit.log_scale + fit.shape * log(times)
            predicted = fit._replace(location=fit.location + step, log_scale=log_scale)
            squares.append(anderson_darling(gev_pit(larger, predicted)))
        passed = max(squares) <= GIVEN_1
        are = "are" if passed else "are not"
        detail = f"the maxima of pairs and quadruples of blocks {are} as the fit predicts"
        self._check("stability", passed, detail, 3 * self._measured)

    def _no_gap(self, apart: int, largest: Floats, needed: int) -> None:
        """Check that none of the largest stand apart.

        If some do, it takes longer until they are seen often enough to be fitted: ``needed`` times.
        """
        if not apart:
            detail = f"the {_TOP} largest are as large as the others lead one to expect"
            self._check("no gap", True, detail)
            return
        top, below = (float(largest[at]) / 1e3 for at in (0, apart))
        which = "the largest sample stands" if apart == 1 else f"the {apart} largest stand"
        detail = (
            f"{which} apart (up to {top:.4g} us, the others below {below:.4g} us): "
            "something rare, seen too seldom to estimate its worst case"
        )
        self._check("no gap", False, detail, self._measured * (_AMPLE * needed / apart - 1))

    # ---- the shape -----------------------------------------------------------------------------

    def _shape(self, limit: Limit) -> None:
        """Check that the variance is finite; a heavier tail has no useful worst case."""
        if limit.shape < SHAPE and np.isfinite(limit.level):
            self._check("shape", True, f"the shape is below {limit.shape:.2f}")
            return
        detail = (
            f"the tail may be so heavy that single samples decide everything (shape "
            f"{limit.likely:.2f}, and not certainly below {SHAPE})"
        )
        more_s = None
        if limit.likely < SHAPE and limit.shape < np.inf:  # the uncertainty falls as 1/sqrt(n)
            wider = (limit.shape - limit.likely) / (SHAPE - limit.likely)
            more_s = self._measured * (wider**2 - 1)
        self._check("shape", False, detail, more_s)


def _fits(tail: _Tail, at: int = 0) -> bool:
    """Return whether the fit of a tail is not rejected, at the significance LEVELS[at]."""
    return tail.square < critical(PARETO, tail.fit.shape)[at]


def _farthest(limits: Sequence[Limit]) -> Limit:
    """Return the limit with the highest level.

    A few samples of a heavier kind hide below a low threshold: all samples above it follow one law,
    but the wrong one for what is rarer still.  The tails above higher thresholds know less, and
    what they do not exclude is possible.
    """
    return max(limits, key=lambda limit: limit.level)
