"""The run that a budget is relative to."""

from __future__ import annotations

from pathlib import Path

from rtstone.model.documents import Run
from rtstone.store.index import find
from rtstone.store.rundir import holds_run, load


def baseline(named: str | None, budget: Path) -> Run | None:
    """The run that a budget names: a directory beside its file, else a RUN.  Raises UsageError."""
    if named is None:
        return None
    beside = budget.parent / named
    return load(beside if named and holds_run(beside) else find(named))
