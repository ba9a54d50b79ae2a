"""Which way is better: of times the smaller, of rates the larger, of most other figures nothing."""

from __future__ import annotations

SMALLER, LARGER = -1, 1

# By unit, for whatever is counted in it.
_UNITS = {
    "ns": SMALLER, "us": SMALLER, "instructions": SMALLER,
    "1/s": LARGER, "1/instructions": LARGER, "KWIPS": LARGER, "MB/s": LARGER, "MiB/s": LARGER,
}  # fmt: skip
# By name, where the unit does not tell.
_FIGURES = {"breakdown utilisation": LARGER}


def direction(figure: str | None, unit: str) -> int | None:
    """LARGER or SMALLER, whichever is better; None if it cannot be said."""
    return _FIGURES.get(figure or "", _UNITS.get(unit))
