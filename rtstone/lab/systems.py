"""The emulated boards, the systems that run on them, and the emulator's command line.

Virtual time on a board is the number of executed instructions, so that a run repeats exactly.
That needs everything in `command` together: counting, one CPU, a seed, a clock that starts at a
fixed date, a machine of a fixed version, and no disk outside the guest's memory.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rtstone.errors import UsageError, unknown
from rtstone.lab import kernels
from rtstone.lab.devices import DEVICES, Addition, Device
from rtstone.units import NS_PER_S

EPOCH = "2026-01-01"  # the initial date of every board's clock
SCRIPT_MARK = b"#rts script\n"  # marks a script in the guest's memory
MEMORY = 1024  # MiB that a hypervisor shares out


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
    counts_always: bool = False  # its counter is the host's unless instructions are counted

    @property
    def instructions_per_s(self) -> int:
        """The number of instructions per second of virtual time: exact for every shift in use."""
        return NS_PER_S >> self.shift


def _mps2(number: str, processor: str, arch: str, script_address: int) -> Board:
    """Return a board MPS2 of ARM's, with a processor that is named by its image of an FPGA."""
    name, qemu = f"mps2-{number}", "qemu-system-arm"
    title = f"ARM MPS2 {number.upper()}, {processor}"
    return Board(name, title, arch, qemu, qemu, ("-M", name), shift=7,
                 script_address=script_address)  # fmt: skip


def _riscv(bits: int) -> Board:
    """Return QEMU's board `virt` with a RISC-V processor of 32 or 64 bits, without firmware."""
    # An instruction takes longer than a step of mtime, 100 ns, so that ticks come in time.
    machine = ("-M", "virt", "-cpu", f"rv{bits}", "-smp", "1", "-bios", "none")
    return Board(f"virt-rv{bits}", f"QEMU virt, RV{bits}", f"riscv{bits}",
                 f"qemu-system-riscv{bits}", "qemu-system-misc", machine, shift=7,
                 script_address=0x87000000, counts_always=True)  # fmt: skip


SEMIHOSTING = ("-semihosting-config", "enable=on,target=native")
# Of a board with a loudspeaker, for which the emulator would use the host's.
SILENT = ("-audiodev", "none,id=none", "-global", "pl041.audiodev=none")

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
        _mps2("an385", "Cortex-M3", "armv7m", 0x20300000),
        _mps2("an386", "Cortex-M4F", "armv7em", 0x20300000),
        _mps2("an500", "Cortex-M7", "armv7em", 0x20300000),
        _mps2("an505", "Cortex-M33", "armv8m", 0x80300000),
        Board(
            "vexpress-a9",
            "ARM Versatile Express, Cortex-A9",
            "armv7a",
            "qemu-system-arm",
            "qemu-system-arm",
            ("-M", "vexpress-a9", "-smp", "1", *SILENT),
            shift=7,
            script_address=0x67000000,
        ),
        _riscv(32),
        _riscv(64),
        Board(
            "virt-a53-xen",
            "QEMU virt with virtualization, Cortex-A53, GICv2",
            "aarch64",
            "qemu-system-aarch64",
            "qemu-system-arm",
            ("-M", "virt,gic-version=2,virtualization=on", "-cpu", "cortex-a53", "-smp", "1"),
            shift=4,
            linux_arguments="console=ttyAMA0 rdinit=/init quiet panic=-1 rtstone.random",
            linux_counted=("rtstone.awake",),
        ),
        Board(
            "virt-riscv64",
            "QEMU virt, RV64, OpenSBI",
            "riscv64",
            "qemu-system-riscv64",
            "qemu-system-misc",
            ("-M", "virt", "-cpu", "rv64", "-smp", "1"),
            shift=4,
            linux_arguments="console=ttyS0 rdinit=/init quiet panic=-1",
            linux_counted=("rtstone.awake",),
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
    # The system in the other domain of a hypervisor (rtstone.lab.xen), and that.
    beside: System | None = None
    hypervisor: str | None = None  # name in rtstone.lab.kernels
    device: Device | None = None  # that its board has on request

    @property
    def devices(self) -> dict[str, Device]:
        """The devices that its board can have, by name."""
        own = self.kernel and not self.beside  # a board, and a driver
        return {name: d for name, d in DEVICES.items() if own and self.board.name in d.boards}

    @property
    def addition(self) -> Addition:
        """What its device adds to the board."""
        return self.device.boards[self.board.name] if self.device else Addition()

    @property
    def fetched(self) -> list[str]:
        """The kernels and the hypervisor that it needs, by their names in rtstone.lab.kernels."""
        names = (self.kernel, self.beside and self.beside.kernel, self.hypervisor)
        return [name for name in names if name]


VIRT, MPS2, Q35 = BOARDS["virt-a53"], BOARDS["mps2-an385"], BOARDS["q35"]
RV32, RV64, RISCV = BOARDS["virt-rv32"], BOARDS["virt-rv64"], BOARDS["virt-riscv64"]
XEN = BOARDS["virt-a53-xen"]
FREERTOS = "FreeRTOS 11.2"


def _beside(first: System, second: System) -> System:
    """Return two systems as domains under Xen, with the agent in the first."""
    name = kernels.XEN
    return first._replace(
        name=f"xen/{first.name}+{second.name}",
        title=f"{first.title} beside {second.title}, under {kernels.HYPERVISORS[name].title}",
        beside=second,
        hypervisor=name,
    )


_RTOS = System("freertos-a64", FREERTOS, XEN, 128, image="freertos-a64-xen.elf")
_LINUX = System("linux-6.1", kernels.PACKAGES["linux-6.1"].title, XEN, 512, kernel="linux-6.1")

SYSTEMS = {
    system.name: system
    for system in (
        System("freertos-a64", FREERTOS, VIRT, 128, image="freertos-a64.elf"),
        System(
            "freertos-a64-rr", f"{FREERTOS} with time slicing", VIRT, 128,
            image="freertos-a64-rr.elf",
        ),
        System(
            "freertos-m3", FREERTOS, MPS2, None,
            image="freertos-m3.elf",
            apart=(
                ("det.bintime", "det.bintime", "freertos-m3-hart"),
                ("dk.latencytest", "dk.latencytest", "freertos-m3-hart"),
                ("hart.", "Hartstone", "freertos-m3-hart"),
                ("provoke", "load provoke", "freertos-m3-hart"),
                ("hw.", "hw.latency", "freertos-m3-hart"),
                ("posix.metrics", "posix.metrics", "freertos-m3-hart"),
                ("sched.bg50.", "sched.bg50", "freertos-m3-hart"),
                ("sync.irqthread", "sync.irqthread", "freertos-m3-hart"),
            ),
        ),
        System("freertos-m3-hart", FREERTOS, MPS2, None, image="freertos-m3-hart.elf"),
        System("freertos-m4f", FREERTOS, BOARDS["mps2-an386"], None, image="freertos-m4f.elf"),
        System("freertos-m7", FREERTOS, BOARDS["mps2-an500"], None, image="freertos-m7.elf"),
        System("freertos-m33", FREERTOS, BOARDS["mps2-an505"], None, image="freertos-m33.elf"),
        System("freertos-a9", FREERTOS, BOARDS["vexpress-a9"], 128, image="freertos-a9.elf"),
        System("freertos-rv32", FREERTOS, RV32, 128, image="freertos-rv32.elf"),
        System("freertos-rv64", FREERTOS, RV64, 128, image="freertos-rv64.elf"),
        *(
            System(kernels.PREFIX[board.arch] + name, package.title, board, 512, kernel=name,
                   preempt=package.preempt if board is Q35 else ())
            for name, package in kernels.PACKAGES.items()
            for board in (VIRT, Q35, RISCV) if board.arch in package.arches
        ),
        _beside(_RTOS, _LINUX),
        _beside(_LINUX, _RTOS),
    )
}  # fmt: skip


def every() -> dict[str, System]:
    """Return all systems by name, with those of the kernels that were kept or built here."""
    exact = [find(kernels.PREFIX[note.arch] + note.name) for note in kernels.exact_builds()]
    own = [system for system in map(_own, kernels.own()) if system]
    return SYSTEMS | {system.name: system for system in [*exact, *own]}


def _own(note: kernels.Note) -> System | None:
    """Return the system of a kernel that was built here, None if there is no such board."""
    built = note.built
    if built is None or built.board not in BOARDS:
        return None
    title = f"Linux {note.release} built here"
    title += f", {' '.join(built.options)}" if built.options else ""
    return System(
        kernels.PREFIX[note.arch] + note.name, title, BOARDS[built.board], 512,
        kernel=note.name, preempt=built.preempt,
    )  # fmt: skip


def find(name: str) -> System:
    """Return the system of that name.  Raises UsageError naming the nearest one."""
    if kernels.EXACT in name:  # one build of a kernel of Debian's, which need not be here
        plain, _, version = name.partition(kernels.EXACT)
        system = find(plain)
        if system.kernel not in kernels.PACKAGES or system.beside:
            raise UsageError(f"{plain} has no versions: it is no kernel of Debian's by itself")
        if not kernels.VERSION.fullmatch(version):
            raise UsageError(
                f"'{version}' is no version of a kernel of Debian's, as 6.1.0-50 or "
                f"6.12.57+deb13, in '{name}'"
            )
        return system._replace(
            name=name,
            title=f"{system.title}, {version}",
            kernel=f"{system.kernel}{kernels.EXACT}{version}",
        )
    systems = SYSTEMS if name in SYSTEMS else every()
    if name not in systems:
        raise unknown("lab system", name, systems)
    return systems[name]


def alone(system: System) -> System:
    """Return a system in a domain as it is without a hypervisor."""
    return SYSTEMS[system.name.removeprefix("xen/").partition("+")[0]]


def split(words: str) -> tuple[str, list[str]]:
    """Return the name of a system, in which there may be a plus sign, and the words after it."""
    for name in SYSTEMS:
        if "+" in name and f"{words}+".startswith(f"{name}+"):
            return name, words[len(name) + 1 :].split("+") if words != name else []
    name, *rest = re.split(r"\+(?!deb\d)", words)  # +deb13 is a part of a version
    return name, rest


def with_kernel(arch: str) -> System:
    """Return the system of a user's own Linux kernel, on the board of that architecture."""
    title = "a kernel of the user's"
    (board,) = [board for board in (VIRT, Q35, RISCV) if board.arch == arch]
    return System("linux", title, board, 512, kernel="linux")


def kernel_words(system: System, seed: int, preempt: str | None, icount: bool) -> list[str]:
    """Return the words of a kernel's command line that the lab itself gives."""
    # QEMU's seed does not reach a kernel on a PC; its command line feeds its random numbers.
    words = [*system.board.linux_arguments.split(), f"rtstone.seed={seed}"]
    words += system.board.linux_counted if icount else ()
    words += [f"preempt={preempt}"] * bool(preempt)
    return [*words, *system.addition.kernel_words]


def _machine(system: System) -> list[str]:
    """Return the part of the emulator's command line that is the board."""
    board, memory = system.board, MEMORY if system.beside else system.memory
    words = [board.emulator, *board.arguments, *(["-m", str(memory)] if memory else [])]
    return [*words, "-nodefaults", "-display", "none", *system.addition.arguments]


def dump(system: System, seed: int, file: Path) -> list[str]:
    """Return the emulator's command line that writes the board's own device tree to a file."""
    return [*_machine(system), "-seed", str(seed), "-machine", f"dumpdtb={file}"]


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
    modules: Mapping[int, Path] | None = None,
    tree: Path | None = None,
) -> list[str]:
    """Return the emulator's command line.

    `image`: the kernel, or system and agent in one.  The agent's script is in `initramfs` for
    Linux, else in `script`.  `serial`: QEMU's name of the device for the guest's serial line.
    `append`: further words of the kernel's command line.  `tree`: a device tree other than the
    emulator's own.  A hypervisor is the `image`, finds its domains in the `tree`, and their files
    as `modules` by address.
    """
    board = system.board
    words = [*_machine(system), "-monitor", "none", "-serial", serial]
    words += ["-no-reboot", "-seed", str(seed), "-rtc", f"base={EPOCH},clock=vm"]
    if icount:
        words += ["-icount", f"shift={board.shift},sleep=off"]
    words += ["-kernel", str(image), *(["-dtb", str(tree)] if tree else [])]
    if system.beside:
        for address, file in (modules or {}).items():
            words += ["-device", f"loader,file={file},addr={address:#x},force-raw=on"]
        return words
    if system.kernel:
        line = [*kernel_words(system, seed, preempt, icount), *append]
        return [*words, "-initrd", str(initramfs), "-append", " ".join(line)]
    words += SEMIHOSTING
    if script:
        where = f"addr={board.script_address:#x},force-raw=on"
        words += ["-device", f"loader,file={script},{where}"]
    return words
