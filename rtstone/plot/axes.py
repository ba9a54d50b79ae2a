"""What all figures have in common: their looks, their unit, their axes."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

from rtstone import units
from rtstone.documents.run import Result
from rtstone.errors import UsageError
from rtstone.printable import line

MM = 25.4  # in an inch

# Okabe and Ito's colours, which the colour-blind can distinguish, in an order that alternates
# between dark and light; dashes distinguish them in grey.
LOOKS = (
    ("#000000", "-"), ("#E69F00", (0, (4, 1.5))), ("#0072B2", (0, (1, 1))),
    ("#009E73", (0, (5, 1.2, 1, 1.2))), ("#CC79A7", "-"), ("#56B4E9", (0, (4, 1.5))),
    ("#D55E00", (0, (1, 1))), ("#7F7F7F", (0, (5, 1.2, 1, 1.2))),
)  # fmt: skip
MARKS = "osD^vP*X"  # of the maxima, in the same order
FILLS = (
    ("#444444", ""),
    ("#FFFFFF", "//////"),
    ("#AAAAAA", ""),
    ("#DDDDDD", "......"),
    ("#FFFFFF", "xxxxxx"),
    ("#777777", ""),
    ("#FFFFFF", "------"),
    ("#BBBBBB", "oooo"),
)  # fmt: skip  colours and hatches of bars, in the same order


class Scale(NamedTuple):
    """The unit of an axis, and how many of the results' it is."""

    name: str
    factor: float


def scale_of(results: Sequence[Result]) -> Scale:
    """Return the unit that suits the medians.  Raises UsageError if the results' units differ."""
    kinds = {result.unit for result in results}
    if len(kinds) > 1:
        raise UsageError(f"results in {' and '.join(sorted(kinds))} have no axis in common")
    unit = kinds.pop()
    middles = [value for r in results if (value := r.p50 or r.mean or r.max)]
    middle = max(middles, default=1.0)
    steps = units.UNITS.get(unit, [(unit, 1)])
    name, factor = next((step for step in steps if middle >= step[1]), steps[-1])
    return Scale(name, float(factor))


def face(number: int) -> str:
    """Return the inside of a mark: every other one is hollow, for marks often lie on each other."""
    return "#FFFFFF" if number % 2 else LOOKS[number][0]


def empty(width: float, height: float, rows: Sequence[float] = ()) -> tuple[Any, Any]:
    """Return a figure of that size in mm, and its axes.

    ``rows``: the relative heights of several axes, one below the other; they are a list then.
    """
    module: Any = import_module("matplotlib.figure")
    figure = module.Figure(figsize=(width / MM, height / MM), layout="constrained")
    figure.get_layout_engine().set(w_pad=0.02, h_pad=0.02)
    if not rows:
        return figure, figure.add_subplot()
    several = figure.subplots(len(rows), squeeze=False, height_ratios=list(rows))
    return figure, [axes for (axes,) in several]


def logarithmic(axis: Any, least: float = 1.0) -> None:
    """Make an axis logarithmic, with ticks of one notation: numbers if all are short, else powers.

    ``least``: how many times its low end its high end is at least.
    """
    ticker: Any = import_module("matplotlib.ticker")
    name = axis.axis_name
    axis.axes.set(**{f"{name}scale": "log"})
    low, high = getattr(axis.axes, f"get_{name}lim")()
    if low <= 0:  # the smallest positive numbers have no room below them
        low = sys.float_info.min
        high = max(high, low)
        axis.axes.set(**{f"{name}lim": (low, high)})
    if high < low * least:
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = middle / math.sqrt(least), middle * math.sqrt(least)
        axis.axes.set(**{f"{name}lim": (low, high)})
    lowest, highest = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    powers = highest > lowest and high >= low * _DECADES  # enough of them for ticks
    plain = (lowest >= _SHORT[0] and highest <= _SHORT[1]) or not powers

    def tick(value: float, _: object) -> str:
        return f"{value:g}" if plain else f"$10^{{{round(math.log10(value))}}}$"

    if high < low * _NARROW:
        steps = ticker.MaxNLocator(5).tick_values(low, high)
        axis.set_major_locator(ticker.FixedLocator([at for at in steps if low <= at <= high]))
        axis.set_minor_locator(ticker.NullLocator())
    elif not powers:
        axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.FuncFormatter(tick))
    axis.set_minor_formatter(ticker.NullFormatter())


# High over low, from which on 1, 2 and 5, and from which on powers of ten are ticks enough.
_NARROW, _DECADES = 5, 20
_SHORT = (-2, 3)  # powers of ten that are short as numbers: 0.01 to 1000


def plain_text(text: str) -> str:
    """Return a text that matplotlib takes for one, and not for mathematics."""
    return line(text).replace("$", r"\$")
