"""Classes of growth: constant, logarithmic, linear, n log n or quadratic in n.

Each class is cost(n) = a + b g(n), a and b not negative, fitted by least squares of relative
errors.  A larger class replaces a simpler one only if that misses the costs by more than
``TOLERANCE``, and if it removes ``GAIN`` of the squared error; and growth is what remains when any
one point is left out.  One point that keeps all others from fitting is set aside, and named.

Where costs have noise, each n is measured once in each of several rounds, in the same order, so
that n = 1 is a control in each.  Growth then also takes a trend over n, by the test of E. B. Page
(Ordered hypotheses for multiple treatments, JASA 58, 1963), in which rounds are blocks, corrected
for the number of pairs by Holm's method.  Its class is the simplest of those that noise does not
tell from the best; where these are linear and n log n, neither is claimed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import log2, sqrt
from statistics import NormalDist, fmean, median, stdev
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.growth import (
    GrowthClass,
    GrowthPair,
    GrowthPoint,
    GrowthTable,
    WorstGrowth,
)
from rtstone.documents.run import Result
from rtstone.results.interval import t_quantile
from rtstone.stats.comparison.conditions import counted
from rtstone.stats.comparison.systems import System
from rtstone.stats.holm import holm

TOLERANCE = 0.01  # root mean square of relative errors within which a class fits
ERRORS = 2  # standard errors of the costs by which noise tells no class from the best
GAIN = 0.8  # share of the squared error that a larger class has to remove
MISFIT = 0.1  # of a class that is no better than none
LEVEL = 0.05  # chance that any of the pairs grows by noise alone
LEAST = 4  # points of which there is a class
ROBUST = 5  # points of which one may be set aside
ROUNDS = 3  # of which there is an interval

FAMILY = "grow"
OVER, NUMBER = "over", "n"

UNDECIDED: GrowthClass = "linear or n log n"  # has the slope of the line

CURVES: dict[GrowthClass, Callable[[float], float]] = {
    "constant": lambda n: 0.0,
    "logarithmic": lambda n: log2(max(n, 1.0)),
    "linear": lambda n: n,
    UNDECIDED: lambda n: n,
    "n log n": lambda n: n * log2(max(n, 1.0)),
    "quadratic": lambda n: n * n,
}

CLASSES = [growth for growth in CURVES if growth != UNDECIDED]

Point = tuple[float, float]  # n, cost


class Fit(NamedTuple):
    """A class with its cost at g(n) = 0, its slope, and the rms of its relative errors."""

    growth: GrowthClass
    base: float
    slope: float
    misfit: float


class Judgement(NamedTuple):
    """The class of some points, and the n of the one that was set aside."""

    fit: Fit
    outlier: float | None = None


def fit(points: Sequence[Point], growth: GrowthClass) -> Fit:
    """Return the best fit of one class to points whose costs are above 0."""
    curve = CURVES[growth]
    weighted = [(curve(n), cost, cost**-2) for n, cost in points]
    total = sum(w for _, _, w in weighted)
    x0 = sum(w * x for x, _, w in weighted) / total
    y0 = sum(w * y for _, y, w in weighted) / total
    sxx = sum(w * (x - x0) ** 2 for x, _, w in weighted)
    slope = sum(w * (x - x0) * (y - y0) for x, y, w in weighted) / sxx if sxx else 0.0
    base = y0 - slope * x0
    if slope < 0:
        base, slope = y0, 0.0
    elif base < 0:
        base = 0.0
        slope = sum(w * x * y for x, y, w in weighted) / sum(w * x * x for x, _, w in weighted)
    squares = [((y - base - slope * x) / y) ** 2 for x, y, _ in weighted]
    return Fit(growth, base, slope, sqrt(fmean(squares)))


def _simplest(points: Sequence[Point], tolerance: float) -> Fit:
    """Return the simplest class that fits, or else that of which none is much better."""
    best = fit(points, "constant")
    if best.misfit > TOLERANCE and tolerance > TOLERANCE:
        return _distinguished(points, tolerance)
    for growth in CLASSES:
        if best.misfit <= TOLERANCE:
            break
        larger = fit(points, growth)
        if larger.misfit**2 < (1 - GAIN) * best.misfit**2:
            best = larger
    return best


def _distinguished(points: Sequence[Point], tolerance: float) -> Fit:
    """Return the simplest class of those that noise does not tell from the best.

    The squared errors of such a class, in standard errors of a cost, sum to those of the best and
    at most ``ERRORS`` squared.  A best that itself fits badly has standard errors that explain it.
    """
    fits = [fit(points, growth) for growth in CLASSES]
    best = min(each.misfit for each in fits)
    k = len(points)
    variance = max((tolerance / ERRORS) ** 2, best**2 * k / (k - 2))
    alike = [each for each in fits if each.misfit**2 <= best**2 + ERRORS**2 * variance / k]
    if [each.growth for each in alike[:2]] == ["linear", "n log n"]:
        return alike[0]._replace(growth=UNDECIDED)
    return alike[0]


def _predicted(points: Sequence[Point], index: int, whole: Fit) -> bool:
    """Return whether the other points predict one, by the class of all of them."""
    n, cost = points[index]
    rest = fit([*points[:index], *points[index + 1 :]], whole.growth)
    predicted = rest.base + rest.slope * CURVES[whole.growth](n)
    return abs(predicted / cost - 1) <= TOLERANCE


def judge(points: Sequence[Point], tolerance: float = TOLERANCE) -> Judgement:
    """Return the class of at least ``LEAST`` points, by their distinct n, with costs above 0."""
    whole = _simplest(points, tolerance)
    grows = whole.growth != "constant"
    exact = grows and tolerance <= TOLERANCE  # noise may look like a prediction
    if len(points) >= ROBUST and (grows or whole.misfit > tolerance):
        rests = [
            (list(CURVES).index(rest.growth), rest.misfit, n, rest)
            for index, (n, _) in enumerate(points)
            if (rest := _simplest([*points[:index], *points[index + 1 :]], tolerance)).misfit
            <= tolerance
            # What one point alone makes is no growth, however well it fits: the others do not
            # predict it.
            and (
                (rest.growth == "constant" and not (exact and _predicted(points, index, whole)))
                or whole.misfit > (tolerance if grows else max(MISFIT, tolerance))
            )
        ]
        if rests:
            _, _, n, rest = min(rests)
            return Judgement(rest, n)
    if whole.misfit > max(MISFIT, tolerance):
        return Judgement(whole._replace(growth="irregular"))
    return Judgement(whole)


def trend(rounds: Sequence[Sequence[float]]) -> float:
    """Return the p of Page's test that costs rise in the order of each round, one-sided.

    Equal costs share their ranks, which makes the test conservative.
    """
    m, k = len(rounds), len(rounds[0])
    statistic = 0.0
    for costs in rounds:
        for place, cost in enumerate(costs, 1):
            below, equal = sum(c < cost for c in costs), sum(c == cost for c in costs)
            statistic += place * (below + (equal + 1) / 2)
    mean = m * k * (k + 1) ** 2 / 4
    deviation = sqrt(m * k**2 * (k + 1) * (k**2 - 1) / 144)
    return 1 - NormalDist().cdf((statistic - mean) / deviation)


def _noise(minima: Mapping[int, Sequence[float]]) -> float:
    """Return the relative standard error of a median of rounds, by median absolute deviations."""
    errors = []
    for costs in minima.values():
        middle = median(costs)
        spread = median(abs(cost - middle) for cost in costs) / NormalDist().inv_cdf(0.75)
        errors.append(1.2533 * spread / middle / sqrt(len(costs)))  # of a median: sqrt(pi / 2)
    return median(errors)


def _slopes(
    pair: GrowthPair, growth: GrowthClass, without: float | None, *, by_rounds: bool
) -> tuple[float, float]:
    """Return the 95% interval of a class's slope over rounds, or its range over points."""
    fitted = [point for point in pair.points if point.n != without]
    if by_rounds:
        rounds = min(len(point.minima) for point in fitted)
        slopes = [fit([(pt.n, pt.minima[i]) for pt in fitted], growth).slope for i in range(rounds)]
        half = t_quantile(0.95, rounds - 1) * stdev(slopes) / sqrt(rounds)
        return fmean(slopes) - half, fmean(slopes) + half
    points = [(float(point.n), point.cost) for point in fitted]
    slopes = [fit([*points[:i], *points[i + 1 :]], growth).slope for i in range(len(points))]
    return min(slopes), max(slopes)


def classified(
    pairs: Sequence[GrowthPair], *, exact: bool, intervals: bool = True
) -> list[GrowthPair]:
    """Return the pairs with their classes, corrected for how many there are.

    ``intervals``: of slopes are those over rounds, if there are enough, and not ranges over points.
    """
    usable = [
        index
        for index, pair in enumerate(pairs)
        if len(pair.points) >= LEAST and all(point.cost > 0 for point in pair.points)
    ]
    trends = dict.fromkeys(usable, 0.0)
    if not exact:
        ps = []
        for index in usable:
            columns = [point.minima for point in pairs[index].points]
            rounds = min(map(len, columns))
            ps.append(trend([[costs[i] for costs in columns] for i in range(rounds)]))
        trends = dict(zip(usable, holm(ps), strict=True))
    classes = list(pairs)
    for index, p in trends.items():
        pair = pairs[index]
        minima = {point.n: point.minima for point in pair.points}
        points = [(float(point.n), point.cost) for point in pair.points]
        tolerance = TOLERANCE if exact else max(TOLERANCE, ERRORS * _noise(minima))
        judgement = Judgement(fit(points, "constant")) if p > LEVEL else judge(points, tolerance)
        best, outlier = judgement
        grows = best.growth not in {"constant", "irregular"}
        by_rounds = intervals and not exact and min(map(len, minima.values())) >= ROUNDS
        low, high = _slopes(pair, best.growth, outlier, by_rounds=by_rounds) if grows else (0, 0)
        classes[index] = structs.replace(
            pair,
            growth=best.growth,
            slope=best.slope if grows else None,
            low=low if grows else None,
            high=high if grows else None,
            interval=("rounds" if by_rounds else "points") if grows else None,
            p=None if exact else p,
            misfit=best.misfit,
            outlier=None if outlier is None else int(outlier),
        )
    return classes


def _with_worst(pairs: Sequence[GrowthPair]) -> list[GrowthPair]:
    """Return pairs whose costs are exact with how their largest samples grow.

    These depend on the phase of ticks and timers, which differs by n and by seed: seeds are rounds
    of which each n has one sample, and the largest of these is the cost.
    """
    seeded = [
        (index, structs.replace(pair, points=worst))
        for index, pair in enumerate(pairs)
        if len(pair.points) >= LEAST
        and all(len(point.maxima) >= ROUNDS for point in pair.points)
        and (
            worst := [
                structs.replace(point, cost=point.worst, minima=point.maxima)
                for point in pair.points
                if point.worst is not None
            ]
        )
    ]
    classes = list(pairs)
    judged = classified([pair for _, pair in seeded], exact=False, intervals=False)
    for (index, _), pair in zip(seeded, judged, strict=True):
        if pair.growth is not None and pair.p is not None and pair.misfit is not None:
            largest = WorstGrowth(
                growth=pair.growth, slope=pair.slope, low=pair.low, high=pair.high, p=pair.p,
                misfit=pair.misfit, outlier=pair.outlier,
            )  # fmt: skip
            classes[index] = structs.replace(classes[index], worst=largest)
    return classes


def growth_table(system: System) -> GrowthTable:
    """Return the classes of all pairs that the runs of a system have measured, in their order."""
    first = system.first
    # An agent with little room has no titles.
    titles = {bench.id: bench.title for run in system.runs for bench in run.benches}
    exact = counted(first)
    pairs = []
    groups: dict[CaseKey, list[Result]] = defaultdict(list)
    lacking = set()
    for result in (result for run in system.runs for result in run.results):
        if not result.bench.startswith(f"{FAMILY}."):
            continue
        if result.status == "unsupported" and NUMBER not in result.params:  # whatever n is
            if result.bench in lacking:  # in another run, too
                continue
            lacking.add(result.bench)
            pairs.append(
                GrowthPair(
                    bench=result.bench,
                    service=titles.get(result.bench) or result.bench,
                    over="",
                    load=result.load,
                    params={},
                    unit=result.unit,
                    points=[],
                    end=result.reason,
                )
            )
        else:
            key = case_key(
                result.bench, result.params, result.series, result.load, ignoring={NUMBER}
            )
            groups[key].append(result)
    for group in groups.values():
        result = group[0]
        points, end = _points(group, exact=exact)
        pairs.append(
            GrowthPair(
                bench=result.bench,
                service=titles.get(result.bench) or result.bench,
                over=str(result.params.get(OVER, NUMBER)),
                load=result.load,
                params={k: v for k, v in result.params.items() if k not in {OVER, NUMBER}},
                unit=result.unit,
                points=points,
                end=end,
            )
        )
    pairs = classified(pairs, exact=exact)
    return GrowthTable(
        system=system.label,
        target=first.target.name,
        runs=[run.run_id for run in system.runs],
        seeds=system.seeds,
        exact=exact,
        pairs=_with_worst(pairs) if exact else pairs,
    )


def _points(group: Sequence[Result], *, exact: bool) -> tuple[list[GrowthPoint], str | None]:
    """Return the points of the results of a pair, by n, and why there are no more of them."""
    minima: dict[int, list[float]] = defaultdict(list)
    maxima: dict[int, list[float]] = defaultdict(list)
    refused: dict[int, str] = {}
    for result in group:
        n = result.params[NUMBER]
        assert isinstance(n, int)
        if result.status == "ok" and result.min is not None and result.max is not None:
            minima[n].append(result.min)
            maxima[n].append(result.max)
        else:
            refused.setdefault(n, result.reason or "no sample")
    for n in refused:  # a point that a round lacks has no place in the others
        minima.pop(n, None)
    points = [
        GrowthPoint(n=n, cost=min(costs), minima=costs, maxima=maxima[n], worst=max(maxima[n]))
        if exact
        else GrowthPoint(n=n, cost=median(costs), minima=costs)
        for n, costs in sorted(minima.items())
    ]
    end = min(refused, default=None)
    return points, None if end is None else f"n = {end}: {refused[end]}"
