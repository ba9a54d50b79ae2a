"""Select stored runs by the options of `rtstone list runs`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rtstone.errors import UsageError, unknown
from rtstone.store.run_catalogue import Entry
from rtstone.targets import TARGETS

STATUSES = ("complete", "incomplete", "unfinished", "damaged")

_AGO = re.compile(r"(\d{1,5})(min|h|d)")
_AGES = {"min": "minutes", "h": "hours", "d": "days"}


class RunFilter(NamedTuple):
    """Conditions on a run; None: any.

    ``suite``, ``target`` and ``bench`` are names; a target may also be a kind (``qemu``), a bench a
    family (``sem``).  ``since``: an age such as 2h or 7d, or a date and time in ISO 8601, local
    time without a zone.  ``last``: at most this many, the latest.
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
    tests = [
        _named("suite", conditions.suite, entries, _suites, _shipped),
        _named("target", conditions.target, entries, _targets, TARGETS.keys),
        _named("bench", conditions.bench, entries, _benches, list),
    ]
    if conditions.status is not None:
        if conditions.status not in STATUSES:
            raise unknown("status", conditions.status, STATUSES)
        tests.append(lambda entry: entry.status == conditions.status)
    if conditions.since is not None:
        moment = _moment(conditions.since, now or datetime.now(UTC))
        tests.append(lambda entry: entry.begun is not None and entry.begun >= moment)
    picked = [entry for entry in entries if all(test(entry) for test in tests)]
    return picked if conditions.last is None else picked[max(len(picked) - conditions.last, 0) :]


def _named(
    noun: str,
    name: str | None,
    entries: list[Entry],
    words: Callable[[Entry], set[str]],
    own: Callable[[], Iterable[str]],
) -> Callable[[Entry], bool]:
    """Return the test for a name; ``own``: names that are valid even if no run has them."""
    if name is None:
        return lambda entry: True
    stored = {word for entry in entries for word in words(entry)}
    if stored and name not in stored and name not in own():
        raise unknown(noun, name, stored, "of the stored runs")
    return lambda entry: name in words(entry)


def _shipped() -> Iterable[str]:
    from rtstone.measure.suite import shipped

    return shipped()


def _suites(entry: Entry) -> set[str]:
    return {entry.suite, *entry.suite.split()} if entry.suite else set()


def _targets(entry: Entry) -> set[str]:
    words = {entry.target, entry.target.partition(":")[0]}
    return words | {entry.called} if entry.called else words


def _benches(entry: Entry) -> set[str]:
    ids = entry.benches.split()
    return {*ids, *(bench.partition(".")[0] for bench in ids)}


def _moment(text: str, now: datetime) -> datetime:
    if ago := _AGO.fullmatch(text):
        return now - timedelta(**{_AGES[ago[2]]: int(ago[1])})
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise UsageError(
            f"bad time '{text}', in --since; write an age such as 30min, 2h or 7d, or a date such "
            "as 2026-11-20 or 2026-11-20T14:00"
        ) from None
