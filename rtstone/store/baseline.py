"""The baseline runs of a budget."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rtstone.documents.run import Run
from rtstone.store.index import find
from rtstone.store.places import holds_run
from rtstone.store.rundir import load


def baselines(named: Sequence[str], budget: Path) -> list[Run]:
    """Return the baseline runs of a budget.

    A name is a directory beside the budget's file, or any name of a run.  Raises UsageError.
    """
    return [_baseline(name, budget.parent / name) for name in named]


def _baseline(name: str, beside: Path) -> Run:
    return load(beside if name and holds_run(beside) else find(name))
