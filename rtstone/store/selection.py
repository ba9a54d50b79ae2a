"""Find the runs named for a comparison: single ones, groups, or whole sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.store.index import entries, find
from rtstone.store.layout import runs
from rtstone.store.run_catalogue import Entry, session_of
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

    ``read``: what returns the run of a directory.  Raises UsageError.
    """
    paths = directories(name)
    run = read(paths[0])
    if len(paths) == 1 and (session := session_of(run)):
        paths = _paths(session)
    return [run] if len(paths) < 2 else [read(path) for path in paths]


def directories(name: str) -> list[Path]:
    """Return the directory of the run of that name, or those of the session of that name.

    The name of a session is the prefix that the ids of its runs share, or the start of it.  Raises
    UsageError unless exactly one run or session matches.
    """
    try:
        return [find(name)]
    except UsageError:
        sessions = {entry.session for entry in entries() if name and entry.run_id.startswith(name)}
        if name in sessions:
            sessions = {name}
        session = sessions.pop() if len(sessions) == 1 else None
        if session is None:
            raise
        return _paths(session)


def chosen(names: Sequence[str]) -> list[Path]:
    """Return the directories of all runs of the named runs and sessions, each once.

    `last` alone is the last measurement: all runs of its session.  Raises UsageError.
    """
    paths = [path for name in names for path in directories(name)]
    if list(names) == ["last"]:
        stored = (entry for entry in entries() if runs() / entry.run_id == paths[0])
        if session := next((entry.session for entry in stored), None):
            paths = _paths(session)
    return list(dict.fromkeys(paths))


def sole(paths: Sequence[Path], demand: str) -> Path:
    """Return the only one of these runs.

    ``demand``: why there may be no other.  Raises UsageError with it, and their ids.
    """
    if len(paths) > 1:
        raise UsageError(f"{demand}; name one of {', '.join(path.name for path in paths)}")
    return paths[0]


def _paths(session: str) -> list[Path]:
    return [runs() / entry.run_id for entry in session_entries(session)]


def session_entries(session: str) -> list[Entry]:
    """Return the stored runs of a session by their numbers: targets begin in any order."""
    stored = [entry for entry in entries() if entry.session == session]
    return sorted(stored, key=lambda entry: (len(entry.run_id), entry.run_id))
