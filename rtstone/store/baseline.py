"""The baseline runs of budgets."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rtstone.documents.run import Run
from rtstone.folders import results
from rtstone.store.index import find
from rtstone.store.layout import holds_run, regular, runs
from rtstone.store.rundir import load

_KNOWN = "baselines"  # a line for each: run id, tab, budget
_LARGEST = 1 << 20  # bytes


def baselines(named: Sequence[str], budget: Path) -> list[Run]:
    """Return the baseline runs of a budget.

    A name is a directory beside the budget's file, or any name of a run.  Raises UsageError.
    """
    loaded = []
    for name in named:
        beside = budget.parent / name
        path = beside if name and holds_run(beside) else find(name)
        run = load(path)
        loaded.append(run)
        if path != beside and path.parent == runs():
            note(run.run_id, budget)
    return loaded


def note(run_id: str, budget: Path) -> None:
    """Remember that a stored run is the baseline of a budget, so that it is not pruned.

    Failure is ignored: the store need not be writable for a check.
    """
    line = f"{run_id}\t{budget.absolute()}"
    if "\n" in line:
        return
    with suppress(OSError):
        if line in _lines():
            return
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(results() / _KNOWN, flags, 0o666)
        with os.fdopen(handle, "ab", buffering=0) as file:
            file.write(f"{line}\n".encode(errors="surrogateescape"))


def known_baselines() -> set[str]:
    """Return the ids of the runs that are baselines of budgets that are still there."""
    ids = set()
    for line in _lines():
        run_id, _, budget = line.partition("\t")
        if not run_id:
            continue
        try:
            Path(budget).stat()
        except (FileNotFoundError, NotADirectoryError, ValueError):
            continue
        except OSError:  # it is there, or cannot be seen
            pass
        ids.add(run_id)
    return ids


def _lines() -> list[str]:
    with suppress(OSError):
        text = regular(results() / _KNOWN, _LARGEST).decode(errors="surrogateescape")
        return text.split("\n")
    return []
