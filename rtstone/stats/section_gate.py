"""Check a run against limits without a budget.

Those of its longest sections, such as ``sections preempt-off<=3000``, need the run once more.
``sections bound<=20000`` limits the bound of the time until the first switch to the task.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from msgspec import structs

from rtstone.documents.check import Check, Gate, Verdict, overall
from rtstone.documents.run import Run
from rtstone.documents.sections import KINDS, Kind, SectionsOfRun, defects
from rtstone.errors import UsageError, unknown
from rtstone.stats.budget import inclusive, stated
from rtstone.stats.gate import check

SUBJECT = "sections"  # in place of a bench
_LIMIT = re.compile(r"(\S+?)\s*<=\s*(\d{1,18})\s*(?:instr|instructions)?")


Subject = Kind | Literal["bound"]
SUBJECTS: dict[Subject, str] = {
    **{kind: f"longest section {text}" for kind, text in KINDS.items()},
    "bound": "bound until the first switch to the task",
}


class SectionLimit(NamedTuple):
    """At most so many instructions may the longest section of a kind have, or the bound."""

    subject: Subject
    allowed: int


def limits_of(texts: Iterable[str], option: str) -> tuple[list[SectionLimit], list[str]]:
    """Return the limits of sections among limits without a budget, and the others.

    ``option``: as in ``stated``.  Raises UsageError.
    """
    limits, rest = [], []
    for text in texts:
        subject, _, limit = text.strip().partition(" ")
        if subject != SUBJECT:
            rest.append(text)
            continue
        match = _LIMIT.fullmatch(limit.strip())
        if match is None:
            advice = (
                inclusive(text) or "write one such as 'sections critical<=300', in instructions"
            )
            raise UsageError(f"no limit, in {option}'{text}'; {advice}")
        limited = next((each for each in SUBJECTS if each == match[1]), None)
        if limited is None:
            raise unknown("kind of sections", match[1], SUBJECTS, f"in {option}'{text}'")
        limits.append(SectionLimit(limited, int(match[2])))
    return limits, rest


def check_limits(
    run: Run, texts: Sequence[str], baselines: Sequence[Run], option: str
) -> tuple[Gate, list[SectionLimit]]:
    """Return the check of a run against limits, and those of sections, which it leaves out.

    ``baselines``: what relative limits are relative to.  ``option``: as in ``stated``.  Raises
    UsageError.
    """
    of_sections, rest = limits_of(texts, option)
    if rest:
        gate = check(run, stated(rest, option), baselines)
        return structs.replace(gate, title=", ".join(texts)), of_sections
    if baselines:
        raise UsageError("a limit of sections is no relative one; leave out the baseline")
    gate = Gate(
        run_id=run.run_id, target=run.target.name, created=run.created, budget="",
        title=", ".join(texts), policy="inconclusive", name=run.name, checks=[], verdict="passed",
    )  # fmt: skip
    return gate, of_sections


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
            what=SUBJECTS[limit.subject],
            limit=f"<= {limit.allowed}",
            verdict="not measured",
            unit="instructions",
            allowed=float(limit.allowed),
        )
        if limit.subject == "bound":
            bound = document.bound
            longest, n = (bound.longest, bound.switched) if bound else (None, 0)
            lacking = f"there is no bound: {document.no_bound}"
        else:
            each = kinds.get(limit.subject)
            longest, n = (each.longest, each.n) if each else (None, 0)
            lacking = f"{document.target} has no such sections; it has {', '.join(kinds)}"
        wrong = defects(document)
        if longest is None or wrong:
            reason = f"{'; '.join(wrong)}: a defect" if wrong else lacking
            yield structs.replace(check, reason=reason)
            continue
        verdict: Verdict = "passed" if longest <= limit.allowed else "failed"
        margin = 1 - longest / limit.allowed if limit.allowed else None
        yield structs.replace(check, verdict=verdict, observed=float(longest), n=n, margin=margin)


def with_sections(gate: Gate, document: SectionsOfRun, limits: Sequence[SectionLimit]) -> Gate:
    """Return a gate with the checks of a run's sections."""
    every = [*gate.checks, *section_checks(document, limits)]
    return structs.replace(gate, checks=every, verdict=overall(every, gate.policy))
