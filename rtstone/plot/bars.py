"""Draw bars: Hartstone's breakdowns, Rhealstone's components, and a publication's numbers."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from rtstone.plot.axes import FILLS, LOOKS, MM, logarithmic, plain_text
from rtstone.plot.legend import Legend, width_mm

_FAR_APART = 30  # ratio of the longest bar to the shortest at which an axis is logarithmic
_BAR_MM, _GAP_MM = 2.6, 2.0
_ROOM = 0.3  # for the number right of the longest bar, as a share of the axis
_LABEL = 26  # letters of a line of a label
_SIZE = 6.0  # of the letters of a number, in pt
_AXIS = 0.5  # of the figure's width, the least that labels leave
_MOST = "#D55E00"
_EDGE = {"edgecolor": "#000000", "lw": 0.5}


class Bar(NamedTuple):
    """A bar; None if there is no number, and ``text`` is why.  ``most``: a mark, a maximum."""

    value: float | None
    text: str = ""
    most: float | None = None


class Group(NamedTuple):
    """What a bar of each series belongs to: a component, or a row of a table; None: no bar."""

    label: str
    bars: Sequence[Bar | None]

    @property
    def drawn(self) -> list[tuple[int, Bar]]:
        """The bars that there are, each with the number of its series."""
        return [(number, bar) for number, bar in enumerate(self.bars) if bar is not None]


def look(number: int) -> dict[str, Any]:
    """Return how bars of a series look."""
    color, hatch = FILLS[number % len(FILLS)]
    return {"color": color, "hatch": hatch, **_EDGE}


def height(groups: Sequence[Group]) -> float:
    """Return the height in mm that groups need, without their axis."""
    return sum(_GAP_MM + _size(group) for group in groups)


def _size(group: Group) -> float:
    """Return the height of a group in mm: of its bars, or of its label."""
    return max(_BAR_MM * len(group.drawn), 3.0 * math.ceil(len(group.label) / _LABEL))


def draw(axes: Any, groups: Sequence[Group]) -> None:
    """Draw groups of bars with their numbers, one below the other."""
    numbers = [
        value
        for group in groups
        for _, bar in group.drawn
        for value in (bar.value, bar.most)
        if value is not None and value > 0
    ]
    axes.grid(visible=False, axis="y")
    low, high = min(numbers, default=1.0), max(numbers, default=1.0)
    if high > low * _FAR_APART:
        left = 10 ** (math.floor(math.log10(low) - 0.05))
        axes.set_xlim(left, high * (high / left) ** _ROOM)
        logarithmic(axes.xaxis)
    else:
        left = 0.0
        axes.set_xlim(0, high * (1 + _ROOM))
    top, places = 0.0, []
    for group in groups:
        size = _size(group)
        first = top + (size - _BAR_MM * len(group.drawn)) / 2
        places.append(top + size / 2)
        for row, (number, bar) in enumerate(group.drawn):
            _draw(axes, bar, first + (row + 0.5) * _BAR_MM, left, number)
        top += size + _GAP_MM
    labels = [textwrap.fill(plain_text(group.label), _LABEL) for group in groups]
    axes.set_yticks(places, labels)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(top - _GAP_MM / 2, -_GAP_MM / 2)


def _draw(axes: Any, bar: Bar, place: float, left: float, number: int) -> None:
    text = {"va": "center", "fontsize": _SIZE, "xytext": (2, 0), "textcoords": "offset points"}
    value = bar.value
    if value is not None and value > left:
        axes.barh([place], [value - left], _BAR_MM, left=left, **look(number))
    right = left if value is None else max(left, value)
    if bar.most is not None and bar.most > left:
        axes.plot([bar.most], [place], "|", color=_MOST, markersize=5)
        if _between(axes, right, bar.most) < width_mm(bar.text, _SIZE) + 2:
            right = max(right, bar.most)
    axes.annotate(plain_text(bar.text), (right, place), **text)


def _between(axes: Any, low: float, high: float) -> float:
    """Return how many mm at least lie between two values on the axis; it is not yet laid out."""
    scale = axes.xaxis.get_transform().transform
    begin, end, left, right = (float(scale(at)) for at in (low, high, *axes.get_xlim()))
    return (end - begin) / (right - left) * _AXIS * float(axes.figure.get_figwidth()) * MM


def legend(
    names: Sequence[str], width: float, *, areas: bool = True, lines: bool = False,
    maxima: bool = False,
) -> Legend:  # fmt: skip
    """Return the legend of the series; their look as bars (``areas``), as lines, or as both.

    ``maxima``: whether marks are among the bars.
    """
    patches: Any = import_module("matplotlib.patches")
    module: Any = import_module("matplotlib.lines")
    handles: list[Any] = []
    for number in range(len(names)):
        fill, hatch = FILLS[number % len(FILLS)]
        color, dashes = LOOKS[number % len(LOOKS)]
        drawn = [patches.Patch(facecolor=fill, hatch=hatch, **_EDGE)] if areas else []
        drawn += [module.Line2D([], [], color=color, linestyle=dashes)] if lines else []
        handles.append(tuple(drawn))
    texts = list(names)
    if maxima:
        handles.append(module.Line2D([], [], marker="|", linestyle="", color=_MOST, markersize=5))
        texts.append("maximum")
    return Legend(handles, texts, width)
