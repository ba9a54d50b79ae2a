"""Choose the runs that `rtstone prune` removes."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from rtstone.store.baseline import known_baselines
from rtstone.store.index import entries
from rtstone.store.layout import runs
from rtstone.store.run_catalogue import Entry

_SAME_SESSION = "of their sessions"  # why a run stays: another one of its session does


class Choice(NamedTuple):
    """The runs to remove, by session, and those that stay although they are not among the last.

    ``stay``: by the reason why.
    """

    go: list[list[Entry]]
    stay: dict[str, list[Entry]]


def chosen(keep: int, before: datetime | None = None) -> Choice:
    """Return the runs that are neither among the last ``keep``, nor begun since ``before``.

    Named runs stay, as do the baselines of budgets, and runs that were stored elsewhere with
    ``--out``.  The runs of one session count as one, and stay or go together.
    """
    baselines = known_baselines()
    sessions: dict[str, list[Entry]] = {}
    for entry in entries():
        sessions.setdefault(entry.session or entry.run_id, []).append(entry)
    reasons = ("named", "baselines", "stored elsewhere", "newer", _SAME_SESSION)
    choice = Choice([], {reason: [] for reason in reasons})
    for session in list(sessions.values())[: max(len(sessions) - keep, 0)]:
        whys = [_why_it_stays(entry, baselines, before) for entry in session]
        if not any(whys):
            choice.go.append(session)
            continue
        for entry, why in zip(session, whys, strict=True):
            choice.stay[why or _SAME_SESSION].append(entry)
    return choice


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
