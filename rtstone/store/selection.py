"""Find the runs named for a comparison: single ones, groups, or whole sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.store.index import entries, find
from rtstone.store.layout import runs
from rtstone.store.rundir import load


def several(text: str) -> list[str]:
    """Split RUN,RUN,... unless there is a file of that name."""
    try:
        return [text] if Path(text).exists() else text.split(",")
    except (OSError, ValueError):  # not a valid file name
        return text.split(",")


def named(names: Sequence[str], read: Callable[[Path], Run] = load) -> list[Run | list[Run]]:
    """Return the named runs; those joined by commas are one system and become a list.

    A single run of a session stands for the whole session.  ``read``: what returns the run of a
    directory.  Raises UsageError.
    """
    if len(names) == 1 and len(several(names[0])) == 1:
        return list(members(names[0], read))
    groups = [[read(find(name)) for name in several(text)] for text in names]
    return [group if len(group) > 1 else group[0] for group in groups]


def members(name: str, read: Callable[[Path], Run] = load) -> list[Run]:
    """Return all runs of a session, given by its name or one of its runs; else the run alone.

    The name of a session is the prefix that the ids of its runs share.  ``read``: what returns the
    run of a directory.  Raises UsageError.
    """
    run = read(_one(name))
    session = session_of(run)
    return [read(path) for path in _starting(session)] or [run] if session else [run]


def session_of(run: Run) -> str | None:
    """Return the session of a run: an interleaved one, or of several targets; None if alone."""
    return run.turn.session if run.turn else run.session


def _one(name: str) -> Path:
    """Return the run of that name, or the first run of a session of that name."""
    try:
        return find(name)
    except UsageError:
        found = _starting(name) if name else []
        sessions = {session_of(load(path)) for path in found[:1] + found[-1:]}
        if len(sessions) != 1 or None in sessions:
            raise
        return found[0]


def _starting(start: str) -> list[Path]:
    """Return the runs whose ids begin so, by their numbers: targets begin in any order."""
    ids = [entry.run_id for entry in entries() if entry.run_id.startswith(start)]
    return [runs() / run_id for run_id in sorted(ids, key=lambda run_id: (len(run_id), run_id))]
