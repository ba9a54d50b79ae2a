"""Read what the emulator's plugin recorded (plugin.c), and write what it is to record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Table = NDArray[Any]

RECORD = np.dtype([("count", "<u8"), ("what", "<u8"), ("size", "<u4"), ("kind", "<u4")])
BLOCK = np.dtype(
    [("pc", "<u8"), ("n", "<u4"), ("size", "<u4"), ("last", "V15"), ("last_size", "u1")]
)
SECTION = np.dtype(
    [
        (name, "<u8")
        for name in (
            "begin",
            "begin_caller",
            "end",
            "end_caller",
            "n",
            "sum",
            "longest",
            "at",
            "ended",
            "kind",
        )
    ]
)


class Kind(IntEnum):
    """The kinds of records, as in plugin.h."""

    ENTERED = 0
    STORED = 1
    STAMPED = 2
    RAN = 3
    TOTAL = 4
    HANDLED = 5
    SWITCHED = 6
    IDLED = 7


class Span(NamedTuple):
    """From the ``start``-th instruction up to, not including, the ``end``-th."""

    start: int
    end: int


class Request(NamedTuple):
    """What to record.

    ``stamps``: value and mask of the first four bytes of instructions that read the counter;
    ``within``: the code that these are in, if some elsewhere do something else.  ``entries``:
    addresses of functions, by number.  ``stores``: code whose writes to memory are recorded.
    ``after``: stamps and stores are recorded from this entry (from 1) of the first function until
    the next; 0: always.  ``windows``: in which blocks are recorded.  ``totals``: in which they are
    counted.
    """

    stamps: Sequence[tuple[int, int]]
    within: Sequence[Span]
    entries: Sequence[int]
    stores: Sequence[Span]
    after: int = 1
    windows: Sequence[Span] = ()
    totals: Span | None = None
    sections: Sequence[tuple[str, int, int]] = ()
    memory: tuple[int, int] | None = None

    def text(self) -> str:
        """Return the lines that the plugin reads."""
        rows: list[tuple[str, int, int]] = [("stamp", *span) for span in self.stamps]
        rows += [("within", *code) for code in self.within]
        rows += [("entry", number, address) for number, address in enumerate(self.entries)]
        rows += [("stores", *code) for code in self.stores]
        rows += [("after", self.after, 0)]
        rows += [("window", *window) for window in merged(self.windows)]
        rows += [("totals", *self.totals)] if self.totals else []
        rows += self.sections
        rows += [("memory", *self.memory)] if self.memory else []
        return "".join(f"{word} {a} {b}\n" for word, a, b in rows)


def merged(windows: Sequence[Span]) -> list[Span]:
    """Return the same windows in ascending order, those that touch made one."""
    spans: list[Span] = []
    for window in sorted(windows):
        if spans and window.start <= spans[-1].end:
            spans[-1] = Span(spans[-1].start, max(spans[-1].end, window.end))
        else:
            spans.append(window)
    return spans


@dataclass(frozen=True)
class Recording:
    """Records in order of time, the blocks that they name by number, and sections in any order."""

    records: Table
    blocks: Table
    sections: Table = field(default_factory=lambda: np.zeros(0, SECTION))

    @classmethod
    def parse(cls, records: bytes, blocks: bytes, sections: bytes = b"") -> Recording:
        """Read these files; an incomplete record at the end of one is left out."""
        files = ((records, RECORD), (blocks, BLOCK), (sections, SECTION))
        return cls(*(np.frombuffer(f[: len(f) // k.itemsize * k.itemsize], k) for f, k in files))

    def ran(self, window: Span) -> Table:
        """Return the records of blocks in a window, which are in order of their counts."""
        counts = self._of_blocks["count"]
        first, end = np.searchsorted(counts, [window.start, window.end])
        rows: Table = self._of_blocks[first:end]
        return rows

    @cached_property
    def _of_blocks(self) -> Table:
        return self.of_kind(Kind.RAN)

    def of_kind(self, kind: Kind) -> Table:
        """Return the records of one kind."""
        rows: Table = self.records[self.records["kind"] == kind]
        return rows
