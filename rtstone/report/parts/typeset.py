"""The words of a report as the page sets them: narrow spaces that do not break, a true minus."""

from __future__ import annotations

import re

from rtstone import units
from rtstone.documents.run import Figure, Value
from rtstone.report.parts import words as plainly

NARROW = "\u202f"
MINUS = "\N{MINUS SIGN}"
_GLUED = re.compile(
    r"(?<=\d) (?=\d|(?:[nµm]?s|min|h|(?:[kMG] )?instr)\b)|(?<=\d [kMG]) (?=instr\b)"
)


def typeset(text: str) -> str:
    """A phrase with numbers: their groups and units stay with them, a minus is one."""
    return re.sub(r"(?<!\w)-(?=\d)", MINUS, _GLUED.sub(NARROW, text))


def count(n: float) -> str:
    """A whole number."""
    return typeset(units.count(n))


def rounded(value: float) -> str:
    """Three significant digits."""
    return typeset(units.rounded(value))


def split(value: float, unit: str) -> tuple[str, str]:
    """Digits and unit."""
    digits, name = units.split(value, unit)
    return typeset(digits), typeset(name)


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit."""
    return typeset(units.quantity(value, unit))


def seconds(value: float) -> str:
    """A span of time."""
    return typeset(units.seconds(value))


def counted(n: int, noun: str) -> str:
    """``1 result``, ``2 results``."""
    return typeset(units.counted(n, noun))


def words(value: Value) -> str:
    """A value of a condition or a piece of evidence; text stays as it is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return typeset(plainly.words(value)) if number else plainly.words(value)


def figure(f: Figure) -> str:
    """A single number that is not a distribution."""
    if f.value is None:
        return "unknown"
    return quantity(f.value, f.unit) if f.unit == "ns" else f"{words(f.value)} {f.unit}".rstrip()
