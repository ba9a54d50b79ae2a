"""The explanation document: where one sample's time went, function by function.

Numbers have ``unit``: "instructions" from the emulated lab, where they are exact, or "ns" from a
trace of a live system, exact within ``resolution``.  A release may add members; a change of
meaning changes ``SCHEMA``.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from rtstone.documents.run import Value
from rtstone.wire.records import Natural, Number, Whole

SCHEMA = "rtstone.explanation/1"

Source = Literal["replay", "trace"]

# What a part of a sample's time was spent on.
Kind = Literal[
    "irq-delay", "handler", "softirq", "wakeup", "blocking", "irq", "switch", "return", "task"
]
KINDS: dict[Kind, str] = {
    "irq-delay": "interrupt delivered late",
    "handler": "interrupt handler",
    "softirq": "softirq",
    "wakeup": "wake-up",
    "blocking": "blocking thread",
    "irq": "other interrupts",
    "switch": "scheduler switch",
    "return": "return to the task",
    "task": "the measured tasks themselves",
}

# Where the time of a part went.
Cause = Literal["code", "hypervisor", "firmware", "outside", "unsure"]
CAUSES: dict[Cause, str] = {
    "code": "what had the CPU",
    "hypervisor": "the hypervisor",
    "firmware": "firmware",
    "outside": "nothing that ran here",
    "unsure": "perhaps elsewhere",
}


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """The sample that is explained.

    ``index``: its place among the samples of its series.  ``at_s``: seconds since the start of the
    measured section.  ``value``: net, as in the run.  ``raw``: from the moment it was due (or its
    first time stamp) to its last one; what its segments add up to.
    """

    index: Natural
    at_s: Number | None
    value: Number
    raw: Number


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the way; segments follow each other without gaps and add up to the sample.

    ``start``: since the sample was due.  ``by``: who ran meanwhile and why nothing else could, None
    where the kind says it all.  ``stack``: the functions that were on the stack all the while,
    outermost first.  ``cause``: where the time went.  "code": to what had the CPU;
    "hypervisor", "firmware": there; "outside": nothing that ran can have taken it; "unsure": to
    what had the CPU or to the hypervisor or firmware, which took time from the CPU around it.
    """

    kind: Kind
    start: Number
    length: Number
    by: str | None = None
    stack: list[str] = []
    cause: Cause = "code"


class Stack(msgspec.Struct, frozen=True, kw_only=True):
    """A call stack, outermost function first, and what was spent in its innermost one."""

    frames: list[str]
    cost: Number


class Span(msgspec.Struct, frozen=True, array_like=True):
    """One call of a function: since the sample was due, how long, and how deep in the stack."""

    start: Number
    length: Number
    depth: Natural
    name: str


class Way(msgspec.Struct, frozen=True, kw_only=True):
    """The way of a sample: all that ran from the moment it was due to its time stamp.

    ``segments``: in order of time.  ``stacks``: their costs add up to the sample, too.  ``spans``:
    calls in order of time, without those shorter than ``shortest``, and without any where the
    source does not know them.
    """

    sample: Sample
    segments: list[Segment]
    stacks: list[Stack]
    spans: list[Span] = []
    shortest: Number = 0


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """What was spent in a function, ``own``, and together with all that it called, ``total``.

    ``against_own`` and ``against_total``: the same of the sample it is held against.  A function of
    another program than the kernel has the program's name behind it, as in "ext4_sync [ext4]".
    """

    name: str
    own: Number
    total: Number
    against_own: Number | None = None
    against_total: Number | None = None


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """A function that the samples of the worst 1% had waited for last, and of how many of them."""

    name: str
    samples: Natural


class AllSamples(msgspec.Struct, frozen=True, kw_only=True):
    """All samples of the case at once.

    ``n``: how many.  ``cost``: of the whole case.  ``functions``: name and what was spent in it,
    the most first.  ``worst``: how many samples are the worst 1%.  ``endings``: what each of these
    had waited for last.
    """

    n: Natural
    cost: Whole
    functions: list[tuple[str, Whole]]
    worst: Natural
    endings: list[Ending]


class Explanation(msgspec.Struct, frozen=True, kw_only=True):
    """Why one sample took so long.

    ``run_id``, ``name``, ``target``: the run, what a person calls it, and its target.
    ``case``, ``bench``, ``params``, ``load``, ``series``: the result that the sample is of.
    ``source``: "replay" (the run was repeated, to the instruction) or "trace" (of a live system).
    ``sentence``: the answer.
    ``way``: of the sample; ``against``: of the one it is held against.
    ``functions``: the costliest first.
    ``all_samples``: None where only single samples were traced.
    ``resolution``: segments are exact within this much.
    ``lost``: events that the tracer lost; None for a replay, which loses none.
    ``notes``: what else a reader should know, as what tracing itself costs.
    ``asked``: the sample and the one it is held against, as they were asked for, and ``made_by``, a
    digest of the run's document and of the program: where both are the same, the answer is, too.
    None of a trace.
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
    unit: str
    source: Source
    sentence: str
    way: Way
    against: Way | None = None
    functions: list[Function]
    all_samples: AllSamples | None = None
    resolution: Number = 0
    lost: Natural | None = None
    notes: list[str] = []
    asked: tuple[str, str] | None = None
    made_by: str | None = None
