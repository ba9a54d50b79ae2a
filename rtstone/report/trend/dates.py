"""An axis of time: where its ticks are, and what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

MOST = 6  # ticks
_HOURS = (1, 2, 3, 6, 12)
_DAYS = (1, 2, 5, 10, 15)
_MONTHS = (1, 2, 3, 6, 12, 24, 60, 120, 240, 600)
Tick = tuple[float, str]


def seconds(created: str) -> float:
    """Return a time in ISO 8601 in s since 1970; without a zone it is UTC."""
    moment = datetime.fromisoformat(created)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def minute(created: str) -> str:
    """Return a time in ISO 8601 to the minute, in UTC."""
    return f"{datetime.fromtimestamp(seconds(created), UTC):%Y-%m-%d %H:%M}"


def ticks(begin: float, end: float) -> list[Tick]:
    """Return at most 6 round times between two, in s since 1970, with their names in UTC.

    They are first days of months, days or hours, whichever is the finest that fits.
    """
    for step in (*_HOURS, *(24 * days for days in _DAYS)):
        if (end - begin) / 3600 / step <= MOST - 1:
            return list(_hourly(begin, end, step))
    for months in _MONTHS:
        chosen = list(_monthly(begin, end, months))
        if len(chosen) <= MOST:
            return chosen
    return []


def _hourly(begin: float, end: float, step: int) -> Iterator[Tick]:
    """Yield every so many hours of a day, or days, counted from the first of January 1970."""
    hour = "%H:%M" if end - begin < 24 * 3600 else "%m-%d %H:%M"
    at = -(-begin // (3600 * step)) * 3600 * step
    while at <= end:
        moment = datetime.fromtimestamp(at, UTC)
        yield at, moment.strftime(hour if step < 24 and moment.hour else "%Y-%m-%d")
        at += 3600 * step


def _monthly(begin: float, end: float, months: int) -> Iterator[Tick]:
    """Yield the first days of every so many months, counted from January of the year 0."""
    first = datetime.fromtimestamp(begin, UTC)
    number = -(-(first.year * 12 + first.month - 1) // months) * months
    while True:
        moment = datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)
        if moment.timestamp() > end:
            return
        if moment.timestamp() >= begin:
            yield moment.timestamp(), f"{moment:%Y-%m}"
        number += months
