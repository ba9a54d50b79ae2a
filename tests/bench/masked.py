"""Instructions with interrupts masked, counted by the processor's register, and by the sections.

    python -m tests.bench.masked RUN...

Each run in the lab is repeated with a second plugin (masked.c), which reads the register that masks
interrupts at every instruction and has no state of what the guest does.  A section begins with the
instruction that masks, which itself begins unmasked, and ends before the one that unmasks: as many
begin with them masked.  Where an exception masks, its first instruction already does, so that the
sections have one less.  Exits with 1 if the two do not agree.  It needs QEMU 9.1 or later, also for
the run itself, as of Debian 13.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from rtstone.documents.sections import Sections, SectionsOfRun
from rtstone.explain import replay
from rtstone.explain.lab import machine_of, samples_of
from rtstone.explain.recording import Span
from rtstone.explain.sections import sections_of
from rtstone.interrupt import Interrupt
from rtstone.store.rundir import load
from rtstone.targets.qemu import Qemu, Watcher

SOURCE = Path(__file__).with_name("masked.c")
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror", "-O2", "-fPIC", "-shared")


class Register(NamedTuple):
    """A bit of a register, and its value while interrupts are masked."""

    name: str
    bit: int
    masks: int


REGISTERS = {
    "aarch64": Register("cpsr", 7, 1),
    "x86_64": Register("eflags", 9, 0),
    "riscv32": Register("mstatus", 3, 0),
    "riscv64": Register("mstatus", 3, 0),
}
# What exceptions enter; names that begin so.
ENTRIES = (
    "vectors", "tramp_vectors", "board_vectors", "asm_", "irq_entries_start",
    "spurious_entries_start", "entry_", "freertos_risc_v_trap_handler",
)  # fmt: skip


def counted(directory: Path, document: SectionsOfRun, work: Path) -> tuple[int, int]:
    """Return how many instructions began masked, and in how many stretches."""
    plan = replay.plan_of(directory)
    run = load(directory)
    result = next(each for each in run.results if each.case == document.case)
    machine = machine_of(replay.target_of(plan))
    interrupt = Interrupt()
    every, _ = samples_of(plan, run, result, machine, interrupt)
    first, last = every.moment(0), every.moment(len(every.buckets) - 1)
    during = Span(first.end - first.length, last.end)
    plugin, out = work / "masked.so", work / "masked"
    subprocess.run(("gcc", *FLAGS, SOURCE, "-o", plugin), check=True)
    register = REGISTERS[machine.arch.name]
    words = (
        f"{plugin},register={register.name},bit={register.bit},set={register.masks},"
        f"from={during.start},to={during.end},out={out}"
    )
    plain = replay._watcher

    def beside(target: Qemu, files: Any) -> Watcher:
        watcher = plain(target, files)
        return watcher._replace(words=(*watcher.words, "-plugin", words))

    replay._watcher = beside
    try:
        request = machine.request._replace(stamps=(), stores=())
        replay.replay(plan, machine.target, run, request, interrupt)
    finally:
        replay._watcher = plain
    masked, stretches = out.read_text("ascii").split()
    return int(masked), int(stretches)


def by_exception(kind: Sections) -> int:
    """Return how many sections an exception began."""
    return sum(s.n for s in kind.sections if s.begin[-1].startswith(ENTRIES))


def main() -> None:
    """Compare and print for each run."""
    wrong = False
    print("system, load: sections, their sum, those by exceptions, by the register, interrupts")
    for name in sys.argv[1:]:
        directory = Path(name)
        run = load(directory)
        document = sections_of(directory, run, run.results[0], interrupt=Interrupt())
        (kind,) = (each for each in document.kinds if each.kind == "irqs-masked")
        entered = by_exception(kind)
        with tempfile.TemporaryDirectory() as work:
            masked, _ = counted(directory, document, Path(work))
        fine = masked == kind.total + entered and not document.while_masked
        wrong |= not fine
        print(f"{document.target}, {document.load}: {kind.n}, {kind.total}, {entered}, {masked}, "
              f"{document.interrupts}", "" if fine else "WRONG", flush=True)  # fmt: skip
    sys.exit(wrong)


if __name__ == "__main__":
    main()
