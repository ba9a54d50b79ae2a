"""The preempt count of an x86-64 kernel, by code that is made for it."""

from __future__ import annotations

import struct

from rtstone.explain.elf import ALLOCATED, EXECUTABLE, Elf
from rtstone.explain.gs import preempt_count

BASE = 0xFFFFFFFF81000000
COUNT, OTHER = 0x1FB40, 0x2C570


def kernel(code: bytes) -> Elf:
    """Return an ELF file whose only code this is."""
    names = b"\0.text\0.names\0"
    begin = 64 + len(code) + len(names)
    both = ALLOCATED | EXECUTABLE
    sections = [
        (0,) * 10,
        (1, 1, both, BASE, 64, len(code), 0, 0, 16, 0),
        (7, 3, 0, 0, 64 + len(code), len(names), 0, 0, 1, 0),
    ]
    header = struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 2, 62, 1, BASE, 0, begin,
                         0, 64, 0, 0, 64, len(sections), 2)  # fmt: skip
    table = b"".join(struct.pack("<IIQQQQIIQQ", *section) for section in sections)
    return Elf(header + code + names + table)


def accesses(*parts: tuple[bytes, int]) -> bytes:
    """Return instructions of these opcodes that access these variables."""
    code = b""
    for opcode, offset in parts:
        end = BASE + len(code) + len(opcode) + 4
        code += opcode + struct.pack("<i", (offset - end + (1 << 31)) % (1 << 32) - (1 << 31))
    return code


INC, DEC, ADD = b"\x65\xff\x05", b"\x65\xff\x0d", b"\x65\x01\x35"


def test_it_is_what_is_counted_most() -> None:
    code = accesses((INC, COUNT), (DEC, COUNT), (INC, COUNT), (ADD, COUNT), (INC, OTHER))
    assert preempt_count(kernel(code)) == COUNT


def test_without_a_clear_majority_it_is_not_known() -> None:
    code = accesses((INC, COUNT), (INC, COUNT), (DEC, COUNT), (INC, OTHER))
    assert preempt_count(kernel(code)) is None
    assert preempt_count(kernel(b"\x90" * 64)) is None
