"""The guarantee that runs of a system allow, as a table of texts (Dankwardt, part 2)."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.run import Run, Value
from rtstone.documents.worstcase import Guarantee
from rtstone.stats.worstcase.guarantee import guarantee
from rtstone.units import count, quantity, seconds
from rtstone.wire.records import TextTable

TITLE = "Guarantee of a latency"
NOT_RECORDED = "not recorded"


def guarantee_table(runs: Sequence[Run]) -> TextTable:
    """Return what these runs of one system guarantee, part by part of the statement.

    Raises UsageError if there is nothing to state it for.
    """
    statement = guarantee(runs)
    parts: list[tuple[str, Sequence[str]]] = [
        ("latency", _bound(statement)),
        ("system", [statement.system or NOT_RECORDED]),
        ("kernel", _facts(statement.kernel)),
        ("hardware", _facts(statement.hardware)),
        ("drivers", [statement.drivers or NOT_RECORDED]),
        ("conditions on the application", statement.application),
        *((f"tested under load {load.load}", [f"{_time(load.hours)}, {count(load.n)} samples"])
          for load in statement.loads),
        ("excluded", statement.excluded),
        ("violation", [statement.violation]),
        ("what measurement cannot prove", statement.unproven),
    ]  # fmt: skip
    rows = [
        [part if number == 0 else "", text]
        for part, texts in parts
        for number, text in enumerate(texts)
    ]
    return TextTable(TITLE, ["part", "statement"], rows)


def _bound(statement: Guarantee) -> list[str]:
    if statement.bound is None:
        return ["nothing is guaranteed", *(f"because {reason}" for reason in statement.reasons)]
    return [
        f"at most {quantity(statement.bound, statement.unit)}, exceeded at most "
        f"{statement.exceedance_per_hour:g} times an hour, confidence {statement.confidence:.0%}"
    ]


def _facts(facts: dict[str, Value]) -> list[str]:
    return [f"{name}: {value}" for name, value in facts.items()] or [NOT_RECORDED]


def _time(hours: float | None) -> str:
    return f"a time that is {NOT_RECORDED}" if hours is None else seconds(hours * 3600)
