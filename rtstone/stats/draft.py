"""A budget drafted from runs: what one more shows at most, commented for who goes on with it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from statistics import fmean
from typing import NamedTuple

from rtstone.assemble.flags import INVALIDATING
from rtstone.assemble.omitted import FEWEST, interval, missed
from rtstone.documents.run import Run, Slope, Value
from rtstone.errors import UsageError
from rtstone.inputs.budget import SCHEMA
from rtstone.inputs.parameters import quantity as as_written
from rtstone.stats.cases import Case, cases, figure, label
from rtstone.stats.comparison.conditions import counted, mixed
from rtstone.stats.comparison.effects import LEVEL
from rtstone.stats.gate import CENSORED, UNMADE, Baseline, along, needed, point
from rtstone.stats.prediction import WIDEST, Rules, Seen
from rtstone.units import count, quantity, seconds
from rtstone.wire.records import Bench

_FINEST = -9  # power of ten of the smallest unit, below which nothing is told apart
_AMPLE = 5  # times the samples that a statistic needs, without which it is not limited
_SURE = 0.999  # the level of an interval that has to be there, where stalls decide
_SHORTER = 2  # how many times fewer samples the next run may have
_TAILS = ("p99", "p90", "p50")  # the highest that n allows is limited
_UNITS = {
    "ns": [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)],
    "instructions": [("M instr", 1e6), ("k instr", 1e3), ("instr", 1.0)],
}


def draft(runs: Sequence[Run], margin: float) -> str:
    """The text of a budget that one more run of the same system keeps.

    Raises UsageError if there is nothing to limit, or if the runs are not of one system.
    """
    if len({run.run_id for run in runs}) < len(runs):
        raise UsageError("a run is named twice; name runs that differ")
    if len(runs) > 1 and (why := mixed(runs)):
        raise UsageError(f"not runs of one system: {why}; draft a budget from runs that are")
    run, there = runs[0], cases(runs[0])
    others = [Baseline(run, [other]) for other in runs[1:]]
    drawn = [_Drawn(case, [case, *(c for o in others for c in o.cases(case))]) for case in there]
    least = run.clock.resolution_ns if run.clock else 0.0
    draw = _Draft(runs, drawn, margin, least)
    limits = [list(draw.limits(one)) for one in drawn]
    if not any(_limiting(told) for told in limits):
        raise UsageError(f"nothing to limit, run {run.run_id} has no valid result")
    tables = {table.id: table for table in run.benches}
    blocks = [_head(runs, margin)]
    for one, told in zip(drawn, limits, strict=True):
        case, table = one.case, tables.get(one.case.bench)
        name = " ".join(filter(None, (case.bench, label(case, table, there))))
        if not _limiting(told):
            why = one.lack(len(runs)) or "it has nothing to limit"
            blocks.append("\n".join([_comment(f"{name}, load {case.load}: {why}"), *told]))
            continue
        head = [_comment(f"{name}, load {case.load}: {_taken(one)}"), *_names(case, table, there)]
        blocks.append("\n".join([*head, *_accepts(one.flags), *told]))
    blocks += [
        _slope(slopes, tables.get(slopes[0].bench), there, draw)
        for slopes in (
            [slope, *(s for o in others for s in o.slopes(slope))] for slope in run.slopes
        )
        if len(slopes) == len(runs)
    ]
    return "\n\n".join(blocks) + "\n"


def from_too_few(runs: Sequence[Run]) -> str | None:
    """What to know of a draft from a single run; None if nothing."""
    if len(runs) > 1 or counted(runs[0]):
        return None
    return (
        "drafted from one run, which does not tell how runs differ: limits are "
        f"{WIDEST:g} times what it showed, and the tail has none; name five runs of the same system"
    )


def _limiting(lines: Sequence[str]) -> bool:
    return any(not line.startswith("#") for line in lines)


def _head(runs: Sequence[Run], margin: float) -> str:
    run, names = runs[0], ", ".join(run.run_id for run in runs)
    told = [
        f"Drafted from {'run' if len(runs) == 1 else 'runs'} {names} on target {run.target.name}, "
        f"{run.created}.",
    ]
    if counted(run) and len(runs) == 1:
        told.append(f"It repeats exactly: a limit is what the run showed, and {margin:.0%} more.")
    elif len(runs) == 1:
        told.append(from_too_few(runs) or "")
    else:
        told += [
            "A limit is what one more such run shows at most, predicted from how these differ:",
            f"an unchanged system keeps all limits in {1 - LEVEL:.0%} of its runs.  Of times it",
            f"leaves {margin:.0%} more.",
        ]
    told.append("Change what your system needs otherwise; parameters not named may be anything.")
    told += [
        f"Run {run.run_id} is incomplete: {run.reason}" for run in runs if run.status != "complete"
    ]
    title = f"title = {_text(f'As {names}')}"
    return "\n".join([*map(_comment, told), f'schema = "{SCHEMA}"', title])


def _taken(one: _Drawn) -> str:
    n = sum(case.n for case in one.runs)
    known = [case.section_s for case in one.runs if case.section_s]
    length = f" in {seconds(sum(known))}" if len(known) == len(one.runs) else ""
    of = f", {len(one.runs)} runs" if len(one.runs) > 1 else ""
    return f"n {count(n)}{length}{of}" if n else f"no samples{length}{of}"


# ---- which case ---------------------------------------------------------------------------------


def _names(case: Case, table: Bench | None, others: Sequence[Case]) -> Iterator[str]:
    """The keys that name a case: parameters that are no default, or in which cases differ."""
    yield "[[case]]"
    yield f"bench = {_text(case.bench)}"
    rest = [other for other in others if other.bench == case.bench and other.status is None]

    def tells(name: str, value: Value) -> bool:
        if value is None or value == "" or isinstance(value, list):
            return False
        if any(other.params.get(name) != value for other in rest):
            return True
        param = table.param(name) if table else None
        return name not in UNMADE and (param is None or param.default != value)

    told = {name: value for name, value in case.params.items() if tells(name, value)}
    if told:
        pairs = (f"{_key(name)} = {_written(table, name, v)}" for name, v in told.items())
        yield f"params = {{ {', '.join(pairs)} }}"
    if any(other.series for other in rest):
        yield f"series = {_text(case.series)}"
    yield f"loads = [{_text(case.load)}]"


def _written(table: Bench | None, name: str, value: Value) -> str:
    param = table.param(name) if table else None
    bare = param is not None and param.type == "int" and isinstance(value, int)
    return str(value) if bare else _text(as_written(param, value) if param else str(value))


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)


def _accepts(flags: Sequence[str]) -> Iterator[str]:
    if spoilt := sorted(INVALIDATING.intersection(flags)):
        yield _comment("Better mend this; until then nothing would be judged without:")
        yield f"accept = [{', '.join(map(_text, spoilt))}]"


# ---- which limits -------------------------------------------------------------------------------


class _Drawn(NamedTuple):
    """A case, and the same in each run that has it."""

    case: Case
    runs: list[Case]

    @property
    def flags(self) -> list[str]:
        """Of all runs, each once."""
        return list(dict.fromkeys(flag for case in self.runs for flag in case.flags))

    def lack(self, runs: int) -> str | None:
        """Why nothing can be said of it, None if something can."""
        if bad := next((case.status for case in self.runs if case.status), None):
            return bad
        return None if len(self.runs) == runs else f"in {len(self.runs)} of {runs} runs only"


class _Draft:
    """Draws the limits of cases, all of them together."""

    def __init__(
        self, runs: Sequence[Run], drawn: Sequence[_Drawn], margin: float, least: float
    ) -> None:
        self._number = len(runs)
        self._counted = counted(runs[0])
        self._exact = self._counted and len(runs) == 1
        self._margin, self._least = margin, least
        valid = [one for one in drawn if one.lack(self._number) is None]
        self._shown = {id(one): _shown(one) for one in valid}
        known = [seen for shown in self._shown.values() for seen in shown.values()]
        most = sum(2 * bool(shown) for shown in self._shown.values())
        most += sum(one.case.missed is not None for one in valid)
        most += sum(_breakdown(one.case) is not None for one in valid) + len(runs[0].slopes)
        self._rules = Rules(known, most)

    def limits(self, one: _Drawn) -> Iterator[str]:
        """Lines, of which comments are no limits; none for a case without a valid result."""
        if one.lack(self._number):
            return
        yield from self._statistics(one)
        yield from self._missed(one)
        largest = [_largest(case) for case in one.runs]
        if one.case.missed is not None and None not in largest:
            top = max(value for value in largest if value is not None)
            over = _rounded(top * (1 + self._margin), one.case.unit)
            told = f"max = {_text(over)}  # the largest was {quantity(top, one.case.unit)}"
            yield _comment(f"{told}; the next run's may well be larger")
        reached = [r for case in one.runs if (r := _breakdown(case)) is not None]
        if len(reached) == self._number:
            factor = self._factor(Seen("breakdown", [1 / r for r in reached if r > 0]), "p50")
            lowest = math.floor(_middle(reached) / factor / (1 + self._margin) * 10) / 10
            yield _comment(f"breakdown utilisation {_range(reached, '%')}")
            yield f'figures = {{ "breakdown utilisation" = ">= {max(lowest, 0):g}%" }}'

    def _statistics(self, one: _Drawn) -> Iterator[str]:
        """The highest percentile that the runs repeat well enough, and p99.9 if they do that."""
        shown, unit = self._shown[id(one)], one.case.unit
        told = {name: self._factor(seen, name) for name, seen in shown.items()}
        known = [name for name in told if told[name] < math.inf]
        tail = next((name for name in (*_TAILS, "mean", "max") if name in known), None)
        limited = list(dict.fromkeys(n for n in (tail, "p999") if n in known))
        if limited and limited != ["max"]:
            yield f"predicted_for_n = {max(min(case.n for case in one.runs) // _SHORTER, 1)}"
        for name in shown:
            if name not in known and name != "mean" and (tail is None or name > tail):
                yield _comment(f"{name} {_range(shown[name].values, unit)}: no limit would hold")
        for name in limited:
            few = "; too few samples for more" if name == "max" else ""
            yield _comment(f"{name} {_range(shown[name].values, unit)}{few}")
            middle = _middle(shown[name].values)
            top = middle + (told[name] - 1) * abs(middle)
            yield f"{name} = {_text(_above(top, unit, self._margin, self._least))}"

    def _factor(self, seen: Seen, name: str) -> float:
        if self._exact:
            return 1.0
        if name == "max" and not self._counted:  # the next one may be of any size
            return math.inf
        if self._number > 1:
            same = len(set(seen.values)) == 1
            return 1.0 if same and min(seen.values) <= 0 else self._rules.factor(seen)
        return WIDEST if name in ("p50", "mean") else math.inf

    def _missed(self, one: _Drawn) -> Iterator[str]:
        """A share of the activations; a count where nothing but the system is in the numbers."""
        found = [told for case in one.runs if (told := missed(case.results))]
        if len(found) < self._number:
            return
        number, due = sum(m.omitted for m in found), sum(m.due for m in found)
        yield _comment(f"{count(number)} of {count(due)} activations were missed; none should be")
        if self._exact or (self._counted and not number):
            yield f"missed = {number}"
        elif self._number == 1:
            yield f"missed = {_text(_percent(WIDEST * found[0].interval[1]))}"
        else:
            yield f"missed = {_text(_percent(self._rules.rate(found)))}"

    def slope(self, ends: Sequence[float]) -> float:
        """What a slope is limited to, by the upper ends of its intervals."""
        top = max(ends) if self._number == 1 else self._rules.above(ends)
        wide = self._margin if self._exact or self._number > 1 else WIDEST - 1
        return max(0.0, top + wide * abs(top))


def _shown(one: _Drawn) -> dict[str, Seen]:
    """The value in each run, by statistic, highest first; the maximum where there is no other.

    How values scatter from run to run holds what each of them is uncertain by.
    """
    found: dict[str, Seen] = {}
    for name in ("p999", *_TAILS, "mean"):
        if all(_repeats(case, name) for case in one.runs):
            told = [point(case, name) for case in one.runs]
            known = [value for value in told if value is not None]
            found |= {name: Seen(name, known)} if len(known) == len(told) else {}
    largest = [top for case in one.runs if (top := _largest(case)) is not None]
    if not found and len(largest) == len(one.runs):
        found["max"] = Seen("max", largest)
    return found


def _repeats(case: Case, name: str) -> bool:
    """Whether the next run is sure to have as much to tell a statistic by.

    Where activations were omitted that are stalls, of which a few may be in one run by chance.
    """
    ample = case.n >= _AMPLE * needed(name)
    if not any(result.missed for result in case.results):
        return ample
    return ample and interval(name, case.results, _SURE, 2 * FEWEST) is not None


def _middle(values: Sequence[float]) -> float:
    """The geometric mean; of values that have none the largest."""
    if min(values) <= 0:
        return max(values)
    return math.exp(fmean(map(math.log, values)))


def _range(values: Sequence[float], unit: str) -> str:
    """``37.9 µs to 38.4 µs``, from run to run; a single value where they do not differ."""
    return " to ".join(dict.fromkeys(quantity(v, unit) for v in (min(values), max(values))))


def _percent(share: float) -> str:
    """Two digits, rounded up."""
    percent = min(100 * share, 100.0)
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{Decimal(math.ceil(percent / step - 1e-9)) * Decimal(step):.2g}%"


def _breakdown(case: Case) -> float | None:
    """The utilisation that was reached, broken down there or not."""
    for name, upto in CENSORED.items():
        reached = figure(case, name) or figure(case, upto)
        if reached:
            return reached[0]
    return None


def _largest(case: Case) -> float | None:
    return max((r.max for r in case.results if r.max is not None), default=None)


def _slope(
    slopes: Sequence[Slope], table: Bench | None, there: Sequence[Case], draw: _Draft
) -> str:
    slope = slopes[0]
    (low, high), unit = slope.ci95, slope.unit.partition(" per ")[0]
    name = f"{slope.bench}, load {slope.load}: slope over {slope.over}"
    told = f"{name} {slope.slope:.4g} {slope.unit} (95%: {low:.4g} to {high:.4g})"
    points = [case for case in there if along(slope, case)]
    if lost := next((case.status for case in points if case.status), None):
        return _comment(f"{told}; not limited, for one of its points is {lost}")
    case = Case(slope.bench, slope.params, "", slope.load, [])
    alike = [_without(other, slope.over) for other in there]
    flags = [flag for point in points for flag in point.flags]
    limit = _rounded(draw.slope([s.ci95[1] for s in slopes]), unit)
    lines = [_comment(told), *_names(case, table, alike), *_accepts(flags)]
    return "\n".join([*lines, f"slope = {_text(limit)}"])


def _without(case: Case, name: str) -> Case:
    """The case as if it had no such parameter and no series."""
    rest = {param: value for param, value in case.params.items() if param != name}
    return case._replace(params=rest, series="")


# ---- numbers and texts --------------------------------------------------------------------------


def _above(value: float, unit: str, margin: float, least: float) -> str:
    """A limit above a value: by the margin, at least by a step of the clock."""
    return _rounded(value + max(margin * abs(value), least), unit)


def _rounded(value: float, unit: str) -> str:
    """Three digits, rounded up, with the largest unit that leaves something before the point."""
    scale = _UNITS.get(unit, [(unit, 1.0)])
    name, factor = next((step for step in scale if abs(value) >= step[1]), scale[-1])
    if value == 0:
        return f"0{name}"
    step = 10.0 ** max(math.floor(math.log10(abs(value) / factor)) - 2, _FINEST)
    steps = math.ceil(value / factor / step - 1e-9)
    return f"{(max(steps, 1) if value > 0 else steps) * step:.9g}{name}"


def _comment(text: str) -> str:
    return f"# {' '.join(text.split())}"


def _text(text: str) -> str:
    """A TOML string: one of JSON, but for a character that TOML wants escaped."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
