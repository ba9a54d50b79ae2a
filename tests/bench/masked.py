"""Instructions with interrupts masked, counted by the processor's register, and by the sections.

    python -m tests.bench.masked RUN...

While sections are recorded, a second plugin (masked.c) reads the register that masks interrupts at
every instruction; it has no state of what the guest does.  A section begins with the
instruction that masks, which itself begins unmasked, and ends before the one that unmasks: as many
begin with them masked.  Where an exception masks, its first instruction already does, so that the
sections have one less.  Exits with 1 if the two do not agree.  It needs QEMU 9.1 or later, also for
the run itself, as of Debian 13.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, NamedTuple
from unittest.mock import patch

from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.documents.sections import Sections, SectionsOfRun
from rtstone.explain import replay, sections
from rtstone.explain.recording import Request
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
SUPERVISOR = Register("mstatus", 1, 0)  # of Linux on RISC-V; while the firmware runs it is not read
# What exceptions enter; names that begin so.  On AArch64 `asm_exit_to_user_mode` is a C function.
ENTRIES = {
    "aarch64": ("vectors", "tramp_vectors", "board_vectors"),
    "x86_64": ("asm_", "irq_entries_start", "spurious_entries_start", "entry_"),
    "riscv32": ("freertos_risc_v_trap_handler",),
    "riscv64": ("freertos_risc_v_trap_handler", "handle_exception"),
}


class Counted(NamedTuple):
    """The sections of a run with interrupts masked, and how many instructions began so.

    ``entered``: how many of them an exception began.
    """

    document: SectionsOfRun
    kind: Sections
    entered: int
    masked: int


def counted(directory: Path, work: Path) -> Counted:
    """Return the sections of a run, counted twice in the same replay."""
    run = load(directory)
    system = replay.target_of(replay.plan_of(directory)).system
    arch = system.board.arch
    plugin, out = work / "masked.so", work / "masked"
    subprocess.run(("gcc", *FLAGS, SOURCE, "-o", plugin), check=True)
    linux = arch == "riscv64" and system.kernel is not None
    register = SUPERVISOR if linux else REGISTERS[arch]
    plain = replay._watcher
    words: list[str] = []

    def repeat(
        plan: Plan, target: Qemu, again: Run, request: Request, interrupt: Interrupt
    ) -> replay.Replayed:
        during = {line[0]: line[1:] for line in request.sections}.get("during")
        words[:] = () if during is None else (
            "-plugin",
            f"{plugin},register={register.name},bit={register.bit},set={register.masks},"
            f"from={during[0]},to={during[1]},out={out}",
        )  # fmt: skip
        return replay.replay(plan, target, again, request, interrupt)

    def watcher(target: Qemu, files: Sequence[IO[bytes]]) -> Watcher:
        first = plain(target, files)
        return first._replace(words=(*first.words, *words))

    with patch.object(sections, "replay", repeat), patch.object(replay, "_watcher", watcher):
        document = sections.sections_of(directory, run, run.results[0], interrupt=Interrupt())
    (kind,) = (each for each in document.kinds if each.kind == "irqs-masked")
    entered = sum(s.n for s in kind.sections if s.begin[-1].startswith(ENTRIES[arch]))
    return Counted(document, kind, entered, int(out.read_text("ascii").split()[0]))


def main() -> None:
    """Compare and print for each run."""
    wrong = False
    print("system, load: sections, their sum, those by exceptions, by the register, interrupts")
    for name in sys.argv[1:]:
        with tempfile.TemporaryDirectory() as work:
            document, kind, entered, masked = counted(Path(name), Path(work))
        fine = masked == kind.total + entered and not document.while_masked
        wrong |= not fine
        print(f"{document.target}, {document.load}: {kind.n}, {kind.total}, {entered}, {masked}, "
              f"{document.interrupts}", "" if fine else "WRONG", flush=True)  # fmt: skip
    sys.exit(wrong)


if __name__ == "__main__":
    main()
