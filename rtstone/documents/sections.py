"""The sections document: where something was off in a run, as interrupts or preemption.

All lengths are instructions, from the one that switched it off up to the one that switched it on
again.  A release may add members; a change of meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Value
from rtstone.units import counted
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


# What delays the first switch to a task, in the order in which it does.
Part = Literal["timer", "blocked", "tail", "gap", "head", "interrupts"]
PARTS: dict[Part, str] = {
    "timer": "until the timer requests its interrupt",
    "blocked": "while no task can be switched to",
    "tail": "behind a switch to another task, with interrupts masked for it",
    "gap": "until the scheduler is entered",
    "head": "up to the switch, while no other could come",
    "interrupts": "in interrupt handlers",
}


class Term(msgspec.Struct, frozen=True, kw_only=True):
    """The longest of what delays a switch in one way, without interrupt handlers.

    ``longest``: in instructions; of interrupts, all in any time as long as the bound.  ``n``: how
    many there were.  ``added``: it is a part of the bound; of "blocked" and "tail" only the longer
    is, of FreeRTOS the longest of these and "head".  ``begin``, ``end``, ``at``, ``stack``: as of
    a section; empty and None where it is none.
    """

    part: Part
    longest: Natural
    n: Natural
    added: bool = False
    begin: list[str] = []
    end: list[str] = []
    at: Whole | None = None
    stack: list[str] = []


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A bound of the time from when a wake-up was due until the first switch to its task.

    It is composed of what ran; code that did not run may be longer.  ``longest``: the bound, in
    instructions, the sum of the ``terms`` that are added.  ``sentence``: the answer.  ``seen``: the
    longest such time of the samples, and ``sample``: which had it; None if none has one.
    ``switched``: samples that have one; ``running``: samples whose task ran when they were due.
    ``above``: samples in which it was longer than the bound; any is a defect of the model or of the
    instrument.  ``after``: the longest time from that switch to the end of a sample, which is not
    part of the bound.
    """

    longest: Natural
    sentence: str
    terms: list[Term]
    seen: Natural | None = None
    sample: Natural | None = None
    switched: Natural = 0
    running: Natural = 0
    above: Natural = 0
    after: Natural | None = None


class Unseen(msgspec.Struct, frozen=True, kw_only=True):
    """Functions of the kernel that mask interrupts, and began no section here.

    ``functions``: how many mask them, by an instruction of their own or by a function that does it
    for its callers; modules are not among them.  ``unseen``: how many of these began no section;
    ``names``: of these.
    """

    functions: Natural
    unseen: Natural
    names: list[str]


class SectionsOfRun(msgspec.Struct, frozen=True, kw_only=True):
    """Every section of a case that began between its first and its last sample.

    ``run_id``, ``name``, ``target``: the run, what a person calls it, and its target.
    ``case``, ``bench``, ``params``, ``load``, ``series``: the result whose samples these are.
    ``sentence``: the answer.  ``instructions``: from the first sample's due time to the last one's
    end.  ``max``: the largest sample.  ``interrupts``: how many came, where that was seen, and
    ``while_masked``: of these, how many came where interrupts were held to be masked; any is a
    defect of the instrument.  ``bound``: of the time until the first switch to the task;
    ``no_bound``: why there is none.  ``unseen``: what might have masked interrupts, where the code
    says it.
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
    bound: Bound | None = None
    no_bound: str = ""
    unseen: Unseen | None = None
    notes: list[str] = []


def defects(document: SectionsOfRun) -> list[str]:
    """Return what shows that sections or their bound are wrong, a clause each."""
    clauses = []
    if document.while_masked:
        came = counted(document.while_masked, "interrupt")
        clauses.append(f"{came} came while interrupts were held to be masked")
    if document.bound is not None and document.bound.above:
        late = counted(document.bound.above, "wake-up")
        clauses.append(f"{late} took longer until the first switch than the bound")
    return clauses


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
