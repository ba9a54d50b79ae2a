"""Judge the statements of a publication's prose by the numbers that decide them.

A statement holds if each of its numbers lies between two limits.  Whether it does is decided by the
number's interval: that of the statistic, or of the ratio of two, as comparisons have it; where the
interval reaches over a limit, the statement is undetermined.  A maximum is the largest of some
samples, so that its interval has no upper end but that of an estimated worst case.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import exp, inf, isfinite, log, sqrt
from statistics import fmean
from typing import Literal, NamedTuple

from msgspec import structs

from rtstone.documents.case_key import ANOTHER_RUN, CaseKey, case_key
from rtstone.documents.case_name import setting
from rtstone.documents.comparison import Effect
from rtstone.documents.plan import NONE
from rtstone.documents.reproduction import Judgement, Printed, Statement, Then
from rtstone.documents.run import NO_REASON, Result, Value
from rtstone.results.estimates import estimate_whole, too_few
from rtstone.results.interval import sample_variance, t_quantile
from rtstone.results.omitted import whole
from rtstone.results.pool import pooled
from rtstone.results.slope import fit
from rtstone.stats.comparison.conditions import counted
from rtstone.stats.comparison.direction import SMALLER
from rtstone.stats.comparison.effects import LEVEL
from rtstone.stats.comparison.judgement import side, tick
from rtstone.stats.comparison.systems import System
from rtstone.stats.comparison.verdicts import (
    JudgedCase,
    judged,
    judged_alone,
    ratio_interval,
)
from rtstone.stats.published import find, layout, selection
from rtstone.stats.published.layout import Here, Show
from rtstone.stats.worstcase.extremes import worst_case
from rtstone.summary import ESTIMATED, LABELS, MEDIAN
from rtstone.units import CLOCK
from rtstone.units import counted as number_of

LINUX, RTOS = "Linux", "RTOS"
NOT_TIME = "instructions are counted, not time"
ONE_NUMBER = "a single number has no interval; name several runs of the system"
NO_BOUND = "the largest of {n} samples is no bound; show --worst-case says what it takes for one"
PAIR = "compares a system with Linux: name a target that is Linux, and one that is not"

_ABOUT = {LINUX: LINUX, RTOS: "systems that are not Linux"}

_NAMED = 3  # cases that a reason names
_SPREAD = 2  # samples that have a smallest and a largest

Same = Literal["yes", "no", "undetermined"]


def _kind(system: System) -> str:
    """Return ``LINUX`` or ``RTOS``, which is every other system."""
    agent = system.first.agent
    return LINUX if agent and agent.os.startswith(LINUX) else RTOS


def _exact(system: System) -> bool:
    """Return whether its numbers depend on nothing but the system, and are of one run of it."""
    return len(system.runs) == 1 and counted(system.first)


class _Measure(NamedTuple):
    """A number with its interval; ``case``: what sets it apart from the others of a statement.

    ``reason``: why its interval has no end, or why there is no number.  ``absent``: the system has
    nothing that it could be of.
    """

    value: float | None
    low: float = -inf
    high: float = inf
    reason: str | None = None
    case: str = ""
    absent: bool = False


def statements(source: str, columns: Sequence[System]) -> list[Statement]:
    """Return the statements of a publication, judged on today's systems."""
    return [_statement(source, wanted, columns) for wanted in layout.layout(source).statement]


def _statement(source: str, wanted: layout.Statement, columns: Sequence[System]) -> Statement:
    records = wanted.records(source)
    return Statement(
        words=wanted.words or "; ".join(str(record.value) for record in records),
        table=wanted.table,
        said=records,
        about=wanted.about,
        meaning=wanted.meaning,
        unit=wanted.unit,
        scope=wanted.scope,
        least=wanted.least,
        most=wanted.most,
        then=list(_then(source, wanted)),
        here=[]
        if wanted.lacks
        else [_judgement(source, wanted, place, columns) for place in range(len(columns))],
        lacks=wanted.lacks,
    )


# ---- then ---------------------------------------------------------------------------------------


def _then(source: str, wanted: layout.Statement) -> Iterator[Then]:
    """Yield what the published numbers of each system say, by the rule of today's."""
    pairs: dict[str, list[tuple[float | None, Printed, Printed | None]]] = defaultdict(list)
    for number in wanted.number:
        if number.printed is None:
            continue
        below = number.printed_against
        for record in find(source, **(wanted.printed | number.printed)):
            beside = None
            if below is not None:
                beside = find(source, **(wanted.printed | below | {"system": record.system}))[0]
            pairs[record.system].append((number.at, record, beside))
    for system, numbers in pairs.items():
        texts = [record.value for _, record, _ in numbers if isinstance(record.value, str)]
        if texts:
            unit = numbers[0][1].unit
            yield Then(system=system, value=f"{'; '.join(texts)} {unit or ''}".rstrip())
            continue
        values = list(_printed_values(wanted, numbers))
        if values:
            low, most = min(values), max(values)
            holds = all(_within(value, wanted) for value in values)
            yield Then(system=system, value=low, most=most if most != low else None, same=holds)


def _printed_values(
    wanted: layout.Statement, numbers: Sequence[tuple[float | None, Printed, Printed | None]]
) -> Iterator[float]:
    """Yield the numbers of a system, of those that were printed."""
    values = [
        (at, record.value, below.value if below else None, record.unit)
        for at, record, below in numbers
        if isinstance(record.value, int | float)
    ]
    if wanted.rule == "growth":
        points = [(at, float(value)) for at, value, _, _ in values if at is not None]
        if (line := fit(points)) is not None:
            yield _growth(points, line.slope)
        return
    for _, value, below, unit in values:
        if isinstance(below, int | float):
            yield value / below
        elif unit in CLOCK and wanted.unit in CLOCK:
            yield value * CLOCK[unit] / CLOCK[wanted.unit]
        else:
            yield value


def _growth(points: Sequence[tuple[float, float]], slope: float) -> float:
    """Return how many times as much the largest x takes as the smallest, on a line of a slope."""
    (least, start), most = min(points), max(points)[0]
    return 1 + slope * (most - least) / start


def _within(value: float, wanted: layout.Statement) -> bool:
    low = -inf if wanted.least is None else wanted.least
    return low <= value <= (inf if wanted.most is None else wanted.most)


# ---- here ---------------------------------------------------------------------------------------


def _judgement(
    source: str, wanted: layout.Statement, place: int, columns: Sequence[System]
) -> Judgement:
    """Return whether a statement holds on a system."""
    column = columns[place]
    if wanted.about and _kind(column) != wanted.about:
        return Judgement(column=place, same=None, reason=f"is about {_ABOUT[wanted.about]}")
    if column.model and (why := _unmodelled(source, wanted)):
        return Judgement(column=place, same="undetermined", reason=f"not modelled: {why}")
    if wanted.rule == "systems":
        linux = next((other for other in columns if _kind(other) == LINUX), None)
        if linux is None or not any(_kind(other) != LINUX for other in columns):
            return Judgement(column=place, same="undetermined", reason=PAIR)
        if _kind(column) == LINUX:
            why = "is what the others are compared with" if column is linux else "is Linux as well"
            return Judgement(column=place, same=None, reason=why)
        measures = list(_between(wanted, column, linux))
    else:
        # Together the intervals are wrong in no more than LEVEL of all statements.
        number = sum(1 for _ in _measures(wanted, column, 1 - LEVEL))
        measures = list(_measures(wanted, column, 1 - LEVEL / max(number, 1)))
    return _together(wanted, place, measures)


def _unmodelled(source: str, wanted: layout.Statement) -> str:
    """Return why the models of a publication have no number for a statement, empty if they may."""
    heres = [here for number in wanted.number for here in (number.here, number.against) if here]
    places = layout.unmodelled(source)
    for here in (here.within(wanted.here) for here in heres):
        for place, reason in places:
            same = (place.bench, place.load) == (here.bench, here.load)
            if same and all(here.params.get(k, v) == v for k, v in place.params.items()):
                return reason
    return ""


def _together(wanted: layout.Statement, place: int, measures: Sequence[_Measure]) -> Judgement:
    """Return the judgement of several numbers: all of them, or any, have to keep the limits."""
    valued = [(m, m.value) for m in measures if m.value is not None]
    lacking = [m for m in measures if m.value is None]
    if not valued:
        reasons = dict.fromkeys(m.reason or NO_REASON for m in lacking)
        return Judgement(column=place, same="undetermined", reason="; ".join(reasons) or NO_REASON)
    verdicts: dict[Same, list[_Measure]] = {"yes": [], "no": [], "undetermined": []}
    for measure, _ in valued:
        verdicts[_same(measure, wanted)].append(measure)
    verdicts["undetermined"] += [m for m in lacking if not m.absent]
    order: tuple[Same, ...] = ("no", "undetermined", "yes")
    if wanted.scope == "any":
        order = ("yes", "undetermined", "no")
    same = next(verdict for verdict in order if verdicts[verdict])
    if same == order[0]:  # which those that keep the limit, or do not, decide alone
        valued = [(m, value) for m, value in valued if m in verdicts[same]]
    low, most = min(value for _, value in valued), max(value for _, value in valued)
    ends = min(m.low for m, _ in valued), max(m.high for m, _ in valued)
    return Judgement(
        column=place,
        same=same,
        value=low,
        most=most if most != low else None,
        low=ends[0] if isfinite(ends[0]) else None,
        high=ends[1] if isfinite(ends[1]) else None,
        reason="; ".join(_reasons(same, verdicts, len(measures), wanted.scope)) or None,
        numbers=len(valued),
    )


def _same(measure: _Measure, wanted: layout.Statement) -> Same:
    least = -inf if wanted.least is None else wanted.least
    most = inf if wanted.most is None else wanted.most
    if measure.high < least or measure.low > most:
        return "no"
    return "yes" if least <= measure.low and measure.high <= most else "undetermined"


def _reasons(
    same: Same, verdicts: dict[Same, list[_Measure]], number: int, scope: str
) -> Iterator[str]:
    """Yield why several numbers make this judgement, by those of them that do."""
    if same == ("no" if scope == "any" else "yes"):
        return
    deciding = verdicts[same]
    if len(deciding) < number:
        cases = list(filter(None, dict.fromkeys(m.case for m in deciding)))
        if len(cases) > _NAMED:
            cases[_NAMED:] = [f"and {len(cases) - _NAMED} others"]
        names = f": {'; '.join(cases)}" if cases else ""
        verb = {"yes": "holds", "no": "does not hold", "undetermined": "is undetermined"}[same]
        yield f"{verb} in {len(deciding)} of {number_of(number, 'case')}{names}"
    if same == "undetermined":
        yield from dict.fromkeys(
            m.reason or "the interval reaches over the limit" for m in deciding
        )


def _measures(wanted: layout.Statement, column: System, level: float) -> Iterator[_Measure]:
    """Yield the numbers of a system, one for each case that is selected."""
    seen: list[layout.Here] = []
    for number in wanted.number:
        here = number.here.within(wanted.here)
        if wanted.rule == "growth" and here in seen:  # another printed point of the same line
            continue
        seen.append(here)
        cases = _cases(here, column)
        if isinstance(cases, _Measure):
            yield cases
            continue
        if wanted.rule == "growth":
            yield from _slopes(here, column, level)
            continue
        varying = _varying(cases)
        below = None if number.against is None else _cases(number.against.within(here), column)
        if isinstance(below, _Measure):
            yield below
            continue
        for results in cases:
            case = _named(results[0], varying, column)
            first = _statistic(here.show[0], results, column, level, wanted.unit)
            if below is not None:
                beside = [
                    pair for pair in below
                    if all(pair[0].params.get(k) == results[0].params.get(k) for k in varying)
                ]  # fmt: skip
                if not beside:
                    yield _Measure(None, reason="nothing to compare it with", case=case)
                    continue
                show = (number.against or here).show or here.show
                first = _ratio(first, _statistic(show[0], beside[0], column, level, wanted.unit))
            elif len(here.show) > 1:
                first = _ratio(first, _statistic(here.show[1], results, column, level, wanted.unit))
            yield first._replace(case=case)


def _cases(here: Here, column: System) -> list[list[Result]] | _Measure:
    """Return the results that a place selects by case, or why there are none.

    A model of a system in one configuration has its numbers under that of one CPU, as in tables.
    """
    config, wanted = column.first.target.detail.get("config"), here.params.get("config")
    if config and wanted:
        if wanted != config:
            return _Measure(None, reason=f"is a model of configuration {config}", absent=True)
        here = structs.replace(here, params={**here.params, "config": "1cpu"})
    results = selection.picked(here, column.runs)
    valued = [r for r in results if r.status == "ok" and (r.n or r.figures or r.tables)]
    if valued:
        cases: dict[CaseKey, list[Result]] = defaultdict(list)
        for result in valued:
            key = case_key(result.bench, result.params, result.series, result.load)
            cases[key].append(result)
        return list(cases.values())
    if results:
        reason = results[0].reason or NO_REASON
        absent = all(result.status == "unsupported" for result in results)
        return _Measure(None, reason=f"{results[0].status}: {reason}", absent=absent)
    status, reason = selection.absence(here, column.runs)
    return _Measure(None, reason=f"{status}: {reason}", absent=status == "unsupported")


def _varying(cases: Sequence[Sequence[Result]]) -> list[str]:
    """Return the parameters that set cases apart."""
    values: dict[str, set[Value]] = defaultdict(set)
    for results in cases:
        for name, value in results[0].params.items():
            values[name].add(value)
    return [
        name for name, several in values.items() if len(several) > 1 and name not in ANOTHER_RUN
    ]


def _named(result: Result, varying: Sequence[str], column: System) -> str:
    """Return a case in words, by what sets it apart: ``mem.memset size=1KiB``."""
    table = next((b for run in column.runs for b in run.benches if b.id == result.bench), None)
    settings = [f"{name}={setting(table, name, result.params.get(name))}" for name in varying]
    load = "" if result.load == NONE else f", load {result.load}"
    return " ".join(filter(None, [result.bench, *settings, result.series])) + load


# ---- numbers with their intervals ---------------------------------------------------------------


def _statistic(
    show: str | Show, results: Sequence[Result], column: System, level: float, unit: str | None
) -> _Measure:
    """Return a statistic, figure or field of the results of a case, in a unit if it is a time."""
    if not isinstance(show, str):
        return _of_figure(show, results, column, level, unit)
    sampled = [result for result in results if result.n]
    together = pooled([whole(result) for result in sampled]) if sampled else None
    value = getattr(together, show) if together else None
    if value is None or together is None or (show in {"min", "max"} and together.n < _SPREAD):
        n = sum(result.n for result in sampled)
        return _Measure(None, reason=f"no {LABELS[show]} of {number_of(n, 'sample')}")
    ends, reason = (-inf, inf), None
    if _exact(column):
        ends = value, value
    elif show in ESTIMATED:
        estimated = estimate_whole(sampled, show, level)
        if estimated is None:
            reason = too_few(sampled, show, level)
        else:
            ends = estimated.low, estimated.high
    elif show == "max":
        bound = worst_case(sampled).bound
        ends = value, inf if bound is None else bound
        reason = NO_BOUND.format(n=together.n) if bound is None else None
    elif show == "min":
        ends = -inf, value
        reason = "a longer measurement may have a smaller minimum"
    return _in_unit(_Measure(value, *ends, reason), sampled[0].unit, unit)


def _of_figure(
    show: Show, results: Sequence[Result], column: System, level: float, unit: str | None
) -> _Measure:
    """Return a figure, or a parameter or number in a table of texts: facts, which are certain."""
    if show.param is not None:
        value = results[0].params.get(show.param)
        if not isinstance(value, int | float):
            return _Measure(None, reason=f"no parameter '{show.param}'")
        return _Measure(value, value, value)
    if show.table is not None:
        cells = [
            dict(zip(table.columns, row, strict=True))
            for result in results for table in result.tables if table.title == show.table
            for row in table.rows
        ]  # fmt: skip
        texts = [
            row[show.column] for row in cells
            if all(row.get(key) == value for key, value in show.where.items())
        ]  # fmt: skip
        numbers = [float(text) for text in texts[:1] if text.replace(".", "", 1).isdigit()]
        if not numbers:
            return _Measure(None, reason=f"no number in its table '{show.table}'")
        return _Measure(numbers[0], numbers[0], numbers[0])
    figures = [
        next((r.figures[name] for name in show.figure if name in r.figures), None) for r in results
    ]
    values = [figure.value for figure in figures if figure and figure.value is not None]
    if not values:
        return _Measure(None, reason=f"no figure '{show.figure[0]}'")
    value = fmean(values)
    measure = _Measure(value, reason=ONE_NUMBER)
    if _exact(column):
        measure = _Measure(value, min(values), max(values))
    elif len(values) > 1:
        half = t_quantile(level, len(values) - 1) * sqrt(sample_variance(values) / len(values))
        measure = _Measure(value, value - half, value + half)
    return _in_unit(measure, next(f.unit for f in figures if f), unit)


def _in_unit(measure: _Measure, unit: str, wanted: str | None) -> _Measure:
    """Return a number in another unit of time."""
    if wanted not in CLOCK or measure.value is None:
        return measure
    if unit not in CLOCK:
        return _Measure(None, reason=NOT_TIME)
    factor = CLOCK[unit] / CLOCK[wanted]
    return measure._replace(
        value=measure.value * factor, low=measure.low * factor, high=measure.high * factor
    )


def _ratio(above: _Measure, below: _Measure) -> _Measure:
    """Return the ratio of two numbers; of samples that depend on each other it is wider than it is.

    By the method of variance estimates recovery; where an end is unknown, by the ends alone.
    """
    lacking = next((m for m in (above, below) if m.value is None), None)
    if lacking is not None or above.value is None or below.value is None:
        return lacking or above
    if above.value <= 0 or below.value <= 0:
        return _Measure(None, reason="a number that is not above zero has no ratio")
    value, reason = above.value / below.value, above.reason or below.reason
    if all(map(isfinite, (above.low, above.high, below.low, below.high))):
        ends = ratio_interval(below[:3], above[:3])  # type: ignore[arg-type]
        if isfinite(ends[0]):
            value, low, high = map(_from_log, (log(value), *ends))
            return _Measure(value, low, high, reason)
    low = above.low / below.high if above.low > 0 and isfinite(below.high) else -inf
    return _Measure(value, low, above.high / below.low if below.low > 0 else inf, reason)


def _from_log(logarithm: float) -> float:
    """Return a ratio to twelve digits, which its logarithm has."""
    return float(f"{exp(logarithm):.12g}")


def _slopes(here: Here, column: System, level: float) -> Iterator[_Measure]:
    """Yield how many times as much the most of a parameter takes as the least, by each slope."""
    every = selection.slopes(selection.picked(here, column.runs), column.runs)
    show = here.show[0]
    names = {show} if isinstance(show, str) else set(show.figure)
    slopes = [slope for slope in every if (slope.figure or slope.statistic) in names]
    if not every:
        yield _Measure(None, reason="no slope: it takes three values of the parameter or more")
    elif not slopes:
        fitted = ", ".join(dict.fromkeys(slope.figure or slope.statistic for slope in every))
        reason = f"the slope is of {fitted}, not of {', '.join(sorted(names))}: measure it anew"
        yield _Measure(None, reason=reason)
    for slope in slopes:
        line = fit(slope.points, level)
        if line is None or min(slope.points)[1] <= 0:
            yield _Measure(None, reason="no growth of what is not above zero")
            continue
        value, low, high = (_growth(slope.points, end) for end in (line.slope, line.low, line.high))
        yield _Measure(value, low, high)


# ---- of two systems -----------------------------------------------------------------------------


def _between(wanted: layout.Statement, column: System, linux: System) -> Iterator[_Measure]:
    """Yield the ratios of a system to Linux, judged as comparisons are."""
    for number in wanted.number:
        here = number.here.within(wanted.here)
        pair = [_cases(here, other) for other in (linux, column)]
        lacking = next((cases for cases in pair if isinstance(cases, _Measure)), None)
        if lacking is not None:
            yield lacking
            continue
        first, other = (cases for cases in pair if not isinstance(cases, _Measure))
        varying = list(dict.fromkeys([*_varying(first), *_varying(other)]))
        for results in other:
            beside = [
                theirs for theirs in first
                if all(theirs[0].params.get(k) == results[0].params.get(k) for k in varying)
            ]  # fmt: skip
            case = _named(results[0], varying, column)
            if not beside:
                yield _Measure(None, reason="Linux was not measured so", case=case)
            elif beside[0][0].unit != results[0].unit:
                yield _Measure(None, reason=NOT_TIME, case=case)
            else:
                sides = (linux, beside[0]), (column, results)
                yield _compared(here.show, sides)._replace(case=case)


def _compared(
    show: Sequence[str | Show],
    sides: tuple[tuple[System, list[Result]], tuple[System, list[Result]]],
) -> _Measure:
    """Return the ratio of medians, or of the ratios of two statistics, second to first."""
    effect: Effect | None
    if list(show) == [MEDIAN]:
        first, other = (
            side(column, _by_run(column, results), column.label) for column, results in sides
        )
        case = JudgedCase(0, sides[1][0].label, None, SMALLER, first, other, False, [])
        effects, _ = judged([case])
        effect = next((effect for effect in effects[0] if effect.part == "median"), None)
    else:
        ratios = [list(_spreads(show, *pair)) for pair in sides]
        if not all(ratios):
            names = " or ".join(LABELS[name] for name in show if isinstance(name, str))
            return _Measure(None, reason=f"no {names} of so few samples")
        effect = judged_alone(
            (ratios[0], ratios[1]),
            Effect(
                part="tail", statistic="value", column=sides[1][0].label, verdict="inconclusive"
            ),
            SMALLER,
            tick=max(tick(column.first) for column, _ in sides),
            exact=all(_exact(column) for column, _ in sides),
        )
    if effect is None or effect.ratio is None:
        return _Measure(None, reason=(effect and effect.reason) or NO_REASON)
    value = _from_log(log(effect.ratio))
    if effect.verdict == "inconclusive" or effect.ci95 is None:
        return _Measure(value, reason=effect.reason or NO_REASON)
    low, high = (_from_log(log(end)) for end in effect.ci95)
    return _Measure(value, low, high)


def _by_run(column: System, results: Sequence[Result]) -> list[list[Result]]:
    own = set(map(id, results))
    return [[result for result in run.results if id(result) in own] for run in column.runs]


def _spreads(
    show: Sequence[str | Show], column: System, results: Sequence[Result]
) -> Iterator[float]:
    """Yield the ratio of two statistics of each run."""
    for own in _by_run(column, results):
        together = pooled([whole(result) for result in own if result.n])
        first, other = (getattr(together, str(name)) for name in show)
        if first and other and other > 0:
            yield first / other
