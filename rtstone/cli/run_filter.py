"""Select stored runs by the options of `rtstone list runs`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rtstone.documents.other_names import OTHER_NAMES, is_called
from rtstone.errors import UsageError, unknown
from rtstone.store.run_catalogue import Entry
from rtstone.targets import TARGETS

STATUSES = ("complete", "incomplete", "unfinished", "damaged")

_AGO = re.compile(r"(\d{1,5})(min|h|d)")
_AGES = {"min": "minutes", "h": "hours", "d": "days"}


class RunFilter(NamedTuple):
    """Conditions on a run; None: any.

    ``suite``, ``target`` and ``bench`` are names; a target may also be a kind (``qemu``), a bench a
    family (``sem``) or another name (``wakeup``).  ``since``: an age such as 2h or 7d, or a date
    and time in ISO 8601, local time without a zone.  ``last``: at most this many, the latest.
    """

    suite: str | None = None
    target: str | None = None
    bench: str | None = None
    status: str | None = None
    since: str | None = None
    last: int | None = None


def pick(entries: list[Entry], conditions: RunFilter, now: datetime | None = None) -> list[Entry]:
    """Return the runs that match, in their order; ages count back from ``now``.

    Raises UsageError for a malformed time, and for a name that neither a stored run nor rtstone
    itself has.
    """
    picked = entries
    for noun in ("suite", "target", "bench"):
        name = getattr(conditions, noun)
        if name is None:
            continue
        stored = {word for entry in entries for word in _names(noun, entry)}
        if stored and name not in stored:
            own: Iterable[str] = {"target": TARGETS, "bench": OTHER_NAMES}.get(noun, ())
            if noun == "suite":
                from rtstone.measure.suite import shipped

                own = shipped()
            if name not in own:  # else it is valid, even if no run has it
                raise unknown(noun, name, stored, "of the stored runs")
        picked = [entry for entry in picked if _is_of(noun, entry, name)]
    if conditions.status is not None:
        if conditions.status not in STATUSES:
            raise unknown("status", conditions.status, STATUSES)
        picked = [entry for entry in picked if entry.status == conditions.status]
    if conditions.since is not None:
        moment = _moment(conditions.since, now or datetime.now(UTC))
        picked = [entry for entry in picked if entry.begun is not None and entry.begun >= moment]
    return picked if conditions.last is None else picked[max(len(picked) - conditions.last, 0) :]


def _is_of(noun: str, entry: Entry, name: str) -> bool:
    """Return whether a run is of the suite, target or bench of that name."""
    other = noun == "bench" and any(is_called(bench, name) for bench in entry.benches.split())
    return other or name in _names(noun, entry)


def _names(noun: str, entry: Entry) -> set[str]:
    """Return the names of the suites, the target or the benches of a run, and of their kinds."""
    if noun == "suite":
        return {entry.suite, *entry.suite.split()} if entry.suite else set()
    if noun == "target":
        names = {entry.target, entry.target.partition(":")[0]}
        return names | {entry.called} if entry.called else names
    benches = entry.benches.split()
    return {*benches, *(bench.partition(".")[0] for bench in benches)}


def _moment(text: str, now: datetime) -> datetime:
    """Return the time that --since names.  Raises UsageError."""
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_AGES[ago[2]]: int(ago[1])})
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise UsageError(
            f"bad time '{text}', in --since; write an age such as 30min, 2h or 7d, or a date such "
            "as 2026-11-20 or 2026-11-20T14:00"
        ) from None
