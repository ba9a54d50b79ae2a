"""Find where code lies in memory, from the part of it that was executed.

A kernel with KASLR, its modules and its vDSO are at other addresses than those they were linked
for.  Each executed block votes for some of the places where its code can be; the answer is the only
place that fits, None if there is none or more than one.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from math import log2
from typing import NamedTuple

from rtstone.explain.blocks import Block
from rtstone.explain.functions import PAGE, Functions, Piece

KERNEL = 1 << 63  # addresses from here on are the kernel's
MOST = 1024  # targets of calls that are looked at
FEWEST_CALLS = 16
ENOUGH = 30  # bits: odds of a thousand million to one against chance, and any other place

# ---- the kernel ----------------------------------------------------------------------------------


def kernel_offset(functions: Functions, blocks: Iterable[Block], arch: str) -> int | None:
    """Return what KASLR has added to the addresses of a kernel's functions, None if unknown.

    All direct calls lead to the begin of a function if they are moved by the right offset, and one
    of 16 by a wrong one.  Calls in modules do so, too, if they call the kernel.
    """
    target = _TARGETS[arch]
    called = sorted({to for block in blocks if (to := target(block)) and to >= KERNEL})
    chosen = called[:: len(called) // MOST + 1]
    by_place: dict[int, list[int]] = {}
    for start in functions.starts:
        by_place.setdefault(start % PAGE, []).append(start)
    # What is added is whole pages.
    votes = Counter(to - start for to in chosen for start in by_place.get(to % PAGE, ()))
    first, second = [*votes.most_common(2), (0, 0), (0, 0)][:2]
    return first[0] if first[1] >= max(FEWEST_CALLS, 2 * second[1]) else None


def _called_aarch64(block: Block) -> int | None:
    """Return where the last instruction calls to: bl."""
    word = int.from_bytes(block.last, "little")
    if word >> 26 != 0x25:
        return None
    words = word & (1 << 26) - 1
    return block.at + 4 * (words - (1 << 26) if words >> 25 else words)


def _called_x86_64(block: Block) -> int | None:
    """Return where the last instruction calls to: call rel32."""
    if len(block.last) != 5 or block.last[0] != 0xE8:
        return None
    return block.end + int.from_bytes(block.last[1:], "little", signed=True)


def _begun_riscv64(block: Block) -> int:
    """Return where the block begins: a call takes two instructions, of which it has one."""
    return block.pc


_TARGETS: dict[str, Callable[[Block], int | None]] = {
    "aarch64": _called_aarch64,
    "x86_64": _called_x86_64,
    "riscv64": _begun_riscv64,
}

# ---- pieces --------------------------------------------------------------------------------------


class _Jump(NamedTuple):
    """The last instruction of a block."""

    at: int
    code: bytes


def piece_offsets(pieces: Sequence[Piece], blocks: Iterable[Block]) -> dict[int, int]:
    """Return where pieces begin, by their number; those of which it is unknown are left out.

    ``blocks``: those that were executed where no other program is known to be.
    """
    jumps = sorted({_Jump(block.at, block.last) for block in blocks})
    offsets = {
        number: offset
        for number, piece in enumerate(pieces)
        if (offset := _piece_offset(piece, jumps)) is not None
    }
    return {
        number: offset
        for number, offset in offsets.items()
        if not any(
            offset < other + len(pieces[i].code) and other < offset + len(pieces[number].code)
            for i, other in offsets.items()
            if i != number
        )
    }


def _piece_offset(piece: Piece, jumps: list[_Jump]) -> int | None:
    """Return where a piece begins, None if no place fits, or several do.

    An instruction that matches counts the more, the rarer it is among all; one that does not
    counts one bit against the place, as memory may have been used for other code before, and the
    kernel rewrites some of its jumps.
    """
    often = Counter(jump.code for jump in jumps)
    bits = {code: log2(len(jumps) / n) for code, n in often.items()}
    votes: dict[int, float] = {}
    for jump in jumps:
        length = len(jump.code)
        for place in range(jump.at % piece.align, len(piece.code), piece.align):
            same = piece.code[place : place + length] == jump.code
            if same and _is_fixed(piece, place, length):
                offset = jump.at - place
                votes[offset] = votes.get(offset, 0) + bits[jump.code]
    for offset, vote in votes.items():
        if vote >= ENOUGH:  # less what was executed in its place, and is not its own
            ends = (offset, offset + len(piece.code))
            first, last = (bisect_left(jumps, (to, b"")) for to in ends)
            inside = ((jump.at - offset, jump.code) for jump in jumps[first:last])
            votes[offset] -= sum(
                _is_fixed(piece, at, len(code)) and piece.code[at : at + len(code)] != code
                for at, code in inside
            )
    ranked = sorted(((vote, offset) for offset, vote in votes.items()), reverse=True)
    best, other = [*ranked, (0, 0), (0, 0)][:2]
    return best[1] if best[0] - max(other[0], 0) >= ENOUGH else None


def _is_fixed(piece: Piece, place: int, length: int) -> bool:
    return piece.fixed.count(1, place, place + length) == length
