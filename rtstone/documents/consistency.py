"""Check a run document for properties that readers rely on and types cannot express."""

from __future__ import annotations

from datetime import datetime

from msgspec import ValidationError

from rtstone.documents.run import Distribution, Result, Run


def check_sound(run: Run) -> None:
    """Raise ValidationError if no version of rtstone can have written the document."""
    _check_moment(run.created)
    for place, result in enumerate(run.results):
        for what, holds in _faults(result):
            if holds:
                raise ValidationError(f"{what} - at `$.results[{place}]`")


def _check_moment(text: str) -> None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not 1970 <= moment.year < 9000:
        raise ValidationError("not a time with its offset from UTC - at `$.created`")


def _faults(result: Result) -> list[tuple[str, bool]]:
    corrected = result.corrected
    return [
        ("more samples in the histogram than were taken", _overfull(result)),
        (
            "corrected: more samples in the histogram",
            corrected is not None and _overfull(corrected),
        ),
    ]


def _overfull(of: Result | Distribution) -> bool:
    return sum(count for _, count in of.histogram) > of.n
