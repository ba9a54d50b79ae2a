"""Check documents for properties that readers rely on and types cannot express."""

from __future__ import annotations

from datetime import datetime

from msgspec import ValidationError

from rtstone.documents.explanation import Explanation
from rtstone.documents.run import Distribution, Result, Run
from rtstone.documents.sections import SectionsOfRun

_DEEPEST = 10_000  # calls


def check_sound(run: Run) -> None:
    """Raise ValidationError if no version of rtstone can have written the document."""
    try:
        moment = datetime.fromisoformat(run.created)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None or not 1970 <= moment.year < 9000:
        raise ValidationError("not a time with its offset from UTC - at `$.created`")
    for place, result in enumerate(run.results):
        fault = ""
        if _overfull(result):
            fault = "more samples in the histogram than were taken"
        elif result.corrected is not None and _overfull(result.corrected):
            fault = "corrected: more samples in the histogram"
        if fault:
            raise ValidationError(f"{fault} - at `$.results[{place}]`")
    design = run.attribution
    if design is not None:
        parts = {len(case.parts) for case in design.cases}
        if len(design.order) != design.blocks or parts - {len(design.parts)}:
            raise ValidationError("not the blocks and parts of its design - at `$.attribution`")


def _overfull(samples: Result | Distribution) -> bool:
    return sum(count for _, count in samples.histogram) > samples.n


def check_explanation(explanation: Explanation) -> None:
    """Raise ValidationError if parts of a sample cannot be parts of it."""
    for name, way in (("way", explanation.way), ("against", explanation.against)):
        if way is None:
            continue
        faults = {
            "a negative value": way.sample.raw < 0,
            "a segment of negative length": any(s.length < 0 for s in way.segments),
            "a stack without functions": any(not stack.frames for stack in way.stacks),
            "a stack of negative cost": any(stack.cost < 0 for stack in way.stacks),
            "a call of negative length": any(span.length < 0 for span in way.spans),
            "a call that is too deep": any(span.depth > _DEEPEST for span in way.spans),
        }
        for fault, holds in faults.items():
            if holds:
                raise ValidationError(f"{fault} - at `$.{name}`")


def check_sections(sections: SectionsOfRun) -> None:
    """Raise ValidationError if a bound is not the sum of its parts."""
    bound = sections.bound
    if bound and bound.longest != sum(term.longest for term in bound.terms if term.added):
        raise ValidationError("not the sum of its parts - at `$.bound`")
