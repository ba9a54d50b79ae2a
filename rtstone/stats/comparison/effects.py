"""Judge one effect: the difference of two sides, its interval, and the verdict.

A side is the values of one statistic, one per run.  Computations use logarithms, so that results
are ratios, or the values themselves if one is not above zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, hypot, inf, log, log1p, sqrt
from statistics import fmean
from typing import NamedTuple

from rtstone.documents.comparison import Basis, Verdict
from rtstone.results.estimates import TOO_FEW
from rtstone.results.interval import sample_variance, t_quantile
from rtstone.units import counted

LEVEL = 0.05  # largest share of comparisons of equal systems that find any difference
KEPT = 0.2  # share of LEVEL kept back, as Student's t is exact only for normal scatter
MARGIN = 0.02  # ratios within 1 ± MARGIN are no difference
WIDEST = 0.10  # widest margin for any noise floor, or "no difference" would mean too little
EPISODE = 2.0  # a single run may be this many times as far off as any other was seen to be
UNKNOWN = 3.0  # if the noise is unknown, it is assumed to change a median by up to 1 + this
LOST = 1.0  # a run's start, or a bad moment of it, loses at most so many % of its activations
NO_FLOOR = "noise floor unknown"  # the reason of single runs
_EDGE = 0.01  # share of the margin; a verdict closer to its edge is not worth more samples
_NEAR = 1.02  # precision of a predicted number of samples
_MOST_PAIRS = 10_000  # more are not worth naming
_ROOM = 0.8  # share of the margin for half an interval, which leaves some for its centre

Interval = tuple[float, float]


class Noise(NamedTuple):
    """How far runs of one system scatter.

    ``variance``, ``df``: with its degrees of freedom.  ``runs``: number of runs it is from besides
    those compared.  ``width``: largest distance between any of them.
    """

    variance: float
    df: int
    runs: int
    width: float


class Sides(NamedTuple):
    """The data of one effect, in the scale in which it is judged (logarithms if ``ratio``).

    ``first``, ``other``: a value per run, None if a run has none; if ``paired``, values at the same
    index belong together.  ``tail``: a part that a single episode of noise can decide.  ``exact``:
    for each side, whether another run would repeat its value.  ``resolution``: distance between
    neighbouring values.  ``within``: returns the interval of other - first at a level, from the
    samples of single runs.  ``envelope``: largest distance between runs of one system in any case
    of the comparison.  ``counted``: numbers do not depend on the machine, so that no episode can
    decide the tail.  ``losses``: values are shares in % of activations lost in stalls, of which
    runs have few: sides that do not differ scatter alike, so one scatter is estimated for both, and
    the interval is at least as wide as that of ``within``, which counts the stalls.
    """

    first: Sequence[float | None]
    other: Sequence[float | None]
    ratio: bool
    paired: bool = False
    tail: bool = False
    exact: tuple[bool, bool] = (False, False)
    resolution: float = 0.0
    noise: Noise | None = None
    within: Callable[[float], Interval | None] | None = None
    envelope: float = 0.0
    counted: bool = False
    losses: bool = False


class Judged(NamedTuple):
    """A difference (of logarithms for a ratio), its interval, and the verdict.

    ``factor``: this many times as many samples would give a verdict; None: samples alone do not.
    ``pairs``: about so many pairs of runs would, instead of these single runs; None: not known.
    """

    centre: float
    interval: Interval | None
    floor: float | None
    verdict: Verdict
    basis: Basis
    runs: int
    factor: float | None = None
    reason: str | None = None
    pairs: int | None = None


class _Estimate(NamedTuple):
    """A difference, and its scatter over runs."""

    basis: Basis
    centre: float
    se: float
    df: float
    once: float  # standard deviation of the difference of two single runs
    runs: int  # both sides together
    witnesses: int  # runs that would all have to be where they are by chance


def width(sides: Sides) -> float:
    """Return the largest distance between runs of one system here, beyond the resolution."""
    sets = [values for values in (present(sides.first), present(sides.other)) if len(values) > 1]
    widest = [max(values) - min(values) for values in sets]
    return max(0.0, *widest, sides.noise.width if sides.noise else 0.0) - sides.resolution


def scale(values: Sequence[float | None]) -> bool:
    """Return whether values have ratios: all are above zero."""
    return all(value is None or value > 0 for value in values)


def present(values: Sequence[float | None]) -> list[float]:
    """Return the values that are not None."""
    return [value for value in values if value is not None]


def judge(sides: Sides, alpha: float, better: int) -> Judged:
    """Return the verdict; ``alpha``: the one-sided level, which allows for all other effects.

    ``better``: +1 if larger is better, -1 if smaller is.  Each side has at least one value.
    """
    if all(sides.exact):
        centre = fmean(present(sides.other)) - fmean(present(sides.first))
        verdict = _side(centre, better) if centre else "no difference"
        runs = len(present(sides.first)) + len(present(sides.other))
        return Judged(centre, (centre, centre), 0.0, verdict, "exact", runs)
    estimate = _over_runs(sides)
    if estimate is None:
        centre = fmean(present(sides.other)) - fmean(present(sides.first))
        interval = sides.within(1 - alpha) if sides.within else None
        floor = _unknown_floor(sides)
        judged = Judged(centre, interval, None, "inconclusive", "single", 2)
        if interval is None:
            return judged._replace(reason=TOO_FEW)
        if _beyond(interval, floor):
            return judged._replace(verdict=_side(centre, better))
        return judged._replace(reason=NO_FLOOR)
    half = t_quantile(1 - alpha, estimate.df) * estimate.se
    interval = (estimate.centre - half, estimate.centre + half)
    if estimate.basis == "single":
        interval = _widened(sides, estimate, interval, alpha)
    elif sides.losses and sides.within and (stalls := sides.within(1 - alpha)):
        interval = min(interval[0], stalls[0]), max(interval[1], stalls[1])
    once = t_quantile(1 - LEVEL, estimate.df) * estimate.once
    floor = max(once, sides.resolution, sides.envelope if estimate.basis == "single" else 0.0)
    verdict = _verdict(sides, estimate.centre, interval, floor, better)
    judged = Judged(estimate.centre, interval, floor, verdict, estimate.basis, estimate.runs)
    few = _few(estimate, alpha)
    state = LOST if sides.losses else _unknown_floor(sides)
    alone = sides.losses and estimate.basis == "single"  # a bad moment may have hit a single run
    if verdict in ("better", "worse") and (few or alone) and not _beyond(interval, state):
        if not few:
            return judged._replace(verdict="inconclusive", reason="within what a moment may lose")
        if judged.basis == "single":
            why = f"it takes {counted(few, 'more run')} to know the noise floor"
            return judged._replace(verdict="inconclusive", reason=why)
        factor = 1 + few / judged.runs
        return judged._replace(
            verdict="inconclusive", factor=factor, reason=_wanted(judged, factor)
        )
    return judged if verdict != "inconclusive" else _lacking(sides, judged, estimate, alpha)


# ---- from runs to an estimate -------------------------------------------------------------------


def _over_runs(sides: Sides) -> _Estimate | None:
    """Estimate from pairs, else from several runs, else with the noise of other runs."""
    first, other = present(sides.first), present(sides.other)
    if sides.paired:
        apart = [
            b - a
            for a, b in zip(sides.first, sides.other, strict=True)
            if a is not None and b is not None
        ]
        if len(apart) > 1:
            n, square = len(apart), sample_variance(apart)
            return _Estimate(
                "pairs", fmean(apart), sqrt(square / n), n - 1, sqrt(square), 2 * n, 2 * n
            )
    if sides.noise is None and all(
        len(values) > 1 or exact for values, exact in zip((first, other), sides.exact, strict=True)
    ):
        pooled = _with_noise(sides, first, other) if sides.losses else None
        if pooled is not None:
            return pooled._replace(basis="runs")
        return _welch(first, other)
    return _with_noise(sides, first, other)


def _welch(first: Sequence[float], other: Sequence[float]) -> _Estimate:
    """Estimate by Welch's method: each side has its own scatter; a single value has none."""
    squares = [sample_variance(values) if len(values) > 1 else 0.0 for values in (first, other)]
    parts = [s / len(v) for s, v in zip(squares, (first, other), strict=True)]
    degrees = [
        part**2 / (len(values) - 1)
        for part, values in zip(parts, (first, other), strict=True)
        if part
    ]
    fewest = min(len(values) - 1 for values in (first, other) if len(values) > 1)
    df = sum(parts) ** 2 / sum(degrees) if degrees else fewest
    runs = len(first) + len(other)
    return _Estimate(
        "runs", fmean(other) - fmean(first), sqrt(sum(parts)), df, sqrt(sum(squares)), runs, runs
    )


def _with_noise(sides: Sides, first: Sequence[float], other: Sequence[float]) -> _Estimate | None:
    """Estimate with one scatter for both sides and the other runs that were named."""
    noise = sides.noise or Noise(0.0, 0, 0, 0.0)
    sets = [values for values in (first, other) if len(values) > 1]
    df = noise.df + sum(len(values) - 1 for values in sets)
    if not df:
        return None
    total = noise.variance * noise.df + sum((len(v) - 1) * sample_variance(v) for v in sets)
    square = total / df
    runs = len(first) + len(other)
    centre = fmean(other) - fmean(first)
    se = sqrt(square * (1 / len(first) + 1 / len(other)))
    # Of two single runs, one is above the other by chance alone: they are one witness.
    witnesses = runs + noise.runs - (1 if noise.runs else 0)
    return _Estimate("single", centre, se, df, sqrt(2 * square), runs, witnesses)


def _widened(sides: Sides, estimate: _Estimate, interval: Interval, alpha: float) -> Interval:
    """Widen an interval by the uncertainty of single runs.

    Noise comes in episodes that hit one run in one case, by far more than the usual scatter.  So
    the interval extends at least EPISODE times as far as the largest distance seen in any case.  If
    the runs are shorter than the others, it includes the uncertainty of their samples too.
    """
    half = max(interval[1] - estimate.centre, EPISODE * sides.envelope)
    interval = estimate.centre - half, estimate.centre + half
    own_ = sides.within(1 - alpha) if sides.within else None
    if own_ is None:
        return interval
    low, high = (
        hypot(end - estimate.centre, own - estimate.centre)
        for end, own in zip(interval, own_, strict=True)
    )
    return estimate.centre - low, estimate.centre + high


# ---- verdicts -----------------------------------------------------------------------------------


def _unknown_floor(sides: Sides) -> float:
    chance = sides.tail and not sides.counted
    return inf if chance or not sides.ratio else log1p(UNKNOWN)


def _beyond(interval: Interval, floor: float) -> bool:
    return interval[0] > floor or interval[1] < -floor


def _side(centre: float, better: int) -> Verdict:
    return "better" if centre * better > 0 else "worse"


def margin(sides: Sides, floor: float) -> float:
    """Return the margin within which there is no difference: 2%, or the noise floor up to 10%."""
    size = 1.0 if sides.ratio else max(map(abs, [*present(sides.first), *present(sides.other)]))
    least, most = (log1p(m) if sides.ratio else m * size for m in (MARGIN, WIDEST))
    return max(least, min(floor, most))


def _verdict(sides: Sides, centre: float, interval: Interval, floor: float, better: int) -> Verdict:
    """Return the verdict of an interval; differences below the resolution are not seen."""
    if _beyond(interval, sides.resolution):
        return _side(centre, better)
    within = margin(sides, floor)
    if sides.resolution <= within and -within <= interval[0] and interval[1] <= within:
        return "no difference"
    return "inconclusive"


def _few(estimate: _Estimate, alpha: float) -> int:
    """Return how many more runs are needed to rule out that chance separated the sides.

    A system may have two equally likely states that a run takes at its start (its memory layout,
    say).  The sides are in different ones with probability 2 / 2^runs, and then show no scatter.
    """
    whole = alpha / (1 - KEPT)  # nothing kept back, as this probability is exact
    return max(0, ceil(log(2 / whole, 2)) - estimate.witnesses)


def _lacking(sides: Sides, judged: Judged, estimate: _Estimate, alpha: float) -> Judged:
    """Add how many more runs the nearer verdict needs, by the square-root law, or why none help."""
    within = margin(sides, judged.floor or 0)
    if sides.resolution > within:
        return judged._replace(reason="the steps of the values are too coarse")
    if judged.basis == "single":
        why = "too few stalls" if sides.losses else "within the scatter of single runs"
        if judged.interval and judged.interval[1] == inf:
            why = TOO_FEW
        pairs = None if sides.losses else _pairs(sides, judged, estimate, alpha)
        return judged._replace(reason=why, pairs=pairs)
    away = abs(judged.centre)
    target = max(within - away, away - sides.resolution)
    if target <= _EDGE * within:
        return judged._replace(reason="at the edge of the margin")

    def wide(factor: float) -> float:
        """Return half the interval of so many times as many runs; Student's t falls with them."""
        return t_quantile(1 - alpha, estimate.df * factor) * estimate.se / sqrt(factor)

    if sides.losses and judged.interval:
        times = ((judged.interval[1] - judged.interval[0]) / 2 / target) ** 2
    else:
        low, times = 1.0, max((wide(1.0) / target) ** 2, 1.0)
        while times > low * _NEAR:
            middle = sqrt(low * times)
            low, times = (middle, times) if wide(middle) > target else (low, middle)
    factor = max(times, 1 + _few(estimate, alpha) / judged.runs)
    return judged._replace(factor=factor, reason=_wanted(judged, factor))


def _pairs(sides: Sides, judged: Judged, estimate: _Estimate, alpha: float) -> int | None:
    """Return with how many pairs of runs taken in turn about half of such effects have a verdict.

    They are taken to scatter as single runs do, and have to rule out two states.  What two single
    runs differ by is mostly their scatter, so only what exceeds that counts as a difference.
    """
    away = abs(judged.centre) - estimate.once
    target = _ROOM * max(margin(sides, judged.floor or 0), away)
    whole = alpha / (1 - KEPT)
    low = max(2, ceil(log(2 / whole, 2) / 2))

    def enough(pairs: int) -> bool:
        return t_quantile(1 - alpha, pairs - 1) * estimate.once / sqrt(pairs) <= target

    high = low
    while not enough(high):
        if high > _MOST_PAIRS:
            return None
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high if high <= _MOST_PAIRS else None


def _wanted(judged: Judged, factor: float) -> str:
    """Return what to measure more of, in words."""
    each = max(1, ceil(judged.runs * (factor - 1) / 2))
    noun = "pair" if judged.basis == "pairs" else "run"
    side = "" if judged.basis == "pairs" else " a side"
    return f"about {each} more {noun}{'s' * (each != 1)}{side}"
