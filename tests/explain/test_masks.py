"""What is to be followed on a PC, by the names of a kernel's functions."""

from __future__ import annotations

import pytest

from rtstone.explain import masks
from rtstone.explain.functions import Functions
from rtstone.explain.symbols import AddressSpace, Area
from tests.explain.test_gs import COUNT, INC, accesses, kernel

NAMES = (
    "__switch_to_asm", "entry_SYSCALL_64", "entry_SYSCALL_64_after_hwframe", "irq_entries_start",
    "asm_exc_page_fault", "asm_sysvec_apic_timer_interrupt", "asm_load_gs_index",
    "native_irq_return_iret", "__schedule", "resched_curr", "preempt_schedule_irq",
)  # fmt: skip
MOVED = 0x2000000


def followed(*names: str, preempted: bool) -> masks.Followed:
    """Return what is followed in a kernel of these functions, 256 bytes each."""
    starts = [0x1000 + 256 * place for place in range(len(names))]
    functions = Functions(starts, [start + 256 for start in starts], list(names))
    return masks.of_pc(
        kernel(accesses((INC, COUNT))),
        AddressSpace([Area("", functions, MOVED)]),
        preempted=preempted,
    )


def at(name: str) -> int:
    """Return where a function is."""
    return MOVED + 0x1000 + 256 * NAMES.index(name)


def test_what_stands_in_the_interrupt_table_is_an_entry() -> None:
    lines = followed(*NAMES, preempted=True).lines
    entries = {line[1]: line[2] for line in lines if line[0] == "entry-at"}
    assert entries == {
        at("entry_SYSCALL_64"): 0,
        at("asm_exc_page_fault"): 0,
        at("asm_sysvec_apic_timer_interrupt"): 1,
    }
    ranges = {line[0]: line[1] for line in lines}
    assert ranges["entries"] == at("irq_entries_start")
    assert ranges["leave"] == at("native_irq_return_iret")
    assert ranges["switch"] == at("__switch_to_asm")
    assert ("count", masks.NUMBERS["preempt-off"], COUNT) in lines


def test_a_kernel_without_preemption_has_points_of_rescheduling() -> None:
    points = (*NAMES, "__cond_resched")
    for names, preempted, kind in (
        (points, False, "unbroken"), (points, True, "preempt-off"), (NAMES, False, "preempt-off"),
    ):  # fmt: skip
        following = followed(*names, preempted=preempted)
        assert following.kinds == [kind, "irqs-masked"]
        assert following.composition is not None
        has_points = any(line[0] == "points" for line in following.lines)
        assert has_points == (kind == "unbroken")


def test_without_what_asks_for_the_scheduler_there_is_no_bound() -> None:
    names = [name for name in NAMES if name != "resched_curr"]
    assert followed(*names, preempted=True).composition is None


def test_a_kernel_whose_switch_is_not_known_is_refused() -> None:
    with pytest.raises(ValueError, match="preempt count is not where"):
        followed(*NAMES[1:], preempted=True)
