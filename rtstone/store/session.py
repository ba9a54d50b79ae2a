"""Find the runs named for a comparison: single ones, groups, or whole sessions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.store.index import entries, find
from rtstone.store.places import runs
from rtstone.store.rundir import load


def several(text: str) -> list[str]:
    """Split RUN,RUN,... unless a file has that name."""
    try:
        return [text] if Path(text).exists() else text.split(",")
    except (OSError, ValueError):  # no file can
        return text.split(",")


def named(names: Sequence[str]) -> list[Run | list[Run]]:
    """Runs; as a list those that are joined by commas, so belong together.

    A run that stands alone and was taken in turn stands for its session.  Raises UsageError.
    """
    if len(names) == 1 and len(several(names[0])) == 1:
        return list(members(names[0]))
    groups = [[load(find(name)) for name in several(text)] for text in names]
    return [group if len(group) > 1 else group[0] for group in groups]


def members(name: str) -> list[Run]:
    """Return all runs of the session that RUN is or belongs to; RUN alone if it belongs to none.

    A session goes by the start that the ids of its runs share.  Raises UsageError.
    """
    run = load(_one(name))
    if run.turn is None:
        return [run]
    return [load(path) for path in _starting(run.turn.session)] or [run]


def _one(name: str) -> Path:
    """Return a run, or the first of a session."""
    try:
        return find(name)
    except UsageError:
        found = _starting(name) if name else []
        turns = [load(path).turn for path in found[:1] + found[-1:]]
        sessions = {turn.session if turn else None for turn in turns}
        if len(sessions) != 1 or None in sessions:
            raise
        return found[0]


def _starting(start: str) -> list[Path]:
    return [runs() / entry.run_id for entry in entries() if entry.run_id.startswith(start)]
