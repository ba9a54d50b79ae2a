"""What switches interrupts, preemption and the scheduler off and on, by operating system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rtstone.documents.sections import Kind
from rtstone.explain import daif, gs, sstatus
from rtstone.explain.bound import ENTERED, WITHIN, Composition
from rtstone.explain.elf import Elf
from rtstone.explain.functions import Functions
from rtstone.explain.kallsyms import ALIGNED
from rtstone.explain.kernel import Symbols
from rtstone.explain.symbols import AddressSpace

NUMBERS: dict[Kind, int] = {
    "irqs-masked": 0,
    "preempt-off": 1,
    "unbroken": 2,
    "critical": 3,
    "suspended": 4,
}  # of kinds, in what the plugin reads and writes

Line = tuple[str, int, int]  # of the plugin's request
ARM, PC, RISCV, SUPERVISOR = range(4)  # architectures, as of `masks` in sections.c

EITHER = 2  # of `entry-at`: an interrupt, or another exception

# ---- FreeRTOS ------------------------------------------------------------------------------------

ENTER, EXIT = "vPortEnterCritical", "vPortExitCritical"
SUSPEND, RESUME = "vTaskSuspendAll", "xTaskResumeAll"
WRAPPERS = (
    ENTER, EXIT, SUSPEND, RESUME, "uxPortSetInterruptMask", "vPortClearInterruptMask",
)  # fmt: skip
NESTING = ("ullCriticalNesting", "uxCriticalNesting")  # on AArch64, on Cortex-M
SUSPENDED = "uxSchedulerSuspended"
VECTORS = "board_vectors"
VECTORS_BYTES = 2048


# What loads a task's registers, on AArch64 and on RISC-V; on AArch64 what masks interrupts by their
# priority.
RUNNING = "pxCurrentTCB"
RESTORING = (
    "vPortRestoreTaskContext", "FreeRTOS_SWI_Handler", "FreeRTOS_IRQ_Handler",
    "freertos_risc_v_trap_handler", "processed_source", "xPortStartFirstTask",
)  # fmt: skip
TRAP = "freertos_risc_v_trap_handler"
STARTS = "xPortStartFirstTask"  # sets mstatus so that interrupts are enabled, and returns
MSTATUS = 0x30001073, 0xFFF0707F  # csrrw, and all of it but the registers
RAISING, LOWERING = (ENTER, "uxPortSetInterruptMask"), (EXIT, "vPortClearInterruptMask")


class Followed(NamedTuple):
    """What the plugin is to follow: the kinds of sections, and the lines of its request.

    ``composition``: of the bound; None if what it needs cannot be followed.  ``masking``: the
    functions that mask interrupts, as far as the code says it.
    """

    kinds: Sequence[Kind]
    lines: Sequence[Line]
    composition: Composition | None
    masking: Sequence[str] = ()


def of_freertos(image: bytes, space: AddressSpace, arch: str) -> Followed:
    """Return what to follow in an image of FreeRTOS.  Raises KeyError for a missing symbol."""
    addresses = {symbol.name: symbol.value for symbol in Elf(image).symbols()}
    kinds: list[Kind] = ["suspended"]
    functions = list(space.functions(""))
    lines: list[Line] = [
        *_code("raise", functions, (ENTER, SUSPEND)),
        *_code("lower", functions, (EXIT, RESUME)),
        *_code("wrapper", functions, WRAPPERS),
    ]
    suspended = "watch", NUMBERS["suspended"], addresses[SUSPENDED]
    if arch.startswith("riscv"):
        # A critical section is one of these; its nesting is a variable that compilers leave out.
        kinds.append("irqs-masked")
        lines += [
            suspended,
            ("masks", NUMBERS["irqs-masked"], RISCV),
            ("entry-at", addresses[TRAP], 0),
            ("running", addresses[RUNNING], 0),
            *_code("restore", functions, RESTORING),
            *(("constant", at, 0) for at in _starts(image, functions)),
        ]
        return Followed(kinds, lines, WITHIN)
    nesting = next(addresses[name] for name in NESTING if name in addresses)
    kinds.insert(0, "critical")
    lines += [("watch", NUMBERS["critical"], nesting), suspended]
    if arch != "aarch64":
        return Followed(kinds, lines, None)
    kinds.append("irqs-masked")
    vectors = addresses[VECTORS]
    lines += [
        ("masks", NUMBERS["irqs-masked"], ARM),
        ("vectors", vectors, vectors + VECTORS_BYTES),
        ("running", addresses[RUNNING], 0),
        *_code("restore", functions, RESTORING),
        *_code("raised", functions, RAISING),
        *_code("lowered", functions, LOWERING),
    ]
    return Followed(kinds, lines, WITHIN)


def _starts(image: bytes, functions: Sequence[tuple[str, int, int]]) -> Iterator[int]:
    """Yield where interrupts are enabled for the first task."""
    elf = Elf(image)
    for name, start, end in functions:
        if name != STARTS:
            continue
        section = next(s for s in elf.sections if s.address <= start < s.address + s.size)
        code = elf.content(section)[start - section.address : end - section.address]
        for at in range(0, len(code) - 3, 2):
            if int.from_bytes(code[at : at + 4], "little") & MSTATUS[1] == MSTATUS[0]:
                yield start + at


# ---- Linux on arm64 ------------------------------------------------------------------------------

SWITCH = "cpu_switch_to"
PREEMPTIBLE = "preempt_schedule"  # only kernels have it that count with CONFIG_PREEMPT_COUNT
TRAMPOLINES = "tramp_vectors"  # which run where the page is that user mode has of them
ENTERING = 0xD51BD07E  # msr tpidrro_el0, x30: the first instruction of each
LINUX_VECTORS = ("vectors", TRAMPOLINES)
INHERIT = ("el0_", "el1_", "el1h_", "do_mem_abort")  # names that begin so
WRAPPING = (
    "_raw_spin_", "_raw_read_", "_raw_write_", "arch_local_", "__local_bh_", "preempt_count_",
    "preempt_schedule", "__cond_resched", "_cond_resched",
)  # fmt: skip
# Steps to a switch, by their numbers in sections.c.
SCHEDULES, PREEMPTS, ASKS, IDLES = range(4)
STEPS = {
    "__schedule": SCHEDULES,
    "preempt_schedule_irq": PREEMPTS,
    "resched_curr": ASKS,
    "__resched_curr": ASKS,
    "cpu_do_idle": IDLES,
}
POINTS = {"__schedule": 0, "cpu_do_idle": 0, "__cond_resched": 1, "_cond_resched": 1}
BEGIN, MARKED = "start_kernel", 12  # what runs once it is where it stays, and so many of its bytes
STORE_32 = (0xB9000000, 0xFFFFFC00)  # str wN, [xM, #offset], and all of it but the registers


def of_linux(code: bytes, symbols: Functions, space: AddressSpace) -> Followed:
    """Return what to follow in an arm64 kernel.

    ``code``: its Image.  ``symbols``: its functions, at the addresses it was linked for.  Raises
    ValueError if that is not as in any known version.
    """
    functions = list(space.functions(""))
    starts = {name: start for name, start, _ in functions}
    if SWITCH not in starts:
        raise ValueError(f"no function {SWITCH}")
    base = symbols.starts[0] & -ALIGNED
    place = symbols.names.index(SWITCH)
    linked = symbols.starts[place] - base
    moved = starts[SWITCH] - linked
    switching = next((start, end) for name, start, end in functions if name == SWITCH)
    effects = daif.daif(code)
    lines: list[Line] = [
        ("masks", NUMBERS["irqs-masked"], ARM),
        ("switch", *switching),
        *(("save", moved + at, 0) for at in effects.saves),
        *(("constant", moved + at, int(masks)) for at, masks in effects.constants.items()),
        *_code("vectors", functions, LINUX_VECTORS),
        *(("inherit", start, end) for name, start, end in functions if name.startswith(INHERIT)),
        *(("wrapper", start, end) for name, start, end in functions if name.startswith(WRAPPING)),
    ]
    kinds: list[Kind] = ["irqs-masked"]
    offset, saved = daif.preempt_count(code), daif.context(code[linked : linked + 64])
    if offset is None or saved is None:
        raise ValueError("the preempt count is not where it is expected")
    lines += [
        ("count", NUMBERS["preempt-off"], (offset - saved) % (1 << 64)),
        ("stored", STORE_32[0] | offset // 4 << 10, STORE_32[1]),
    ]
    if PREEMPTIBLE in starts:
        kinds.insert(0, "preempt-off")
    else:
        kinds.insert(0, "unbroken")
        lines.append(("points", NUMBERS["unbroken"], 0))
        lines += [("point", starts[name], when) for name, when in POINTS.items() if name in starts]
    masking = _masking(code, symbols, base)
    composition = _steps(lines, starts, {SCHEDULES, ASKS, IDLES})
    return Followed(kinds, lines, composition, masking)


def _steps(lines: list[Line], starts: dict[str, int], needed: set[int]) -> Composition | None:
    """Add the steps to a switch, and return the bound's composition, None if one is missing."""
    steps = {name: step for name, step in STEPS.items() if name in starts}
    if not needed <= set(steps.values()):
        return None
    lines += [("step", step, starts[name]) for name, step in steps.items()]
    return ENTERED


# ---- Linux on x86-64 -----------------------------------------------------------------------------

PC_SWITCH = "__switch_to_asm"
STUBS = ("irq_entries_start", "spurious_entries_start")  # one for each vector of a device
INTERRUPTS = "asm_sysvec_"  # names that begin so
# The rest of what stands in the IDT, and what system calls enter.
ENTRIES = (
    INTERRUPTS, "asm_exc_", "asm_int80_emulation", "entry_SYSCALL_64", "entry_SYSCALL_compat",
    "entry_SYSENTER_compat", "entry_INT80_compat",
)  # fmt: skip
INNER = ("_safe_stack", "_after_hwframe", "_unsafe_stack", "_end")  # labels in these
RETURNS = ("native_irq_return_iret", "native_iret", "common_interrupt_return")
PREEMPTED = {"full", "lazy"}  # models in which a kernel is preempted anywhere


def of_pc(elf: Elf, space: AddressSpace, *, preempted: bool) -> Followed:
    """Return what to follow in an x86-64 kernel.

    ``elf``: the kernel.  ``preempted``: anywhere, by the model that it was started with.  Raises
    ValueError if it is not as in any known version.
    """
    functions = list(space.functions(""))
    starts = {name: start for name, start, _ in functions}
    offset = gs.preempt_count(elf)
    if PC_SWITCH not in starts or offset is None:
        raise ValueError("the preempt count is not where it is expected")
    entries = {
        start: name.startswith(INTERRUPTS)
        for name, start, _ in functions
        if name.startswith(ENTRIES) and not name.endswith(INNER)
    }
    lines: list[Line] = [
        ("masks", NUMBERS["irqs-masked"], PC),
        *_code("switch", functions, (PC_SWITCH,)),
        *(("entry-at", start, int(irq)) for start, irq in entries.items()),
        *_code("entries", functions, STUBS),
        *_code("leave", functions, RETURNS),
        *(("wrapper", start, end) for name, start, end in functions if name.startswith(WRAPPING)),
        ("count", NUMBERS["preempt-off"], offset),
    ]
    kinds: list[Kind] = ["irqs-masked"]
    # Only kernels that can be started with another model have such points.
    if preempted or POINTS.keys().isdisjoint(starts.keys() - {"__schedule"}):
        kinds.insert(0, "preempt-off")
    else:
        kinds.insert(0, "unbroken")
        lines.append(("points", NUMBERS["unbroken"], 0))
        lines += [("point", starts[name], when) for name, when in POINTS.items() if name in starts]
    return Followed(kinds, lines, _steps(lines, starts, {SCHEDULES, ASKS}))


# ---- Linux on RISC-V -----------------------------------------------------------------------------

RISCV_SWITCH = "__switch_to"
TRAPS = "handle_exception"  # what interrupts and all other exceptions enter...
INTERRUPT = "do_irq"  # ...and where they lead to, as functions whose names begin so
EXCEPTIONS = ("do_trap_", "do_page_fault", "handle_bad_stack")
LEAVES = "ret_from_exception"
MARKED_RISCV = 24  # as MARKED; the first of them only leave room for calls of ftrace


def of_riscv(code: bytes, symbols: Functions, space: AddressSpace) -> Followed:
    """Return what to follow in a RISC-V kernel, as `of_linux` does."""
    functions = list(space.functions(""))
    places = {name: (start, end) for name, start, end in functions}
    if lacking := {RISCV_SWITCH, TRAPS, INTERRUPT, LEAVES} - places.keys():
        raise ValueError(f"no function {min(lacking)}")
    starts = {name: start for name, (start, _) in places.items()}
    base = symbols.starts[0] & -ALIGNED
    at = symbols.names.index(RISCV_SWITCH)
    moved = starts[RISCV_SWITCH] - (symbols.starts[at] - base)
    accesses = sstatus.accesses(code, symbols, base)
    offset = sstatus.preempt_count(code)
    saved = sstatus.context(code[slice(*(at - moved for at in places[RISCV_SWITCH]))])
    status = sstatus.loading(code, *(at - moved for at in places[LEAVES]))
    if offset is None or saved is None or status is None:
        raise ValueError("the preempt count, or what an exception came in, is not where expected")
    lines: list[Line] = [
        ("masks", NUMBERS["irqs-masked"], SUPERVISOR),
        ("switch", *places[RISCV_SWITCH]),
        ("entry-at", starts[TRAPS], EITHER),
        ("entry-at", starts[INTERRUPT], 1),
        *(("entry-at", start, 0) for name, start, _ in functions if name.startswith(EXCEPTIONS)),
        ("inherit", *places[LEAVES]),
        ("restore", moved + status[0], moved + status[1]),
        *(("keep", moved + at, 0) for at in accesses.keeps),
        *(("wrapper", start, end) for name, start, end in functions if name.startswith(WRAPPING)),
        ("count", NUMBERS["preempt-off"], (offset - saved) % (1 << 64)),
        ("stored", *sstatus.stored(offset)),
    ]
    kinds: list[Kind] = ["irqs-masked"]
    if PREEMPTIBLE not in starts:
        raise ValueError("it is not preempted, which is not followed on RISC-V")
    kinds.insert(0, "preempt-off")
    composition = _steps(lines, starts, {SCHEDULES, ASKS})
    wrapping = {
        start - base
        for name, start in zip(symbols.names, symbols.starts, strict=True)
        if name.startswith(WRAPPING)
    }
    masking = _names([*accesses.masks, *sstatus.calls(code, wrapping)], symbols, base)
    return Followed(kinds, lines, composition, masking)


def place_of_linux(code: bytes, symbols: Symbols, arch: str) -> list[Line]:
    """Return by what the plugin finds out where a kernel is in memory, and its trampolines.

    ``code``: its Image.  ``symbols``: at the addresses it was linked for.  Raises ValueError if it
    does not begin as others do.
    """
    functions = symbols.functions
    start = functions.starts[functions.names.index(BEGIN)]
    at = start - (functions.starts[0] & -ALIGNED)
    if arch == "riscv64":
        first = sstatus.straight(code, at, at + MARKED_RISCV)
        return [("kernel", start + step.at - at, step.word) for step in first]
    lines = [("kernel", start + n, word) for n, word in _words(code[at : at + MARKED])]
    for piece in symbols.pieces:
        if TRAMPOLINES in piece.functions.names:
            entries = [at for at, word in _words(piece.code) if word == ENTERING]
            lines += [("trampoline", at, ENTERING) for at in entries]
    return lines


def _words(code: bytes) -> Iterator[tuple[int, int]]:
    """Yield the instructions of code, each with its place."""
    for at in range(0, len(code), 4):
        yield at, int.from_bytes(code[at : at + 4], "little")


def _masking(code: bytes, symbols: Functions, base: int) -> list[str]:
    """Return the functions that mask interrupts, themselves or by one that does it for others."""
    masks = daif.masking(code)
    places = [place for at in masks if (place := symbols.find(base + at))]
    wrapping = {start - base for name, start in places if name.startswith(WRAPPING)}
    return _names([*masks, *daif.calls(code, wrapping)], symbols, base)


def _names(code: Iterable[int], symbols: Functions, base: int) -> list[str]:
    """Return the functions that instructions are in, but for those that mask for others."""
    places = (place for at in code if (place := symbols.find(base + at)))
    return sorted({name for name, _ in places if not name.startswith(WRAPPING)})


def _code(
    word: str, functions: Sequence[tuple[str, int, int]], names: Sequence[str]
) -> Iterator[Line]:
    """Yield a line for each function that there is."""
    for name, start, end in functions:
        if name in names:
            yield word, start, end
