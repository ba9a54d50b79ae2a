"""The guarantee that runs of a system allow, as a table of texts (Dankwardt, part 2)."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.run import Run, Value
from rtstone.documents.worstcase import Guarantee
from rtstone.stats.worstcase.guarantee import guarantee
from rtstone.units import count, quantity, seconds
from rtstone.wire.records import TextTable

TITLE = "Guarantee of a latency"


def guarantee_table(runs: Sequence[Run]) -> TextTable:
    """Return what these runs of one system guarantee, part by part of the statement.

    Raises UsageError if there is nothing to state it for.
    """
    statement = guarantee(runs)
    rows = [
        ["latency", _bound(statement)],
        ["system", statement.system or "not recorded"],
        ["kernel", _facts(statement.kernel)],
        ["hardware", _facts(statement.hardware)],
        ["drivers", statement.drivers or "not recorded"],
        ["conditions on the application", "; ".join(statement.application)],
        *([f"tested under load {load.load}", f"{_time(load.hours)}, {count(load.n)} samples"]
          for load in statement.loads),
        ["excluded", "; ".join(statement.excluded)],
        ["violation", statement.violation],
        ["what measurement cannot prove", " ".join(statement.unproven)],
    ]  # fmt: skip
    return TextTable(TITLE, ["part", "statement"], rows)


def _bound(statement: Guarantee) -> str:
    if statement.bound is None:
        return f"nothing is guaranteed: {'; '.join(statement.reasons)}"
    return (
        f"at most {quantity(statement.bound, statement.unit)}, exceeded at most "
        f"{statement.exceedance_per_hour:g} times an hour, confidence {statement.confidence:.0%}"
    )


def _facts(facts: dict[str, Value]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in facts.items()) or "not recorded"


def _time(hours: float | None) -> str:
    return "a time that is not recorded" if hours is None else seconds(hours * 3600)
