"""The functions of a program by address."""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple


class Functions(NamedTuple):
    """Functions that do not overlap, in order of their addresses.

    ``starts``: addresses, as the program was linked.  ``ends``: the addresses behind them.
    """

    starts: list[int]
    ends: list[int]
    names: list[str]

    def find(self, address: int) -> tuple[str, int] | None:
        """Return name and start of the function at an address, None if there is none."""
        index = bisect_right(self.starts, address) - 1
        if index < 0 or address >= self.ends[index]:
            return None
        return self.names[index], self.starts[index]


PAGE = 4096  # bytes, the least there are


class Piece(NamedTuple):
    """Code that the kernel puts wherever there is room: of a module, or its own.

    ``program``: its name, empty for the kernel.  ``functions``: relative to its begin.  ``code``:
    its bytes.  ``fixed``: 1 for each of them that is the same in memory, 0 where an address is
    inserted.  ``align``: its begin is a multiple of this.
    """

    program: str
    functions: Functions
    code: bytes
    fixed: bytes
    align: int
