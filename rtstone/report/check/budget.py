"""A drafted budget as TOML, with comments for its author."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from rtstone.documents.case_key import ANOTHER_RUN, without
from rtstone.documents.case_name import case_names
from rtstone.report.parts.words import range_text
from rtstone.results.flags import INVALIDATING
from rtstone.stats.budget import SCHEMA
from rtstone.stats.cases import Case
from rtstone.stats.comparison.effects import LEVEL
from rtstone.stats.draft import Draft, DraftedCase, DraftedSlope
from rtstone.stats.prediction import WIDEST
from rtstone.units import WRITTEN, count, quantity, seconds
from rtstone.wire.parameters import quantity as as_written
from rtstone.wire.records import Bench

_FINEST = -9  # finest power of ten, in the smallest unit, that limits are rounded to


def budget_text(draft: Draft) -> str:
    """Return the text of a budget, which ``stats.budget`` can read."""
    runs, margin = draft.runs, draft.margin
    run, names = runs[0], ", ".join(run.run_id for run in runs)
    comments = [
        f"Drafted from {'run' if len(runs) == 1 else 'runs'} {names} on target {run.target.title}, "
        f"{run.created}.",
    ]
    if draft.counted and len(runs) == 1:
        comments.append(f"It repeats exactly: limits are its values plus {margin:.0%}.")
    elif len(runs) == 1:
        comments.append(from_too_few(draft) or "")
    else:
        comments += [
            "A limit is the most that one more such run will show, predicted from how these",
            f"differ: an unchanged system keeps all limits in {1 - LEVEL:.0%} of its runs.  Limits",
            f"on times have {margin:.0%} added.",
        ]
    comments.append(
        "Adjust limits to what your system needs; parameters not named may have any value."
    )
    comments += [
        f"Run {run.run_id} is incomplete: {run.reason}" for run in runs if run.status != "complete"
    ]
    title = f"title = {_text(_title(draft))}"
    blocks = ["\n".join([*map(_comment, comments), f'schema = "{SCHEMA}"', title])]
    cases = [entry.case for entry in draft.cases]
    tables = {table.id: table for table in run.benches}
    titles = case_names([(c.bench, c.params, c.series, c.load) for c in cases], run.benches)
    blocks += [
        _case(draft, entry, tables.get(entry.case.bench), cases, title.with_load)
        for entry, title in zip(draft.cases, titles, strict=True)
    ]
    blocks += [_slope(draft, entry, tables.get(entry.slope.bench), cases) for entry in draft.slopes]
    return "\n\n".join(blocks) + "\n"


def _title(draft: Draft) -> str:
    """Return what it is a budget of: target, benches, and the day of the last run."""
    run = max(draft.runs, key=lambda run: run.created)
    benches = list(dict.fromkeys(entry.case.bench for entry in draft.cases))
    subject = run.suite or ", ".join(benches[:_NAMED])
    rest = f" and {len(benches) - _NAMED} more" if len(benches) > _NAMED and not run.suite else ""
    return f"{run.target.title}: {subject}{rest}, {run.created[:10]}"


_NAMED = 3  # benches of a title


def from_too_few(draft: Draft) -> str | None:
    """Return a warning about a draft from a single run, None if it needs none."""
    if len(draft.runs) > 1 or draft.counted:
        return None
    return (
        "drafted from one run, which does not show how runs differ: limits are "
        f"{WIDEST:g} times its values, and the tail has none; name five runs of the same system"
    )


def warnings(draft: Draft) -> Iterator[str]:
    """Yield what a draft does not limit, or accepts, though one would expect otherwise."""
    if few := from_too_few(draft):
        yield few
    latencies = [case for case in draft.cases if case.limited and case.case.n]
    without = [case for case in latencies if case.no_latency]
    for why in dict.fromkeys(case.no_latency for case in without):
        number = sum(case.no_latency == why for case in without)
        cases = f" of {count(number)} of {count(len(latencies))} cases"
        share = "" if number == len(latencies) else cases
        yield f"no latency is limited{share}: {why}"
    flags = {flag for case in draft.cases if case.limited for flag in case.flags}
    if spoilt := sorted(INVALIDATING.intersection(flags)):
        yield (
            f"the budget accepts {', '.join(spoilt)}, which the runs have: it passes runs that "
            "were not measured properly; better fix the cause, measure again and draft anew"
        )


def _case(
    draft: Draft, drafted: DraftedCase, table: Bench | None, cases: Sequence[Case], name: str
) -> str:
    """Return the block of a case; one without limits is a comment."""
    case, limits = drafted.case, list(_limits(draft, drafted))
    if not drafted.limited:
        why = drafted.lack or "it has nothing to limit"
        return "\n".join([_comment(f"{name}: {why}"), *limits])
    n = sum(run.n for run in drafted.runs)
    lengths = [run.section_s for run in drafted.runs if run.section_s]
    samples = f"n {count(n)}" if n else "no samples"
    if len(lengths) == len(drafted.runs):
        samples += f" in {seconds(sum(lengths))}"
    if len(drafted.runs) > 1:
        samples += f", {len(drafted.runs)} runs"
    head = [_comment(f"{name}: {samples}"), *_names(case, table, cases)]
    return "\n".join([*head, *_accepts(drafted.flags), *limits])


def _limits(draft: Draft, drafted: DraftedCase) -> Iterator[str]:
    """Yield the lines of a case's limits; statistics without a limit are comments."""
    unit, margin = drafted.case.unit, draft.margin
    if drafted.predicted_for_n is not None:
        yield f"predicted_for_n = {drafted.predicted_for_n}"
    for unlimited in drafted.unlimited:
        yield _comment(f"{unlimited.kind} {_range(unlimited.values, unit)}: no limit would hold")
    if drafted.no_latency and drafted.limited:
        yield _comment(f"no latency is limited: {drafted.no_latency}")
    for limit in drafted.limits:
        few = "; too few samples for more" if limit.statistic == "max" else ""
        yield _comment(f"{limit.statistic} {_range(limit.values, unit)}{few}")
        # At least by a step of the clock above what was observed.
        top = _rounded(limit.top + max(margin * abs(limit.top), draft.least), unit)
        yield f"{limit.statistic} = {_text(top)}"
    if missed := drafted.missed:
        yield _comment(
            f"{count(missed.omitted)} of {count(missed.due)} activations were missed; "
            "none should be"
        )
        if missed.share is None:
            yield f"missed = {missed.omitted}"
        else:  # two digits, rounded up
            percent = min(100 * missed.share, 100.0)
            step = 10.0 ** (math.floor(math.log10(percent)) - 1)
            share = Decimal(math.ceil(percent / step - 1e-9)) * Decimal(step)
            yield f"missed = {_text(f'{share:.2g}%')}"
    if drafted.largest is not None:
        top = _rounded(drafted.largest * (1 + margin), unit)
        yield _comment(
            f"max = {_text(top)}  # the largest was {quantity(drafted.largest, unit)}; "
            "the next run's may well be larger"
        )
    if drafted.breakdown:
        yield _comment(f"breakdown utilisation {_range(drafted.breakdown.values, '%')}")
        lowest = math.floor(drafted.breakdown.top * 10) / 10
        yield f'figures = {{ "breakdown utilisation" = ">= {max(lowest, 0):g}%" }}'


def _slope(draft: Draft, drafted: DraftedSlope, table: Bench | None, cases: Sequence[Case]) -> str:
    """Return the block of a slope."""
    slope = drafted.slope
    (low, high), unit = slope.ci95, slope.unit.partition(" per ")[0]
    name = f"{slope.bench}, load {slope.load}: slope over {slope.over}"
    comment = f"{name} {slope.slope:.4g} {slope.unit} (95%: {low:.4g} to {high:.4g})"
    if drafted.lack:
        return _comment(f"{comment}; not limited, as one of its points is {drafted.lack}")
    case = Case(slope.bench, slope.params, "", slope.load, [])
    alike = [
        other._replace(params=without(other.params, {slope.over}), series="") for other in cases
    ]
    lines = [_comment(comment), *_names(case, table, alike), *_accepts(drafted.flags)]
    return "\n".join([*lines, f"slope = {_text(_rounded(drafted.top, unit))}"])


# ---- which case ---------------------------------------------------------------------------------


def _names(case: Case, table: Bench | None, cases: Sequence[Case]) -> Iterator[str]:
    """Yield the keys that name a case: parameters that differ from defaults or between cases."""
    yield "[[case]]"
    yield f"bench = {_text(case.bench)}"
    alternatives = [other for other in cases if other.bench == case.bench and other.status is None]
    pairs = []
    for name, value in case.params.items():
        if value is None or value == "" or isinstance(value, list):
            continue
        param = table.param(name) if table else None
        usual = name in ANOTHER_RUN or (param is not None and param.default == value)
        if usual and all(other.params.get(name) == value for other in alternatives):
            continue
        key = name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _text(name)
        if param is not None and param.type == "int" and isinstance(value, int):
            pairs.append(f"{key} = {value}")
        else:
            text = as_written(param, value) if param else str(value)
            pairs.append(f"{key} = {_text(text)}")
    if pairs:
        yield f"params = {{ {', '.join(pairs)} }}"
    if any(other.series for other in alternatives):
        yield f"series = {_text(case.series)}"
    yield f"loads = [{_text(case.load)}]"


def _accepts(flags: Sequence[str]) -> Iterator[str]:
    if spoilt := sorted(INVALIDATING.intersection(flags)):
        yield _comment("Better fix the cause; until then, nothing is judged without this:")
        yield f"accept = [{', '.join(map(_text, spoilt))}]"


# ---- numbers and texts --------------------------------------------------------------------------


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
    return range_text(quantity(min(values), unit), quantity(max(values), unit))
