"""Divide the way of a sample into segments: what kept it from ending sooner, in rtla's words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from rtstone.documents.explanation import Kind, Segment
from rtstone.explain.roles import System, bare
from rtstone.explain.stacks import Slice, Tree, most_first, shared_by

OF_ITS_OWN = {"irq-delay", "blocking", "irq", "softirq"}  # kinds named by their functions


def segments(
    tree: Tree, way: Sequence[Slice], switches: Sequence[int], system: System, *, stamped: bool
) -> list[Segment]:
    """Return the segments of a way.

    ``switches``: counts of the first instruction after each switch of tasks.  ``stamped``: it
    begins at a time stamp of the task itself, else at the time for which something was due.
    """
    kinds = _Kinds(tree, way, switches, system, stamped=stamped)
    parts, start = [], 0
    for kind, group in groupby(range(len(way)), key=kinds.kind):
        slices = [way[at] for at in group]
        length = sum(piece.n for piece in slices)
        stack = shared_by([tree.frames(piece.node) for piece in slices])
        spent: Counter[str] = Counter()
        for piece in slices:
            spent[tree.name[piece.node]] += piece.n
        who = most_first(spent)[0][0] if kind in OF_ITS_OWN else None
        parts.append(Segment(kind=kind, start=start, length=length, by=who, stack=stack))
        start += length
    return parts


class _Kinds:
    """The kind of each slice, by the functions on its stack, and by what has been before."""

    def __init__(
        self, tree: Tree, way: Sequence[Slice], switches: Sequence[int], system: System, *,
        stamped: bool,
    ) -> None:  # fmt: skip
        self._stamped = stamped
        self._frames = [[bare(name) for name in tree.frames(piece.node)] for piece in way]
        self._names = [frozenset(frames) for frames in self._frames]
        self._system = system
        last = max((count for count in switches if count > way[0].start), default=None)
        # The first slice after the last switch; behind all if there is none.
        self._switched = (
            len(way)
            if last is None
            else next((i for i, piece in enumerate(way) if piece.start >= last), len(way))
        )
        # Where the switch begins: with what decides on it, at the latest before it.
        at = self._switched
        if at < len(way):
            while at and not self._names[at - 1] & system.schedules:
                at -= 1
            while at and self._names[at - 1] & system.schedules:
                at -= 1
        self._scheduled = at
        before = range(self._scheduled)
        # The first slice in which the task is made ready, and the end of the interrupt it is in.
        self._woken = next((i for i in before if self._names[i] & system.wakes), None)
        self._handled = self._woken or 0
        if self._woken is not None:
            while self._handled < len(way) and self._names[self._handled] & system.interrupts:
                self._handled += 1

    def kind(self, at: int) -> Kind:
        """Return the kind of a slice, by its place."""
        system, names = self._system, self._names[at]
        if names & system.softirqs:
            return "softirq"
        # The switch itself may be in an interrupt, which has decided on it or not.
        switching = self._scheduled <= at < self._switched and (
            self._last(at, system.interrupts) < self._last(at, system.schedules)
            or not names & system.schedules
        )
        if names & system.interrupts and not switching:
            if self._stamped or self._woken is None or at >= self._handled:
                return "irq"
            return "wakeup" if names & system.wakes else "handler"
        if at >= self._scheduled:
            return "switch" if at < self._switched else "return"
        if self._stamped:
            return "task"
        return "irq-delay" if self._woken is None or at < self._woken else "blocking"

    def _last(self, at: int, functions: frozenset[str]) -> int:
        """Return the place of the innermost of these functions on a stack, -1 if there is none."""
        frames = self._frames[at]
        return max((place for place, name in enumerate(frames) if name in functions), default=-1)
