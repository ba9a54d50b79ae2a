"""Numbers and units: parsing, formatting, and quantities with a unit."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from rtstone.errors import UsageError

# ---- units --------------------------------------------------------------------------------------

# Each in its base unit, ascending.
NS_PER_S = 10**9
CLOCK = {"ns": 1, "us": 10**3, "ms": 10**6, "s": NS_PER_S}
TIMES = CLOCK | {"min": 60 * NS_PER_S, "h": 3600 * NS_PER_S}
INSTRUCTIONS = {"instr": 1, "k instr": 10**3, "M instr": 10**6, "G instr": 10**9}
SIZES = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

# How a unit is shown, if not as it is written.
SYMBOLS = {"us": "µs", "instructions": "instr"}
_SPELT = {"µs": "us", "μs": "us", "KB": "KiB", "MB": "MiB", "GB": "GiB", "kB": "KiB"}


def spelt(units: Mapping[str, int]) -> dict[str, int]:
    """Return a table of units, with their alternative spellings."""
    return {**units, **{other: units[name] for other, name in _SPELT.items() if name in units}}


def _steps(units: Mapping[str, int]) -> list[tuple[str, float]]:
    # The base unit's 1 stays an integer, as in the charts' table.
    shown = [(SYMBOLS.get(name, name), n if n == 1 else float(n)) for name, n in units.items()]
    return shown[::-1]


# Units in which values of results are written, by unit of the result.
WRITTEN = {"ns": CLOCK, "instructions": INSTRUCTIONS}
# Units in which they are shown, largest first; the charts get the same table.
UNITS = {unit: _steps(units) for unit, units in WRITTEN.items()}

# Blanks inside numbers and between numbers and their units.
GLUED = re.compile(
    r"(?<=\d) (?=\d|(?:[nµm]?s|min|h|%|(?:[kMG] )?instr)(?!\w))|(?<=\d [kMG]) (?=instr\b)"
)

_QUANTITY = re.compile(
    r"([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*((?:[kMG] )?[A-Za-zµμ]*)"
)


class Scale(NamedTuple):
    """The units of a quantity, and the default unit of a bare number."""

    units: Mapping[str, int]
    bare: str

    def parse(self, text: str) -> int | None:
        """Parse a quantity and return it in whole base units.

        None if it is no number, has an unknown unit, or a fraction of a base unit.
        """
        match = _QUANTITY.fullmatch(text.strip())
        factor = match and spelt(self.units).get(match[2] or self.bare)
        return _exact(match[1], factor) if match and factor else None

    def format(self, value: int) -> str:
        """Format a value in the largest unit that divides it."""
        units = [unit for unit, factor in self.units.items() if value and value % factor == 0]
        unit = units[-1] if units else self.bare
        return f"{value // self.units[unit]}{unit}"


DURATION = Scale(TIMES, "s")
SIZE = Scale(SIZES, "B")
INSTRUCTION_COUNT = Scale(INSTRUCTIONS, "instr")
WHOLE = Scale({"": 1}, "")


def _exact(number: str, factor: int) -> int | None:
    """Return number * factor, without the rounding of floats; None if that is not whole."""
    from fractions import Fraction

    if len(number) > 40 or re.search(r"[eE].*\d{3}", number):
        return None
    exact = Fraction(number) * factor
    return exact.numerator if exact.denominator == 1 else None


# ---- numbers ------------------------------------------------------------------------------------


def count(n: float) -> str:
    """Return a whole number with its digits in groups of three."""
    return f"{n:,.0f}".replace(",", " ")


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: ``1 result``, ``2 results``."""
    return f"{count(n)} {noun}" + ("" if n == 1 else "s")


def plain(value: float) -> str:
    """Format a number without a unit, short, without loss for whole numbers."""
    if isinstance(value, int) or (math.isfinite(value) and value == int(value)):
        return count(value) if abs(value) < 1e15 else f"{value:.6g}"
    large = 1e4 <= abs(value) < 1e15
    return count(float(f"{value:.4g}")) if large else f"{value:.4g}"


def rounded(value: float) -> str:
    """Return three significant digits, written out: ``1.25``, ``77 000``."""
    return f"{value:.3g}" if abs(value) < 999.5 else count(float(f"{value:.3g}"))


def relative_change(ratio: float) -> str:
    """Return the change that a ratio is: ``+5.3%``, ``-12%``, ``12 times``, ``1/3.1``.

    One decimal below 10%, none above; a change of less than 0.05% has one significant digit.
    """
    if ratio >= 10:
        return f"{rounded(ratio)} times"
    if ratio < 0.5:
        return f"1/{rounded(1 / ratio)}" if ratio > 0 else "to 0"
    percent = 100 * (ratio - 1)
    if abs(round(percent, 1)) >= 10:
        return f"{percent:+.0f}%"
    return f"{percent:+.1f}%" if not percent or abs(percent) >= 0.05 else f"{percent:+.1g}%"


def change_size(ratio: float | None, distance: float | None, unit: str) -> str:
    """Return a change as the ratio that it is, or as a difference if there is no ratio."""
    return difference(distance or 0.0, unit) if ratio is None else relative_change(ratio)


def difference(value: float, unit: str) -> str:
    """Return a difference with its sign: ``+1.20 µs``; of two shares in %, ``+12.5 points``."""
    if unit == "%":
        return f"{value:+.3g} points"
    return f"{'+' if value > 0 else ''}{quantity(value, unit)}"


def split(value: float, unit: str) -> tuple[str, str]:
    """Return three significant digits of a value, and the unit that suits it."""
    if not math.isfinite(value):
        return str(value), unit
    size = float(f"{abs(value):.3g}")  # rounded first: 999.9 ns is 1.00 µs
    scale = UNITS.get(unit, [(unit, 1)])
    name, factor = next((step for step in scale if size >= step[1]), scale[-1])
    digits = size / factor
    if digits == 0:
        return "0", name
    places = max(0, 2 - math.floor(math.log10(digits)))
    text = f"{digits:.{places}f}" if 1e-4 <= digits < 1e6 else f"{digits:.3g}"
    return ("-" if value < 0 else "") + text, name


def size(number: int) -> str:
    """Return a number of bytes in the unit that suits it: ``1.2 MiB``."""
    unit = next(name for name in reversed(SIZES) if number >= SIZES[name] or name == "B")
    return f"{rounded(number / SIZES[unit])} {unit}"


def file_size(number: int) -> str:
    """Return the size of a file as `ls --si` counts: ``1.2 MB``, ``640 kB``."""
    if number >= 1e6:
        return f"{number / 1e6:.1f} MB"
    return f"{number / 1000:.0f} kB" if number >= 1000 else f"{number} B"


def quantity(value: float | None, unit: str) -> str:
    """Return a value with its unit: ``1.20 µs``."""
    return "unknown" if value is None else " ".join(split(value, unit))


def trimmed(value: float, unit: str) -> str:
    """Return a value with its unit, without trailing zeros: ``1.2 µs``."""
    digits, name = split(value, unit)
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits} {name}"


def seconds(value: float) -> str:
    """Format a duration in words."""
    if value < 120:
        return quantity(value * NS_PER_S, "ns")
    hours, rest = divmod(round(value), 3600)
    minutes, left = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "min"), (left, "s")]
    return " ".join(f"{n} {unit}" for n, unit in parts if n)


def roughly(seconds: float) -> str:
    """Return a duration as one would say it: ``1 min 20 s``, ``28 h``, ``3 days``."""
    if seconds < 60:
        return f"{max(math.ceil(seconds), 1)} s"
    if seconds < 600:
        minutes, rest = divmod(round(seconds / 10), 6)
        return f"{minutes} min {rest}0 s" if rest else f"{minutes} min"
    if seconds < 2 * 3600:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h" if seconds < 72 * 3600 else f"{round(seconds / 86400)} days"


# ---- quantities ---------------------------------------------------------------------------------


# Less than any digit that is kept, in every unit: pytest.approx compares with 1e-12.
_NOTHING = 1e-9


class Quantity(float):
    """A number with a ``unit`` such as "ns" or "instructions".

    Sums, differences and multiples have the unit too, a ratio has none.  Comparison with a quantity
    of another unit raises UsageError, with a bare number TypeError: nobody knows what it counts.
    Only 0 and infinity are the same in every unit.
    """

    unit: str

    def __new__(cls, value: float, unit: str = "ns") -> Quantity:
        """Return a value of that unit."""
        self = super().__new__(cls, value)
        self.unit = unit
        return self

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.unit

    def __repr__(self) -> str:
        return quantity(float(self), self.unit)

    __str__ = __repr__
    __hash__ = float.__hash__

    def __lt__(self, other: float) -> bool:
        return self._compared(other, operator.lt)

    def __le__(self, other: float) -> bool:
        return self._compared(other, operator.le)

    def __gt__(self, other: float) -> bool:
        return self._compared(other, operator.gt)

    def __ge__(self, other: float) -> bool:
        return self._compared(other, operator.ge)

    def __eq__(self, other: object) -> bool:
        return self._compared(other, operator.eq)

    def __ne__(self, other: object) -> bool:  # float has one of its own
        return self._compared(other, operator.ne)

    def __add__(self, other: float) -> float:
        return self._summed(other, float(self) + other)

    def __sub__(self, other: float) -> float:
        return self._summed(other, float(self) - other)

    def __mul__(self, other: float) -> float:
        if isinstance(other, Quantity):
            return float(self) * float(other)
        return self._multiple(other, float(self) * other)

    __rmul__ = __mul__

    def __truediv__(self, other: float) -> float:
        if isinstance(other, Quantity):
            return float(self) / float(other)
        return self._multiple(other, float(self) / other)

    def __neg__(self) -> Quantity:
        return Quantity(-float(self), self.unit)

    def __abs__(self) -> Quantity:
        return Quantity(abs(float(self)), self.unit)

    def _summed(self, other: float, number: float) -> float:
        same = isinstance(other, Quantity) and other.unit == self.unit
        return Quantity(number, self.unit) if same else number

    def _multiple(self, other: float, number: float) -> float:
        return Quantity(number, self.unit) if isinstance(other, int | float) else number

    @property
    def written(self) -> str:
        """The quantity as a parameter: all digits, without rounding errors of arithmetic."""
        return f"{float(self):.15g}{self.unit}"

    def _compared(self, other: object, holds: Callable[[float, float], bool]) -> bool:
        if not isinstance(other, int | float):
            return NotImplemented  # type: ignore[no-any-return]
        if not isinstance(other, Quantity):
            if abs(other) > _NOTHING and not math.isinf(other):
                write = f"Quantity({other:g}, {self.unit!r})"
                if self.unit == "ns":
                    write = f"us({other:g}), ms({other:g})"
                raise TypeError(
                    f"{self} and the bare number {other:g} cannot be compared; compare with {write}"
                )
        elif other.unit != self.unit:
            raise UsageError(
                f"{self.unit} and {other.unit} cannot be compared: {self} and {other}; "
                "write a limit of the same kind"
            )
        return holds(float(self), float(other))


def ns(value: float) -> Quantity:
    """Return a quantity of nanoseconds."""
    return Quantity(value)


def us(value: float) -> Quantity:
    """Return a quantity of microseconds."""
    return Quantity(value * 1e3)


def ms(value: float) -> Quantity:
    """Return a quantity of milliseconds."""
    return Quantity(value * 1e6)


def s(value: float) -> Quantity:
    """Return a quantity of seconds."""
    return Quantity(value * NS_PER_S)
