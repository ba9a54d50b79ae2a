"""Changes for the worse as events: what became worse on a target with one run."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from typing import NamedTuple
from urllib.parse import quote

from rtstone.documents.server import Seen
from rtstone.report.trend.text import switch, value
from rtstone.server.pages.overview import LABELS, by_event, size

LONGEST, MOST = 120, 100  # letters of a name that is shown; changes of an event
_SPACE = uuid.UUID("5b7c0a0e-7c1b-4c5e-9f3a-2d9b7c1e8f60")  # of the ids of events


class Event(NamedTuple):
    """The changes of the series of a target with its run ``at_run``."""

    project: str
    target: str
    at_run: str
    changes: Sequence[Seen]

    @property
    def id(self) -> str:
        """The same for the same event, whenever and by whatever server it is sent."""
        return uuid.uuid5(_SPACE, "\0".join((self.project, self.target, self.at_run))).urn

    @property
    def since(self) -> str:
        """When the first run after the change began."""
        return self.changes[0].since

    @property
    def title(self) -> str:
        """The event in a line."""
        left = len(self.changes) - 1
        also = f" and {left} more" if left else ""
        return f"{short(self.target)} got worse: {described(self.changes[0])}{also}"

    @property
    def lines(self) -> list[str]:
        """Every change in a line, and the first condition that differs."""
        first = next((change.differences[0] for change in self.changes if change.differences), None)
        differs = switch(first) if first else "no condition that is known differs"
        lines = [described(change) for change in self.changes[:MOST]]
        left = len(self.changes) - len(lines)
        lines += [f"and {left} more"] if left else []
        return [*lines, f"First difference: {short(differs, 2 * LONGEST)}"]

    def link(self, base: str) -> str:
        """Return the address of the comparison of the runs around the event."""
        before = self.changes[0].before_run
        return f"{base}/p/{self.project}/compare?run={quote(before)}&run={quote(self.at_run)}"


def short(text: str, longest: int = LONGEST) -> str:
    """Return a text of at most so many letters: names are as long as whoever pushes likes."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def described(change: Seen) -> str:
    """Return a change in words."""
    metric = LABELS.get(change.metric, change.metric)
    levels = f"{value(change.before, change.unit)} to {value(change.after, change.unit)}"
    return f"{short(change.series.title)}: {metric} {levels} ({size(change)})"


def events(project: str, changes: Iterable[Seen]) -> list[Event]:
    """Return the events of changes, in the order of these."""
    return [
        Event(project, group[0].series.target, group[0].at_run, group)
        for group in by_event(changes)
    ]
