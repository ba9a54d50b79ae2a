"""Which of the stored runs a person asks for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rtstone.errors import UsageError, unknown
from rtstone.store.index import Entry

STATUSES = ("complete", "incomplete", "unfinished")

_AGO = re.compile(r"(\d{1,5})(min|h|d)")
_AGES = {"min": "minutes", "h": "hours", "d": "days"}


class Wish(NamedTuple):
    """What a run has to be; None: it does not matter.

    ``suite``, ``target`` and ``bench`` are names, of a target also its kind (``qemu``), of a bench
    also its family (``sem``).  ``since``: an age such as 2h or 7d, or a date and time as ISO 8601
    has them, in local time where no zone is given.  ``last``: so many of those that are left.
    """

    suite: str | None = None
    target: str | None = None
    bench: str | None = None
    status: str | None = None
    since: str | None = None
    last: int | None = None


def pick(entries: list[Entry], wish: Wish) -> list[Entry]:
    """The runs that are wished for, in their order.

    Raises UsageError for a time that is none, and for a name that none of the runs has.
    """
    tests: list[Callable[[Entry], bool]] = []
    for noun, name, words in (
        ("suite", wish.suite, _suites),
        ("target", wish.target, _targets),
        ("bench", wish.bench, _benches),
    ):
        if name is not None:
            tests.append(_named(noun, name, words, entries))
    if wish.status is not None:
        if wish.status not in STATUSES:
            raise unknown("status", wish.status, STATUSES)
        tests.append(lambda entry: entry.status == wish.status)
    if wish.since is not None:
        moment = _moment(wish.since)
        tests.append(lambda entry: datetime.fromisoformat(entry.created).astimezone() >= moment)
    found = [entry for entry in entries if all(test(entry) for test in tests)]
    return found if wish.last is None else found[max(len(found) - wish.last, 0) :]


def _named(
    noun: str, name: str, words: Callable[[Entry], Iterable[str]], entries: list[Entry]
) -> Callable[[Entry], bool]:
    known = {word for entry in entries for word in words(entry)}
    if known and name not in known:
        raise unknown(noun, name, known, "of the stored runs")
    return lambda entry: name in words(entry)


def _suites(entry: Entry) -> set[str]:
    return {entry.suite, *entry.suite.split()} if entry.suite else set()


def _targets(entry: Entry) -> set[str]:
    return {entry.target, entry.target.partition(":")[0]}


def _benches(entry: Entry) -> set[str]:
    ids = entry.benches.split()
    return {*ids, *(bench.partition(".")[0] for bench in ids)}


def _moment(text: str) -> datetime:
    if ago := _AGO.fullmatch(text):
        return datetime.now(UTC) - timedelta(**{_AGES[ago[2]]: int(ago[1])})
    try:
        return datetime.fromisoformat(text).astimezone()
    except ValueError:
        raise UsageError(
            f"bad time '{text}', in --since; write an age such as 30min, 2h or 7d, or a date such "
            "as 2026-11-20 or 2026-11-20T14:00"
        ) from None
