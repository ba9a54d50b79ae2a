"""What masks interrupts on RISC-V in supervisor mode, by the plugin's own code."""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import pytest

from rtstone.explain import masks
from tests.explain.test_tally import Plugin

NOP, RET, WFI = 0x13, 0x10200073, 0x10500073
SET, CLEAR, SAVE = 0x10016073, 0x10017073, 0x100177F3  # csrsi, csrci; csrrci a5
BY_REGISTER = 0x100537F3  # csrrc a5, of a0
RESTORE, OTHER = 0x1007A073, 0x1004A073  # csrs sstatus of a5, of s1
STATUS = 0x10051073  # csrw sstatus, a0
FIRMWARE, MRET = 0x34021273, 0x30200073  # csrrw tp, mscratch, tp
SPIE, SPP = 1 << 5, 1 << 8
KERNEL = 0xFFFFFFFF80000000
TRAP, INTERRUPT, EXCEPTION, LEAVES, KEEPS, OFTEN = (KERNEL + 0x1000 * n for n in range(1, 7))
MACHINE = 0x80000400  # where the firmware is
CHECK = 255


class Processor:
    """The plugin's code, and what it is given."""

    def __init__(self, folder: Path) -> None:
        self.plugin = Plugin(
            folder, ("during", 0, 10_000),
            ("masks", 0, masks.SUPERVISOR), ("switch", KERNEL, KERNEL + 4),
            ("entry-at", TRAP, masks.EITHER), ("entry-at", INTERRUPT, 1),
            ("entry-at", EXCEPTION, 0), ("inherit", LEAVES, LEAVES + 16), ("keep", KEEPS, 0),
        )  # fmt: skip

    def run(self, *codes: int, at: int = OFTEN) -> None:
        self.plugin.run(codes, at)

    def trap(self, to: int, before: int = 4) -> None:
        """Enter an exception, which leads to this place."""
        self.run(*[NOP] * before, at=TRAP)
        self.run(NOP, at=to)

    def leave(self, status: int) -> None:
        """Return from an exception that came in this status."""
        self.plugin._library.riscv_loaded(ctypes.c_uint64(status))
        self.run(STATUS, NOP, RET, at=LEAVES)

    def sections(self) -> list[int]:
        """Return the lengths of all sections, and end."""
        self.rows: Any = self.plugin.rows()
        own = self.rows[self.rows["kind"] == 0]
        assert (own["longest"] * own["n"] == own["sum"]).all()
        return sorted(length for row in own for length in [int(row["longest"])] * int(row["n"]))

    def interrupts(self) -> tuple[int, int, bool]:
        """Return how many interrupts came, how many while masked, whether all was known."""
        rows = self.rows[self.rows["kind"] == CHECK]
        return int(rows["n"].sum()), int(rows["sum"].sum()), not rows["longest"].any()


@pytest.fixture
def cpu(tmp_path: Path) -> Processor:
    return Processor(tmp_path)


def test_flags_are_restored_as_they_were_saved(cpu: Processor) -> None:
    cpu.run(SAVE, NOP, SAVE, NOP, RESTORE, NOP, RESTORE, NOP)
    cpu.run(CLEAR, NOP, NOP, SAVE, RESTORE, NOP, SET)
    cpu.run(SAVE, SET, RESTORE, SAVE, RESTORE)
    cpu.run(BY_REGISTER, NOP, NOP, RESTORE)
    assert cpu.sections() == [1, 1, 3, 6, 6]


def test_masked_ones_that_are_masked_again_stay_so(cpu: Processor) -> None:
    """Where nothing was saved, what was before is restored."""
    cpu.run(CLEAR, NOP, CLEAR, NOP, RESTORE, NOP, SET, NOP)
    cpu.run(CLEAR, NOP, RESTORE, NOP)
    assert cpu.sections() == [2, 6]


def test_a_write_of_other_bits_changes_nothing(cpu: Processor) -> None:
    cpu.run(CLEAR, NOP)
    cpu.run(OTHER, at=KEEPS)
    cpu.run(NOP, SET)
    cpu.run(OTHER, NOP)  # while interrupts are enabled none can
    assert cpu.sections() == [4]


def test_an_interrupt_is_told_from_other_exceptions_by_where_it_leads(cpu: Processor) -> None:
    cpu.run(NOP, NOP)
    cpu.trap(INTERRUPT)
    cpu.leave(SPIE | SPP)
    cpu.run(NOP)
    cpu.trap(EXCEPTION)
    cpu.run(SET, NOP, CLEAR)
    cpu.leave(SPIE | SPP)
    cpu.run(NOP)
    # From the first instruction of the exception up to `sret`.
    assert cpu.sections() == [3, 5, 7]
    assert cpu.interrupts() == (1, 0, True)
    assert 2 in cpu.rows["at"]


def test_an_exception_returns_to_what_was_before(cpu: Processor) -> None:
    """Also one that returns before it has been seen what it was."""
    cpu.run(CLEAR, NOP)
    cpu.trap(EXCEPTION)
    cpu.leave(SPP)
    cpu.run(NOP)
    cpu.run(NOP, NOP, RET, at=TRAP)
    cpu.run(NOP, SET, NOP)
    cpu.run(NOP, NOP, RET, at=TRAP)
    cpu.run(NOP)
    cpu.trap(EXCEPTION)
    cpu.leave(SPIE | SPP)
    cpu.run(NOP, NOP)
    cpu.run(NOP, NOP, RET, at=TRAP)
    cpu.run(NOP)
    assert cpu.sections() == [2, 2, 7, 2 + 5 + 3 + 1 + 3 + 1]
    assert cpu.interrupts() == (0, 0, True)


def test_a_task_that_ends_within_exceptions_leaves_none(cpu: Processor) -> None:
    """What comes from user mode comes from the outermost level; more than 16 are an abort."""
    for _ in range(20):
        cpu.leave(SPIE)
        cpu.trap(EXCEPTION)
        cpu.trap(EXCEPTION)
    cpu.sections()
    assert cpu.interrupts() == (0, 0, True)


def test_an_interrupt_while_they_are_masked_is_counted(cpu: Processor) -> None:
    cpu.run(CLEAR, NOP)
    cpu.trap(INTERRUPT)
    cpu.leave(SPIE | SPP)
    cpu.run(SET)
    cpu.sections()
    assert cpu.interrupts() == (1, 1, True)


def test_what_an_exception_restores_is_its_own(cpu: Processor) -> None:
    """In a handler flags that were saved once are restored twice, as by timers."""
    cpu.run(SAVE)
    cpu.trap(EXCEPTION)
    cpu.run(SAVE, NOP, RESTORE, CLEAR, NOP, RESTORE, SET, NOP, CLEAR, RESTORE)
    cpu.run(CLEAR)
    cpu.leave(SPP)
    cpu.run(NOP, RESTORE)
    # The exception came in a section, and so all up to its `csrsi` is one; behind that are two.
    assert cpu.sections()[:2] == [1, 1 + 2 + 2]


def test_the_firmware_masks_whatever_the_kernel_does(cpu: Processor) -> None:
    cpu.run(NOP)
    cpu.run(FIRMWARE, NOP, NOP, MRET, at=MACHINE)
    cpu.run(NOP, CLEAR)
    cpu.run(FIRMWARE, NOP, MRET, at=MACHINE)
    cpu.run(NOP, SET)
    assert cpu.sections() == [3, 5]
    assert cpu.interrupts() == (0, 0, True)


def test_what_is_not_known_is_told(cpu: Processor) -> None:
    """A return of a firmware that was not entered."""
    cpu.run(NOP)
    cpu.run(MRET, at=MACHINE)
    cpu.sections()
    assert not cpu.interrupts()[2]


def test_a_status_that_is_not_loaded_is_not_known(cpu: Processor) -> None:
    cpu.run(NOP, STATUS)
    cpu.sections()
    assert not cpu.interrupts()[2]


@pytest.mark.parametrize(("before", "in_time"), [(190, True), (210, False)])
def test_an_exception_that_is_decided_too_late_is_not_known(
    cpu: Processor, before: int, in_time: bool
) -> None:
    cpu.run(NOP)
    cpu.trap(INTERRUPT, before)
    cpu.sections()
    assert cpu.interrupts() == (1, 0, in_time)
