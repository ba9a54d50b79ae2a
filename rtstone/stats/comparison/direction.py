"""Which direction is better: smaller for times, larger for rates, neither for most figures."""

from __future__ import annotations

from rtstone.documents.run import BREAKDOWN

SMALLER, LARGER = -1, 1

# By unit.
_UNITS = {
    "ns": SMALLER, "us": SMALLER, "instructions": SMALLER,
    "1/s": LARGER, "1/instructions": LARGER, "KWIPS": LARGER, "MB/s": LARGER, "MiB/s": LARGER,
}  # fmt: skip
# By name, where the unit does not decide.
_FIGURES = {BREAKDOWN: LARGER}


def direction(figure: str | None, unit: str) -> int | None:
    """Return LARGER or SMALLER, whichever is better; None if neither is known to be."""
    return _FIGURES.get(figure or "", _UNITS.get(unit))
