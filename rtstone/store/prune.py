"""Choose the runs that `rtstone prune` removes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from rtstone.store.baseline import known_baselines
from rtstone.store.index import entries
from rtstone.store.layout import runs
from rtstone.store.run_catalogue import Entry

_TURN = re.compile(r"(.+)-\d{3}[AB]")  # a run of a session, whose runs belong together


class Choice(NamedTuple):
    """The runs to remove, and those that stay although they are not among the last: why."""

    go: list[Entry]
    stay: dict[str, list[Entry]]


def chosen(keep: int, before: datetime | None = None) -> Choice:
    """Return the runs that are neither among the last ``keep``, nor begun since ``before``.

    Named runs stay, as do the baselines of budgets, and runs that were stored elsewhere with
    ``--out``.  The runs of one session count as one.
    """
    known, baselines = entries(), known_baselines()
    sessions = list(dict.fromkeys(map(session_of, known)))
    last = set(sessions[max(len(sessions) - keep, 0) :])
    choice = Choice([], {"named": [], "baselines": [], "stored elsewhere": [], "newer": []})
    for entry in known:
        if session_of(entry) in last:
            continue
        why = _why_it_stays(entry, baselines, before)
        (choice.stay[why] if why else choice.go).append(entry)
    return choice


def session_of(entry: Entry) -> str:
    """Return the session that a run belongs to, or else its own id."""
    found = _TURN.fullmatch(entry.run_id)
    return found[1] if found else entry.run_id


def _why_it_stays(entry: Entry, baselines: set[str], before: datetime | None) -> str | None:
    if entry.name:
        return "named"
    if entry.run_id in baselines:
        return "baselines"
    if (runs() / entry.run_id).is_symlink():
        return "stored elsewhere"
    if before is not None and (entry.begun is None or entry.begun >= before):
        return "newer"  # also one that does not say when it began
    return None


def of_session(name: str) -> Sequence[Entry]:
    """Return the runs of the session of that name, none if there is no such session."""
    return [e for e in entries() if session_of(e) == name != e.run_id]
