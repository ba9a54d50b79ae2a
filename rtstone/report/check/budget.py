"""A drafted budget as TOML, with comments for its author."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from rtstone.documents.case_key import ANOTHER_RUN
from rtstone.documents.run import Value
from rtstone.results.flags import INVALIDATING
from rtstone.stats.budget import SCHEMA
from rtstone.stats.cases import Case, label
from rtstone.stats.comparison.effects import LEVEL
from rtstone.stats.draft import Draft, DraftedCase, DraftedSlope
from rtstone.stats.prediction import WIDEST
from rtstone.units import WRITTEN, count, quantity, seconds
from rtstone.wire.parameters import quantity as as_written
from rtstone.wire.records import Bench

_FINEST = -9  # finest power of ten, in the smallest unit, that limits are rounded to


def budget_text(draft: Draft) -> str:
    """Return the text of a budget, which ``stats.budget`` can read."""
    run, there = draft.runs[0], [one.case for one in draft.cases]
    tables = {table.id: table for table in run.benches}
    blocks = [_head(draft)]
    blocks += [_case(draft, one, tables.get(one.case.bench), there) for one in draft.cases]
    blocks += [_slope(draft, one, tables.get(one.slope.bench), there) for one in draft.slopes]
    return "\n\n".join(blocks) + "\n"


def from_too_few(draft: Draft) -> str | None:
    """Return a warning about a draft from a single run, None if it needs none."""
    if len(draft.runs) > 1 or draft.counted:
        return None
    return (
        "drafted from one run, which does not show how runs differ: limits are "
        f"{WIDEST:g} times its values, and the tail has none; name five runs of the same system"
    )


def _head(draft: Draft) -> str:
    runs, margin = draft.runs, draft.margin
    run, names = runs[0], ", ".join(run.run_id for run in runs)
    told = [
        f"Drafted from {'run' if len(runs) == 1 else 'runs'} {names} on target {run.target.title}, "
        f"{run.created}.",
    ]
    if draft.counted and len(runs) == 1:
        told.append(f"It repeats exactly: limits are its values plus {margin:.0%}.")
    elif len(runs) == 1:
        told.append(from_too_few(draft) or "")
    else:
        told += [
            "A limit is the most that one more such run will show, predicted from how these",
            f"differ: an unchanged system keeps all limits in {1 - LEVEL:.0%} of its runs.  Limits",
            f"on times have {margin:.0%} added.",
        ]
    told.append("Adjust limits to what your system needs; parameters not named may have any value.")
    told += [
        f"Run {run.run_id} is incomplete: {run.reason}" for run in runs if run.status != "complete"
    ]
    title = f"title = {_text(f'As {names}')}"
    return "\n".join([*map(_comment, told), f'schema = "{SCHEMA}"', title])


def _case(draft: Draft, one: DraftedCase, table: Bench | None, there: Sequence[Case]) -> str:
    case, told = one.case, list(_limits(draft, one))
    name = " ".join(filter(None, (case.bench, label(case, table, there))))
    if not one.limited:
        why = one.lack or "it has nothing to limit"
        return "\n".join([_comment(f"{name}, load {case.load}: {why}"), *told])
    head = [_comment(f"{name}, load {case.load}: {_taken(one)}"), *_names(case, table, there)]
    return "\n".join([*head, *_accepts(one.flags), *told])


def _taken(one: DraftedCase) -> str:
    n = sum(case.n for case in one.runs)
    known = [case.section_s for case in one.runs if case.section_s]
    length = f" in {seconds(sum(known))}" if len(known) == len(one.runs) else ""
    of = f", {len(one.runs)} runs" if len(one.runs) > 1 else ""
    return f"n {count(n)}{length}{of}" if n else f"no samples{length}{of}"


def _limits(draft: Draft, one: DraftedCase) -> Iterator[str]:
    """Yield the lines of a case's limits; statistics without a limit are comments."""
    unit = one.case.unit
    if one.predicted_for_n is not None:
        yield f"predicted_for_n = {one.predicted_for_n}"
    for seen in one.unlimited:
        yield _comment(f"{seen.kind} {_range(seen.values, unit)}: no limit would hold")
    for limit in one.limits:
        few = "; too few samples for more" if limit.statistic == "max" else ""
        yield _comment(f"{limit.statistic} {_range(limit.values, unit)}{few}")
        top = _text(_above(limit.top, unit, draft.margin, draft.least))
        yield f"{limit.statistic} = {top}"
    if one.missed:
        told = f"{count(one.missed.omitted)} of {count(one.missed.due)} activations were missed"
        yield _comment(f"{told}; none should be")
        omitted, share = one.missed.omitted, one.missed.share
        yield f"missed = {omitted if share is None else _text(_percent(share))}"
    if one.largest is not None:
        over = _rounded(one.largest * (1 + draft.margin), unit)
        told = f"max = {_text(over)}  # the largest was {quantity(one.largest, unit)}"
        yield _comment(f"{told}; the next run's may well be larger")
    if one.breakdown:
        yield _comment(f"breakdown utilisation {_range(one.breakdown.values, '%')}")
        lowest = math.floor(one.breakdown.top * 10) / 10
        yield f'figures = {{ "breakdown utilisation" = ">= {max(lowest, 0):g}%" }}'


def _slope(draft: Draft, one: DraftedSlope, table: Bench | None, there: Sequence[Case]) -> str:
    slope = one.slope
    (low, high), unit = slope.ci95, slope.unit.partition(" per ")[0]
    name = f"{slope.bench}, load {slope.load}: slope over {slope.over}"
    told = f"{name} {slope.slope:.4g} {slope.unit} (95%: {low:.4g} to {high:.4g})"
    if one.lack:
        return _comment(f"{told}; not limited, as one of its points is {one.lack}")
    case = Case(slope.bench, slope.params, "", slope.load, [])
    alike = [_without(other, slope.over) for other in there]
    lines = [_comment(told), *_names(case, table, alike), *_accepts(one.flags)]
    return "\n".join([*lines, f"slope = {_text(_rounded(one.top, unit))}"])


def _without(case: Case, name: str) -> Case:
    """Return the case without a parameter and without its series."""
    rest = {param: value for param, value in case.params.items() if param != name}
    return case._replace(params=rest, series="")


# ---- which case ---------------------------------------------------------------------------------


def _names(case: Case, table: Bench | None, others: Sequence[Case]) -> Iterator[str]:
    """Yield the keys that name a case: parameters that differ from defaults or between cases."""
    yield "[[case]]"
    yield f"bench = {_text(case.bench)}"
    rest = [other for other in others if other.bench == case.bench and other.status is None]

    def tells(name: str, value: Value) -> bool:
        if value is None or value == "" or isinstance(value, list):
            return False
        if any(other.params.get(name) != value for other in rest):
            return True
        param = table.param(name) if table else None
        return name not in ANOTHER_RUN and (param is None or param.default != value)

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
        yield _comment("Better fix the cause; until then, nothing is judged without this:")
        yield f"accept = [{', '.join(map(_text, spoilt))}]"


# ---- numbers and texts --------------------------------------------------------------------------


def _above(value: float, unit: str, margin: float, least: float) -> str:
    """Return a limit above a value: by the margin, at least by a step of the clock."""
    return _rounded(value + max(margin * abs(value), least), unit)


def _rounded(value: float, unit: str) -> str:
    """Return three digits, rounded up, in the largest unit that gives at least 1."""
    units = WRITTEN.get(unit, {unit: 1})
    name = next((name for name in reversed(units) if abs(value) >= units[name]), next(iter(units)))
    if value == 0:
        return f"0{name}"
    factor = units[name]
    step = 10.0 ** max(math.floor(math.log10(abs(value) / factor)) - 2, _FINEST)
    steps = math.ceil(value / factor / step - 1e-9)
    return f"{(max(steps, 1) if value > 0 else steps) * step:.9g}{name}"


def _comment(text: str) -> str:
    return f"# {' '.join(text.split())}"


def _text(text: str) -> str:
    """Return a TOML string: a JSON string, but with DEL escaped too."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _range(values: Sequence[float], unit: str) -> str:
    """Return the range of values: ``37.9 µs to 38.4 µs``, or one value if they are equal."""
    return " to ".join(dict.fromkeys(quantity(v, unit) for v in (min(values), max(values))))


def _percent(share: float) -> str:
    """Return a share as a percentage of two digits, rounded up."""
    percent = min(100 * share, 100.0)
    step = 10.0 ** (math.floor(math.log10(percent)) - 1)
    return f"{Decimal(math.ceil(percent / step - 1e-9)) * Decimal(step):.2g}%"
