"""What the instructions of a RISC-V kernel do to sstatus.SIE, as far as its code says it.

The plugin sees instructions, not values (masks_supervisor.c).  A write of sstatus by a register is
of flags that were saved, of which the code keeps SIE alone, or of other bits, as to access user
memory, which are constants.  Which it is tells the nearest instruction before it, on any way
through the function, that says what is in the register.  Encodings: RISC-V Instruction Set Manual,
volume I, 19 to 27.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict, deque
from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rtstone.explain.functions import Functions

SIE = 2  # of sstatus
SSTATUS = 0x10000073  # any access of it...
CSR = 0xFFF0007F  # ...by these bits
WRITE, SET, CLEAR, IMMEDIATE = 1, 2, 3, 4  # what it does
RA, SP, TP, S0, A1 = 1, 2, 4, 8, 11  # registers
SAVED = {SP, 3, TP, S0, 9, *range(18, 28)}  # which calls leave as they are
MOST = 4000  # instructions that are looked at for one
FATAL = {"__stack_chk_fail", "panic"}  # functions that never return
OFTEN = 3  # times as often as any other
# Of floating point: what changes its own registers alone, and of the rest what does not.
FLOATS, TO_INTEGER = {0x07, 0x43, 0x47, 0x4B, 0x4F}, {0x14, 0x18, 0x1C}
CALL = 0x80E7  # jalr ra, imm(ra), but for the immediate value


class Instruction(NamedTuple):
    """An instruction, and what of it matters here.

    ``at``: its place in the code.  ``word``: its bytes; ``size``: how many.  ``sets``: the register
    that it changes, 0: none.  ``to``: where it may jump to.  ``ends``: never goes on behind it.
    """

    at: int
    word: int
    size: int
    sets: int
    to: int | None
    ends: bool

    @property
    def calls(self) -> bool:
        """Whether it calls a function: jal, jalr, c.jalr."""
        return self.sets == RA and (
            self.word & 0x7F in {0x6F, 0x67} or (self.size == 2 and self.word & 0xF07F == 0x9002)
        )


def signed(value: int, bits: int) -> int:
    """Return the lowest bits of a value as a number with a sign."""
    value &= (1 << bits) - 1
    return value - (value >> bits - 1 << bits)


def _gather(word: int, *places: int) -> int:
    """Return the number whose bits, the highest first, are at these places; it has a sign."""
    value = 0
    for place in places:
        value = value << 1 | word >> place & 1
    return signed(value, len(places))


def instruction(code: bytes, at: int) -> Instruction:
    """Return the instruction at a place."""
    half = int.from_bytes(code[at : at + 2], "little")
    if half & 3 != 3:
        return _compressed(half, at)
    word = int.from_bytes(code[at : at + 4], "little")
    opcode = word & 0x7F
    sets = 0 if opcode in {0x23, 0x27, 0x63} else word >> 7 & 31  # stores and branches have none
    to, ends = None, False
    if opcode == 0x63:
        to = at + 2 * _gather(word, 31, 7, *range(30, 24, -1), *range(11, 7, -1))
    elif opcode == 0x6F:
        to = at + 2 * _gather(word, 31, *range(19, 11, -1), 20, *range(30, 20, -1))
        ends = not sets
        to = None if sets else to
    elif opcode == 0x67:
        ends = not sets
    elif opcode in FLOATS or (opcode == 0x53 and word >> 27 not in TO_INTEGER):
        sets = 0
    elif word in {0x10200073, 0x30200073, 0x00100073}:  # sret, mret, ebreak
        ends = True
    return Instruction(at, word, 4, sets, to, ends)


def _compressed(half: int, at: int) -> Instruction:
    """Return an instruction of two bytes."""
    function, quadrant = half >> 13, half & 3
    register, low, middle = half >> 7 & 31, 8 + (half >> 2 & 7), 8 + (half >> 7 & 7)
    sets, to, ends = 0, None, False
    if quadrant == 0:
        sets = low if function in {0, 2, 3} else 0
        ends = not half  # never executed
    elif quadrant == 1:
        if function < 4:
            sets = register
        elif function == 4:
            sets = middle
        elif function == 5:
            to = at + 2 * _gather(half, 12, 8, 10, 9, 6, 7, 2, 11, 5, 4, 3)
            ends = True
        else:
            to = at + 2 * _gather(half, 12, 6, 5, 2, 11, 10, 4, 3)
    elif function in {0, 2, 3}:
        sets = register
    elif function == 4:
        other = half >> 2 & 31
        if other:
            sets = register
        elif half >> 12 & 1:
            sets = RA if register else 0
        ends = not other and not (half >> 12 & 1 and register)  # c.jr, c.ebreak
    return Instruction(at, half, 2, sets, to, ends)


class _Function:
    """The instructions of a function, and from where each is come to.

    ``fatal``: calls that never return.
    """

    def __init__(
        self, code: bytes, start: int, end: int, fatal: Collection[int] = frozenset()
    ) -> None:
        self.steps: list[Instruction] = []
        while start < end:
            step = instruction(code, start)
            self.steps.append(step._replace(ends=True) if start in fatal else step)
            start += step.size
        self.places = {step.at: place for place, step in enumerate(self.steps)}

    @cached_property
    def _jumps(self) -> dict[int, list[int]]:
        jumps: dict[int, list[int]] = defaultdict(list)
        for place, step in enumerate(self.steps):
            if step.to in self.places:
                jumps[self.places[step.to]].append(place)
        return jumps

    def before(self, place: int) -> Iterator[int]:
        """Yield the instructions that may be executed just before one."""
        if place and not self.steps[place - 1].ends:
            yield place - 1
        yield from self._jumps.get(place, ())

    def flags(self, place: int, register: int) -> bool | None:
        """Return whether SIE may be in a register at an instruction; None if nothing says it.

        What is nearest decides: an ``andi`` with SIE, or a constant.
        """
        wanted = deque([(place, register)])
        seen: set[tuple[int, int]] = set()
        while wanted and len(seen) < MOST:
            place, register = wanted.popleft()
            for before in self.before(place):
                if (before, register) in seen:
                    continue
                seen.add((before, register))
                step = self.steps[before]
                if register < 0:  # a variable on the stack
                    source = _stored(step, register)
                    wanted.append((before, register if source is None else source))
                elif step.sets == register or (step.calls and register not in SAVED):
                    sources = _sources(step)
                    if isinstance(sources, bool):
                        return sources
                    wanted.extend((before, source) for source in sources)
                else:
                    wanted.append((before, register))
        return None


def _slot(base: int, offset: int) -> int:
    """Return the number of a variable on the stack, in the place of a register's."""
    return -1 - 2 * (offset + 0x10000) - (base == S0)


def _stored(step: Instruction, slot: int) -> int | None:
    """Return the register that is stored into a variable on the stack, None if it is another."""
    word = step.word
    if step.size == 2 and word & 0xE003 == 0xE002:  # c.sdsp
        offset = (word >> 10 & 7) << 3 | (word >> 7 & 7) << 6
        return word >> 2 & 31 if _slot(SP, offset) == slot else None
    base = word >> 15 & 31
    if step.size == 4 and word & 0x707F == 0x3023 and base in {SP, S0}:  # sd
        offset = signed(word >> 25 << 5 | word >> 7 & 31, 12)
        return word >> 20 & 31 if _slot(base, offset) == slot else None
    return None


def _sources(step: Instruction) -> bool | tuple[int, ...]:
    """Return whether SIE may be in what an instruction makes, or of which registers that is."""
    if step.size == 2:
        return _compressed_sources(step)
    word = step.word
    opcode, function = word & 0x7F, word >> 12 & 7
    base, immediate = word >> 15 & 31, signed(word >> 20, 12)
    match opcode, function:
        case 0x37, _:  # lui
            return False
        case ((0x13 | 0x1B), 0) if base:  # addi, addiw
            return () if immediate & 3 else (base,)
        case ((0x13 | 0x1B), 0) | (0x13, 7):  # of a constant; andi
            return bool(immediate & SIE)
        case 0x33, (6 | 7) if not word >> 25:  # or, and
            return base, word >> 20 & 31
        case 0x03, 3 if base in {SP, S0}:  # ld
            return (_slot(base, immediate),)
    return ()


def _compressed_sources(step: Instruction) -> bool | tuple[int, ...]:
    word, register = step.word, step.sets
    low = word >> 2 & 31
    match word & 3, word >> 13:
        case 1, (0 | 1):  # c.addi, c.addiw
            return () if low & 3 else (register,)
        case 1, (2 | 3):  # c.li, c.lui
            return not word >> 13 & 1 and bool(low & SIE)
        case 1, 4 if word >> 10 & 3 == 2:  # c.andi
            return bool(low & SIE)
        case 1, 4 if word & 0xFC40 == 0x8C40:  # c.or, c.and
            return register, 8 + (low & 7)
        case 2, 3:  # c.ldsp
            return (_slot(SP, word >> 12 << 5 & 32 | low & 24 | (low & 7) << 6),)
        case 2, 4 if not word >> 12 & 1:  # c.mv
            return (low,)
    return ()


class Accesses(NamedTuple):
    """What a kernel's code does to SIE, all by offset.

    ``keeps``: writes of sstatus that are of other bits alone.  ``masks``: what masks interrupts.
    """

    keeps: list[int]
    masks: list[int]


def accesses(code: bytes, functions: Functions, base: int) -> Accesses:
    """Return what the instructions of a kernel that write sstatus do.

    ``base``: the address of the code's first byte, as of its functions.
    """
    every = _words(code)
    sites = np.flatnonzero(every & CSR == SSTATUS)
    by_function: dict[int, list[int]] = defaultdict(list)
    for site in (2 * sites).tolist():
        place = bisect_right(functions.starts, base + site) - 1
        if place >= 0 and base + site < functions.ends[place]:
            by_function[place].append(site)
    never = {
        at - base
        for at, name in zip(functions.starts, functions.names, strict=True)
        if name in FATAL
    }
    fatal = {at + 4 for at in calls(code, never)}
    keeps: list[int] = []
    masks: list[int] = []
    for place, own in by_function.items():
        function: _Function | None = None
        for at in own:
            word = int(every[at // 2])
            does, operand, reads = word >> 12 & 7, word >> 15 & 31, word >> 7 & 31
            if does == IMMEDIATE | CLEAR and operand & SIE:
                masks.append(at)
            elif operand and does in {WRITE, SET, CLEAR} and (reads or does != CLEAR):
                if function is None:
                    start, end = functions.starts[place] - base, functions.ends[place] - base
                    function = _Function(code, start, end, fatal)
                if at not in function.places:
                    continue  # no instruction, but the end of one and the begin of another
                flags = does != WRITE and function.flags(function.places[at], operand)
                written = does == WRITE and _read(function, at, operand)
                if written or (does != WRITE and not flags):
                    keeps.append(at)
                elif does == CLEAR:
                    masks.append(at)
    return Accesses(keeps, masks)


def _read(function: _Function, at: int, register: int) -> bool:
    """Return whether what is written is what was read of sstatus before, with other bits set."""
    for step in reversed(function.steps[: function.places[at]]):
        if step.sets == register:
            return step.size == 4 and step.word & (CSR | 7 << 12) == SSTATUS | SET << 12
    return False


def _words(code: bytes) -> NDArray[Any]:
    """Return the four bytes at each even place, wherever instructions begin."""
    halves = np.frombuffer(code, "<u2", len(code) // 2).astype(np.uint32)
    return halves | np.append(halves[1:], np.uint32(0)) << np.uint32(16)


def calls(code: bytes, functions: Collection[int]) -> list[int]:
    """Return the instructions that call one of these functions, all by offset: auipc, jalr."""
    every = _words(code)
    at = np.flatnonzero((every[:-2] & 0xFFF == 0x97) & (every[2:] & 0xFFFFF == CALL))
    high = (every[at] & np.uint32(0xFFFFF000)).astype(np.int32).astype(np.int64)
    low = every[at + 2].astype(np.int32).astype(np.int64) >> 20
    places: list[int] = (2 * at[np.isin(2 * at + high + low, list(functions))]).tolist()
    return places


def preempt_count(code: bytes) -> int | None:
    """Return where the preempt count is in a task's structure, None if that is not seen.

    The code stores nothing so often behind ``tp``, which points to the task.
    """
    every = _words(code)
    stores = every[every & STORE[1] == STORE[0]]
    offsets = (stores >> 25 << 5 | stores >> 7 & 31).tolist()
    first, second = [*Counter(offsets).most_common(2), (None, 0), (None, 0)][:2]
    return first[0] if first[1] > OFTEN * second[1] else None


STORE = (TP << 15 | 0x2023, 31 << 15 | 0x707F)  # sw rN, offset(tp), and all of it but these


def stored(offset: int) -> tuple[int, int]:
    """Return the instruction that stores behind ``tp``, and all of it but the register."""
    bits = offset >> 5 << 25 | (offset & 31) << 7
    return STORE[0] | bits, STORE[1] | 0x7F << 25 | 31 << 7


def context(code: bytes) -> int | None:
    """Return where the first register is that `__switch_to` loads, in the next task's structure."""
    constants: dict[int, int] = {0: 0}
    behind = {A1: 0}  # registers that point into it
    at = 0
    while at + 4 <= len(code):
        step = instruction(code, at)
        word, register = step.word, step.sets
        base, low = (word >> 15 & 31, word >> 2 & 31)
        number = signed(word >> 20, 12)
        if step.size == 4 and word & 0x707F == 0x3003 and base in behind:  # ld
            return behind[base] + number
        if step.size == 2 and word & 0xE003 == 0x6000 and 8 + (word >> 7 & 7) in behind:  # c.ld
            return behind[8 + (word >> 7 & 7)] + ((word >> 10 & 7) << 3 | (word >> 5 & 3) << 6)
        value = place = None
        if step.size == 4 and word & 0x7F == 0x37:  # lui
            value = signed(word >> 12, 20) << 12
        elif step.size == 4 and word & 0x707F in {0x13, 0x1B}:  # addi, addiw
            value = constants[base] + number if base in constants else None
            place = behind[base] + number if base in behind else None
        elif step.size == 4 and word & 0xFE00707F == 0x33:  # add
            value, place = _added(constants, behind, base, word >> 20 & 31)
        elif step.size == 2 and word & 0xE003 in {0x4001, 0x6001}:  # c.li, c.lui
            value = signed(word >> 12 << 5 & 32 | low, 6) << (12 if word & 0x2000 else 0)
        elif step.size == 2 and word >> 12 == 9 and word & 3 == 2 and low:  # c.add
            value, place = _added(constants, behind, register, low)
        for registers, new in ((constants, value), (behind, place)):
            if register:
                registers.pop(register, None)
                if new is not None:
                    registers[register] = new
        at += step.size
    return None


def _added(
    constants: dict[int, int], behind: dict[int, int], first: int, second: int
) -> tuple[int | None, int | None]:
    """Return the sum of two registers, as a constant or as a place behind a pointer."""
    if first in constants and second in constants:
        return constants[first] + constants[second], None
    for pointer, by in ((first, second), (second, first)):
        if pointer in behind and by in constants:
            return None, behind[pointer] + constants[by]
    return None, None


def loading(code: bytes, start: int, end: int) -> tuple[int, int] | None:
    """Return the instruction that loads what a function writes to sstatus, None if that is not so.

    From its first byte up to the one behind it.
    """
    steps = _Function(code, start, end).steps
    for place, step in enumerate(steps):
        if step.size == 4 and step.word & (CSR | 7 << 12) == SSTATUS | WRITE << 12:
            register = step.word >> 15 & 31
            for before in reversed(steps[:place]):
                if before.sets == register:
                    is_load = (
                        before.word & 0xE003 == 0x6002 if before.size == 2
                        else before.word & 0x707F == 0x3003
                    )  # fmt: skip
                    return (before.at, before.at + before.size) if is_load else None
    return None


def straight(code: bytes, start: int, end: int) -> list[Instruction]:
    """Return the instructions from a place on, up to another or to the first that may jump."""
    steps: list[Instruction] = []
    while start < end:
        step = instruction(code, start)
        if step.to is not None or step.ends or step.calls:
            break
        steps.append(step)
        start += step.size
    return steps
