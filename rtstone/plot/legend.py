"""The legend above a figure, in as few lines as its texts allow."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from importlib import import_module
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

from rtstone.plot.axes import MM, plain_text
from rtstone.units import GLUED

SIZE = 6.5  # of its letters, in pt
_LINE_MM, _HANDLE_MM, _GAP_MM = 3.0, 7.0, 2.8  # a line; before a text; between two columns
_NARROW = "\u202f"  # no-break


class Legend(NamedTuple):
    """What a legend shows: handles of matplotlib with their texts, and a line above them.

    ``width``: of the figure, in mm.
    """

    handles: Sequence[Any]
    texts: Sequence[str]
    width: float
    title: str = ""

    @property
    def height(self) -> float:
        """Its height in mm."""
        columns, texts = self._folded
        first = _split(texts, columns)[0]  # the longest column
        return _LINE_MM * sum(1 + text.count("\n") for text in filter(None, (self._title, *first)))

    @property
    def _title(self) -> str:
        return folded(self.title, self.width - 1) if self.title else ""

    @property
    def _folded(self) -> tuple[int, list[str]]:
        """The number of columns, the largest that fits, and the texts as they are written."""
        texts = [folded(text, self.width - _HANDLE_MM) for text in self.texts]
        for columns in range(len(texts), 1, -1):
            widths = [
                _HANDLE_MM + max(width_mm(text, SIZE) for text in column)
                for column in _split(texts, columns)
            ]
            if sum(widths) + _GAP_MM * (columns - 1) <= self.width:
                return columns, texts
        return 1, texts

    def add(self, figure: Any) -> None:
        """Add it to a figure."""
        if not self.handles and not self.title:
            return
        handler: Any = import_module("matplotlib.legend_handler")
        columns, texts = self._folded
        legend = figure.legend(
            handles=list(self.handles), **({"labels": texts} if texts else {}),
            loc="outside upper left", ncols=columns,
            title=self._title or None, alignment="left", columnspacing=_GAP_MM / MM * 72 / SIZE,
            handler_map={tuple: handler.HandlerTuple(ndivide=None)},
        )  # fmt: skip
        legend.get_title().set_multialignment("left")


def _split(texts: Sequence[str], columns: int) -> list[Sequence[str]]:
    """Return the texts of each column: the first ones have one more."""
    each, rest = divmod(len(texts), columns)
    sizes = [each + (number < rest) for number in range(columns)]
    ends = [0, *accumulate(sizes)]
    return [texts[begin:end] for begin, end in pairwise(ends)]


def width_mm(text: str, size: float) -> float:
    """Return the width in mm of a text, of its longest line, with letters of ``size`` pt."""
    paths: Any = import_module("matplotlib.textpath").text_to_path
    manager: Any = import_module("matplotlib.font_manager")
    letters = manager.FontProperties(size=size)
    points = [
        paths.get_text_width_height_descent(line, letters, ismath=False)[0]
        for line in text.split("\n")
    ]
    return float(max(points)) / 72 * MM


def folded(text: str, room: float) -> str:
    """Return a text in lines of ``room`` mm at most: between its parts, else between words.

    No line ends within a number, or before its unit.
    """
    whole = GLUED.sub(_NARROW, plain_text(text))
    if width_mm(whole, SIZE) <= room:
        return whole
    lines = [""]
    for part in whole.split(", "):
        longer = f"{lines[-1]}, {part}" if lines[-1] else part
        if width_mm(longer, SIZE) <= room:
            lines[-1] = longer
            continue
        lines[-1] += "," if lines[-1] else ""
        letter = width_mm(part, SIZE) / max(len(part), 1)
        lines += textwrap.wrap(part, max(int(0.9 * room / letter), 8)) if letter else []
    return "\n".join(filter(None, lines))
