"""Charts of boxes: the time line of a sample, and the flame graph of its stacks.

A box is as wide as its part of the whole, in a row by its depth.  ``boxes.js`` moves the focus and
widens a part to the whole.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from rtstone.documents.explanation import Way
from rtstone.report.explanation import labels
from rtstone.report.explanation.labels import amount, change, share
from rtstone.report.explanation.tree import Node, tree
from rtstone.report.parts.model import Box, Boxes
from rtstone.units import count, counted, trimmed

NARROW = 0.001  # share of the whole below which a box has too little room of its own: a pixel
MOST = 800  # boxes of a flame graph, or of a time line
DEEPEST = 80  # rows
_LISTED = 4  # names of narrow calls that stand in one box
_TICKS = 6  # at most, beside 0


def ticks(whole: float, unit: str) -> list[tuple[float, str]]:
    """Return round places on an axis from 0 to the whole."""
    if whole < 1:
        return []
    rough = whole / _TICKS
    size = 10.0 ** math.floor(math.log10(rough))
    step = next(m * size for m in (1, 2, 2.5, 5, 10) if m * size >= rough)
    steps = range(math.floor(whole / step * (1 + 1e-9)) + 1)
    return [(_percent(n * step, whole), trimmed(n * step, unit)) for n in steps]


def _percent(part: float, whole: float) -> float:
    return round(100 * part / whole, 3) if whole > 0 else 0.0


# ---- time lines ---------------------------------------------------------------------------------


class _Piece(NamedTuple):
    """Something that took a time, and how it is drawn."""

    start: float
    length: float
    name: str
    title: str
    look: str = ""


def timeline(title: str, way: Way, unit: str, whole: float, *, calls: bool = True) -> Boxes:
    """Return the time line of a sample: its segments, and below them its calls if wanted.

    ``whole``: what the axis ends with, so that several samples can have the same.
    """
    spans = way.spans if calls else []
    least = NARROW * whole
    while sum(span.length >= least for span in spans) > MOST:
        least *= 2
    symbol = labels.symbol(unit)
    segments = []
    for part in labels.parts(way.segments):
        size = f"{amount(part.length)} {symbol} ({share(part.length, way.sample.raw)})"
        text = f"{part.name}: {size}, from {amount(part.start)} on"
        text += f"; {part.by}" if part.by else ""
        text += f"; in {' > '.join(part.stack)}" if part.stack else ""
        segments.append(_Piece(part.start, part.length, part.name, text, f"k-{part.kind}"))
    boxes, merged = _strip(segments, whole, NARROW * whole, 0, "part")
    rows: dict[int, list[_Piece]] = defaultdict(list)  # by depth, the outermost first
    for span in sorted(spans, key=lambda span: (span.depth, span.start)):
        text = f"{span.name}: {amount(span.length)} {symbol}, from {amount(span.start)} on"
        rows[span.depth].append(_Piece(span.start, span.length, span.name, text))
    for row, pieces in enumerate(list(rows.values())[:DEEPEST], 1):
        drawn, narrow = _strip(pieces, whole, least, row, "call")
        boxes += drawn
        merged += narrow
    notes = []
    if merged:
        notes.append(f"Narrower than {_limit(least, whole)}: {count(merged)}, grey, merged where "
                     "they lie side by side.")  # fmt: skip
    if deeper := sum(map(len, list(rows.values())[DEEPEST:])):
        notes.append(f"Not drawn: {counted(deeper, 'deeper call')}.")
    if way.shortest and spans:
        notes.append(f"Calls shorter than {trimmed(way.shortest, unit)} were not kept.")
    high = max((box.row + 1 for box in boxes), default=0)
    return Boxes(title, boxes, high, ticks(whole, unit), " ".join(notes))


def _limit(least: float, whole: float) -> str:
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

    def end() -> float:
        return narrow[-1].start + narrow[-1].length

    def merge() -> None:
        if narrow and end() - narrow[0].start >= least / 2:
            begin, names = narrow[0].start, [piece.name for piece in narrow]
            text = f"{counted(len(narrow), f'narrow {noun}')}: {_listed(names)}"
            name = names[0] if len(names) == 1 else counted(len(names), noun)
            at, width = _percent(begin, whole), _percent(end() - begin, whole)
            boxes.append(Box(at, width, row, name, text, "merged"))
        narrow.clear()

    for piece in pieces:
        if narrow and (piece.length >= least or piece.start - end() > least):
            merge()
        if piece.length >= least:
            at, width = _percent(piece.start, whole), _percent(piece.length, whole)
            boxes.append(Box(at, width, row, piece.name, piece.title, piece.look))
        else:
            narrow.append(piece)
            merged += 1
    merge()
    return boxes, merged


def _listed(names: Iterable[str]) -> str:
    """Return a few different names, and how many more there are."""
    different = list(dict.fromkeys(names))
    rest = f" and {counted(len(different) - _LISTED, 'other')}" if len(different) > _LISTED else ""
    return ", ".join(different[:_LISTED]) + rest


# ---- flame graphs -------------------------------------------------------------------------------


def flame(title: str, way: Way, against: Way | None, unit: str) -> Boxes:
    """Return the flame graph of a sample, its outermost functions above.

    Functions with a colour took longer, or shorter, than in the sample it is compared with.
    """
    root, other = tree(way.stacks), tree(against.stacks) if against else None
    whole, symbol = root.total, labels.symbol(unit)
    least = NARROW * whole
    while _wider(root, least) > MOST:
        least *= 2
    # A colour is the stronger, the more of the difference between the samples it stands for.
    strongest = max(abs(whole - other.total) if other else 0.0, least, 1e-9)
    boxes: list[Box] = []
    narrow = deeper = 0

    def draw(parent: Node, other: Node | None, left: float, row: int) -> None:
        """Draw what a function calls, the costliest at the left."""
        nonlocal narrow, deeper
        if row == DEEPEST:
            deeper += parent.nodes() - 1
            return
        calls = parent.sorted()
        wide = [call for call in calls if call.total >= least and call.total > 0]
        for call in wide:
            beside = other.called(call.name) if other else None
            size = f"{amount(call.total)} {symbol} ({share(call.total, whole)})"
            own = f", {amount(call.own)} of it itself" if call.own < call.total else ""
            text, look, strength = f"{call.name}: {size}{own}", "", 0.0
            if beside is not None:
                excess = call.total - beside.total
                text += f"; {change(excess)} against the other sample"
                look = "more" if excess > 0 else "less"
                strength = min(1, abs(excess) / strongest)
            at, width = _percent(left, whole), _percent(call.total, whole)
            boxes.append(Box(at, width, row, call.name, text, look, round(strength, 2)))
            draw(call, beside, left, row + 1)
            left += call.total
        rest = calls[len(wide) :]
        narrow += sum(call.nodes() for call in rest)
        total = sum(call.total for call in rest)
        if rest and total >= least / 2:  # they are one box, if it can be seen
            size = f"{amount(total)} {symbol} ({share(total, whole)})"
            names = _listed(call.name for call in rest)
            text = f"{counted(len(rest), 'narrow call')}, {size} together: {names}"
            name = rest[0].name if len(rest) == 1 else counted(len(rest), "call")
            at, width = _percent(left, whole), _percent(total, whole)
            boxes.append(Box(at, width, row, name, text, "merged"))

    draw(root, other, 0.0, 0)
    notes = ["As wide as its share of the sample, outermost functions above."]
    if narrow:
        notes.append(f"Narrower than {_limit(least, whole)}: {counted(narrow, 'call')}, grey, "
                     "those of one function merged.")  # fmt: skip
    if deeper:
        notes.append(f"Not drawn: {counted(deeper, 'deeper call')}.")
    legend = []
    if against:
        legend = [("worst", f"longer than in {labels.numbered(against)}"), ("good", "shorter")]
    rows = max((box.row + 1 for box in boxes), default=0)
    return Boxes(title, boxes, rows, note=" ".join(notes), legend=legend)


def _wider(parent: Node, least: float) -> int:
    """Return the number of boxes that are at least as wide as ``least``."""
    return sum(1 + _wider(c, least) for c in parent.calls.values() if c.total >= least)
