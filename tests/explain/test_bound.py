"""The bound of the time until a switch, against every schedule of a small processor.

What composes it comes from the plugin's own code (delays.c), which is given what ran.
"""

from __future__ import annotations

import ctypes
import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rtstone.documents.sections import Part, Term
from rtstone.explain.bound import ENTERED, NUMBERS, WITHIN, Composition, Handlers, compose
from rtstone.explain.recording import Kind
from tests.explain import schedules
from tests.explain.schedules import Schedule, Step

SOURCES = Path(__file__).parents[2] / "rtstone/explain"
# What the plugin provides: rows of numbers, of the terms and of the records.
PROVIDED = """
#include "delays.h"
#include "tally.h"
uint64_t rows[4096][4];
unsigned n_rows;
static void row(uint64_t kind, uint64_t a, uint64_t b, uint32_t size)
{
    rows[n_rows][0] = kind, rows[n_rows][1] = a, rows[n_rows][2] = b, rows[n_rows++][3] = size;
}
void tally_add(unsigned kind, place begin, place end, uint64_t length, uint64_t at, uint64_t when)
{
    (void)begin, (void)end, (void)when;
    row(100 + kind, length, at, 0);
}
void write_record(uint64_t when, uint64_t what, uint32_t size, uint32_t kind)
{
    row(kind, when, what, size);
}
"""
OTHER, OWN = 1, 2  # tasks
HANDLER, OTHERS = 3, 4  # instructions


class Place(ctypes.Structure):
    """An instruction, as in delays.h."""

    _fields_ = [("pc", ctypes.c_uint64), ("caller", ctypes.c_uint64)]


class Delays:
    """The plugin's code that follows what delays switches."""

    def __init__(self, library: Path) -> None:
        self._library: Any = ctypes.CDLL(str(library))
        self._now = 0

    def _call(self, name: str, *values: Any) -> None:
        getattr(self._library, name)(*values)

    def follow(
        self, steps: Sequence[Step]
    ) -> tuple[dict[Part, list[int]], list[tuple[int, int, int]]]:
        """Return the terms by part, and the handlers, of what runs from now on.

        A handler is its begin, its end, and for how long it may have been held back.
        """
        rows = ((ctypes.c_uint64 * 4) * 4096).in_dll(self._library, "rows")
        number = ctypes.c_uint.in_dll(self._library, "n_rows")
        number.value = 0
        start, tasks = self._now, iter(range(10, 100))
        for n, (before, step) in enumerate(pairwise([schedules.FREE, *steps])):
            self._step(ctypes.c_uint64(start + n), before, step, tasks)
        self._now += len(steps)
        terms: dict[Part, list[int]] = {part: [] for part in NUMBERS}
        handlers = []
        for kind, first, second, size in (tuple(row) for row in rows[: number.value]):
            if kind == Kind.HANDLED:
                handlers.append((first - start, second - start, size))
            for part, code in NUMBERS.items():
                if kind == 100 + code:
                    terms[part].append(first)
        return terms, handlers

    def _step(self, when: Any, before: Step, step: Step, tasks: Iterator[int]) -> None:
        here, level = Place(1, 0), ctypes.c_uint(2)
        if step.irq and not before.irq:
            self._call("delays_deliver", ctypes.c_bool(True), when, here)
            self._block(step.off, when, here)
            self._call("delays_interrupt", when, level)
        if before.irq and not step.irq:
            self._call("delays_return", when, level, here)
        self._call("delays_deliver", ctypes.c_bool(not step.masked), when, here)
        if not step.irq:
            self._block(step.blocked, when, here)
        if step.event == schedules.ASKS:
            self._call("delays_need", when, here)
        if step.event == schedules.ENTERS:
            self._call("delays_schedule", when, here)
        if step.event in {schedules.SWITCH, schedules.TO_TASK}:
            after = ctypes.c_uint64(when.value + 1)
            self._call("delays_switch", after, ctypes.c_uint64(next(tasks) + when.value), here)

    def _block(self, blocked: bool, when: Any, here: Place) -> None:
        is_blocked = self._library.delays_blocked
        is_blocked.restype = ctypes.c_bool
        if is_blocked() != blocked:
            self._call("delays_block", ctypes.c_bool(blocked), when, here)


@pytest.fixture(scope="module")
def delays(tmp_path_factory: pytest.TempPathFactory) -> Delays:
    """Return the plugin's code, built by itself."""
    place = tmp_path_factory.mktemp("delays")
    (place / "provided.c").write_text(PROVIDED)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-shared", f"-I{SOURCES}"]
    files = [place / "provided.c", SOURCES / "delays.c"]
    subprocess.run(["gcc", *flags, *files, "-o", place / "delays.so"], check=True)
    return Delays(place / "delays.so")


def every(
    system: Callable[[Sequence[Step], int, int, int | None, int], Schedule],
    programs: Iterator[list[Step]],
) -> Iterator[Schedule]:
    """Yield each schedule: of each program, a wake-up and another interrupt at any time."""
    for code in programs:
        for due in range(1, len(code) + 1):
            for other in (None, *range(len(code) + 8)):
                yield system(code, due, HANDLER, other, OTHERS)


def bound(
    composition: Composition, terms: dict[Part, list[int]], handlers: Sequence[tuple[int, ...]]
) -> int:
    """Return the bound of these terms."""
    longest = [
        Term(part=part, longest=max(lengths, default=0), n=len(lengths))
        for part, lengths in terms.items()
    ]
    begins, ends = np.array([handler[:2] for handler in handlers], np.int64).reshape(-1, 2).T
    return compose(composition, longest, Handlers(begins, ends))[0]


SYSTEMS = {
    "preemptible": (schedules.preemptible, schedules.sections, ENTERED),
    "rtos": (schedules.rtos, schedules.tasks, WITHIN),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_schedule_is_above_and_the_worst_reaches_it(delays: Delays, name: str) -> None:
    system, programs, composition = SYSTEMS[name]
    whole: dict[Part, list[int]] = {part: [] for part in NUMBERS}
    ran = list(every(system, programs()))
    assert len(ran) > 2000
    seen = []
    for schedule in ran:
        terms, handlers = delays.follow(schedule.steps)
        counted = schedules.terms(schedule.steps)
        assert Counter(terms["blocked"]) == Counter(counted.blocked), schedule.steps
        assert Counter(terms["head"]) == Counter(counted.head), schedule.steps
        assert Counter(terms["tail"]) == Counter(counted.tail), schedule.steps
        assert max(terms["gap"], default=0) <= schedules.GAP, schedule.steps
        assert [handler[:2] for handler in handlers] == schedules.handlers(schedule.steps)
        assert schedule.latency <= bound(composition, terms, handlers), schedule.steps
        seen.append((schedule.latency, handlers))
        for part, lengths in terms.items():
            whole[part] += lengths
    assert max(whole["gap"], default=0) == (schedules.GAP if name == "preemptible" else 0)
    # Some schedule is as long as the terms of all and its own handlers allow.
    slack = min(bound(composition, whole, handlers) - latency for latency, handlers in seen)
    assert slack == 0


@pytest.mark.parametrize("name", SYSTEMS)
def test_no_schedule_of_a_late_timer_is_above(delays: Delays, name: str) -> None:
    """The wake-up was due with the first instruction, and the timer asks later."""
    system, programs, composition = SYSTEMS[name]
    for code in programs():
        for asks in range(1, len(code) + 1):
            for other in (None, *range(asks, len(code) + 8)):
                schedule = system(code, asks, HANDLER, other, OTHERS)
                terms, handlers = delays.follow(schedule.steps)
                begin, _, held = handlers[0]
                late = max(begin - held, 0)
                assert late <= asks, schedule.steps
                latency = schedule.latency + asks
                most = bound(composition, terms | {"timer": [late]}, handlers)
                assert latency <= most, schedule.steps


def test_a_request_that_the_scheduler_has_answered_leaves_no_gap(delays: Delays) -> None:
    both = Step(off=True, masked=True)
    enters, switch = schedules.OFF._replace(event=schedules.ENTERS), both._replace(event="switch")
    later = [schedules.OFF, *[schedules.FREE] * 9, enters, both, switch, schedules.FREE]
    asking = Step(irq=True, off=True, masked=True, event=schedules.ASKS)
    stays = [schedules.FREE, enters, asking, schedules.OFF, both]
    goes = [schedules.FREE, enters, both, both._replace(event=schedules.ASKS), switch]
    for answered in (stays, goes):
        assert delays.follow([*answered, *later])[0]["gap"] == []
    unanswered = [schedules.FREE, asking._replace(off=True), schedules.OFF]
    assert delays.follow([*unanswered, *later])[0]["gap"] == [9]


def test_handlers_are_counted_as_one_by_one() -> None:
    chance = random.Random(1)
    for _ in range(200):
        ran = [chance.random() < 0.4 for _ in range(40)]
        edges = [n for n, (a, b) in enumerate(pairwise([False, *ran, False])) if a != b]
        handlers = Handlers(np.array(edges[::2], np.int64), np.array(edges[1::2], np.int64))
        times = list(range(-3, 45))
        assert handlers.before(np.array(times)).tolist() == [sum(ran[: max(0, n)]) for n in times]
        for window in range(1, 45):
            sums = [sum(ran[max(0, n) : n + window]) for n in range(-window, 41) if n + window > 0]
            assert handlers.most(window) == max(sums)


def test_the_bound_is_the_least_that_has_room_for_all() -> None:
    chance = random.Random(2)
    for _ in range(200):
        times = sorted(chance.sample(range(200), 10))
        handlers = list(zip(times[::2], times[1::2], strict=True))
        lengths: dict[Part, list[int]] = {
            "blocked": [chance.randrange(20)], "tail": [chance.randrange(20)],
            "gap": [chance.randrange(3)], "head": [chance.randrange(9)],
        }  # fmt: skip
        base = max(lengths["blocked"] + lengths["tail"]) + lengths["gap"][0] + lengths["head"][0]
        begins, ends = np.array(handlers, np.int64).T
        most = Handlers(begins, ends).most
        least = next(n for n in range(base, 1000) if base + most(n) <= n)
        assert bound(ENTERED, lengths, handlers) == least


def test_terms_say_which_are_added() -> None:
    terms = [Term(part="blocked", longest=5, n=1), Term(part="tail", longest=7, n=1)]
    nothing = Handlers(np.zeros(0, np.int64), np.zeros(0, np.int64))
    length, parts = compose(ENTERED, terms, nothing)
    assert (length, [t.part for t in parts if t.added and t.longest]) == (7, ["tail"])
    assert sum(term.longest for term in parts if term.added) == length
    length, parts = compose(WITHIN, [*terms, Term(part="head", longest=9, n=1)], nothing)
    assert (length, [t.part for t in parts if t.added and t.longest]) == (9, ["head"])
