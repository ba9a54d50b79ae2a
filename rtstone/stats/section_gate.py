"""Check the longest sections of a run against limits such as ``sections preempt-off<=3000``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.sections import KINDS, Kind, SectionsOfRun
from rtstone.errors import UsageError, unknown
from rtstone.units import counted

SUBJECT = "sections"  # in place of a bench
_LIMIT = re.compile(r"(\S+?)\s*<=\s*(\d{1,18})\s*(?:instr|instructions)?")


class SectionLimit(NamedTuple):
    """At most so many instructions may the longest section of a kind have."""

    kind: Kind
    allowed: int


def limits_of(texts: Iterable[str]) -> tuple[list[SectionLimit], list[str]]:
    """Return the limits of sections among limits of a command line, and the others.

    Raises UsageError.
    """
    limits, rest = [], []
    for text in texts:
        subject, _, limit = text.strip().partition(" ")
        if subject != SUBJECT:
            rest.append(text)
            continue
        match = _LIMIT.fullmatch(limit.strip())
        if match is None:
            raise UsageError(
                f"no limit, in --limit '{text}'; write one such as 'sections critical<=300', in "
                "instructions"
            )
        kind = next((kind for kind in KINDS if kind == match[1]), None)
        if kind is None:
            raise unknown("kind of sections", match[1], KINDS, f"in --limit '{text}'")
        limits.append(SectionLimit(kind, int(match[2])))
    return limits, rest


def section_checks(document: SectionsOfRun, limits: Sequence[SectionLimit]) -> Iterator[Check]:
    """Yield the checks of a run's sections.

    A kind that the system does not have, or that was not followed rightly, never passes.
    """
    kinds = {each.kind: each for each in document.kinds}
    for limit in limits:
        check = Check(
            bench=document.bench,
            params=document.params,
            series=document.series,
            load=document.load,
            what=f"longest section {KINDS[limit.kind]}",
            limit=f"<= {limit.allowed}",
            verdict="not measured",
            unit="instructions",
            allowed=float(limit.allowed),
        )
        each = kinds.get(limit.kind)
        if each is None:
            names = ", ".join(kinds)
            reason = f"{document.target} has no such sections; it has {names}"
            yield structs.replace(check, reason=reason)
            continue
        if document.while_masked:
            came = counted(document.while_masked, "interrupt")
            reason = f"{came} came while interrupts were held to be masked: a defect"
            yield structs.replace(check, reason=reason)
            continue
        verdict: Verdict = "passed" if each.longest <= limit.allowed else "failed"
        margin = 1 - each.longest / limit.allowed if limit.allowed else None
        yield structs.replace(
            check, verdict=verdict, observed=float(each.longest), n=each.n, margin=margin
        )


def with_sections(gate: Gate, checks: Sequence[Check]) -> Gate:
    """Return a gate with further checks."""
    every = [*gate.checks, *checks]
    return structs.replace(gate, checks=every, verdict=overall(every, gate.policy))
