"""Lay out the code of a kernel module in memory, as the kernel does when it loads it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from rtstone.explain.elf import (
    AARCH64,
    ALLOCATED,
    EXECUTABLE,
    RELOCATABLE,
    RISCV,
    X86_64,
    Elf,
    Relocation,
    functions_in,
)
from rtstone.explain.functions import PAGE, Functions, Piece

# Types of relocations.
# Of 8 bytes, as a call on RISC-V, which is two instructions; no other has more than 4.
WIDE = {X86_64: (1, 24), AARCH64: (257, 260), RISCV: (2, 18, 19)}
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
    for relocation in elf.relocations():
        changes[relocation.section].append(relocation)
    both = ALLOCATED | EXECUTABLE
    every = [
        index
        for index, section in enumerate(elf.sections)
        if section.flags & both == both and not section.name.startswith(".init")
    ]
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
    table = functions_in(elf, places)
    # The bytes of the veneers that the calls in each section may need: one for each function.
    veneers = VENEER * sum(
        len({(call.symbol, call.addend) for call in changes[index] if call.kind in CALLS})
        for index in places
    )
    if veneers and first:
        _insert(table, 0, (-veneers // align * align, 0))
    elif veneers and last < len(every):
        begin = -(-len(code) // PLT_ALIGN) * PLT_ALIGN
        _insert(table, len(table.starts), (begin, -(-(begin + veneers) // PAGE) * PAGE))
    return Piece(program, table, bytes(code), bytes(fixed), align)


def _insert(functions: Functions, index: int, place: tuple[int, int]) -> None:
    """Add the veneers, which have no symbol, with all of the pages that they are in."""
    functions.starts.insert(index, place[0])
    functions.ends.insert(index, place[1])
    functions.names.insert(index, PLT)


def _alignment(elf: Elf, changes: Iterable[Relocation]) -> int:
    """Return the alignment that the kernel demands on a Cortex-A53, as the lab's.

    Its erratum 843419 lets no adrp be in the last two words of a page.
    """
    if elf.machine != AARCH64:
        return 1
    offsets = [change.offset | 7 for change in changes if change.kind in ADRP]
    aligns = [2 * (~offset & (offset + 1)) for offset in offsets]  # twice the lowest bit that is 0
    return max((align for align in aligns if align <= PAGE), default=1)


def _fixed(elf: Elf, content: bytes, changes: Iterable[Relocation]) -> bytes:
    """Return 1 for each byte of a section that the kernel does not change, else 0."""
    fixed = bytearray(b"\1" * len(content))
    for change in changes:
        first = change.offset
        end = first + (8 if change.kind in WIDE[elf.machine] else 4)
        near = elf.machine == X86_64 and change.kind in RELATIVE and 2 <= first <= len(content)
        if near and content[first - 1] in (0xE8, 0xE9):
            # The kernel may replace the opcode of a call or jump, too, where no thunk is needed.
            first -= 2 if content[first - 2] == 0x2E else 1
        fixed[first:end] = bytes(len(fixed[first:end]))
    return bytes(fixed)
