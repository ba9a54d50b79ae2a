"""The words of a report typeset for the page: narrow no-break spaces, a true minus."""

from __future__ import annotations

import re

from rtstone import units
from rtstone.documents.run import Figure, Value
from rtstone.report.parts import words as plainly

NARROW, SPACE = "\u202f", "\u00a0"  # no-break
MINUS = "\N{MINUS SIGN}"
_N = re.compile(r"\bn = (?=\d)")


def typeset(text: str) -> str:
    """Return a phrase with no-break spaces inside numbers and before units, and a true minus."""
    text = _N.sub(f"n{SPACE}={SPACE}", units.GLUED.sub(NARROW, text))
    return re.sub(r"(?<![\w=])-(?=\d)", MINUS, text)


def count(n: float) -> str:
    """Return a whole number."""
    return typeset(units.count(n))


def rounded(value: float) -> str:
    """Return three significant digits."""
    return typeset(units.rounded(value))


def split(value: float, unit: str) -> tuple[str, str]:
    """Return digits and unit."""
    digits, name = units.split(value, unit)
    return typeset(digits), typeset(name)


def quantity(value: float | None, unit: str) -> str:
    """Return a value with its unit."""
    return typeset(units.quantity(value, unit))


def seconds(value: float) -> str:
    """Return a span of time."""
    return typeset(units.seconds(value))


def counted(n: int, noun: str) -> str:
    """``1 result``, ``2 results``."""
    return typeset(units.counted(n, noun))


def words(value: Value) -> str:
    """Return a value of a condition or a piece of evidence; text stays as it is."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return typeset(plainly.words(value)) if number else plainly.words(value)


def figure(f: Figure) -> str:
    """Return a single number that is not a distribution."""
    if f.value is None:
        return "unknown"
    return quantity(f.value, f.unit) if f.unit == "ns" else f"{words(f.value)} {f.unit}".rstrip()
