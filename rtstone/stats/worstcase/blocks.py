"""Maxima of blocks: of several results as one, and of larger blocks."""

from __future__ import annotations

from collections.abc import Sequence

from rtstone.documents.run import Blocks, Result


def joined(results: Sequence[Result]) -> Blocks:
    """The maxima of all results, one after the other, in blocks of one size."""
    parts = [_whole(result, result.blocks) for result in results if result.blocks]
    size = max((part.samples for part in parts), default=1)
    values = [value for part in parts for value in merged(part, size // part.samples).max]
    return Blocks(samples=size, max=values)


def _whole(result: Result, blocks: Blocks) -> Blocks:
    """With the block that the end of the measurement cut short, if it holds the maximum."""
    if result.max is None or (blocks.max and result.max <= max(blocks.max)):
        return blocks
    return Blocks(samples=blocks.samples, max=[*blocks.max, result.max])


def merged(blocks: Blocks, times: int) -> Blocks:
    """Maxima of blocks so many times as large; the last may be of fewer."""
    groups = (blocks.max[at : at + times] for at in range(0, len(blocks.max), times))
    return Blocks(samples=blocks.samples * times, max=[max(group) for group in groups])


def few(blocks: Blocks, most: int) -> Blocks:
    """The same joined until there are no more than so many."""
    while len(blocks.max) > most:
        blocks = merged(blocks, 2)
    return blocks
