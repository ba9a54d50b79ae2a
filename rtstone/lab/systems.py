"""The emulated boards, the systems that run on them, and the emulator's command line.

Virtual time on a board is the number of executed instructions, so that a run repeats exactly.
That needs everything in `command` together: counting, one CPU, a seed, a clock that starts at a
fixed date, a machine of a fixed version, and no disk outside the guest's memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import unknown
from rtstone.lab import kernels

EPOCH = "2026-01-01"  # the initial date of every board's clock


class Board(NamedTuple):
    """A machine of the emulator."""

    name: str
    title: str
    arch: str  # as in the agent's `hello` and uname
    emulator: str  # program
    package: str  # the Debian package that provides it
    arguments: tuple[str, ...]  # define the machine but for its memory
    shift: int  # an instruction takes 2^shift ns of virtual time
    linux_arguments: str = ""  # the board's part of the kernel's command line
    linux_counted: tuple[str, ...] = ()  # further words while instructions are counted
    script_address: int | None = None  # of the script, for guests without a file system

    @property
    def instructions_per_s(self) -> int:
        """The number of instructions per second of virtual time: exact for every shift in use."""
        return 10**9 >> self.shift


SEMIHOSTING = ("-semihosting-config", "enable=on,target=native")

BOARDS = {
    board.name: board
    for board in (
        Board(
            "virt-a53",
            "QEMU virt, Cortex-A53, GICv2",
            "aarch64",
            "qemu-system-aarch64",
            "qemu-system-arm",
            ("-M", "virt,gic-version=2", "-cpu", "cortex-a53", "-smp", "1"),
            shift=4,
            linux_arguments="console=ttyAMA0 rdinit=/init quiet panic=-1",
            linux_counted=("rtstone.awake",),
            script_address=0x47000000,
        ),
        Board(
            "mps2-an385",
            "ARM MPS2 AN385, Cortex-M3",
            "armv7m",
            "qemu-system-arm",
            "qemu-system-arm",
            ("-M", "mps2-an385"),
            shift=7,
            script_address=0x20300000,
        ),
        Board(
            "q35",
            "QEMU PC Q35, Nehalem, with HPET and CMOS clock",
            "x86_64",
            "qemu-system-x86_64",
            "qemu-system-x86",
            ("-machine", "pc-q35-7.2", "-cpu", "Nehalem-v1", "-smp", "1", "-vga", "none"),
            shift=0,
            linux_arguments="console=ttyS0 rdinit=/init quiet panic=-1 tsc=reliable",
            # The frequencies are given, as the kernel's calibration is some ppm off.
            linux_counted=("rtstone.awake", "tsc_early_khz=1000000", "rtstone.tsc_hz=1000000000"),
        ),
    )
}


class System(NamedTuple):
    """An operating system on a board."""

    name: str  # of the target, without "qemu:"
    title: str
    board: Board
    memory: int | None  # MiB; None: fixed by the board
    kernel: str | None = None  # name in rtstone.lab.kernels
    image: str | None = None  # file in rtstone/_agent with system and agent in one
    preempt: tuple[str, ...] = ()  # preemption models that the kernel can be started with
    # Benches that do not fit into the image: prefix of their ids, title, system that has them.
    apart: tuple[tuple[str, str, str], ...] = ()


VIRT, MPS2, Q35 = BOARDS["virt-a53"], BOARDS["mps2-an385"], BOARDS["q35"]
FREERTOS = "FreeRTOS 11.2"


def _linux(name: str, package: kernels.Package) -> list[System]:
    """Return a kernel of Debian's on each board that it is built for."""
    return [
        System(kernels.PREFIX[board.arch] + name, package.title, board, 512, kernel=name,
               preempt=preempt)
        for board, preempt in ((VIRT, ()), (Q35, package.preempt))
    ]  # fmt: skip


SYSTEMS = {
    system.name: system
    for system in (
        System("freertos-a64", FREERTOS, VIRT, 128, image="freertos-a64.elf"),
        System(
            "freertos-m3", FREERTOS, MPS2, None,
            image="freertos-m3.elf",
            apart=(
                ("hart.", "Hartstone", "freertos-m3-hart"),
                ("hw.", "hw.latency", "freertos-m3-hart"),
            ),
        ),
        System("freertos-m3-hart", FREERTOS, MPS2, None, image="freertos-m3-hart.elf"),
        *(one for name, package in kernels.PACKAGES.items() for one in _linux(name, package)),
    )
}  # fmt: skip


def find(name: str) -> System:
    """Return the system of that name.  Raises UsageError naming the nearest one."""
    if name not in SYSTEMS:
        raise unknown("lab system", name, SYSTEMS)
    return SYSTEMS[name]


def with_kernel(arch: str) -> System:
    """Return the system of a user's own Linux kernel, on the board of that architecture."""
    title = "a kernel of the user's"
    return System("linux", title, VIRT if arch == VIRT.arch else Q35, 512, kernel="linux")


def kernel_words(board: Board, seed: int, preempt: str | None, icount: bool) -> list[str]:
    """Return the words of a kernel's command line that the lab itself gives."""
    # QEMU's seed does not reach a kernel on a PC; its command line feeds its random numbers.
    words = [*board.linux_arguments.split(), f"rtstone.seed={seed}"]
    words += board.linux_counted if icount else ()
    return words + [f"preempt={preempt}"] * bool(preempt)


def command(
    system: System,
    *,
    image: Path,
    initramfs: Path | None = None,
    script: Path | None = None,
    preempt: str | None = None,
    seed: int = 1,
    icount: bool = True,
    serial: str = "stdio",
    append: Sequence[str] = (),
) -> list[str]:
    """Return the emulator's command line.

    `image`: the kernel, or system and agent in one.  The agent's script is in `initramfs` for
    Linux, else in `script`.  `serial`: QEMU's name of the device for the guest's serial line.
    `append`: further words of the kernel's command line.
    """
    board = system.board
    words = [board.emulator, *board.arguments]
    if system.memory:
        words += ["-m", str(system.memory)]
    words += ["-nodefaults", "-display", "none", "-monitor", "none", "-serial", serial]
    words += ["-no-reboot", "-seed", str(seed), "-rtc", f"base={EPOCH},clock=vm"]
    if icount:
        words += ["-icount", f"shift={board.shift},sleep=off"]
    words += ["-kernel", str(image)]
    if system.kernel:
        line = [*kernel_words(board, seed, preempt, icount), *append]
        return [*words, "-initrd", str(initramfs), "-append", " ".join(line)]
    words += SEMIHOSTING
    if script:
        where = f"addr={board.script_address:#x},force-raw=on"
        words += ["-device", f"loader,file={script},{where}"]
    return words
