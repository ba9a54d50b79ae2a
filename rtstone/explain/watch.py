"""Watch a run in the lab while it is carried out: its sections are then there without a replay.

The plugin finds out where the kernel is, and holds back what is near the first and the last sample
of a case (tally.c); which of that counts is decided here, once the samples are known.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.documents.sections import SectionsOfRun
from rtstone.errors import RtstoneError, TargetError, UsageError
from rtstone.explain import masks
from rtstone.explain.bound import NUMBERS
from rtstone.explain.lab import Machine, machine_of, samples_in, space_of
from rtstone.explain.recording import Recording, Span, Table
from rtstone.explain.replay import recorder, results_of
from rtstone.explain.sections import (
    Seen,
    document_of,
    during_of,
    followed_of,
    memory_of,
)
from rtstone.explain.symbols import AddressSpace
from rtstone.targets.base import Target
from rtstone.targets.qemu import Qemu

CASE = 254  # the kind of the row that ends those of a case, as in tally.c


def watchable(target: Target) -> Machine:
    """Return the program of a target that can be watched.  Raises UsageError, TargetError."""
    if not isinstance(target, Qemu) or target.system.beside or not target.counts:
        raise UsageError(
            f"no sections on target '{target.name}': they are seen from within an emulated board "
            "that counts instructions, as qemu:linux-6.1-rt"
        )
    return machine_of(target)


def unwatchable(target: Target) -> str:
    """Return why the sections of a target cannot be followed, "" if they can."""
    try:
        followed_of(watchable(target))
    except RtstoneError as error:
        return str(error)
    return ""


class Watch:
    """What is recorded of a run from ``attach`` on, within its ``with`` block."""

    def __init__(self) -> None:
        self._stack = ExitStack()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def attach(self, plan: Plan, target: Target) -> None:
        """Have the run of a plan recorded.  Raises UsageError, TargetError."""
        self._machine = machine = watchable(target)
        self._plan = plan
        self._followed = followed_of(machine)
        warmups = [plan.value(case, "warmup") for case in plan.cases]
        lines = [("case", n, w if isinstance(w, int) else 0) for n, w in enumerate(warmups, 1)]
        request = machine.request._replace(
            after=0, sections=[*lines, *self._followed.lines], memory=memory_of(machine)
        )
        recording = recorder(machine.target, request)
        self._recorded: Callable[[], Recording] = self._stack.enter_context(recording)

    def sections(self, directory: Path, run: Run) -> tuple[list[SectionsOfRun], list[str]]:
        """Return the sections of a run's cases, and why those of others are not known."""
        recorded, raws = self._recorded(), results_of(self._plan, directory)
        documents: list[SectionsOfRun] = []
        lacking: list[str] = []
        try:
            space = space_of(self._machine, recorded)
        except RtstoneError as error:  # as of a guest that ended early
            return [], [f"no sections: {error}"]
        for place, case in enumerate(self._plan.cases):
            own = [each for each in run.results if each.case == case.id and each.worst]
            for result in own:
                try:
                    if len(own) > 1:
                        raise UsageError("it has several series; `rtstone sections` takes one")
                    every = samples_in(recorded, place, raws[case.id], result, self._machine)
                    rows = self._rows(recorded, space, place + 1, during_of(every))
                    seen = Seen(self._machine, self._followed, every, recorded, rows, space)
                    documents.append(document_of(run, result, seen))
                except RtstoneError as error:
                    lacking.append(f"no sections of {result.bench}: {error}")
                    break
        return documents, lacking

    def _rows(self, recorded: Recording, space: AddressSpace, number: int, during: Span) -> Table:
        """Return the rows of the ``number``-th case that are of this time.  Raises TargetError."""
        rows = recorded.sections
        ends = [int(place) for place in (rows["kind"] == CASE).nonzero()[0]]
        numbers = [int(rows["n"][end]) for end in ends]
        if number not in numbers:
            raise TargetError("the case did not end")
        place = numbers.index(number)
        end = rows[ends[place]]
        if int(end["at"]) > during.start or int(end["ended"]) > during.end:
            raise TargetError("more happened before its first sample than is recorded")
        if self._machine.target.system.kernel is not None:
            self._check_place(space, int(end["begin"]))
        rows = rows[ends[place - 1] + 1 if place else 0 : ends[place]]
        terms = [kind in NUMBERS.values() for kind in rows["kind"].tolist()]
        return rows[_within(rows, terms, during)]

    def _check_place(self, space: AddressSpace, moved: int) -> None:
        """Raise TargetError unless the plugin has found the kernel where it was."""
        ((_, at, _),) = [each for each in space.functions("") if each[0] == masks.BEGIN]
        start = next(at for word, at, _ in self._followed.lines if word == "kernel")
        if (start + moved) % (1 << 64) != at:
            raise TargetError("the kernel was not where the emulator's plugin looked for it")


def _within(rows: Table, terms: Sequence[bool], during: Span) -> Table:
    """Return which rows are of a time: sections that begin in it, and terms that reach into it."""
    begun = rows["at"].astype("i8")
    later = (begun >= during.start) | (terms & (rows["ended"].astype("i8") > during.start))
    chosen: Table = (begun < during.end) & later
    return chosen
