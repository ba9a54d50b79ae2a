"""Numbers that know what they count, so that a limit is never one of something else."""

from __future__ import annotations

from rtstone.errors import UsageError


class Quantity(float):
    """A number in a unit: "ns" or "instructions", say.  Arithmetic makes plain numbers of it.

    Compared with another quantity it raises UsageError if that has another unit.
    """

    unit: str

    def __new__(cls, value: float, unit: str = "ns") -> Quantity:
        """A value of that unit."""
        self = super().__new__(cls, value)
        self.unit = unit
        return self

    def __getnewargs__(self) -> tuple[float, str]:  # type: ignore[override]
        return float(self), self.unit

    def __repr__(self) -> str:
        from rtstone.report.words import quantity

        return quantity(float(self), self.unit)

    __str__ = __repr__
    __hash__ = float.__hash__

    def __lt__(self, other: float) -> bool:
        return float(self) < self._like(other)

    def __le__(self, other: float) -> bool:
        return float(self) <= self._like(other)

    def __gt__(self, other: float) -> bool:
        return float(self) > self._like(other)

    def __ge__(self, other: float) -> bool:
        return float(self) >= self._like(other)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | float):
            return NotImplemented
        return float(self) == self._like(other)

    def __ne__(self, other: object) -> bool:  # float has one of its own
        if not isinstance(other, int | float):
            return NotImplemented
        return float(self) != self._like(other)

    @property
    def written(self) -> str:
        """As a parameter is written: all digits, without what arithmetic left behind the last."""
        return f"{float(self):.15g}{self.unit}"

    def _like(self, other: float) -> float:
        if isinstance(other, Quantity) and other.unit != self.unit:
            raise UsageError(
                f"{self.unit} and {other.unit} cannot be compared: {self} and {other}; "
                "write a limit of the same kind"
            )
        return float(other)


def ns(value: float) -> Quantity:
    """So many nanoseconds."""
    return Quantity(value)


def us(value: float) -> Quantity:
    """So many microseconds."""
    return Quantity(value * 1e3)


def ms(value: float) -> Quantity:
    """So many milliseconds."""
    return Quantity(value * 1e6)


def s(value: float) -> Quantity:
    """So many seconds."""
    return Quantity(value * 1e9)
