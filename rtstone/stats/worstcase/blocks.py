"""Combine block maxima: of several results, and into larger blocks."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.run import Blocks, Result


def joined(results: Sequence[Result]) -> Blocks:
    """Return the maxima of all results in sequence, in blocks of one size."""
    parts = []
    for result in results:
        if (blocks := result.blocks) is not None:
            # With the incomplete last one, if that holds the maximum.
            if result.max is not None and not (blocks.max and result.max <= max(blocks.max)):
                blocks = Blocks(samples=blocks.samples, max=[*blocks.max, result.max])
            parts.append(blocks)
    size = max((part.samples for part in parts), default=1)
    values = [value for part in parts for value in merged(part, size // part.samples).max]
    return Blocks(samples=size, max=values)


def merged(blocks: Blocks, times: int) -> Blocks:
    """Return the maxima of blocks ``times`` as large; the last one may be smaller."""
    groups = (blocks.max[at : at + times] for at in range(0, len(blocks.max), times))
    return Blocks(samples=blocks.samples * times, max=[max(group) for group in groups])


def few(blocks: Blocks, most: int) -> Blocks:
    """Return the blocks merged until there are at most ``most``."""
    while len(blocks.max) > most:
        blocks = merged(blocks, 2)
    return blocks
