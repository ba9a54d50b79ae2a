"""Which parts of a load cause a worst case, from randomised blocks of its arrangements.

Values are compared as logarithms, less the median of their block, so that what makes a whole block
slow decides nothing.  A ratio is the median of all ratios between a value of one arrangement and a
value of the other (Hodges and Lehmann), and its interval that of the rank-sum test, exact for any
distribution.  The level is divided by the number of comparisons of a case: all its intervals, and
so all its verdicts, hold together with 95%.

What counts is half of what the whole load adds.  A part alone is the cause if its interval lies
above 1 and its ratio says that it adds that much; it is not if the interval ends below that.  It is
needed if without it that much is gone, likewise.

Counts of instructions have no noise: a board repeats them for ever.  There the blocks are courses
of events that differ in how the load lies to the releases, each a fact, and no interval says what
another one would be.  A verdict is then what holds whichever of the blocks are compared: a part
alone is the cause if its smallest value reaches half of what the whole load adds at most, and it is
not if its largest stays below half of what the load adds at least, likewise without it.  What
depends on the blocks stays undetermined.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache
from math import comb, exp, log
from statistics import median
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.attribution import (
    AttributedCase,
    Attribution,
    PartEffect,
    Ratio,
    Statistic,
    Verdict,
)
from rtstone.documents.case_key import CaseKey, case_key
from rtstone.documents.plan import NONE
from rtstone.documents.run import Result
from rtstone.results.omitted import whole
from rtstone.results.ticks import INSTRUCTIONS

LEVEL = 0.05
PHASES = 2  # blocks of an arrangement, at least, of which an exact verdict can hold
STATISTICS: tuple[Statistic, ...] = ("max", "p999")

_Values = dict[str, dict[int, float]]  # by load and block


def attributed(design: Attribution, results: Iterable[Result]) -> Attribution:
    """Return the design with a verdict on each part for each case and statistic."""
    groups: dict[CaseKey, list[Result]] = defaultdict(list)
    for result in results:
        groups[case_key(result.bench, result.params, result.series)].append(result)
    cases = []
    for members in groups.values():
        by_block = _by_block(members)
        for statistic in STATISTICS:
            values: _Values = defaultdict(dict)
            for load, block, result in by_block:
                if (value := _value(result, statistic)) is not None:
                    values[load][block] = value
            if values or statistic == STATISTICS[0]:
                cases.append(_case(design, members, statistic, values))
    return structs.replace(design, cases=cases)


def _by_block(members: Sequence[Result]) -> list[tuple[str, int, Result]]:
    """Return the results of a case with load and block: each load runs once in each block."""
    times: dict[str, int] = defaultdict(int)
    placed = []
    for result in sorted(members, key=lambda member: member.case):
        placed.append((result.load, times[result.load], result))
        times[result.load] += 1
    return placed


def _value(result: Result, statistic: Statistic) -> float | None:
    if result.status != "ok" or not result.n:
        return None
    value: float | None = getattr(whole(result), statistic)
    return value


def _case(
    design: Attribution, members: Sequence[Result], statistic: Statistic, values: _Values
) -> AttributedCase:
    first = members[0]
    unit = next((member.unit for member in members if member.n), first.unit)
    measured = sum(map(len, values.values()))
    case = AttributedCase(
        case=first.case, bench=first.bench, params=first.params, series=first.series,
        statistic=statistic, unit=unit,
        parts=[
            PartEffect(part=part, verdict="undetermined", alone=None, needed=None)
            for part in design.parts
        ],
        lost=sum(map(len, design.order)) - measured,
    )  # fmt: skip
    ends = [values.get(load, {}) for load in (NONE, design.load)]
    if not all(ends):
        which = "without load" if not ends[0] else f"under load {design.load}"
        return structs.replace(case, reason=f"no valid result {which}")
    if unit == INSTRUCTIONS:
        return _exact(design, case, values)
    none, all_ = (median(end.values()) for end in ends)
    case = structs.replace(case, none=none, all=all_)
    if min(value for by_block in values.values() for value in by_block.values()) <= 0:
        reason = "a value is not above 0, so that there are no ratios"
        return structs.replace(case, reason=reason)
    logs = _aligned(values)
    comparisons = 1 + 2 * len(design.parts)

    def ratio(over: str, under: str) -> _Shift | None:
        pair = logs.get(over, []), logs.get(under, [])
        return _shift(*pair, LEVEL / comparisons) if all(pair) else None

    entire = ratio(design.load, NONE)
    assert entire is not None
    raised = entire.low is not None and entire.low > 0
    middle = log((1 + exp(entire.value)) / 2)  # of none and all, over none
    parts = []
    for part in design.parts:
        alone = ratio(design.alone[part], NONE)
        needed = ratio(design.load, design.without[part])
        verdict: Verdict = "undetermined"
        if raised:
            verdict = _verdict(_effect(alone, middle), _effect(needed, entire.value - middle))
        parts.append(
            PartEffect(
                part=part, verdict=verdict, alone=_ratio(alone), needed=_ratio(needed),
                largest_alone=_largest(values, design.alone[part]),
                largest_without=_largest(values, design.without[part]),
            )
        )  # fmt: skip
    reason = ""
    if entire.low is None:
        reason = f"too few blocks for {comparisons} comparisons that hold together"
    elif not raised:
        reason = f"load {design.load} as a whole does not raise it beyond doubt"
    return structs.replace(case, whole=_ratio(entire), parts=parts, reason=reason)


def _largest(values: _Values, load: str) -> float | None:
    return max(values.get(load, {}).values(), default=None)


class _Range(NamedTuple):
    """The smallest and the largest of the values of an arrangement."""

    low: float
    high: float


def _range(values: _Values, load: str) -> _Range | None:
    """Return the range of an arrangement's values, None if there are too few."""
    of_blocks = values.get(load, {}).values()
    return _Range(min(of_blocks), max(of_blocks)) if len(of_blocks) >= PHASES else None


def _exact(design: Attribution, case: AttributedCase, values: _Values) -> AttributedCase:
    """Return a case of exact counts with the verdicts that hold whichever blocks are compared."""
    case = structs.replace(
        case, exact=True, none=_largest(values, NONE), all=_largest(values, design.load)
    )
    none, all_ = _range(values, NONE), _range(values, design.load)
    if none is None or all_ is None:
        which = "without load" if none is None else f"under load {design.load}"
        return structs.replace(case, reason=f"fewer than {PHASES} valid results {which}")
    raised = all_.low > none.high
    # Half of what the whole load adds, from the blocks that make it least, and most.
    half = _Range((all_.low + none.low) / 2, (all_.high + none.high) / 2)
    parts = []
    for part in design.parts:
        alone, without = _range(values, design.alone[part]), _range(values, design.without[part])
        verdict: Verdict = "undetermined"
        if raised:
            verdict = _verdict(_reaches(alone, half), _falls(without, half))
        parts.append(
            PartEffect(
                part=part, verdict=verdict,
                alone=_ratios(alone, none), needed=_ratios(all_, without),
                largest_alone=_largest(values, design.alone[part]),
                largest_without=_largest(values, design.without[part]),
            )
        )  # fmt: skip
    reason = "" if raised else f"load {design.load} as a whole does not raise it in every block"
    return structs.replace(case, whole=_ratios(all_, none), parts=parts, reason=reason)


def _reaches(alone: _Range | None, half: _Range) -> bool | None:
    """Return whether a part alone adds half, None if that depends on the blocks."""
    if alone is None:
        return None
    return True if alone.low >= half.high else False if alone.high < half.low else None


def _falls(without: _Range | None, half: _Range) -> bool | None:
    """Return whether half is gone without a part, None if that depends on the blocks."""
    if without is None:
        return None
    return True if without.high <= half.low else False if without.low > half.high else None


def _ratios(over: _Range | None, under: _Range | None) -> Ratio | None:
    """Return the ratio of the largest, and the ends of those of any two blocks."""
    if over is None or under is None or under.low <= 0:
        return None
    return Ratio(
        value=over.high / under.high, low=over.low / under.high, high=over.high / under.low
    )


def _aligned(values: _Values) -> dict[str, list[float]]:
    """Return by load the logarithms less the median of their block."""
    blocks: dict[int, list[float]] = defaultdict(list)
    for by_block in values.values():
        for block, value in by_block.items():
            blocks[block].append(log(value))
    middles = {block: median(logs) for block, logs in blocks.items()}
    return {
        load: [log(value) - middles[block] for block, value in by_block.items()]
        for load, by_block in values.items()
    }


class _Shift(NamedTuple):
    """A difference of logarithms with its interval, whose ends are None with too few values."""

    value: float
    low: float | None
    high: float | None


def _shift(over: Sequence[float], under: Sequence[float], level: float) -> _Shift:
    """Return how far one sample lies above another, with the interval of the rank-sum test."""
    differences = sorted(a - b for a in over for b in under)
    skipped = _skipped(len(over), len(under), level / 2)
    value = median(differences)
    if skipped is None:
        return _Shift(value, None, None)
    return _Shift(value, differences[skipped], differences[-1 - skipped])


@cache
def _skipped(m: int, n: int, tail: float) -> int | None:
    """Return how many of the m n differences lie beyond the end of an interval; None: too few.

    The rank-sum statistic counts them; it is at most u in as many of the comb(m + n, n) orders as
    there are partitions of 0 to u into at most m parts, none larger than n.
    """
    ways = [1] + [0] * (m * n)  # coefficients of the Gaussian binomial of m + n over n
    for i in range(1, m + 1):
        for u in range(m * n, n + i - 1, -1):
            ways[u] -= ways[u - n - i]
        for u in range(i, m * n + 1):
            ways[u] += ways[u - i]
    chance, skipped = 0.0, None
    for u, way in enumerate(ways):
        chance += way / comb(m + n, n)
        if chance > tail:
            break
        skipped = u
    return skipped


def _effect(shift: _Shift | None, half: float) -> bool | None:
    """Return whether a shift is at least ``half``, None if the values do not decide."""
    if shift is None or shift.low is None or shift.high is None:
        return None
    if shift.low > 0 and shift.value >= half:
        return True
    return False if shift.high < half else None


def _verdict(alone: bool | None, needed: bool | None) -> Verdict:
    if alone:
        return "causes it alone, not without it" if needed else "causes it alone"
    if needed:
        return "not without it" if alone is None else "in company only"
    return "not its cause" if alone is False and needed is False else "undetermined"


def _ratio(shift: _Shift | None) -> Ratio | None:
    if shift is None:
        return None
    low, high = (None if end is None else exp(end) for end in (shift.low, shift.high))
    return Ratio(value=exp(shift.value), low=low, high=high)
