"""What is read from an arm64 kernel's code, of code that is written here."""

from __future__ import annotations

import struct

from rtstone.explain.daif import calls, context, daif, masking, preempt_count

NOP, RET, BL = 0xD503201F, 0xD65F03C0, 0x94000010
READ, WRITE, MASK, UNMASK = 0xD53B4220, 0xD51B4220, 0xD50342DF, 0xD50342FF  # of x0; #2
TBNZ = 0x37380000  # w0, #7


def code(*words: int) -> bytes:
    return struct.pack(f"<{len(words)}I", *words)


def test_a_read_before_masking_saves() -> None:
    assert daif(code(NOP, READ, NOP, MASK)).saves == [4]


def test_a_read_is_none_that_calls_returns_or_unmasks_before() -> None:
    assert daif(code(READ, BL, MASK)).saves == []
    assert daif(code(READ, RET, MASK)).saves == []
    assert daif(code(READ, UNMASK, RET)).saves == []
    assert daif(code(READ, *[NOP] * 8, MASK)).saves == []  # as far as it is looked


def test_a_branch_is_followed_both_ways() -> None:
    assert daif(code(READ, TBNZ | 2 << 5, MASK, RET)).saves == [0]  # where it is not taken
    assert daif(code(READ, TBNZ | 2 << 5, RET, MASK)).saves == [0]  # where it is
    assert daif(code(MASK, RET, READ, 0x17FFFFFD)).saves == [8]  # b, backwards
    assert daif(code(READ, TBNZ | 2 << 5, RET, RET, MASK)).saves == []


def test_constants_that_are_written() -> None:
    def mov(register: int, value: int) -> int:
        return 0xD2800000 | value << 5 | register

    assert daif(code(mov(0, 0xC0), WRITE)).constants == {4: True}
    assert daif(code(mov(0, 0x40), WRITE)).constants == {4: False}
    assert daif(code(WRITE | 31)).constants == {0: False}  # xzr
    assert daif(code(mov(1, 0xC0), WRITE)).constants == {}  # another register
    assert daif(code(mov(0, 0xC0), NOP, NOP, NOP, WRITE)).constants == {}  # as far as it is looked


def test_the_preempt_count_is_where_interrupts_are_counted() -> None:
    add, store = 0x11404000 | 3 << 5 | 2, 0xB9000000 | 16 // 4 << 10 | 5 << 5 | 2  # w2, [x5, #16]
    assert preempt_count(code(NOP, add, store)) == 16
    assert preempt_count(code(add, NOP, NOP, NOP, store)) == 16
    assert preempt_count(code(add, store | 1)) is None  # another register
    once, twice = store & ~(0xFFF << 10) | 2 << 10, store
    assert preempt_count(code(add, once, add, twice, add, twice)) == 16
    assert preempt_count(code(NOP)) is None


def test_instructions_that_mask_and_calls_of_functions() -> None:
    debug = MASK & ~0xF00 | 0x800  # of debug exceptions only
    assert masking(code(NOP, MASK, UNMASK, debug, MASK | 0xF00)) == [4, 16]
    back, forth = 0x94000000 | -2 & 0x3FFFFFF, 0x94000002
    words = code(NOP, forth, back, back, forth, NOP, RET)
    assert calls(words, {0}) == [8]
    assert calls(words, {4, 12, 24}) == [4, 12, 16]
    assert calls(words, set()) == []


def test_where_registers_are_saved() -> None:
    assert context(code(0xD503245F, 0xD2800000 | 0xC50 << 5 | 10)) == 0xC50  # bti; mov x10
    assert context(code(0xD2800000 | 0xC50 << 5 | 9)) is None
