"""The guarantee statement as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rtstone.documents.run import Value
from rtstone.documents.worstcase import Guarantee, Tested
from rtstone.report.parts.bound import METHODS, observed, seldom
from rtstone.report.parts.markdown import escaping, items, table
from rtstone.report.parts.words import words
from rtstone.report.worstcase.text import case_names
from rtstone.stats.worstcase.guarantee import REQUEST
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
    return "\n".join([*_head(statement), "", *_body(statement, benches)]) + "\n"


def _head(statement: Guarantee) -> Iterator[str]:
    if statement.bound is None:
        yield "# No guarantee of a latency: inconclusive"
        yield ""
        yield f"{_NATURES[statement.nature]}Nothing is guaranteed, because:"
        yield ""
        yield from items(statement.reasons)
        return
    yield "# Guarantee of a latency"
    yield ""
    hours = _hours(statement.loads)
    yield (
        f"{_what(statement)} at most **{quantity(statement.bound, statement.unit)}**, exceeded at "
        f"most {seldom(statement.exceedance_per_hour)} ({words(statement.exceedance_per_hour)} per "
        "hour), under each of the loads named below. "
        f"Confidence {statement.confidence:.0%}; from {count(_samples(statement))} samples "
        f"in {hours}."
    )


def _what(statement: Guarantee) -> str:
    benches = dict.fromkeys(case.bench for case in statement.cases)
    if set(benches) <= set(REQUEST):
        return "From a request to the application:"
    return f"{', '.join(benches)}:"


def _body(statement: Guarantee, benches: Sequence[Bench]) -> Iterator[str]:
    yield from _section("System", _facts(_system(statement)))
    yield from _section("Hardware", _facts(statement.hardware))
    yield from _section("Drivers in use", _facts(
        {"drivers": _list(statement.drivers), "modules": _list(statement.modules)}
    ))  # fmt: skip
    yield from _section("Conditions on the application", items(statement.application))
    yield from _section("Loads, and hours tested", _loads(statement.loads))
    yield from _section("Bounds", _bounds(statement, benches))
    yield from _section("Excluded", items(statement.excluded))
    yield from _section("Violation", [statement.violation])
    yield from _section("What measurement cannot prove", statement.unproven)


def _section(title: str, lines: Iterable[str]) -> list[str]:
    return [f"## {title}", "", *(list(lines) or [NOT_RECORDED]), ""]


def _facts(facts: dict[str, Value]) -> list[str]:
    return items(f"{name}: {_escaped(words(value))}" for name, value in facts.items())


def _system(statement: Guarantee) -> dict[str, Value]:
    agent = statement.agent
    facts: dict[str, Value] = {"system": statement.system or NOT_RECORDED}
    facts |= {"target": statement.target, **statement.kernel}
    if agent:
        facts["agent"] = f"{agent.version}, port {agent.port}, source {agent.source}"
        facts["compiler"] = f"{agent.compiler}, {agent.flags}"
    return facts | {"runs": ", ".join(statement.runs)}


def _list(names_: str | None) -> str:
    return NOT_RECORDED if names_ is None else names_ or "none"


def _loads(loads: Iterable[Tested]) -> list[str]:
    rows = [
        [load.load, ", ".join(load.parts) or "-", _settings(load), _hours([load]), count(load.n)]
        for load in loads
    ]
    return table(["load", "parts", "settings", "tested for", "samples"], rows, _escaped)


def _settings(load: Tested) -> str:
    return ", ".join(f"{name}={words(value)}" for name, value in load.settings.items()) or "-"


def _hours(loads: Iterable[Tested]) -> str:
    hours = [load.hours for load in loads]
    known = [each for each in hours if each is not None]
    if len(known) < len(hours):
        return f"a time that is {NOT_RECORDED}"
    return f"{sum(known):.4g} h" if sum(known) >= 0.1 else seconds(sum(known) * 3600)


def _samples(statement: Guarantee) -> int:
    return sum(load.n for load in statement.loads)


def _bounds(statement: Guarantee, benches: Sequence[Bench]) -> Iterator[str]:
    rows = []
    for case, name in zip(statement.cases, case_names(statement.cases, benches), strict=True):
        found = case.worst_case
        bound = "inconclusive" if found.bound is None else quantity(found.bound, found.unit)
        method = METHODS[found.method] if found.method else "-"
        missed = "-" if case.missed is None else count(case.missed)
        rows.append([name, bound, method, observed(found), missed])
    yield from table(["case", "bound", "method", "observed", "missed"], rows, _escaped)
    for case, name in zip(statement.cases, case_names(statement.cases, benches), strict=True):
        checks = [f"{check.name}: {check.detail}" for check in case.worst_case.checks]
        if case.worst_case.bound is not None:
            yield ""
            yield f"{name}: {'; '.join(checks)}."
