"""Chances of several tests, corrected for their number.

S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of Statistics
6, 1979.
"""

from __future__ import annotations

from collections.abc import Sequence


def holm(ps: Sequence[float]) -> list[float]:
    """Return p values corrected so that the chance of any false one below a level is the level."""
    adjusted, largest = [1.0] * len(ps), 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=ps.__getitem__)):
        largest = max(largest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = largest
    return adjusted
