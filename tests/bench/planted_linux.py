"""Sections of 10,000 instructions, planted in Linux by a module: ranked first, counted exactly?

    python -m tests.bench.planted_linux [SYSTEM...]

A thread of the kernel masks interrupts, then disables preemption, for a loop of that length, some
times in the time that is measured (planted_linux.c).  Exits with 1 if another section is ranked
first, or its length is another than that of the loop and the instructions that switch around it.
Where the kernel has no preempt count, the loop is in a stretch without a point of rescheduling,
which is a little longer.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rtstone.explain import daif, image, sstatus
from rtstone.explain.elf import Elf
from rtstone.files import content
from rtstone.lab import kernels, systems
from rtstone.lab.kernels import Kernel
from tests.bench.planted import PLANTED, output

SOURCE = Path(__file__).with_suffix(".c")
SYSTEMS = ("linux-6.1", "linux-6.1-rt", "q35/linux-6.1-rt", "q35/linux-6.1+preempt=full",
           "riscv/linux-unstable")  # fmt: skip
FLAGS = ("-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O2", "-c", "-ffreestanding", "-fno-pic",
         "-fno-stack-protector", "-fno-asynchronous-unwind-tables")  # fmt: skip
COMPILERS = {
    "aarch64": ("aarch64-linux-gnu-gcc", "-mgeneral-regs-only", "-mno-outline-atomics"),
    "x86_64": ("x86_64-linux-gnu-gcc", "-mcmodel=kernel", "-mno-red-zone", "-mgeneral-regs-only",
               "-fcf-protection=none"),
    "riscv64": ("riscv64-linux-gnu-gcc", "-march=rv64imac_zicsr", "-mabi=lp64", "-mcmodel=medany",
                "-mno-relax"),
}  # fmt: skip
# From the instruction that switches off up to the one that switches on: that and the loop; on
# AArch64 and RISC-V the preempt count is loaded and changed before it is stored.
MASKED = PLANTED + 1
UNPREEMPTED = {"aarch64": PLANTED + 3, "x86_64": PLANTED + 1, "riscv64": PLANTED + 3}
COUNTS = {"aarch64": daif.preempt_count, "riscv64": sstatus.preempt_count}
# The most that an interrupt on its way in and out has while it is not counted as a handler; and the
# scheduler from its begin to the thread, and from the thread to its next begin.
AROUND, BETWEEN = 1000, 3000
# rtstone, with one more module for a kernel.
RTSTONE = """
import sys
from pathlib import Path
from rtstone.cli.main import main
from rtstone.lab import kernels
module, find = Path(sys.argv.pop(1)), kernels.find
def with_module(name, arch):
    kernel = find(name, arch)
    return kernel._replace(modules=(*kernel.modules, module))
kernels.find = with_module
main()
"""
USED = ("module_layout", "kthread_create_on_node", "wake_up_process",
        "schedule_timeout_uninterruptible")  # fmt: skip
LENGTH = 64  # of an entry of __versions: a checksum and a name


def kernel_of(name: str) -> Kernel:
    """Return the kernel of a system of the lab."""
    system = systems.find(name.partition("+")[0])
    assert system.kernel
    return kernels.find(system.kernel, system.board.arch)


def elf_of(module: Path) -> Elf:
    """Return a module, unpacked."""
    return Elf(image.unpacked(content(module)))


def checksums(module: Path) -> Iterator[tuple[str, int]]:
    """Yield the names that a module uses of the kernel, and their checksums if it has these."""
    elf = elf_of(module)
    for section in elf.sections:
        versions = elf.content(section) if section.name == "__versions" else b""
        for at in range(0, len(versions), LENGTH):
            entry = versions[at : at + LENGTH]
            yield entry[8:].rstrip(b"\0").decode(), int.from_bytes(entry[:8], "little")


def build(kernel: Kernel, work: Path) -> Path:
    """Build the module for a kernel, by its other modules, and return the file."""
    model = elf_of(next(m for m in kernel.modules if m.name == "brd.ko"))
    sections = {section.name: section for section in model.sections}
    symbols = model.symbols()
    this = sections[".gnu.linkonce.this_module"]
    (init,) = (
        relocation.offset
        for relocation in model.relocations()
        if model.sections[relocation.section] is this
        and symbols[relocation.symbol].name == "init_module"
    )
    information = model.content(sections[".modinfo"]).split(b"\0")
    (magic,) = (line[9:].decode() for line in information if line.startswith(b"vermagic="))
    sums = {name: value for m in kernel.modules for name, value in checksums(m)}
    names = [*USED, *(["__preempt_count"] if kernel.arch == "x86_64" else [])]
    words = [f"-DTHIS_MODULE={this.size}", f"-DINIT={init}", f'-DVERMAGIC="{magic}"']
    if "modversions" in magic.split():
        entries = ",".join(f'{{{sums[name]:#x},"{name}"}}' for name in names)
        words.append(f"-DCHECKSUMS={entries}")
    if kernel.arch in COUNTS:
        words.append(f"-DCOUNT={COUNTS[kernel.arch](image.kernel(content(kernel.image)))}")
    module = work / "planted.ko"
    subprocess.run((*COMPILERS[kernel.arch], *FLAGS, *words, SOURCE, "-o", module), check=True)
    return module


def measured(system: str, module: Path, work: Path) -> dict[str, Any]:
    """Measure wake-ups, and return the sections."""
    rtstone = (sys.executable, "-c", RTSTONE, module)
    output(*rtstone, "run", "dk.periodic", "-p", "samples=60", "--target", f"qemu:{system}",
           "--out", work / "run", "-q")  # fmt: skip
    return dict(json.loads(output(*rtstone, "sections", work / "run", "--json")))


def fine(kind: dict[str, Any], arch: str) -> bool:
    """Return whether the planted sections of a kind are ranked first, and their length is right."""
    first = kind["sections"][0]
    mean = first["total"] / first["n"]
    print(f"  {kind['kind']}: {first['longest']}, {first['n']} times, mean {mean:.1f}, in",
          " > ".join(first["stack"]))  # fmt: skip
    within = any("planted_" in name for name in (*first["begin"], *first["stack"]))
    if kind["kind"] == "irqs-masked":
        return within and first["longest"] * first["n"] == MASKED * first["n"] == first["total"]
    if kind["kind"] == "preempt-off":
        exact = UNPREEMPTED[arch]
        return within and first["n"] > 1 and exact <= mean <= first["longest"] <= exact + AROUND
    return bool(PLANTED < first["longest"] <= PLANTED + BETWEEN)


def main() -> None:
    """Plant, measure and print for each system."""
    wrong = False
    for name in sys.argv[1:] or SYSTEMS:
        kernel = kernel_of(name)
        with TemporaryDirectory() as folder:
            work = Path(folder)
            sections = measured(name, build(kernel, work), work)
        print(f"{name}: of {sections['interrupts']} interrupts {sections['while_masked']} came "
              f"while masked; {sections['bound']['sentence']}")  # fmt: skip
        good = [fine(kind, kernel.arch) for kind in sections["kinds"]]
        good += [not sections["while_masked"], not sections["bound"]["above"]]
        wrong |= not all(good)
        print("  right" if all(good) else "  WRONG", flush=True)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
