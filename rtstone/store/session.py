"""The runs that a comparison took in turn, found again by any of them."""

from __future__ import annotations

from pathlib import Path

from rtstone.errors import UsageError
from rtstone.model.documents import Run
from rtstone.store.index import entries, find
from rtstone.store.rundir import load, runs


def members(name: str) -> list[Run]:
    """All runs of the session that RUN is or belongs to; RUN alone if it belongs to none.

    A session goes by the start that the ids of its runs share.  Raises UsageError.
    """
    run = load(_one(name))
    if run.turn is None:
        return [run]
    return [load(path) for path in _starting(run.turn.session)] or [run]


def _one(name: str) -> Path:
    """A run, or the first of a session."""
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
