"""The buckets of a histogram (docs/reference/wire.md): which values each holds."""

from __future__ import annotations


def bounds(index: int, bits: int) -> tuple[int, int]:
    """Return the first value and the width of a bucket."""
    if index < 2 << bits:
        return index, 1
    shift = (index >> bits) - 1
    return ((index & ((1 << bits) - 1)) + (1 << bits)) << shift, 1 << shift


def index_of(ticks: int, bits: int) -> int:
    """Return the bucket of a value, as the agent's recorder does."""
    if ticks < 2 << bits:
        return ticks
    shift = ticks.bit_length() - 1 - bits
    return (shift << bits) + (ticks >> shift)
