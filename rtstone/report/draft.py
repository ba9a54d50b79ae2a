"""A budget drafted from a run: what it showed and a margin, commented for who goes on with it."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence

from rtstone.errors import UsageError
from rtstone.model.benches import quantity as as_written
from rtstone.model.budget import SCHEMA
from rtstone.model.documents import Run, Slope, Value
from rtstone.model.flags import SPOILING
from rtstone.report.words import count, quantity, seconds
from rtstone.stats.cases import Case, cases, figure, label
from rtstone.stats.estimates import Estimate, estimate
from rtstone.stats.gate import CENSORED, UNMADE, along, span, whole
from rtstone.wire.records import Bench

_FINEST = -9  # power of ten of the smallest unit, below which nothing is told apart
_TAILS = ("p99", "p90", "p50")  # the highest that n allows is limited
_UNITS = {
    "ns": [("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1.0)],
    "instructions": [("M instr", 1e6), ("k instr", 1e3), ("instr", 1.0)],
}


def draft(run: Run, margin: float) -> str:
    """The text of a budget that the run itself keeps.  Raises UsageError if it has no result."""
    there = cases(run)
    least = run.clock.resolution_ns if run.clock else 0.0
    limits = [list(_limits(case, margin, least)) for case in there]
    if not any(limits):
        raise UsageError(f"nothing to limit, run {run.run_id} has no valid result")
    tables = {table.id: table for table in run.benches}
    blocks = [_head(run, margin)]
    for case, told in zip(there, limits, strict=True):
        table = tables.get(case.bench)
        name = " ".join(filter(None, (case.bench, label(case, table, there))))
        if not told:
            why = case.status or "it has nothing to limit"
            blocks.append(_comment(f"{name}, load {case.load}: {why}"))
            continue
        head = [_comment(f"{name}, load {case.load}: {_taken(case)}"), *_names(case, table, there)]
        blocks.append("\n".join([*head, *_accepts(case.flags), *told]))
    blocks += [_slope(slope, tables.get(slope.bench), there, margin) for slope in run.slopes]
    return "\n\n".join(blocks) + "\n"


def _head(run: Run, margin: float) -> str:
    told = [
        f"Drafted from run {run.run_id} on target {run.target.name}, {run.created}.",
        f"A limit is the upper end of the 95% interval of what that run showed, and {margin:.0%}",
        "more.  Change what your system needs otherwise; parameters not named may be anything.",
    ]
    if run.status != "complete":
        told.append(f"The run is incomplete: {run.reason}")
    title = f"title = {_text(f'As run {run.run_id}')}"
    return "\n".join([*map(_comment, told), f'schema = "{SCHEMA}"', title])


def _taken(case: Case) -> str:
    length = f" in {seconds(case.section_s)}" if case.section_s else ""
    return f"n {count(case.n)}{length}" if case.n else f"no samples{length}"


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
    if spoilt := sorted(SPOILING.intersection(flags)):
        yield _comment("Better mend this; until then nothing would be judged without:")
        yield f"accept = [{', '.join(map(_text, spoilt))}]"


# ---- which limits -------------------------------------------------------------------------------


def _limits(case: Case, margin: float, least: float) -> Iterator[str]:
    """None for a case without a valid result."""
    if case.status:
        return
    yield from _statistics(case, margin, least)
    if case.missed is not None:
        if case.missed:
            yield _comment(f"{count(case.missed)} activations were missed; none should be")
        yield f"missed = {case.missed}"
    largest = _largest(case)
    if case.missed is not None and largest is not None:
        over = _rounded(largest * (1 + margin), case.unit)
        told = f"max = {_text(over)}  # the largest was {quantity(largest, case.unit)}"
        yield _comment(f"{told}; the next run's may well be larger")
    if (reached := _breakdown(case)) is not None:
        lowest = math.floor(reached / (1 + margin) * 10) / 10
        yield _comment(f"breakdown utilisation {reached:g} %")
        yield f'figures = {{ "breakdown utilisation" = ">= {lowest:g}%" }}'


def _statistics(case: Case, margin: float, least: float) -> Iterator[str]:
    results = [whole(result) for result in case.results]
    found = {name: estimate(results, name) for name in ("p999", *_TAILS, "mean")}
    tail = next((name for name in (*_TAILS, "mean") if found[name]), None)
    names = [name for name in (tail, "p999") if name and found[name]]
    if not names and (largest := _largest(case)) is not None:
        yield _comment("too few samples for more than")
        yield f"max = {_text(_above(largest, case.unit, margin, least))}"
    for name in names:
        one = found[name]
        if one:
            yield _comment(_told(name, one, case.unit))
            yield f"{name} = {_text(_above(span(one).high, case.unit, margin, least))}"


def _told(name: str, found: Estimate, unit: str) -> str:
    value, low, high = (quantity(v, unit) for v in found[:3])
    return f"{name} {value} (95%: {low} to {high})"


def _breakdown(case: Case) -> float | None:
    """The utilisation that was reached, broken down there or not."""
    for name, upto in CENSORED.items():
        reached = figure(case, name) or figure(case, upto)
        if reached:
            return reached[0]
    return None


def _largest(case: Case) -> float | None:
    return max((r.max for r in case.results if r.max is not None), default=None)


def _slope(slope: Slope, table: Bench | None, there: Sequence[Case], margin: float) -> str:
    (low, high), unit = slope.ci95, slope.unit.partition(" per ")[0]
    name = f"{slope.bench}, load {slope.load}: slope over {slope.over}"
    told = f"{name} {slope.slope:.4g} {slope.unit} (95%: {low:.4g} to {high:.4g})"
    points = [case for case in there if along(slope, case)]
    if lost := next((case.status for case in points if case.status), None):
        return _comment(f"{told}; not limited, for one of its points is {lost}")
    case = Case(slope.bench, slope.params, "", slope.load, [])
    alike = [_without(other, slope.over) for other in there]
    flags = [flag for point in points for flag in point.flags]
    limit = _rounded(max(0.0, high + margin * abs(high)), unit)
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
