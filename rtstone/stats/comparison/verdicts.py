"""The verdicts of a comparison: each column against the first, by row, median and tail separately.

All effects of a comparison are judged together (Bonferroni): at most 5% of comparisons of equal
systems call anything different, however rows depend on each other.  docs/guides/comparing.md
explains it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import ceil, exp, expm1, inf, log
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from rtstone.documents.comparison import Effect, Pair, Part, Rules, Tally, Verdict
from rtstone.documents.run import Result
from rtstone.results.estimates import TOO_FEW, too_few
from rtstone.results.interval import sample_variance
from rtstone.results.omitted import Missed, has_room, missed, times_for_room, whole
from rtstone.results.pool import pooled
from rtstone.stats.comparison.direction import SMALLER
from rtstone.stats.comparison.effects import (
    KEPT,
    LEVEL,
    MARGIN,
    WIDEST,
    Interval,
    Judged,
    Noise,
    Sides,
    judge,
    present,
    scale,
    width,
)
from rtstone.summary import LABELS, MEDIAN, TAILS, least_n

if TYPE_CHECKING:
    from rtstone.results.estimates import Estimate

MAXIMUM = "max"
VALUE = "value"  # the statistic of a figure
MISSED = "missed"  # the share of activations that were due and never happened, in %
FEW_STALLS = "too few stalls"
NO_SPREAD = "no spread on either side that the clock shows"
CORRECTION = "Bonferroni"
_BUCKET = 1 / 128  # relative width of a bucket of the recorder
_EXACT_TICKS = 256  # up to here a bucket is one tick
_FEWER = 0.8  # a run with less than this share of another's samples is less certain than that
_MOST = 700.0  # largest logarithm whose exponential is a float

Runs = Sequence[Sequence[Result]]  # the usable results of a case by run; a run may have none
_OfResults = Callable[[Sequence[Result]], float | None]  # a statistic of results together


class Side(NamedTuple):
    """One column in one case.

    ``tick``: step of its clock in the unit of the row, 0 if values are exact.  ``counted``: numbers
    depend on the system alone: instructions, or a model.  ``repeats``: another run of the system
    gives the same numbers.  ``why``: why nothing is usable though something was measured.
    """

    runs: Runs
    tick: float
    counted: bool
    repeats: bool
    why: str | None = None


class JudgedCase(NamedTuple):
    """One row, one column against the first; or several rows, of which the worst value counts.

    ``row_of``: of several rows, that of each result by its ``id()``; ``row`` is negative then.
    """

    row: int
    column: str
    figure: str | None
    better: int
    first: Side
    other: Side
    paired: bool
    noise: Runs  # further runs, which only show how runs scatter
    against: str | None = None  # column it is compared with, if not the first
    row_of: Mapping[int, int] = MappingProxyType({})

    @property
    def why(self) -> str:
        """Why it cannot be judged; empty if it can."""
        return " and ".join(filter(None, (self.first.why, self.other.why)))

    def by_row(self, results: Sequence[Result]) -> list[Sequence[Result]]:
        """Return results in groups, those of each row together."""
        if not self.row_of:
            return [results]
        rows: dict[int, list[Result]] = defaultdict(list)
        for result in results:
            rows[self.row_of[id(result)]].append(result)
        return list(rows.values())

    def worst(self, value: _OfResults) -> _OfResults:
        """Return what gives the largest value among the rows, None if one of them has none."""

        def of_rows(results: Sequence[Result]) -> float | None:
            values = [value(own) for own in self.by_row(results)]
            measured = present(values)
            return max(measured) if measured and len(measured) == len(values) else None

        return of_rows if self.row_of else value


class _Effect(NamedTuple):
    """An effect before its verdict; ``sides`` None: there is nothing to judge."""

    case: JudgedCase
    part: Part
    statistic: str
    sides: Sides | None
    samples: int  # of the side with fewer
    reason: str | None = None
    missing: int | None = None
    value: _OfResults | None = None

    @property
    def better(self) -> int:
        """+1 if larger is better, -1 if smaller is."""
        return SMALLER if self.part in ("missed", "spread") else self.case.better


def judged(
    cases: Sequence[JudgedCase], pairs: Sequence[tuple[int, int, tuple[str, str]]] = ()
) -> tuple[dict[int, list[Effect]], Rules]:
    """Return the effects by row, and the basis of the verdicts.

    Those of cases of several rows are judged with the others, and not counted with them.
    ``pairs``: number, index among the runs of a side, and run ids of each pair.
    """
    unjudged = _enveloped([effect for case in cases for effect in _effects(case)])
    tried = sum(bool(e.sides and not all(e.sides.exact)) for e in unjudged)
    alpha = (1 - KEPT) * LEVEL / max(tried, 1)
    effects: dict[int, list[Effect]] = {case.row: [] for case in cases}
    for e in unjudged:
        effects[e.case.row].append(_as_effect(e, alpha))
    rules = Rules(
        level=LEVEL,
        effects=tried,
        correction=CORRECTION,
        margin=MARGIN,
        floor="",
        tally=tally(e.verdict for row, own in effects.items() if row >= 0 for e in own),
        pairs=[_pair(pair, [e for e in unjudged if e.case.row >= 0], alpha) for pair in pairs],
    )
    return effects, rules


def _as_effect(e: _Effect, alpha: float) -> Effect:
    """Return an effect with its verdict at a level."""
    values = None
    if e.value is not None:  # of all runs of a column together
        first, other = (
            e.value([r for results in side.runs for r in results])
            for side in (e.case.first, e.case.other)
        )
        values = first, other
    effect = Effect(
        part=e.part, statistic=e.statistic, column=e.case.column, against=e.case.against,
        verdict="inconclusive", reason=e.reason, missing=e.missing, values=values,
    )  # fmt: skip
    if e.sides is None:
        return effect
    effect = _with_verdict(effect, e.sides, alpha, e.better, e.samples)
    if effect.reason != TOO_FEW or e.part == "missed":
        return effect
    return structs.replace(effect, reason=_why_too_few(e, 1 - alpha))


def _why_too_few(e: _Effect, level: float) -> str:
    """Return why the samples are too few, of the side with fewer that has no interval."""
    sides = [[r for own in side.runs for r in own] for side in (e.case.first, e.case.other)]
    lacking = [
        results for side in sides for results in e.case.by_row(side)
        if _ends(e.statistic, results, level) is None
    ] or sides  # fmt: skip
    return too_few(min(lacking, key=lambda own: sum(r.n for r in own)), e.statistic, level)


def _enveloped(effects: Sequence[_Effect]) -> list[_Effect]:
    """Add the largest distance between runs of one system in any case, by part and scale."""
    widest: dict[tuple[Part, bool], float] = {}
    for effect in effects:
        if effect.sides:
            key = effect.part, effect.sides.ratio
            widest[key] = max(widest.get(key, 0.0), width(effect.sides))
    return [
        e._replace(sides=e.sides._replace(envelope=widest[e.part, e.sides.ratio])) if e.sides else e
        for e in effects
    ]


def spreads(cases: Sequence[JudgedCase]) -> tuple[dict[int, list[Effect]], int]:
    """Return the effects on the spread of samples by row, and how many are judged together.

    They are a family of their own, so that they make no other verdict less certain.
    """
    unjudged = _enveloped([_spread(c) for c in cases if c.figure is None and not c.row_of])
    tried = sum(bool(e.sides and not all(e.sides.exact)) for e in unjudged)
    alpha = (1 - KEPT) * LEVEL / max(tried, 1)
    effects: dict[int, list[Effect]] = {}
    for e in unjudged:
        effects.setdefault(e.case.row, []).append(_as_effect(e, alpha))
    return effects, tried


def tally(verdicts: Iterable[Verdict]) -> Tally:
    """Return the number of effects with each verdict."""
    number = Counter(verdicts)
    return Tally(
        better=number["better"],
        worse=number["worse"],
        no_difference=number["no difference"],
        inconclusive=number["inconclusive"],
    )


def _pair(pair: tuple[int, int, tuple[str, str]], effects: Sequence[_Effect], alpha: float) -> Pair:
    """Return the verdicts of one pair alone, with the noise of all the others."""
    number, here, ids = pair
    single = []
    for effect in effects:
        sides, case = effect.sides, effect.case
        if sides is None or not sides.paired:
            continue
        first, other = sides.first[here], sides.other[here]
        if first is None or other is None:
            continue
        rest = [
            present([value for place, value in enumerate(values) if place != here])
            for values in (sides.first, sides.other)
        ]
        own = [side.runs[here] for side in (case.first, case.other)]
        sides = sides._replace(
            first=[first], other=[other], paired=False, noise=_scatter(rest),
            within=_of_stalls(own) if sides.losses else None,
        )  # fmt: skip
        single.append(effect._replace(sides=sides))
    verdicts = [judge(e.sides, alpha, e.better).verdict for e in _enveloped(single) if e.sides]
    return Pair(number=number, runs=ids, tally=tally(verdicts))


# ---- what there is to judge ---------------------------------------------------------------------


def _effects(case: JudgedCase) -> list[_Effect]:
    """Return the effects of a case: median and tail, or the value of a figure.

    A figure needs several runs, or numbers that repeat exactly.  Only such numbers have a maximum
    that is more than chance, and none if a sample is a mean of several operations.  The medians of
    several rows say nothing of the worst of them.
    """
    name = case.figure
    if why := case.why:
        return [_Effect(case, "median", VALUE if name else MEDIAN, None, 0, why)]
    if name is not None:

        def value(results: Sequence[Result]) -> float | None:
            return next((r.figures[name].value for r in results if name in r.figures), None)

        sides = _sides(case, value, "median", VALUE)
        return [_Effect(case, "median", VALUE, sides, 0)] if sides else []
    effects = [] if case.row_of else [_part(case, "median", (MEDIAN,))]
    effects.append(_part(case, "tail", TAILS))
    if case.first.counted and case.other.counted and not case.noise:
        runs = [results for side in (case.first, case.other) for results in side.runs if results]
        largest = case.worst(partial(_value, MAXIMUM))
        sides = (
            _sides(case, largest, "maximum", MAXIMUM) if None not in map(largest, runs) else None
        )
        if sides:
            effects.append(_Effect(case, "maximum", MAXIMUM, sides, 0, value=largest))
    return [*effects, *_losses(case)]


def _losses(case: JudgedCase) -> list[_Effect]:
    """Return the effect of missed activations.

    Empty if a run does not count them, or if none missed any, so that nothing can differ.
    """
    every = [r for side in (case.first, case.other) for results in side.runs for r in results]
    if any(r.missed is None for r in every) or not any(r.missed for r in every):
        return []
    share = case.worst(share_missed)
    first, other, noise = (
        list(map(share, runs)) for runs in (case.first.runs, case.other.runs, case.noise)
    )
    if not present(first) or not present(other):
        return []
    both = case.first, case.other
    exact = case.first.counted and case.other.counted
    alone = exact and not _several(case) and not any(case.noise)
    sides = Sides(
        first, other, ratio=False, paired=case.paired, tail=True,
        exact=(alone or case.first.repeats, alone or case.other.repeats),
        noise=_scatter([present(noise)]), counted=exact, losses=True,
        within=_of_stalls([
            max(case.by_row([r for results in side.runs for r in results]),
                key=lambda own: share_missed(own) or 0.0)
            for side in both
        ]),
    )  # fmt: skip
    samples = min(map(_number, both))
    return [_Effect(case, "missed", MISSED, sides, samples, value=share)]


def share_missed(results: Sequence[Result]) -> float | None:
    """Return the share of due activations that a run missed in %, None if it did not count them."""
    if any(result.missed is None for result in results):
        return None
    omitted = sum(result.missed or 0 for result in results)
    due = omitted + sum(result.n for result in results)
    return 100 * omitted / due if due else None


def _number(side: Side) -> int:
    return sum(r.n for results in side.runs for r in results)


def _of_stalls(sets: Sequence[Sequence[Result]]) -> Callable[[float], Interval | None]:
    """Return the interval of the difference of the shares missed, in %, from the stalls of each.

    Activations are not lost one by one: a stall hides many, so stalls are what there is to count.
    """

    def interval(level: float) -> Interval | None:
        first, other = (missed(results) for results in sets)
        if first is None or other is None:
            return None
        return _of_shares(first, other, level)

    return interval


def _of_shares(first: Missed, other: Missed, level: float) -> Interval | None:
    """Return the interval of the difference of two shares missed, in %."""
    ends = _in_percent(first, level, other.size), _in_percent(other, level, first.size)
    return difference_interval(*ends)


def _in_percent(losses: Missed, level: float, size: float) -> tuple[float, float, float]:
    """Return the share missed with its interval; ``size``: of a stall, if there was none."""
    low, high = losses.interval_at(level, size)
    return 100 * losses.rate, 100 * low, 100 * high


def _part(case: JudgedCase, part: Part, statistics: Sequence[str]) -> _Effect:
    """Return the effect in the first of the statistics that every run has."""
    runs = [results for side in (case.first, case.other) for results in side.runs if results]
    every = [*runs, *(results for results in case.noise if results)]
    samples = min(map(_number, (case.first, case.other)))
    if part == "tail" and len({r.batch for results in runs for r in results}) > 1:
        why = "timed in batches of different sizes, which have no tail in common"
        return _Effect(case, part, statistics[-1], None, samples, why)
    exact = case.first.counted and case.other.counted
    turning = False  # whether a percentile turns on single stalls
    for statistic in statistics:
        value = case.worst(partial(_value, statistic))
        if any(value(results) is None for results in runs):
            continue
        if exact or all(has_room(statistic, own) for r in every for own in case.by_row(r)):
            sides = _sides(case, value, part, statistic)
            return _Effect(case, part, statistic, sides, samples, value=value)
        turning = True
    if turning and part == "median":  # of the wake-ups that there were
        value = partial(_value, MEDIAN, observed=True)
        sides = _sides(case, value, part, MEDIAN, observed=True)
        return _Effect(case, part, MEDIAN, sides, samples, value=value)
    if turning:
        statistic = statistics[-1]
        value = case.worst(partial(_value, statistic))
        why, short = _few_stalls(f"even the {LABELS[statistic]}"), _short_of_room(case, statistic)
        return _Effect(case, part, statistic, None, samples, why, short, value=value)
    least = min(sum(r.n for r in own) for results in runs for own in case.by_row(results))
    needed = least_n(statistics[-1])
    short = max(needed - least, 0) or None
    why = f"no {statistics[-1]} of {least} samples"
    return _Effect(case, part, statistics[-1], None, samples, why, short)


def _few_stalls(statistic: str) -> str:
    return f"{FEW_STALLS}: each, a late wake-up with those that it hid, moves {statistic}"


def _short_of_room(case: JudgedCase, statistic: str) -> int | None:
    """Return about how many samples a run lacks for single stalls not to move a percentile.

    None if that is not known.
    """
    short = 0
    for runs in (case.first.runs, case.other.runs, case.noise):
        for own in (own for results in runs if results for own in case.by_row(results)):
            times = times_for_room(statistic, own)
            if times is None:
                return None
            short = max(short, ceil((times - 1) * sum(r.n for r in own)))
    return short or None


def _spread(case: JudgedCase) -> _Effect:
    """Return the effect on the spread: from the median to the percentile of the tail.

    It is judged wherever the tail is, but not from a spread that the clock does not show: where
    that is so on one side the difference takes the place of the ratio, on both nothing is known.
    """
    if why := case.why:
        return _Effect(case, "spread", TAILS[-1], None, 0, why)
    tail = _part(case, "tail", TAILS)
    statistic = tail.statistic
    effect = tail._replace(part="spread", sides=None, value=partial(_width, statistic))
    if tail.sides is None:
        return effect
    exact = case.first.counted and case.other.counted
    every = [r for runs in (case.first.runs, case.other.runs, case.noise) for r in runs if r]
    if not exact and not all(has_room(MEDIAN, results) for results in every):
        return effect._replace(reason=_few_stalls("the median"))
    first, other, noise = (
        [_width(statistic, results) if results else None for results in runs]
        for runs in (case.first.runs, case.other.runs, case.noise)
    )
    if not any(present(first)) and not any(present(other)):
        return effect._replace(reason=NO_SPREAD)
    ratio = scale([*first, *other, *noise])
    steps = [
        (_bucket(side.tick / max(r.batch for r in results), _value(statistic, results)), spread)
        for side, values in ((case.first, first), (case.other, other))
        for results, spread in zip(side.runs, values, strict=True)
        if spread is not None
    ]
    if exact:
        resolution = 0.0
    elif ratio:
        resolution = max(log(1 + step / spread) for step, spread in steps)
    else:
        resolution = max(step for step, _ in steps)
    if ratio:
        first, other, noise = map(_logarithms, (first, other, noise))
    ends = partial(_width_ends, statistic)
    sides = tail.sides._replace(
        first=first, other=other, ratio=ratio, resolution=resolution,
        noise=_scatter([present(noise)]), within=_of_samples(case, ends, ratio),
    )  # fmt: skip
    return effect._replace(sides=sides)


def _width(statistic: str, results: Sequence[Result]) -> float | None:
    """Return the distance from the median to a percentile of a run."""
    high, middle = _value(statistic, results), _value(MEDIAN, results)
    return None if high is None or middle is None else high - middle


def _width_ends(
    statistic: str, results: Sequence[Result], level: float
) -> tuple[float, float, float] | None:
    """Return that distance with its interval, from the samples."""
    middle, high = _ends(MEDIAN, results, level), _ends(statistic, results, level)
    if middle is None or high is None:
        return None
    return high[0] - middle[0], *difference_interval(middle, high)


def _bucket(tick: float, value: float | None) -> float:
    """Return the distance of neighbouring values: a tick of the clock, or a bucket."""
    if value is None or value < _EXACT_TICKS * tick:
        return tick
    return value * _BUCKET


def _value(statistic: str, results: Sequence[Result], *, observed: bool = False) -> float | None:
    """Return the value of a run, pooled if it ran the case often.

    ``observed``: without missed activations.
    """
    complete = results if observed else [whole(result) for result in results]
    samples = complete[0] if len(complete) == 1 else pooled(complete)
    value: float | None = getattr(samples, statistic)
    return value


def _sides(
    case: JudgedCase,
    value: Callable[[Sequence[Result]], float | None],
    part: Part,
    statistic: str,
    *,
    observed: bool = False,
) -> Sides | None:
    """Return the values of both sides, as logarithms if possible; None if a side has none.

    ``observed``: without missed activations.
    """
    first, other, noise = (
        [value(results) if results else None for results in runs]
        for runs in (case.first.runs, case.other.runs, case.noise)
    )
    if not present(first) or not present(other):
        return None
    exact = _exact(case, statistic)
    values = [*present(first), *present(other)]
    counts = case.first.counted and case.other.counted
    single = min(len(present(first)), len(present(other))) < 2
    if case.figure is not None and not all(exact) and single:
        return None
    ratio = scale([*first, *other, *noise])
    resolution = 0.0  # the distance of neighbouring values: a tick of the clock, or a bucket
    if case.figure is None and not counts:
        ticks = [
            side.tick / max(r.batch for r in results)
            for side in (case.first, case.other)
            for results in side.runs
            if results
        ]
        resolution = _step(max(ticks), values, ratio)
    if ratio:
        first, other, noise = map(_logarithms, (first, other, noise))
    return Sides(
        first, other, ratio, case.paired, part != "median", exact, resolution,
        _scatter([present(noise)]), _within(case, statistic, ratio, observed=observed),
        counted=counts,
    )  # fmt: skip


def _logarithms(values: Sequence[float | None]) -> list[float | None]:
    return [None if value is None else log(value) for value in values]


def _scatter(sets: Sequence[Sequence[float]]) -> Noise | None:
    """Return the noise from several sets of runs, each of one system."""
    enough = [values for values in sets if len(values) > 1]
    df = sum(len(values) - 1 for values in enough)
    if not df:
        return None
    total = sum((len(values) - 1) * sample_variance(values) for values in enough)
    widest = max(max(values) - min(values) for values in enough)
    return Noise(total / df, df, sum(map(len, enough)), widest)


def _exact(case: JudgedCase, statistic: str) -> tuple[bool, bool]:
    """Return for each side whether another run would only repeat it."""
    first, other = case.first, case.other
    if not (first.counted and other.counted):
        return False, False
    if not _several(case) and not any(case.noise):
        return True, True
    if statistic != VALUE and _histogram(first) == _histogram(other):
        return True, True
    settled = []
    for side in (first, other):
        extremes = {value for results in side.runs for r in results for value in (r.min, r.max)}
        settled.append(side.repeats or (len(extremes) == 1 and None not in extremes))
    return settled[0], settled[1]


def _several(case: JudgedCase) -> bool:
    """Return whether a side has several runs of the case."""
    return any(sum(map(bool, side.runs)) > 1 for side in (case.first, case.other))


def _histogram(side: Side) -> Counter[float | str]:
    """Return the number of samples by value, and of missed activations."""
    counts: Counter[float | str] = Counter()
    for results in side.runs:
        for result in results:
            for value, count in whole(result).histogram:
                counts[value] += count
            counts[MISSED] += result.missed or 0
    return counts


def _step(tick: float, values: Sequence[float], ratio: bool) -> float:
    if not ratio:
        return tick
    least = min(values)
    return log(1 + (tick / least if least < _EXACT_TICKS * tick else _BUCKET))


# ---- the samples of a single run ----------------------------------------------------------------


def _within(
    case: JudgedCase, statistic: str, ratio: bool, *, observed: bool
) -> Callable[[float], Interval | None] | None:
    """Return the interval of other - first of a statistic from the samples, as ``_of_samples``."""
    if statistic in (VALUE, MAXIMUM):
        return None
    own = partial(_ends, statistic, observed=observed)

    def ends(results: Sequence[Result], level: float) -> tuple[float, float, float] | None:
        """Return the statistic of the row where it is largest."""
        rows = [own(row, level) for row in case.by_row(results)]
        return None if None in rows else max(filter(None, rows))

    return _of_samples(case, ends, ratio, observed=observed)


_Ends = Callable[[Sequence[Result], float], tuple[float, float, float] | None]


def _of_samples(
    case: JudgedCase, ends: _Ends, ratio: bool, *, observed: bool = False
) -> Callable[[float], Interval | None] | None:
    """Return the interval of other - first from the samples themselves, at a level.

    None if the scatter of runs includes it already, being from runs as long as these.  Where
    activations were missed it may not: a percentile that stalls just reach, or just do not, jumps.
    Runs that are shorter than those, and too short for an interval, may be anything.
    ``ends``: returns a value with its interval.
    """
    sets = [[r for results in side.runs for r in results] for side in (case.first, case.other)]
    several = all(sum(map(bool, side.runs)) > 1 for side in (case.first, case.other))
    lossy = not observed and any(result.missed for results in sets for result in results)
    shorter = _shorter(sets, case)
    if several or not (lossy or shorter):
        return None
    open_ended = shorter and any(case.noise)

    def interval(level: float) -> Interval | None:
        first, other = (ends(results, level) for results in sets)
        if first is None or other is None:
            unsure = [(sets[0], first), (sets[1], other)]
            lost = any(r.missed for results, side in unsure if side is None for r in results)
            return (-inf, inf) if open_ended or (lossy and lost) else None
        if not ratio:
            return difference_interval(first, other)
        return ratio_interval(first, other)

    return interval


def _ends(
    statistic: str, results: Sequence[Result], level: float, *, observed: bool = False
) -> tuple[float, float, float] | None:
    """Return a statistic with its interval, from the samples."""
    from rtstone.results.estimates import estimate, estimate_whole

    interval = (estimate if observed else estimate_whole)(results, statistic, level)
    return interval[:3] if interval else None


def _shorter(sets: Sequence[Sequence[Result]], case: JudgedCase) -> bool:
    """Return whether runs are shorter than those that show the noise, or if there are none."""
    sizes = [sum(r.n for r in results) for results in case.noise if results]
    least = min(sum(r.n for r in results) for results in sets)
    return not sizes or least < _FEWER * min(sizes)


def difference_interval(
    first: tuple[float, float, float], other: tuple[float, float, float]
) -> Interval:
    """Return the interval of the difference by the method of variance estimates recovery.

    Donner and Zou, Closed-form confidence intervals for functions of the normal mean and standard
    deviation, Statistical Methods in Medical Research 21 (2012), section 2.
    """
    (a, a_low, a_high), (b, b_low, b_high) = first, other
    apart = b - a
    return (
        apart - ((b - b_low) ** 2 + (a_high - a) ** 2) ** 0.5,
        apart + ((b_high - b) ** 2 + (a - a_low) ** 2) ** 0.5,
    )


def ratio_interval(
    first: tuple[float, float, float], other: tuple[float, float, float]
) -> Interval:
    """Return the interval of the logarithm of other / first, by the same method."""
    if first[1] <= 0 or other[1] <= 0:  # the ratio may be anything
        return -inf, inf
    (a, a_low, a_high), (b, b_low, b_high) = (map(log, ends) for ends in (first, other))
    return difference_interval((a, a_low, a_high), (b, b_low, b_high))


# ---- effects as documents have them -------------------------------------------------------------


def _with_verdict(effect: Effect, sides: Sides, alpha: float, better: int, samples: int) -> Effect:
    judged = judge(sides, alpha, better)
    missing = None if judged.factor is None else round(samples * (judged.factor - 1)) or None
    effect = structs.replace(
        effect, verdict=judged.verdict, missing=missing, reason=judged.reason, basis=judged.basis,
        runs=judged.runs, pairs=judged.pairs,
    )  # fmt: skip
    if sides.ratio:
        return _ratio(effect, judged)
    bounded = judged.interval and max(map(abs, judged.interval)) < inf
    ends = judged.interval if bounded else None
    return structs.replace(effect, difference=judged.centre, difference_ci95=ends)


def _ratio(effect: Effect, judged: Judged) -> Effect:
    """Return an effect with its ratio, interval and floor, from logarithms."""
    ends = None
    # With two or three runs an interval may exceed all floats, and is then left out.
    if judged.interval and max(map(abs, judged.interval)) < _MOST:
        ends = exp(judged.interval[0]), exp(judged.interval[1])
    floor = None if judged.floor is None or judged.floor > _MOST else expm1(judged.floor)
    effect = structs.replace(effect, ratio=exp(judged.centre), ci95=ends, floor=floor)
    if judged.verdict == "inconclusive" and ends and floor is not None and ends[0] < 1 < ends[1]:
        most = effect.possible
        effect = structs.replace(effect, within=most if most and most <= WIDEST else None)
    return effect


def judged_alone(
    values: tuple[Sequence[float], Sequence[float]], effect: Effect, better: int,
    *, tick: float, exact: bool,
) -> Effect:  # fmt: skip
    """Return an effect with its verdict, which is judged alone, from a value per run of each side.

    ``effect``: describes the values.  ``tick``: as of a side.  ``exact``: another run of either
    side would only repeat its value.
    """
    first, other = values
    ratio = scale([*first, *other])
    step = 0.0 if exact else _step(tick, [*first, *other], ratio)
    a, b = (_logarithms(side) if ratio else list(side) for side in values)
    sides = Sides(
        a, b, ratio, tail=effect.part != "median", exact=(exact, exact), resolution=step,
        counted=exact,
    )  # fmt: skip
    return _with_verdict(effect, sides, (1 - KEPT) * LEVEL, better, 0)


def beside_constant(
    effect: Effect,
    constant: tuple[float, float, float],
    other: tuple[float, Callable[[float], Estimate | None]],
    better: int,
    together: int,
) -> Effect:
    """Return an effect beside a number of which nothing is known but how it is rounded.

    ``constant``: the number, and the ends of what rounds to it, all above zero.  ``other``: a value
    above zero, and its interval at a level.  ``together``: number of effects judged together.  How
    far the runs scatter that the number is from is unknown, so that the verdicts are those of two
    single runs without a noise floor.
    """
    value, estimated = other

    def within(level: float) -> Interval | None:
        ends = estimated(level)
        if ends is None or ends.low <= 0:
            return None
        return ratio_interval(constant, ends[:3])

    sides = Sides([log(constant[0])], [log(value)], ratio=True, within=within)
    alpha = (1 - KEPT) * LEVEL / max(together, 1)
    return structs.replace(
        _with_verdict(effect, sides, alpha, better, 0), values=(constant[0], value)
    )
