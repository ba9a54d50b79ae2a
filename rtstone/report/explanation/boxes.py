"""Charts of boxes: the time line of a sample, and the flame graph of its stacks.

A box is as wide as its part of the whole, in a row by its depth.  Boxes are elements of the page,
drawn without a script: a name is shown where it fits, and a text says what it is.  ``boxes.js``
moves the focus and widens a part to the whole.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rtstone.documents.explanation import Way
from rtstone.report.explanation import labels
from rtstone.report.explanation.labels import amount, change, share
from rtstone.report.explanation.tree import Node, tree
from rtstone.report.parts.typeset import typeset
from rtstone.units import count, counted, trimmed

NARROW = 0.001  # share of the whole below which a box has too little room of its own: a pixel
MOST = 800  # boxes of a flame graph, or of a time line
DEEPEST = 80  # rows
_LISTED = 4  # names of narrow calls that stand in one box
_TICKS = 6  # at most, beside 0


@dataclass(frozen=True)
class Box:
    """A box; ``left`` and ``width`` in per cent of the whole.

    ``look``: classes of its colours; ``strength``: how much of them, 0 to 1.
    """

    left: float
    width: float
    row: int
    name: str
    says: str
    look: str = ""
    strength: float = 0.0


@dataclass(frozen=True)
class Chart:
    """A chart of boxes.  ``ticks``: places on the axis in per cent, and their texts."""

    title: str
    boxes: list[Box]
    rows: int
    ticks: list[tuple[float, str]]
    note: str


def ticks(whole: float, unit: str) -> list[tuple[float, str]]:
    """Return round places on an axis from 0 to the whole."""
    if whole < 1:
        return []
    rough = whole / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= rough)
    steps = range(math.floor(whole / step * (1 + 1e-9)) + 1)
    return [(_percent(n * step, whole), typeset(trimmed(n * step, unit))) for n in steps]


def _percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 3) if whole > 0 else 0.0


# ---- time lines ---------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """Something that took a time, and how it is drawn."""

    start: float
    length: float
    name: str
    says: str
    look: str


def timeline(title: str, way: Way, unit: str, whole: float, *, calls: bool = True) -> Chart:
    """Return the time line of a sample: its segments, and below them its calls if wanted.

    ``whole``: what the axis ends with, so that several samples can have the same.
    """
    spans = way.spans if calls else []
    least = NARROW * whole
    while sum(span.length >= least for span in spans) > MOST:
        least *= 2
    segments = []
    for part in labels.parts(way.segments):
        size = f"{amount(part.length)} {labels.symbol(unit)} ({share(part.length, way.sample.raw)})"
        says = f"{part.name}: {size}, from {amount(part.start)} on"
        says += f"; {part.by}" if part.by else ""
        says += f"; in {' > '.join(part.stack)}" if part.stack else ""
        look = f"k-{part.kind}"
        segments.append(_Piece(part.start, part.length, part.name, typeset(says), look))
    boxes, merged = _strip(segments, whole, NARROW * whole, 0, "part")
    rows: dict[int, list[_Piece]] = defaultdict(list)  # by depth, the outermost first
    for span in sorted(spans, key=lambda span: (span.depth, span.start)):
        size = f"{amount(span.length)} {labels.symbol(unit)}"
        says = typeset(f"{span.name}: {size}, from {amount(span.start)} on")
        rows[span.depth].append(_Piece(span.start, span.length, span.name, says, ""))
    for row, pieces in enumerate(list(rows.values())[:DEEPEST], 1):
        drawn, narrow = _strip(pieces, whole, least, row, "call")
        boxes += drawn
        merged += narrow
    notes = []
    if merged:
        notes.append(f"Narrower than {_share(least, whole)}: {count(merged)}, grey, merged where "
                     "they lie side by side.")  # fmt: skip
    if deeper := sum(map(len, list(rows.values())[DEEPEST:])):
        notes.append(f"Not drawn: {counted(deeper, 'deeper call')}.")
    if way.shortest and spans:
        notes.append(f"Calls shorter than {trimmed(way.shortest, unit)} were not kept.")
    high = max((box.row + 1 for box in boxes), default=0)
    return Chart(title, boxes, high, ticks(whole, unit), typeset(" ".join(notes)))


def _share(least: float, whole: float) -> str:
    return f"{100 * least / whole:.3g}%" if whole > 0 else "0%"


def _strip(
    pieces: Iterable[_Piece], whole: float, least: float, row: int, noun: str
) -> tuple[list[Box], int]:
    """Return the boxes of a row, and how many pieces were too narrow for one of their own.

    Narrow ones that lie side by side have one box, if there are enough of them to be seen.
    """
    boxes: list[Box] = []
    narrow: list[_Piece] = []
    merged = 0
    for piece in pieces:
        if narrow and (piece.length >= least or piece.start - _end(narrow) > least):
            boxes += _merged(narrow, whole, least, row, noun)
            narrow = []
        if piece.length >= least:
            at, width = _percent(piece.start, whole), _percent(piece.length, whole)
            boxes.append(Box(at, width, row, piece.name, piece.says, piece.look))
        else:
            narrow.append(piece)
            merged += 1
    return boxes + _merged(narrow, whole, least, row, noun), merged


def _end(pieces: Sequence[_Piece]) -> float:
    return pieces[-1].start + pieces[-1].length


def _merged(pieces: Sequence[_Piece], whole: float, least: float, row: int, noun: str) -> list[Box]:
    if not pieces or _end(pieces) - pieces[0].start < least / 2:
        return []
    begin = pieces[0].start
    names = _listed([piece.name for piece in pieces])
    says = f"{counted(len(pieces), f'narrow {noun}')}: {names}"
    name = pieces[0].name if len(pieces) == 1 else counted(len(pieces), noun)
    return [Box(_percent(begin, whole), _percent(_end(pieces) - begin, whole), row, name, says,
                "merged")]  # fmt: skip


def _listed(names: Iterable[str]) -> str:
    """Return a few different names, and how many more there are."""
    different = list(dict.fromkeys(names))
    rest = f" and {counted(len(different) - _LISTED, 'other')}" if len(different) > _LISTED else ""
    return ", ".join(different[:_LISTED]) + rest


# ---- flame graphs -------------------------------------------------------------------------------


def flame(title: str, way: Way, against: Way | None, unit: str) -> Chart:
    """Return the flame graph of a sample, its outermost functions above.

    Functions with a colour took longer, or shorter, than in the sample it is compared with.
    """
    root = tree(way.stacks)
    drawing = _Flame(root, tree(against.stacks) if against else None, unit)
    drawing.draw(root, drawing.other, 0.0, 0)
    notes = []
    if drawing.narrow:
        notes.append(
            f"Narrower than {_share(drawing.least, root.total)}: "
            f"{counted(drawing.narrow, 'call')}, grey, those of one function merged."
        )
    if drawing.deeper:
        notes.append(f"Not drawn: {counted(drawing.deeper, 'deeper call')}.")
    rows = max((box.row + 1 for box in drawing.boxes), default=0)
    return Chart(title, drawing.boxes, rows, [], typeset(" ".join(notes)))


class _Flame:
    """A flame graph while it is drawn; ``other``: the tree of the sample it is compared with."""

    def __init__(self, root: Node, other: Node | None, unit: str) -> None:
        self.whole, self.unit = root.total, labels.symbol(unit)
        self.other, self.boxes = other, list[Box]()
        self.narrow = self.deeper = 0
        self.least = NARROW * root.total
        while _wider(root, self.least) > MOST:
            self.least *= 2
        # A colour is the stronger, the more of the difference between the samples it stands for.
        self.strongest = max(abs(root.total - other.total) if other else 0.0, self.least, 1e-9)

    def draw(self, parent: Node, other: Node | None, left: float, row: int) -> None:
        """Draw what a function calls, the costliest at the left."""
        calls = parent.sorted()
        if row == DEEPEST:
            self.deeper += parent.nodes() - 1
            return
        wide = [call for call in calls if call.total >= self.least and call.total > 0]
        for call in wide:
            beside = other.called(call.name) if other else None
            size = f"{amount(call.total)} {self.unit} ({share(call.total, self.whole)})"
            own = f", {amount(call.own)} of it itself" if call.own < call.total else ""
            says, look, strength = f"{call.name}: {size}{own}", "", 0.0
            if beside is not None:
                excess = call.total - beside.total
                says += f"; {change(excess)} against the other sample"
                look = "more" if excess > 0 else "less"
                strength = min(1, abs(excess) / self.strongest)
            self.boxes.append(Box(
                _percent(left, self.whole), _percent(call.total, self.whole), row, call.name,
                typeset(says), look, round(strength, 2),
            ))  # fmt: skip
            self.draw(call, beside, left, row + 1)
            left += call.total
        if rest := calls[len(wide) :]:
            self._rest(rest, left, row)

    def _rest(self, calls: Sequence[Node], left: float, row: int) -> None:
        """Draw calls that are too narrow for a box each as one, if it can be seen."""
        total = sum(call.total for call in calls)
        self.narrow += sum(call.nodes() for call in calls)
        if total < self.least / 2:
            return
        names = _listed(call.name for call in calls)
        size = f"{amount(total)} {self.unit} ({share(total, self.whole)})"
        says = typeset(f"{counted(len(calls), 'narrow call')}, {size} together: {names}")
        name = calls[0].name if len(calls) == 1 else counted(len(calls), "call")
        self.boxes.append(Box(_percent(left, self.whole), _percent(total, self.whole), row, name,
                              says, "merged"))  # fmt: skip


def _wider(parent: Node, least: float) -> int:
    """Return the number of boxes that are at least as wide as ``least``."""
    return sum(1 + _wider(c, least) for c in parent.calls.values() if c.total >= least)
