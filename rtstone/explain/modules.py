"""Lay out the code of a kernel module in memory, as the kernel does when it loads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rtstone.explain.elf import (
    AARCH64,
    ALLOCATED,
    EXECUTABLE,
    RELOCATABLE,
    X86_64,
    Elf,
    Relocation,
    functions_in,
)
from rtstone.explain.functions import PAGE, Functions, Piece

# Types of relocations.
WIDE = {X86_64: (1, 24), AARCH64: (257, 260)}  # of 8 bytes; all others have 4
CALLS = (282, 283)  # of arm64: to jump, to call
ADRP = (275, 276)  # of arm64: the page of an address
RELATIVE = (2, 4)  # of x86-64: to the instruction

# Of arm64.  PLT: veneers, through which calls reach what is far away.
PLT, TRAMPOLINE = ".plt", ".text.ftrace_trampoline"  # have as many bytes as the kernel needs
PLT_ALIGN = 64  # bytes
VENEER = 12  # bytes


def module(program: str, data: bytes) -> Piece:
    """Return the code of a module, from its first section of a known length on.

    Sections that the kernel frees after the module's start are left out.  Raises ValueError.
    """
    elf = Elf(data)
    if elf.kind != RELOCATABLE or elf.machine not in WIDE:
        raise ValueError("no kernel module of a 64-bit system")
    changes: dict[int, list[Relocation]] = defaultdict(list)
    for one in elf.relocations():
        changes[one.section].append(one)
    every = _executable(elf)
    later = [elf.sections[index].name in (PLT, TRAMPOLINE) for index in every]
    first = later.index(False) if False in later else len(every)
    last = later.index(True, first) if True in later[first:] else len(every)
    code, fixed = bytearray(), bytearray()
    places: dict[int, int] = {}
    align = PAGE  # that of what is first in memory
    for index in every[first:last]:
        own = max(1, elf.sections[index].align, _alignment(elf, changes[index]))
        if first and not places:
            align = min(PAGE, own)
        content = elf.content(elf.sections[index])
        gap = bytes(-len(code) % own)
        places[index] = len(code) + len(gap)
        code += gap + content
        fixed += gap + _fixed(elf, content, changes[index])
    found = functions_in(elf, places)
    veneers = sum(_veneers(changes[index]) for index in places)
    if veneers and first:
        _insert(found, 0, (-veneers // align * align, 0))
    elif veneers and last < len(every):
        begin = -(-len(code) // PLT_ALIGN) * PLT_ALIGN
        _insert(found, len(found.starts), (begin, -(-(begin + veneers) // PAGE) * PAGE))
    return Piece(program, found, bytes(code), bytes(fixed), align)


def _veneers(changes: Iterable[Relocation]) -> int:
    """Return the bytes of the veneers that calls in a section may need: one for each function."""
    return VENEER * len({(one.symbol, one.addend) for one in changes if one.kind in CALLS})


def _insert(functions: Functions, index: int, place: tuple[int, int]) -> None:
    """Add the veneers, which have no symbol, with all of the pages that they are in."""
    functions.starts.insert(index, place[0])
    functions.ends.insert(index, place[1])
    functions.names.insert(index, PLT)


def _executable(elf: Elf) -> list[int]:
    """Return the numbers of the sections with code that stays."""
    both = ALLOCATED | EXECUTABLE
    return [
        index
        for index, section in enumerate(elf.sections)
        if section.flags & both == both and not section.name.startswith(".init")
    ]


def _alignment(elf: Elf, changes: Iterable[Relocation]) -> int:
    """Return the alignment that the kernel demands on a Cortex-A53, as the lab's.

    Its erratum 843419 lets no adrp be in the last two words of a page.
    """
    if elf.machine != AARCH64:
        return 1
    wanted = [2 * _lowest_zero(one.offset | 7) for one in changes if one.kind in ADRP]
    return max((align for align in wanted if align <= PAGE), default=1)


def _lowest_zero(number: int) -> int:
    return ~number & (number + 1)


def _fixed(elf: Elf, content: bytes, changes: Iterable[Relocation]) -> bytes:
    """Return 1 for each byte of a section that the kernel does not change, else 0."""
    fixed = bytearray(b"\1" * len(content))
    for one in changes:
        first, end = one.offset, one.offset + (8 if one.kind in WIDE[elf.machine] else 4)
        if elf.machine == X86_64 and one.kind in RELATIVE:
            first -= _opcode(content, first)
        fixed[first:end] = bytes(len(fixed[first:end]))
    return bytes(fixed)


def _opcode(content: bytes, at: int) -> int:
    """Return the bytes of a call or jump before its target, which the kernel may replace, too.

    They are other ones where returns or indirect calls need no thunk.
    """
    if not 2 <= at <= len(content) or content[at - 1] not in (0xE8, 0xE9):
        return 0
    return 2 if content[at - 2] == 0x2E else 1
