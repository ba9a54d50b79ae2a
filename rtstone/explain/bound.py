"""Compose a bound of the time until the first switch to a task, of the terms of what ran.

docs/guides/sections.md, "The bound", derives the compositions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import structs

from rtstone.documents.sections import PARTS, Bound, Part, Term
from rtstone.explain.recording import Kind, Recording, Span, Table
from rtstone.explain.samples import Samples
from rtstone.units import count
from rtstone.wire.buckets import bounds

NUMBERS: dict[Part, int] = {"blocked": 5, "tail": 6, "gap": 7, "head": 8}  # as in delays.h


class Composition(NamedTuple):
    """What is added up: of each group the longest.

    ``in_handlers``: the switch may be in a handler, which then has to run up to it.
    """

    groups: Sequence[Sequence[Part]]
    in_handlers: bool


# Linux enters the scheduler behind what blocks it (de Oliveira and others, ECRTS 2020).
ENTERED = Composition((("timer",), ("blocked", "tail"), ("gap",), ("head",)), in_handlers=False)
# FreeRTOS switches within what blocks, or in the handler.
WITHIN = Composition((("timer",), ("blocked", "tail", "head")), in_handlers=True)


class Handlers(NamedTuple):
    """When interrupt handlers began and ended, in order, none of them within another."""

    begins: Table
    ends: Table

    def before(self, when: Table) -> Table:
        """Return how many instructions of handlers ran before each of these times."""
        if not len(self.begins):
            return np.zeros(len(when), np.int64)
        total = np.concatenate([[0], np.cumsum(self.ends - self.begins)])
        place = np.searchsorted(self.begins, when, "right")
        last = np.maximum(place - 1, 0)
        within = np.minimum(when, self.ends[last]) - self.begins[last]
        sums: Table = np.where(place > 0, total[last] + within, 0)
        return sums

    def most(self, window: int) -> int:
        """Return the most instructions of handlers in any time as long as this.

        No such time has more than all of those that begin with a handler.
        """
        if not len(self.begins):
            return 0
        return int((self.before(self.begins + window) - self.before(self.begins)).max())


class Wakeups(NamedTuple):
    """Wake-ups of a series, from when each was due until the first switch to its task.

    ``longest``: of one of them, and ``sample``: its number; None if there is none.  ``least``: all
    of them, each at least as long.  ``running``: samples whose task ran when they were due.
    ``late``: by how much the timer asked for its interrupt later than due, at most.  ``after``: the
    longest from a switch to the end of a sample.
    """

    longest: int | None
    sample: int | None
    least: Sequence[int]
    running: int
    late: int
    after: int | None


def wakeups(every: Samples, recorded: Recording, handlers: Handlers) -> Wakeups:
    """Return the wake-ups that samples are of."""
    switches = recorded.of_kind(Kind.SWITCHED)
    idle = recorded.of_kind(Kind.IDLED)["count"].astype(np.int64)
    times, tasks = switches["count"].astype(np.int64), switches["what"]
    held = recorded.of_kind(Kind.HANDLED)["size"].astype(np.int64)
    of_task = {task: times[tasks == task] for task in set(tasks.tolist())}
    step = math.ceil(every.per_tick) - 1  # by which it was due earlier: its clock goes by steps
    longest: tuple[int, int] | None = None
    least, running, late, after = [], 0, 0, None
    for number in range(len(every.buckets)):
        moment = every.moment(number)
        due = moment.end - moment.length
        place = int(np.searchsorted(times, moment.end, "right")) - 1
        own = of_task[int(tasks[place])] if place >= 0 else times[:0]
        later = own[np.searchsorted(own, due) :]
        if not len(later) or later[0] > moment.end:
            running += 1
            continue
        switch = int(later[0])
        longest = max((switch - due, -number), longest or (0, 0))
        least.append(switch - due - _uncertain(every, number, exact=moment.exact))
        after = max(moment.end - switch, after or 0)
        first = int(np.searchsorted(handlers.begins, due))
        if first < len(handlers.begins) and handlers.begins[first] < switch:
            begin = int(handlers.begins[first])
            waited = int(np.searchsorted(idle, begin)) - 1
            requested = begin - int(held[first])  # then, or later while interrupts were masked
            late = max(late, requested - due + step)
            if waited >= 0:  # while it waits, time passes without instructions
                late = max(late, int(idle[waited]) - due + step)
    length, sample = (longest[0], -longest[1]) if longest else (None, None)
    return Wakeups(length, sample, least, running, late, after)


def _uncertain(every: Samples, number: int, *, exact: bool) -> int:
    """Return by how many instructions a sample may have been due later than its bucket says."""
    _, width = bounds(int(every.buckets[number]), every.raw.bits)
    return 0 if exact else math.ceil((width - 1) / 2 * every.per_tick)


def recorded_handlers(recorded: Recording) -> Handlers:
    """Return the interrupt handlers of a recording."""
    rows = recorded.of_kind(Kind.HANDLED)
    return Handlers(rows["count"].astype(np.int64), rows["what"].astype(np.int64))


def within(handlers: Handlers, during: Span) -> Handlers:
    """Return the handlers that ran in a time, or in a part of it."""
    chosen = (handlers.ends > during.start) & (handlers.begins < during.end)
    return Handlers(handlers.begins[chosen], handlers.ends[chosen])


def compose(
    composition: Composition, terms: Sequence[Term], handlers: Handlers
) -> tuple[int, list[Term]]:
    """Return the bound, and its terms, of which those that are added say so.

    It is the least time L that has room for what delays the switch and for all handlers that ran in
    any time of this length: L = terms + handlers(L), where a switch in a handler takes one more
    instruction of what is not.  Parts that ``terms`` lack are 0.
    """
    by_part = {term.part: term for term in terms}
    parts: list[Term] = []
    for group in composition.groups:
        members = [by_part.get(part, Term(part=part, longest=0, n=0)) for part in group]
        longest = max(members, key=lambda term: term.longest)
        parts += [structs.replace(term, added=term is longest) for term in members]
    base = sum(term.longest for term in parts if term.added)
    window, handled = -1, 0
    while window != base + handled + composition.in_handlers:
        window = base + handled + composition.in_handlers
        handled = handlers.most(window)
    interrupts = Term(part="interrupts", longest=handled, n=len(handlers.begins), added=True)
    return base + handled, [*parts, interrupts]


def bound_of(
    composition: Composition, terms: Sequence[Term], every: Samples, recorded: Recording,
    during: Span,
) -> Bound:  # fmt: skip
    """Return the bound of a case, and whether its samples are below it.

    ``terms``: those of stretches, as recorded.
    """
    handlers = recorded_handlers(recorded)
    samples = wakeups(every, recorded, handlers)
    timer = Term(part="timer", longest=samples.late, n=len(samples.least))
    length, parts = compose(composition, [timer, *terms], within(handlers, during))
    largest = max((term for term in parts if term.added), key=lambda term: term.longest)
    by = f", {' > '.join(largest.begin)}" if largest.begin else ""
    seen = "" if samples.longest is None else f"; longest seen {count(samples.longest)}"
    return Bound(
        longest=length,
        sentence=(
            f"Bound until the first switch to the task: {count(length)} instructions (of what "
            f"ran), most of it {count(largest.longest)} {PARTS[largest.part]}{by}{seen}"
        ),
        terms=parts,
        seen=samples.longest,
        sample=samples.sample,
        switched=len(samples.least),
        running=samples.running,
        above=sum(time > length for time in samples.least),
        after=samples.after,
    )
