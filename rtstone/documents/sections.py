"""The sections document: where something was off in a run, as interrupts or preemption.

All lengths are instructions, from the one that switched it off up to the one that switched it on
again.  A release may add members; a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Value
from rtstone.wire.records import Natural, Number, Whole

SCHEMA = "rtstone.sections/1"

# What is off in a section.
Kind = Literal["irqs-masked", "preempt-off", "unbroken", "critical", "suspended"]
KINDS: dict[Kind, str] = {
    "irqs-masked": "with interrupts masked",
    "preempt-off": "with preemption off",
    "unbroken": "without a point of rescheduling",
    "critical": "in a critical section",
    "suspended": "with the scheduler suspended",
}


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """All sections from one place to another.

    ``begin``, ``end``: functions, each called by the one before it; only the last one is certain,
    the others are who called a function that does this for its callers.  ``n``: how many;
    ``total``: their sum; ``longest``: of one of them, which began at ``at``, in instructions after
    the first sample was due.  ``stack``: the functions that were on the stack then, outermost
    first, as far as they are known; empty if it was not looked at.
    """

    begin: list[str]
    end: list[str]
    n: Whole
    total: Whole
    longest: Whole
    at: Natural
    stack: list[str] = []


class Sections(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of one kind, the longest first; ``n`` and ``total`` of all of them."""

    kind: Kind
    n: Natural
    total: Natural
    longest: Natural
    sections: list[Section]


class SectionsOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """Every section of a case that began between its first and its last sample.

    ``run_id``, ``name``, ``target``: the run, what a person calls it, and its target.
    ``case``, ``bench``, ``params``, ``load``, ``series``: the result whose samples these are.
    ``sentence``: the answer.  ``instructions``: from the first sample's due time to the last one's
    end.  ``max``: the largest sample.  ``interrupts``: how many came, where that was seen, and
    ``while_masked``: of these, how many came where interrupts were held to be masked; any is a
    defect of the instrument.
    """

    schema: str = SCHEMA
    run_id: str
    name: str | None = None
    target: str
    case: Natural
    bench: str
    params: dict[str, Value]
    load: str
    series: str = ""
    sentence: str
    instructions: Whole
    max: Number | None
    interrupts: Natural | None = None
    while_masked: Natural = 0
    kinds: list[Sections]
    notes: list[str] = []


COMPARED = "rtstone.sections-compared/1"


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """Sections from one place to another, in a run and in the one that it is compared with.

    ``longest``, ``n``: as in the run; ``against_longest``, ``against_n``: as in the other.  0: none
    were seen there.
    """

    kind: Kind
    begin: list[str]
    end: list[str]
    longest: Natural
    n: Natural
    against_longest: Natural
    against_n: Natural

    @property
    def longer(self) -> int:
        """By how much the longest is longer than in the other run, in instructions."""
        return self.longest - self.against_longest


class SectionsCompared(msgspec.Struct, frozen=True, kw_only=True):
    """The sections of two runs, those first whose longest changed most.

    ``run_id``, ``target``: the run; ``against_run_id``, ``against_target``: the one that it is
    compared with.  ``bench``: whose cases these are.  ``sentence``: the answer.
    ``changes``: of sections of the same kind between functions of the same names, the suffixes of
    the compiler left out; those whose longest is the same are left out.
    """

    schema: str = COMPARED
    run_id: str
    target: str
    against_run_id: str
    against_target: str
    bench: str
    sentence: str
    changes: list[Change]
