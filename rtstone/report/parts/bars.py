"""A distribution as a small picture of text: logarithmic in both directions, of a fixed height."""

from __future__ import annotations

import math

from rtstone.documents.run import Result
from rtstone.report.parts.shapes import columns, exponent, floor_of, samples, undrawn
from rtstone.units import count, counted, trimmed

_BLOCKS = " ▁▂▃▄▅▆▇█"
_ASCII = " .:#"
_NICE = (1, 2, 5)  # multiples of powers of ten that are marked if there is room
_ROUND = (*_NICE, 3, 4, 6, 7, 8, 9, 1.5, 2.5)  # the others only where there are few of these
_MARKS = 3
WIDTH = 64  # columns of bars


def letters(encoding: str | None) -> str:
    """Return the letters of bars, from none to full, that an encoding has; None: any."""
    try:
        _BLOCKS.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return _ASCII
    return _BLOCKS


def bars(result: Result, height: int, encoding: str | None = None, width: int = WIDTH) -> list[str]:
    """Return the lines of a picture, ``height`` of bars and one of values; none if all are equal.

    A last line counts the samples beyond the histogram, which have no place in it.

    A single sample is still visible.  ``width``: of the bars, without what is at their left.
    """
    pairs = samples(result)
    floor = floor_of(value for value, _ in pairs)
    ends = [exponent(value, floor) for value, _ in pairs]
    if not pairs or max(ends) - min(ends) < 1e-9:
        return []
    low, step = min(ends), (max(ends) - min(ends)) / (width - 1)
    counts = dict(columns(pairs, low - step / 2, step, floor))
    most = max(counts.values())
    margin = len(count(most))
    blocks = letters(encoding)
    full, highest = len(blocks) - 1, math.log(most) or 1.0
    levels = [
        n and 1 + round((height * full - 1) * math.log(n) / highest)
        for n in (counts.get(at, 0) for at in range(width))
    ]
    rows = [
        "".join(blocks[min(max(level - row * full, 0), full)] for level in levels)
        for row in reversed(range(height))
    ]
    heads = [count(most), *[""] * (height - 2), *["1"] * (height > 1)]
    lines = [f"{head:>{margin}} |{row}".rstrip() for head, row in zip(heads, rows, strict=True)]
    lines.append(" " * (margin + 2) + _axis(low, step, width, result.unit))
    if left := undrawn(result):
        lines.append(
            f"not drawn: {counted(left, 'sample')} beyond the histogram, below the maximum"
        )
    return lines


def _axis(low: float, step: float, width: int, unit: str) -> str:
    """Return the line of values: each begins with a bar at its place, or ends with it."""
    line, high = [" "] * width, low + step * (width - 1)
    whole = range(math.floor(low), math.ceil(high) + 1)
    marks: list[float] = []  # the roundest first; the ends where few are round
    for multiple in _ROUND:
        if len(marks) < _MARKS or multiple in _NICE:
            values = [multiple * 10.0**power for power in whole]
            marks += [v for v in values if low - 1e-9 <= math.log10(v) <= high + 1e-9]
    for value in marks if len(marks) > 1 else [10**low, 10**high]:
        at, text = round((math.log10(value) - low) / step), trimmed(value, unit)
        start, word = at, f"|{text}"
        if start + len(word) > width:
            start, word = at - len(text), f"{text}|"
        around = line[max(start - 1, 0) : start + len(word) + 1]
        if start >= 0 and not "".join(around).strip():
            line[start : start + len(word)] = word
    return "".join(line).rstrip()
