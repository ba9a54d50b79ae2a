"""What functions of an operating system do: where exceptions enter, what wakes, what switches."""

from __future__ import annotations

from typing import NamedTuple


class System(NamedTuple):
    """The functions of an operating system by what they do; suffixes of the compiler left out.

    ``vectors``: exceptions enter anywhere in them.  ``entries``: exceptions enter at their begin;
    names that start so.  ``interrupts``: handle an
    interrupt, all that they call included.  ``softirqs``: the part of it that is put off.
    ``wakes``: make a task ready.  ``schedules``: decide who runs, and switch.  ``chooses``: choose
    a task to which the exception then returns.  ``switches``: return on another task's stack,
    themselves or by one that they jump to.
    """

    vectors: frozenset[str]
    entries: tuple[str, ...]
    interrupts: frozenset[str]
    softirqs: frozenset[str]
    wakes: frozenset[str]
    schedules: frozenset[str]
    chooses: frozenset[str] = frozenset()
    switches: frozenset[str] = frozenset()

    def enters(self, name: str, begin: int, pc: int) -> bool:
        """Return whether an exception enters at an address of a function."""
        return name in self.vectors or (pc == begin and name.startswith(self.entries))


LINUX = System(
    # arm64: its vectors, and those while its other code is hidden; x86: what stands in the IDT
    vectors=frozenset({"vectors", "tramp_vectors", "irq_entries_start"}),
    entries=("asm_", "entry_SYSCALL_64"),
    interrupts=frozenset({
        "el1h_64_irq", "el0t_64_irq", "el1_irq", "el0_irq", "el1t_64_irq",
        "asm_common_interrupt", "asm_sysvec_apic_timer_interrupt", "irq_entries_start",
        "asm_sysvec_reschedule_ipi", "asm_sysvec_irq_work", "asm_sysvec_call_function_single",
        "apic_timer_interrupt", "common_interrupt",
    }),
    softirqs=frozenset({"__do_softirq", "handle_softirqs"}),
    wakes=frozenset({"try_to_wake_up"}),
    schedules=frozenset({"__schedule"}),
    switches=frozenset({"cpu_switch_to", "__switch_to_asm"}),
)  # fmt: skip

# RISC-V: interrupts and all else enter by the same function.
LINUX_RISCV = LINUX._replace(
    vectors=frozenset(),
    entries=("handle_exception",),
    interrupts=frozenset({"do_irq"}),
    switches=frozenset({"__switch_to"}),
)

FREERTOS = System(
    # AArch64: its vectors; Cortex-M: what its table of vectors names (agent/boards); RISC-V: where
    # traps lead to
    vectors=frozenset({"board_vectors"}),
    entries=(
        "vPortSVCHandler", "xPortPendSVHandler", "xPortSysTickHandler", "event",
        "freertos_soft_interrupt", "freertos_risc_v_trap_handler",
    ),
    interrupts=frozenset({
        "FreeRTOS_IRQ_Handler", "Exit_IRQ_No_Context_Switch", "xPortSysTickHandler", "event",
        "freertos_soft_interrupt",
    }),
    softirqs=frozenset(),
    wakes=frozenset({
        "xTaskIncrementTick", "xTaskRemoveFromEventList", "vTaskRemoveFromUnorderedEventList",
        "xTaskGenericNotify", "xTaskGenericNotifyFromISR", "vTaskGenericNotifyGiveFromISR",
        "xTaskResumeFromISR", "vTaskResume",
    }),
    schedules=frozenset({"FreeRTOS_SWI_Handler", "vTaskSwitchContext", "xPortPendSVHandler"}),
    chooses=frozenset({"vTaskSwitchContext"}),
)  # fmt: skip


def system_of(arch: str, *, linux: bool) -> System:
    """Return the operating system on a processor."""
    if not linux:
        return FREERTOS
    return LINUX_RISCV if arch == "riscv64" else LINUX


def bare(name: str) -> str:
    """Return the name of a function without what the compiler has added."""
    return name.partition(".")[0]
