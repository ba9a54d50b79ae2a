"""The guarantee statement as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rtstone.documents.run import Value
from rtstone.documents.worstcase import Guarantee, Tested
from rtstone.report.parts.bound import METHODS, composed_bound, observed, seldom
from rtstone.report.parts.markdown import escaping, items, table
from rtstone.report.parts.words import words
from rtstone.report.worstcase.text import names_with_load
from rtstone.stats.worstcase.guarantee import REQUEST, is_rtos
from rtstone.units import count, quantity, seconds
from rtstone.wire.records import Bench

_escaped = escaping()
NOT_RECORDED = "not recorded"
_NATURES = {
    "machine": "",
    "emulated": "An emulated machine was measured. ",
    "model": "A model was measured. ",
}


def guarantee_markdown(statement: Guarantee, benches: Sequence[Bench]) -> str:
    """Return the guarantee statement."""
    agent = statement.agent
    system: dict[str, Value] = {"system": statement.system or NOT_RECORDED}
    system |= {"target": statement.target, **statement.kernel}
    if agent:
        system["agent"] = f"{agent.version}, port {agent.port}, source {agent.source}"
        system["compiler"] = f"{agent.compiler}, {agent.flags}"
    system["runs"] = ", ".join(statement.runs)
    loads = []
    for load in statement.loads:
        settings = (f"{name}={words(value)}" for name, value in load.settings.items())
        loads.append([
            load.load, ", ".join(load.parts) or "-", ", ".join(settings) or "-",
            _hours([load], statement),
            count(load.n),
        ])  # fmt: skip
    heads = ["load", "parts", "settings", "tested for", "samples"]
    lines = [*_head(statement), ""]
    lines += _section("System", _facts(system))
    lines += _section("Hardware", _facts(statement.hardware))
    if not is_rtos(agent):
        lines += _section("Drivers in use", _facts(
            {"drivers": _list(statement.drivers), "modules": _list(statement.modules)}
        ))  # fmt: skip
    lines += _section("Conditions on the application", items(statement.application))
    lines += _section("Loads, and hours tested", table(heads, loads, _escaped))
    lines += _section("Bounds", _bounds(statement, benches))
    lines += _section("Excluded", items(statement.excluded))
    lines += _section("Violation", [statement.violation])
    lines += _section("What measurement cannot prove", statement.unproven)
    return "\n".join(lines) + "\n"


def _head(statement: Guarantee) -> Iterator[str]:
    """Yield what is guaranteed, or why nothing is."""
    if statement.bound is None:
        yield "# No guarantee of a latency: inconclusive"
        yield ""
        yield f"{_NATURES[statement.nature]}Nothing is guaranteed, because:"
        yield ""
        yield from items(statement.reasons)
        return
    yield "# Guarantee of a latency"
    yield ""
    benches = dict.fromkeys(case.bench for case in statement.cases)
    request = set(benches) <= set(REQUEST)
    subject = "From a request to the application" if request else ", ".join(benches)
    samples = sum(load.n for load in statement.loads)
    yield (
        f"{subject}: at most **{quantity(statement.bound, statement.unit)}**, exceeded at "
        f"most {seldom(statement.exceedance_per_hour)} ({words(statement.exceedance_per_hour)} per "
        "hour), under each of the loads named below. "
        f"Confidence {statement.confidence:.0%}; from {count(samples)} samples "
        f"in {_hours(statement.loads, statement)}."
    )


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [f"## {title}", "", *(list(lines) or [NOT_RECORDED]), ""]


def _facts(facts: dict[str, Value]) -> list[str]:
    return items(f"{name}: {_escaped(words(value))}" for name, value in facts.items())


def _list(names: str | None) -> str:
    return NOT_RECORDED if names is None else names or "none"


def _hours(loads: Iterable[Tested], statement: Guarantee) -> str:
    hours = [load.hours for load in loads]
    recorded = [each for each in hours if each is not None]
    if len(recorded) < len(hours):
        return f"a time that is {NOT_RECORDED}"
    text = f"{sum(recorded):.4g} h" if sum(recorded) >= 0.1 else seconds(sum(recorded) * 3600)
    return f"{text} of virtual time" if statement.nature == "emulated" else text


def _bounds(statement: Guarantee, benches: Sequence[Bench]) -> Iterator[str]:
    """Yield the table of the bounds, and below it the checks of each that has one."""
    rows, checks = [], []
    composed = any(case.composed for case in statement.cases)
    for case, name in zip(statement.cases, names_with_load(statement.cases, benches), strict=True):
        estimate = case.worst_case
        bound = "inconclusive"
        if estimate.bound is not None:
            bound = quantity(estimate.bound, estimate.unit)
            passed = "; ".join(f"{check.name}: {check.detail}" for check in estimate.checks)
            checks += ["", f"{name}: {passed}."]
        method = METHODS[estimate.method] if estimate.method else "-"
        missed = "-" if case.missed is None else count(case.missed)
        row = [name, bound, method, observed(estimate), missed]
        if composed:
            row.append("-" if case.composed is None else composed_bound(case.composed))
        rows.append(row)
    heads = ["case", "bound", "method", "observed", "missed"]
    heads += ["until the first switch"] if composed else []
    yield from table(heads, rows, _escaped)
    yield from checks
