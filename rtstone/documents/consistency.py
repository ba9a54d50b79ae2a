"""Check documents for properties that readers rely on and types cannot express."""

from __future__ import annotations

from datetime import datetime

from msgspec import ValidationError

from rtstone.documents.explanation import Explanation, Way
from rtstone.documents.run import Distribution, Result, Run

_DEEPEST = 10_000  # calls


def check_sound(run: Run) -> None:
    """Raise ValidationError if no version of rtstone can have written the document."""
    _check_moment(run.created)
    for place, result in enumerate(run.results):
        for fault, holds in _faults(result):
            if holds:
                raise ValidationError(f"{fault} - at `$.results[{place}]`")


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


def _overfull(samples: Result | Distribution) -> bool:
    return sum(count for _, count in samples.histogram) > samples.n


def check_explanation(explanation: Explanation) -> None:
    """Raise ValidationError if parts of a sample cannot be parts of it."""
    ways = {"way": explanation.way, "against": explanation.against}
    for name, way in ways.items():
        for fault, holds in _way_faults(way) if way else []:
            if holds:
                raise ValidationError(f"{fault} - at `$.{name}`")


def _way_faults(way: Way) -> list[tuple[str, bool]]:
    return [
        ("a negative value", way.sample.raw < 0),
        ("a segment of negative length", any(s.length < 0 for s in way.segments)),
        ("a stack without functions", any(not stack.frames for stack in way.stacks)),
        ("a stack of negative cost", any(stack.cost < 0 for stack in way.stacks)),
        ("a call of negative length", any(span.length < 0 for span in way.spans)),
        ("a call that is too deep", any(span.depth > _DEEPEST for span in way.spans)),
    ]
