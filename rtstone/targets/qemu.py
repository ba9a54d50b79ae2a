"""An emulated board: agent and operating system run in QEMU, and virtual time is instructions.

The guest gets its commands before it starts and no other input, its serial line goes to a file,
which never blocks, and everything else that could vary is fixed (rtstone.lab.systems).  Two runs
are identical to the instruction, however busy the host is.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import IO, NamedTuple

from rtstone.errors import TargetError, UsageError, unknown
from rtstone.interrupt import bound
from rtstone.lab import images, kernels, systems, xen
from rtstone.lab.device_tree import Node, flatten, merged, unflatten
from rtstone.lab.devices import DEVICES
from rtstone.lab.kernels import Kernel
from rtstone.lab.systems import SCRIPT_MARK, System
from rtstone.resources import BUILT, digest
from rtstone.targets.base import Link, Listed, Options, Target
from rtstone.targets.local import Local
from rtstone.targets.options import Check, one_of, parse, text, whole
from rtstone.targets.process import Process, UntilBye
from rtstone.targets.xen import NONE, Console, company
from rtstone.wire import commands
from rtstone.wire.reader import MARK

OLDEST = (7, 2)  # the oldest version of QEMU that was tested
CONSOLE = "console"  # file name
SEEDS = 2**31
POLL_S = 0.02
APPENDED = 1000  # characters; a kernel takes 2048 in all
WORDS = 300  # characters of the console in an error
MEMORY = range(128, 4097)  # MiB of a Linux guest: loads and their RAM disk need the first
KERNEL = "kernel="
# Instructions per second that load heavy takes: a guest with Linux 6.1 that did nothing else took
# 56 000 for each of its 4000 packets; the other parts have as much again.
HEAVY = 450_000_000

# Words that a kernel prints when it fails.
_FATAL = re.compile(rb"panic|not syncing|Oops|BUG:|rtstone:|fault|overflow|abort", re.IGNORECASE)


class UnbuiltError(TargetError):
    """An emulated target has no agent.

    ``image``: the missing file.  ``names``: systems to build, of all targets that are measured.
    """

    def __init__(self, image: Path, names: Sequence[str]) -> None:
        self.image, self.names = image, list(names)
        command = " ".join(["rtstone lab build", *dict.fromkeys(names)])
        super().__init__(f"no agent for this board, {image}; run `{command}`")


class Watcher(NamedTuple):
    """What watches a guest from within the emulator, without changing anything.

    ``words``: further ones of the emulator's command line.  ``files``: descriptors it inherits.
    """

    words: tuple[str, ...]
    files: tuple[int, ...]


class Qemu(Target):
    """``qemu:SYSTEM[+preempt=MODEL][+seed=N][+append=WORDS][+mem=MIB][+device=NAME][+icount=off]``.

    The system may be ``kernel=FILE``.  One that has another beside it, under a hypervisor, takes
    ``+beside=LOAD``, what that one does, and ``+xen=WORDS`` for the hypervisor's command line.
    """

    hosted = True
    scripted = True
    pace = 60.0  # a loaded guest on a busy host
    load_s = 600.0
    watcher: Watcher | None = None
    counts: bool  # instructions: it then repeats itself

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.name = f"qemu:{argument}"
        self._kernel_file = None
        if argument.startswith(KERNEL):  # and a file, in whose name there may be any word but these
            name, *words = re.split(r"\+(?=(?:seed|icount|append|mem|device)=)", argument)
            self._kernel_file = Path(name.removeprefix(KERNEL))
            self.system = systems.with_kernel(self.kernel.arch)
        else:
            name, words = systems.split(argument)
            self.system = systems.find(name)
        options = _words(words, self.system, self.name)
        if "mem" in options:
            self.system = self.system._replace(memory=int(options["mem"]))
        if "device" in options:
            self.system = self.system._replace(device=DEVICES[options["device"]])
        self._preempt = options.get("preempt")
        self._seed = int(options.get("seed", "1"))
        self._append = options.get("append", "").split()
        self._beside = options.get("beside", NONE)
        self._xen = [*xen.ARGUMENTS, *options.get("xen", "").split()]
        self.counts = options.get("icount", "on") == "on"
        if not self.counts and self.system.board.counts_always:
            raise UsageError(
                f"{self.system.board.name} has a right clock only while instructions are counted, "
                f"in target '{self.name}'; leave out icount=off"
            )
        self.agent = str(self.image)

    @classmethod
    def listed(cls) -> list[Listed]:
        """Return the systems of the lab, one entry per preemption model."""
        label = "instructions, not time"
        listed = []
        for system in systems.every().values():
            for model in system.preempt or (None,):
                name, title = system.name, f"{system.title} on {system.board.title}"
                if model:
                    name, title = f"{name}+preempt={model}", f"{title}, preempt={model}"
                listed.append(Listed(name, title, label))
        return [*listed, Listed("kernel=FILE", "a Linux kernel image of your own", label)]

    def start(self, options: Options) -> Link:
        """Start the emulator.  Raises TargetError if something it needs is missing."""
        if self.system.kernel and options.catalogue:
            # The same source makes the same tables, and a kernel takes seconds to boot.
            return Local().start(options)
        lines = (commands.LIST, commands.BYE) if options.catalogue else options.script
        name = self.system.board.name
        if beside := self.system.beside:
            if options.catalogue:  # of the same source, and it prints its tables in no time
                return Qemu(systems.alone(self.system).name).start(options)
            console = Console(beside.name, self._beside)
            return _Domains(lambda files: self._domains(files, lines), name, console)
        return _Emulator(lambda files: self._command(files, lines), name)

    def check_ready(self) -> None:
        """Raise TargetError if the emulator, the agent or the kernel is missing."""
        assert self.version
        both = [self.system, *([self.system.beside] if self.system.beside else [])]
        for image in map(_image, both):
            if not image.exists():
                raise UnbuiltError(image, [self.system.name])
        if self.system.kernel:
            assert self.kernel
        for name in self.system.fetched:
            kernels.find(name, self.system.board.arch)
        if any(system.kernel for system in both) and not images.mke2fs():
            raise TargetError("mke2fs is not installed; install it with: apt-get install e2fsprogs")

    def cpus(self) -> frozenset[int]:
        """Return the only CPU."""
        return frozenset({0})

    def apart(self) -> Mapping[str, str]:
        """Return what the image has no room for, by prefix of bench ids."""
        return {
            start: f"{title} is in the image {image}" for start, title, image in self.system.apart
        }

    def beyond(self) -> Mapping[str, str]:
        """Return the load that needs a faster CPU than the board's, on Linux while it counts."""
        speed = self.system.board.instructions_per_s
        if not self.counts or not self.system.kernel or speed >= HEAVY:
            return {}
        return {
            "heavy": f"sends 4000 packets a second, which is beyond a CPU of {speed / 1e6:.1f} "
            "million instructions a second: heavy:network=off leaves them out"
        }

    def detail(self) -> dict[str, str | int | None]:
        """Return everything that a result depends on."""
        kernel = self.kernel if self.system.kernel else None
        system, board, nodes = self.system, self.system.board, self._nodes
        detail: dict[str, str | int | None] = {
            "system": system.name,
            "board": board.name,
            "preempt": self._preempt,
            "seed": self._seed if _has_linux(system) else None,
            "icount": self.counts,
            "shift": board.shift if self.counts else None,
            "instructions_per_s": board.instructions_per_s if self.counts else None,
            "qemu": self.version,
            "emulator_sha256": digest(Path(shutil.which(board.emulator) or board.emulator)),
            "emulator_command": self._words(),
            "kernel": kernel and kernel.release,
            "kernel_sha256": kernel and kernel.sha256,
            "initramfs_sha256": kernel and sha256(images.linux(kernel, b"")).hexdigest(),
            "kernel_bytes": kernel and kernel.image.stat().st_size,
            "image_sha256": None if kernel else digest(self.image),
            "agent_sha256": digest(self.image),
            **_build(kernel),
        }
        if system.beside and system.hypervisor:
            hypervisor = kernels.find(system.hypervisor, board.arch)
            files = xen.modules([self._company(system.beside)])
            detail |= {
                "hypervisor": hypervisor.package,
                "hypervisor_sha256": hypervisor.sha256,
                "hypervisor_command": " ".join(self._xen),
                "beside": system.beside.name,
                "beside_load": self._beside,
                "beside_sha256": sha256(b"".join(files.values())).hexdigest(),
            }
        if system.device:
            detail["device"] = system.device.name
            detail["device_nodes_sha256"] = sha256(flatten(nodes)).hexdigest() if nodes else None
        return detail

    def _words(self) -> str:
        """Return the emulator's command line, independent of file names and the seed."""
        linux = self.system.kernel is not None
        return " ".join(
            systems.command(
                self.system,
                image=Path("image"),
                initramfs=Path("initramfs") if linux else None,
                script=None if linux else Path("script"),
                preempt=self._preempt,
                seed=0,
                icount=self.counts,
                serial=f"file:{CONSOLE}",
                append=self._append,
                modules={},
                tree=Path("tree") if self.system.beside or self._nodes else None,
            )
        )

    @cached_property
    def kernel(self) -> Kernel:
        """Return the kernel of a Linux guest.  Raises TargetError, UsageError."""
        if self._kernel_file is not None:
            return kernels.from_file(self._kernel_file)
        assert self.system.kernel is not None
        return kernels.find(self.system.kernel, self.system.board.arch)

    @property
    def image(self) -> Path:
        """Return the agent: a program of the guest, or an image with its operating system."""
        return _image(self.system)

    @cached_property
    def version(self) -> str:
        """Return the emulator's version.  Raises TargetError if it is missing or too old."""
        board = self.system.board
        if shutil.which(board.emulator) is None:
            raise TargetError(
                f"{board.emulator} is not installed; install it with: apt-get install "
                f"{board.package}"
            )
        output = subprocess.run(
            [board.emulator, "--version"], capture_output=True, text=True, check=False
        ).stdout
        version = re.search(r"version (\d+)\.(\d+)[\d.]*", output)
        if not version:
            raise TargetError(f"{board.emulator} does not print its version but: {output[:80]!r}")
        if (int(version[1]), int(version[2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise TargetError(f"{board.emulator} is {version[0]}; the lab needs {oldest} or later")
        return version[0].removeprefix("version ")

    def _command(self, files: _Files, lines: Sequence[str]) -> list[str]:
        """Return the emulator's command line; its input and console are among ``files``."""
        self.check_ready()
        text = _script(lines)
        image, initramfs, script = self.image, None, None
        if self.system.kernel:
            image = self.kernel.image
            initramfs = files.holding(images.linux(self.kernel, text))
        else:
            script = files.holding(SCRIPT_MARK + text + b"\0")
        watcher = self.watcher or Watcher((), ())
        files.numbers += watcher.files
        words = systems.command(
            self.system,
            image=image,
            initramfs=initramfs,
            script=script,
            preempt=self._preempt,
            seed=self._seed,
            icount=self.counts,
            serial=f"file:{files.console}",
            append=self._append,
            tree=files.holding(self._tree()) if self._nodes else None,
        )
        return [*words, *watcher.words]

    @property
    def _nodes(self) -> Node | None:
        """Return what the device adds to the board's device tree, None if it adds nothing."""
        nodes, memory = self.system.addition.nodes, self.system.memory
        return nodes(memory) if nodes and memory else None

    def _tree(self) -> bytes:
        """Return the board's device tree with the nodes of its device.  Raises TargetError."""
        assert self._nodes
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / "tree"
            done = subprocess.run(
                bound(systems.dump(self.system, self._seed, file)),
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            if done.returncode:
                raise TargetError(
                    f"{self.system.board.emulator} prints no device tree of "
                    f"{self.system.board.name}: {done.stderr.strip()}"
                )
            return flatten(merged(unflatten(file.read_bytes()), self._nodes))

    def _company(self, beside: System) -> xen.Domain:
        """Return the domain beside the agent's, with what it does."""
        setting = xen.Setting(self._seed, self.counts, self._append)
        return xen.domain(beside, _script(company(self._beside)), setting)

    def _domains(self, files: _Files, lines: Sequence[str]) -> list[str]:
        """Return the emulator's command line for a hypervisor and two domains."""
        self.check_ready()
        system = self.system
        assert system.beside
        assert system.hypervisor
        setting = xen.Setting(self._seed, self.counts, self._append)
        agent = xen.domain(system, _script(lines), setting, xen.SETTLE_MS)
        domains = [agent, self._company(system.beside)]
        tree = xen.device_tree(domains, self._xen, systems.MEMORY)
        modules = xen.modules(domains)
        return systems.command(
            system,
            image=kernels.find(system.hypervisor, system.board.arch).image,
            tree=files.holding(tree),
            modules={address: files.holding(data) for address, data in modules.items()},
            seed=self._seed,
            icount=self.counts,
            serial=f"file:{files.console}",
        )


def _script(lines: Sequence[str]) -> bytes:
    return "".join(f"{line}\n" for line in commands.script(lines)).encode("ascii")


def _image(system: System) -> Path:
    """Return the agent of a system: a program of the guest, or an image with the system."""
    return BUILT / system.image if system.image else images.AGENTS[system.board.arch]


def _has_linux(system: System) -> bool:
    return bool(system.kernel or (system.beside and system.beside.kernel))


def _build(kernel: Kernel | None) -> dict[str, str | int | None]:
    """Return how a kernel was built, nothing unless it was here."""
    if kernel is None or kernel.built is None:
        return {}
    built = kernel.built
    return {
        "kernel_source": built.source,
        "kernel_options": " ".join(built.options),
        "kernel_compiler": built.compiler,
    }


def _words(words: Sequence[str], system: System, spec: str) -> dict[str, str]:
    """Parse the options after the name.  Raises UsageError."""
    checks = {"icount": one_of("on", "off")}
    if _has_linux(system):
        checks["seed"] = whole(SEEDS)
        checks["append"] = _kernel_words(system)
    if system.beside:
        checks["beside"], checks["xen"] = text, text
    if system.preempt:
        checks["preempt"] = one_of(*system.preempt)
    if system.kernel and not system.beside:
        checks["mem"], checks["device"] = _mebibytes, _device(system)

    def check_of(name: str) -> Check:
        if name in checks:
            return checks[name]
        if why := _NOT_HERE.get(name):
            raise UsageError(f"{why.format(system.name)}, in target '{spec}'")
        raise unknown("word", name, checks)

    return parse(words, check_of, spec)


# Words that a system has not, or none has: why.
_NOT_HERE = {
    "preempt": "{} has only one preemption model",
    "seed": "{} uses no random numbers, so there is no seed",
    "append": "{} has no kernel command line",
    "mem": "{} has fixed memory; +mem is for a Linux that has a board to itself",
    "device": "{} has no devices on request; +device is for a Linux that has a board to itself",
    "smp": "boards of the lab have one CPU: of two, each would wait for the emulator to have run "
    "the other (docs/guides/lab.md, One CPU)",
    "hz": "a kernel's HZ is chosen when it is built: `rtstone lab build-kernel` with --config "
    "CONFIG_HZ_1000=y (docs/guides/kernels.md)",
}


def _mebibytes(_: str, value: str, spec: str) -> None:
    """Check the size of a guest's memory."""
    if not (re.fullmatch(r"[0-9]{1,5}", value) and int(value) in MEMORY):
        raise UsageError(
            f"mem is a whole number of MiB from {MEMORY[0]} to {MEMORY[-1]}, not '{value}', in "
            f"target '{spec}'"
        )


def _device(system: System) -> Check:
    """Return the check of the name of a device."""

    def check(_: str, name: str, spec: str) -> None:
        if name not in DEVICES:
            raise unknown("device", name, DEVICES, f"in target '{spec}'")
        if name not in system.devices:
            boards = " or ".join(DEVICES[name].boards)
            raise UsageError(
                f"{system.board.name} cannot have device {name}, which is for {boards}, in target "
                f"'{spec}'"
            )

    return check


def _kernel_words(system: System) -> Check:
    """Return the check of further words of the kernel's command line, separated by blanks."""
    words = systems.kernel_words(system, seed=0, preempt="full", icount=True)
    own = {word.partition("=")[0] for word in words} - {"quiet"}

    def check(_: str, value: str, spec: str) -> None:
        plain = value.isascii() and value.isprintable()
        if not value.split() or len(value) > APPENDED or not plain:
            raise UsageError(
                f"append is one or more words of the kernel's command line, of at most {APPENDED} "
                f"printable ASCII characters, in target '{spec}'"
            )
        for word in value.split():
            if word.partition("=")[0] in own:
                raise UsageError(
                    f"append: '{word.partition('=')[0]}' is given by the lab itself, in target "
                    f"'{spec}'"
                )

    return check


class _Files:
    """Unnamed files, whose descriptors the emulator inherits, so that none can be left behind."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.written: IO[bytes] = self._new()
        self.numbers = [self.written.fileno()]

    @property
    def console(self) -> Path:
        """Return the file for the emulator to write to."""
        return _path(self.written)

    def holding(self, data: bytes) -> Path:
        """Return a file with this content.  Raises TargetError if it cannot be written."""
        try:
            file = self._new()
            file.write(data)
            file.flush()
        except OSError as error:
            raise _no_file(error) from error
        self.numbers.append(file.fileno())
        return _path(file)

    def close(self) -> None:
        """Close all files."""
        self._open.close()

    def _new(self) -> IO[bytes]:
        try:
            return self._open.enter_context(tempfile.TemporaryFile())
        except OSError as error:
            raise _no_file(error) from error


def _path(file: IO[bytes]) -> Path:
    """Return the path of the file for a process that inherits its descriptor."""
    return Path(f"/proc/self/fd/{file.fileno()}")


def _no_file(error: OSError) -> TargetError:
    place = tempfile.gettempdir()
    return TargetError(
        f"cannot write a temporary file for the emulator, in {place}: {error.strerror}"
    )


class _Emulator(Process):
    """A running emulator with a file as its console, since a full pipe would stall the guest."""

    def __init__(self, command: Callable[[_Files], list[str]], board: str) -> None:
        """``command`` builds the command line with this run's files; ``board``: for messages."""
        self.noun = f"the emulated {board}"
        self._noise: list[bytes] = []
        self._seen = 0  # bytes of the console
        with ExitStack() as stack:
            files = _Files()
            stack.callback(files.close)
            words = bound(command(files))
            super().__init__(words, "see `rtstone lab list`", files.numbers)
            self._files = stack.pop_all()
            self._console = files.written

    def close(self) -> None:
        """End the emulator and remove its files."""
        super().close()
        self._files.close()

    def _receive(self, timeout: float) -> bytes | None:
        end = time.monotonic() + timeout
        while True:
            dead = self._dead()  # checked first, so that the read below cannot miss the last bytes
            if data := os.pread(self._console.fileno(), 1 << 20, self._seen):
                self._seen += len(data)
                return data
            if dead:
                return b""
            if time.monotonic() > end:
                return None
            time.sleep(POLL_S)

    def _take_line(self) -> bytes | None:
        line = super()._take_line()
        if line is not None and MARK not in line and line.strip():
            self._noise = [*self._noise[-50:], line]
        return line

    def last_words(self) -> str:
        """Return why the guest failed, from its console, or else the emulator's own output."""
        fatal = [line for line in self._noise if _FATAL.search(line)]
        lines = fatal[:3] or self._noise[-1:]
        text = " ".join(b" ".join(lines).decode(errors="replace").split())
        return f"; its console ends: {text[:WORDS]}" if text else super().last_words()


class _Domains(UntilBye, _Emulator):
    """A running emulator whose console is that of a hypervisor, which outlives its domains."""

    def __init__(
        self, command: Callable[[_Files], list[str]], board: str, console: Console
    ) -> None:
        self._split = console
        super().__init__(command, board)

    def _receive(self, timeout: float) -> bytes | None:
        data = super()._receive(timeout)
        return (self._split.feed(data) or None) if data else data
