"""What the emulator executes in one go: instructions that follow each other in memory."""

from __future__ import annotations

from typing import NamedTuple


class Block(NamedTuple):
    """A block of executed instructions; only the last one may jump.

    ``pc``: address of the first instruction.  ``instructions``: how many.  ``size``: their bytes.
    ``last``: all bytes of the last one.
    """

    pc: int
    instructions: int
    size: int
    last: bytes

    @property
    def end(self) -> int:
        """The address behind the last instruction, to which a call returns."""
        return self.pc + self.size

    @property
    def at(self) -> int:
        """The address of the last instruction."""
        return self.pc + self.size - len(self.last)
