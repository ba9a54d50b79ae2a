"""A processor of a few instructions: every schedule of what blocks, of handlers and of a wake-up.

It is simulated instruction by instruction, without anything of what bounds it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, product
from typing import NamedTuple


class Step(NamedTuple):
    """An instruction that ran: in a handler or not, and what was off while it did.

    In a handler ``off`` is of the thread that it interrupted.
    """

    irq: bool = False
    off: bool = False
    masked: bool = False
    event: str = ""

    @property
    def blocked(self) -> bool:
        """Return whether no task could be switched to."""
        return self.off or self.masked


class Schedule(NamedTuple):
    """What ran, and the instructions from when the wake-up was due until the switch to its task."""

    steps: list[Step]
    latency: int


FREE, OFF, MASKED = Step(), Step(off=True), Step(masked=True)
DECIDES, SWITCH, TO_TASK = "decides", "switch", "to the task"
ASKS, ENTERS, RESUMES = "asks", "enters", "resumes"


def switching(before: int, masked: int, tail: int, after: int) -> list[Step]:
    """Return the code of a scheduler that switches to another task."""
    both = Step(off=True, masked=True)
    return [
        OFF._replace(event=ENTERS), *[OFF] * before,
        both._replace(event=DECIDES), *[both] * masked, both._replace(event=SWITCH),
        *[both] * tail, *[OFF] * after,
    ]  # fmt: skip


GAP = 2  # instructions from the end of a section until the scheduler is called
OWN = switching(2, 1, 1, 1)  # the scheduler, when it was asked for
FROM_HANDLER = [MASKED, *switching(1, 1, 1, 1)]  # the same at the end of a handler


def preemptible(
    code: Sequence[Step], due: int, handler: int, other: int | None, other_handler: int
) -> Schedule:
    """Run code of a thread on a kernel that is preempted wherever nothing is off.

    ``due``: when the timer asks for its interrupt, whose handler has so many instructions.
    ``other``: the same of another interrupt, which comes first if both wait.
    """
    steps: list[Step] = []
    left, woken, chosen, waiting = list(code), False, False, {due, other} - {None}
    while True:
        now = len(steps)
        step = left[0] if left else FREE
        if not step.masked and (ready := [at for at in waiting if at is not None and at <= now]):
            first = other if other in ready else due
            waiting.remove(first)
            length = other_handler if first == other else handler
            handling = step._replace(irq=True, masked=True, event="")
            wakes = first == due
            last = handling._replace(event=ASKS if wakes else "")
            steps += [*[handling] * (length - 1), last]
            woken |= wakes
            if woken and not step.off:
                left = list(FROM_HANDLER)
            continue
        if woken and not chosen and steps and _ended(steps, step):
            left = [*[FREE] * GAP, *OWN]
            chosen = True  # to enter the scheduler
            continue
        if step.event == DECIDES:
            chosen = woken
            if woken:
                left = [s._replace(event=TO_TASK) if s.event == SWITCH else s for s in left]
        steps.append(step)
        left = left[1:]
        if step.event == TO_TASK:
            latency = len(steps) - due
            while left and left[0].blocked:
                steps.append(left.pop(0))
            return Schedule([*steps, FREE], latency)


def _ended(steps: Sequence[Step], step: Step) -> bool:
    """Return whether a section of a thread ends before a step."""
    last = next((s for s in reversed(steps) if not s.irq), FREE)
    return last.blocked and not step.blocked


def sections() -> Iterator[list[Step]]:
    """Yield what a thread does, of few instructions."""
    parts = [
        [FREE], [OFF] * 3, [MASKED] * 4, [OFF, MASKED, OFF, OFF, OFF],
        switching(0, 0, 0, 0), switching(2, 1, 2, 3),
    ]  # fmt: skip
    for first, second in product(parts, parts):
        yield [FREE, *first, FREE, *second, FREE]


def rtos(
    code: Sequence[Step], due: int, handler: int, other: int | None, other_handler: int
) -> Schedule:
    """Run code of a task on a kernel that switches in handlers, and where it resumes.

    The arguments are those of ``preemptible``.
    """
    steps: list[Step] = []
    left, woken, waiting = list(code), False, {due, other} - {None}
    while True:
        now = len(steps)
        step = left.pop(0) if left else FREE
        if not step.masked and (ready := [at for at in waiting if at is not None and at <= now]):
            first = other if other in ready else due
            waiting.remove(first)
            handling = step._replace(irq=True, masked=True, event="")
            steps += [handling] * (other_handler if first == other else handler)
            woken |= first == due
            if woken and not step.off:
                switch = handling._replace(event=TO_TASK)
                return Schedule([*steps, switch, handling, FREE], _late(steps, due))
            left.insert(0, step)
            continue
        steps.append(step)
        if step.event == RESUMES and woken:
            return Schedule(
                [*steps, MASKED._replace(event=TO_TASK), MASKED, FREE], _late(steps, due)
            )


def _late(steps: Sequence[Step], due: int) -> int:
    """Return the time since the wake-up was due, up to the end of the next instruction."""
    return len(steps) + 1 - due


def tasks() -> Iterator[list[Step]]:
    """Yield what a task of an RTOS does: sections, with the scheduler suspended, and switches."""
    both = Step(off=True, masked=True)
    parts = [
        [FREE], [MASKED] * 4, [*[OFF] * 3, both, both._replace(event=RESUMES)],
        [MASKED, MASKED._replace(event=SWITCH), *[MASKED] * 3],
        [OFF, OFF, both, both._replace(event=RESUMES), both._replace(event=SWITCH), both],
    ]  # fmt: skip
    for first, second in product(parts, parts):
        yield [FREE, *first, FREE, *second, FREE]


class Terms(NamedTuple):
    """What delays switches, by lengths without handlers."""

    blocked: list[int]
    head: list[int]
    tail: list[int]


def terms(steps: Sequence[Step]) -> Terms:
    """Return the terms of what ran, each counted anew from it."""
    lengths = Terms([], [], [])
    # A handler ends no section but where nothing is off.
    thread = [step for step in steps if not (step.irq and step.off)]
    for blocked, group in groupby(thread, lambda step: step.blocked and not step.irq):
        run = list(group)
        if not blocked:
            continue
        places = [n for n, step in enumerate(run) if step.event in {SWITCH, TO_TASK}]
        if not places:
            lengths.blocked.append(len(run))
            continue
        begin = places[0]
        while begin and run[begin - 1].masked:
            begin -= 1
        lengths.head.extend(place + 1 for place in places)
        lengths.tail.append(len(run) - begin)
    return lengths


def handlers(steps: Sequence[Step]) -> list[tuple[int, int]]:
    """Return when each handler began and ended; two in a row are one."""
    spans, at = [], 0
    for irq, group in groupby(steps, lambda step: step.irq):
        length = len(list(group))
        if irq:
            spans.append((at, at + length))
        at += length
    return spans
