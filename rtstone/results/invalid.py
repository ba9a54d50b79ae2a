"""Name the results of a run that are not valid."""

from __future__ import annotations

from collections.abc import Iterable

from rtstone.documents.run import LOST_STATUSES, Result


def invalid(results: Iterable[Result]) -> list[Result]:
    """Return the results that were lost, though their system could have been measured."""
    return [result for result in results if result.status in LOST_STATUSES]


def first_reason(results: Iterable[Result]) -> str:
    """Return why the first of them is not valid: ``the first is null: it hung``; "" if all are."""
    lost = invalid(results)
    if not lost:
        return ""
    which = "" if len(lost) == 1 else "the first is "
    return f"{which}{lost[0].bench}: {lost[0].reason or lost[0].status}"
