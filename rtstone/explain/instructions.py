"""What an instruction at the end of a block does to the call stack, by architecture.

Encodings: Arm Architecture Reference Manual, A-profile, C6 (AArch64), and Armv7-M, A7 (Thumb);
Intel Software Developer's Manual, volume 2; RISC-V Instruction Set Manual.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, auto
from typing import NamedTuple

RA = 1  # of RISC-V: the register that calls leave the return address in


class Flow(Enum):
    """How control leaves a block."""

    JUMP = auto()  # to anywhere, or to the following instruction
    CALL = auto()
    RETURN = auto()
    LEAVE = auto()  # returns from an exception
    CUT = auto()  # before its end, by an exception or to go on with the next instruction


class Architecture(NamedTuple):
    """An instruction set.

    ``flow``: of the bytes of the last instruction.  ``stamps``: value and mask of instructions that
    read the counter; of those that read any memory, it is the ones at marked lines.  ``low_bit``:
    set in the address of each function, but not part of it.
    ``returns_leave``: a return that fits no call leaves an exception.  ``one_entry``: interrupts
    and calls of the system enter by the same function, so that samples are not explained.
    """

    name: str
    flow: Callable[[bytes], Flow]
    stamps: tuple[tuple[int, int], ...]
    low_bit: int = 0
    returns_leave: bool = False
    one_entry: bool = False


def _aarch64(code: bytes) -> Flow:
    word = int.from_bytes(code[:4], "little")
    if word >> 26 == 0x25 or word & 0xFFFFFC1F == 0xD63F0000 or word & 0xFFFFF800 == 0xD73F0800:
        return Flow.CALL  # bl, blr, blra*
    if word & 0xFFFFFC1F == 0xD65F0000 or word in {0xD65F0BFF, 0xD65F0FFF}:
        return Flow.RETURN  # ret, reta*
    return Flow.LEAVE if word in {0xD69F03E0, 0xD69F0BFF, 0xD69F0FFF} else Flow.JUMP  # eret*


def _thumb(code: bytes) -> Flow:
    first, second = (int.from_bytes(code[at : at + 2], "little") for at in (0, 2))
    if first & 0xF800 == 0xF000 and second & 0xD000 == 0xD000:
        return Flow.CALL  # bl
    if first & 0xFF87 == 0x4780:
        return Flow.CALL  # blx register
    if first == 0x4770 or first & 0xFF00 == 0xBD00:
        return Flow.RETURN  # bx lr, pop {..., pc}
    if first == 0xE8BD and second & 0x8000:
        return Flow.RETURN  # pop.w {..., pc}
    return Flow.RETURN if first == 0xF85D and second & 0xFF00 == 0xFB00 else Flow.JUMP  # ldr pc


def _x86_64(code: bytes) -> Flow:
    bare = code[1:] if code[0:1] in {b"\xf2", b"\xf3", b"\x2e", b"\x3e"} else code
    if bare[:1] in {b"\xc3", b"\xc2"}:
        return Flow.RETURN
    if bare[:1] == b"\xcf" or bare[:2] == b"\x48\xcf" or b"\x0f\x07" in {bare[:2], bare[1:3]}:
        return Flow.LEAVE  # iret, sysret
    if bare[:1] == b"\xe8":
        return Flow.CALL
    at = 1 if bare[:1] and 0x40 <= bare[0] <= 0x4F else 0
    indirect = bare[at : at + 1] == b"\xff" and len(bare) > at + 1 and bare[at + 1] >> 3 & 7 == 2
    return Flow.CALL if indirect else Flow.JUMP


def _riscv(code: bytes) -> Flow:
    half, word = (int.from_bytes(code[:size], "little") for size in (2, 4))
    if half & 0xF07F in {0x8002, 0x9002} and half & 0x0F80:  # c.jr, c.jalr
        return Flow.CALL if half & 0x1000 else Flow.RETURN if half == 0x8082 else Flow.JUMP
    if word & 0x7F == 0x6F or word & 0x707F == 0x67:  # jal, jalr
        if word >> 7 & 31 == RA:
            return Flow.CALL
        return Flow.RETURN if word == 0x00008067 else Flow.JUMP
    return Flow.LEAVE if word in {0x30200073, 0x10200073} else Flow.JUMP  # mret, sret


def _riscv32(code: bytes) -> Flow:
    if len(code) == 2 and int.from_bytes(code, "little") & 0xE003 == 0x2001:  # c.jal
        return Flow.CALL
    return _riscv(code)


ARCHITECTURES = {
    "aarch64": Architecture(
        "aarch64", _aarch64,
        ((0xD53BE040, 0xFFFFFFE0), (0xD53BE020, 0xFFFFFFE0)),  # cntvct_el0, cntpct_el0
    ),
    **{
        name: Architecture(
            name, _thumb,
            ((0x6800, 0xF800), (0xF8D0, 0xFFF0)),  # ldr, ldr.w
            low_bit=1, returns_leave=True,
        )
        for name in ("armv7m", "armv7em", "armv8m")
    },
    **{
        name: Architecture(
            name, flow,
            ((0xB0002073, 0xFFFFF07F), (0xC0102073, 0xFFFFF07F)),  # csrr rN, mcycle; rdtime
            one_entry=True,
        )
        for name, flow in (("riscv32", _riscv32), ("riscv64", _riscv))
    },
    "x86_64": Architecture(
        "x86_64", _x86_64, ((0x0000310F, 0x0000FFFF), (0x00F9010F, 0x00FFFFFF)),  # rdtsc, rdtscp
    ),
}  # fmt: skip
