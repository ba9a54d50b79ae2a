"""What the instructions of an arm64 kernel do to DAIF, as far as its code says it.

The plugin sees instructions, not values (sections.c).  So it is found out here which reads belong
to a pair of saving and restoring, and which writes are of a constant.  Encodings: Arm Architecture
Reference Manual, C6.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

READ, WRITE = 0xD53B4220, 0xD51B4220  # mrs xN, daif; msr daif, xN
REGISTER = 0xFFFFFFE0  # all but the register
IRQ = 0x80  # of DAIF
FAR, NEAR, DEEP = 8, 4, 2  # instructions after a read, after a branch; branches in a row
BACK = 3  # instructions before a write, among which its constant may be
FEW = 4  # instructions between adding to the preempt count and storing it
ZERO = 31  # the register


class Daif(NamedTuple):
    """Reads that save, and what is written by those writes of which it is known, by offset."""

    saves: list[int]
    constants: dict[int, bool]


def daif(code: bytes) -> Daif:
    """Return what is known of each instruction that reads or writes DAIF; True: it masks."""
    words = np.frombuffer(code, "<u4", len(code) // 4)
    reads: list[int] = np.flatnonzero(words & REGISTER == READ).tolist()
    writes: list[int] = np.flatnonzero(words & REGISTER == WRITE).tolist()
    saves = [4 * at for at in reads if _leads_to_masking(words, at + 1, FAR, DEEP)]
    constants = {4 * at: bool(c & IRQ) for at in writes if (c := _constant(words, at)) is not None}
    return Daif(saves, constants)


def _leads_to_masking(words: NDArray[Any], at: int, left: int, deep: int) -> bool:
    """Return whether interrupts may be masked soon from a place on, before it calls or returns."""
    while left and 0 <= at < len(words):
        word = int(words[at])
        if word & 0xFFFFF0FF == 0xD50340DF:  # msr daifset
            return True
        if word >> 26 == 0x25 or word == 0xD65F03C0:  # bl, ret
            return False
        bits = 14 if word & 0x7E000000 == 0x36000000 else 19  # tbz, tbnz, else cbz, cbnz, b.cond
        if bits == 14 or word & 0x7E000000 == 0x34000000 or word & 0xFF000010 == 0x54000000:
            if deep and _leads_to_masking(words, at + _signed(word >> 5, bits), NEAR, deep - 1):
                return True
        elif word >> 26 == 5:  # b
            at += _signed(word, 26) - 1
        at, left = at + 1, left - 1
    return False


def _signed(word: int, bits: int) -> int:
    value = word & (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _constant(words: NDArray[Any], at: int) -> int | None:
    """Return what a write of DAIF writes, None if it is no constant."""
    register = int(words[at]) & 31
    if register == ZERO:
        return 0
    for back in range(1, min(BACK, at) + 1):
        word = int(words[at - back])
        if word & 0xFFE0001F == 0xD2800000 | register:  # mov xN, #constant
            return word >> 5 & 0xFFFF
    return None


def masking(code: bytes) -> list[int]:
    """Return the instructions that mask interrupts whatever was before, by offset."""
    words = np.frombuffer(code, "<u4", len(code) // 4)
    masks = (words & 0xFFFFF0FF == 0xD50340DF) & (words & 0x200 != 0)  # msr daifset
    places: list[int] = (4 * np.flatnonzero(masks)).tolist()
    return places


def calls(code: bytes, functions: Collection[int]) -> list[int]:
    """Return the instructions that call one of these functions, all by offset."""
    words = np.frombuffer(code, "<u4", len(code) // 4)
    at = np.flatnonzero(words >> 26 == 0x25)  # bl
    distance = (words[at] & 0x3FFFFFF).astype(np.int64)
    distance -= distance >> 25 << 26
    places: list[int] = (4 * at[np.isin(4 * (at + distance), list(functions))]).tolist()
    return places


def preempt_count(code: bytes) -> int | None:
    """Return where the preempt count is in a task's structure, None if that is not seen.

    Entering an interrupt adds HARDIRQ_OFFSET, 65536, to it, which nothing else does so often.
    """
    words = np.frombuffer(code, "<u4", len(code) // 4)
    votes: dict[int, int] = {}
    for at in np.flatnonzero(words & 0xFFFFFC00 == 0x11404000).tolist():  # add wN, wM, #0x10000
        register = int(words[at]) & 31
        for word in words[at + 1 : at + 1 + FEW].tolist():
            if word & 0xFFC0001F == 0xB9000000 | register:  # str wN, [xM, #offset]
                offset = 4 * (word >> 10 & 0xFFF)
                votes[offset] = votes.get(offset, 0) + 1
    return max(votes, key=lambda offset: (votes[offset], -offset)) if votes else None


def context(code: bytes) -> int | None:
    """Return where a task's saved registers are in its structure: of `cpu_switch_to`'s code."""
    for word in np.frombuffer(code, "<u4", min(4, len(code) // 4)).tolist():
        if word & 0xFFE0001F == 0xD280000A:  # mov x10, #THREAD_CPU_CONTEXT
            return int(word) >> 5 & 0xFFFF
    return None
