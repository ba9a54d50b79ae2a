"""An emulated board: agent and operating system run in QEMU, and virtual time is instructions.

The guest gets its commands before it starts and no other input, its line goes to a file, which
takes it at once, and everything else that could differ is fixed (rtstone.lab.systems): two runs
are the same to the instruction, however busy this machine is.
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
from rtstone.lab import images, kernels, systems
from rtstone.lab.kernels import Kernel
from rtstone.lab.systems import System
from rtstone.resources import BUILT
from rtstone.targets.base import Link, Listed, Options, Target
from rtstone.targets.local import Local
from rtstone.targets.process import Process, digest
from rtstone.wire import commands
from rtstone.wire.reader import MARK

OLDEST = (7, 2)  # the first version of the emulator that this was tried with
SCRIPT_MARK = b"#rts script\n"  # what stands in memory is one
CONSOLE = "console"  # file name
SEEDS = 2**31
POLL_S = 0.02
WORDS = 300  # characters of the console in an error
KERNEL = "kernel="

# A kernel says these when it gives up.
_FATAL = re.compile(rb"panic|not syncing|Oops|BUG:|rtstone:|fault|overflow|abort", re.IGNORECASE)


class Word(NamedTuple):
    """A word behind a system's name: ``+name=value``, one of ``values`` or a whole number."""

    values: tuple[str, ...] = ()

    def check(self, name: str, value: str, spec: str) -> None:
        """Raises UsageError if there is no such value."""
        if self.values and value not in self.values:
            raise UsageError(
                f"{name} may be {', '.join(self.values)}, not '{value}', in target '{spec}'"
            )
        if not self.values and not (value.isdecimal() and int(value) < SEEDS):
            raise UsageError(f"{name} is a whole number below {SEEDS}, in target '{spec}'")


class Qemu(Target):
    """``qemu:SYSTEM[+preempt=MODEL][+seed=N][+icount=off]``, or ``kernel=FILE`` as the system."""

    scripted = True
    pace = 60.0  # a loaded guest on a busy host
    load_s = 600.0

    def __init__(self, argument: str) -> None:
        super().__init__(argument)
        self.name = f"qemu:{argument}"
        self._kernel_file = None
        if argument.startswith(KERNEL):  # and a file, in whose name there may be any word but these
            name, *words = re.split(r"\+(?=(?:seed|icount)=)", argument)
            self._kernel_file = Path(name.removeprefix(KERNEL))
            self.system = systems.with_kernel(self._kernel.arch)
        else:
            name, *words = argument.split("+")
            self.system = systems.find(name)
        given = _words(words, self.system, self.name)
        self._preempt = given.get("preempt")
        self._seed = int(given.get("seed", "1"))
        self._icount = given.get("icount", "on") == "on"
        self.agent = str(self._image)

    @classmethod
    def listed(cls) -> list[Listed]:
        """The systems of the lab, each preemption model by itself."""
        label = "instructions, not time"
        found = []
        for system in systems.SYSTEMS.values():
            for model in system.preempt or (None,):
                name, title = system.name, f"{system.title} on {system.board.title}"
                if model:
                    name, title = f"{name}+preempt={model}", f"{title}, preempt={model}"
                found.append(Listed(name, title, label))
        return [*found, Listed("kernel=FILE", "a Linux kernel image of your own", label)]

    def start(self, options: Options) -> Link:
        """Starts the emulator.  Raises TargetError if something it takes is missing."""
        if self.system.kernel and options.catalogue:
            # The same source makes the same tables, and a kernel takes seconds to boot.
            return Local().start(options)
        lines = ("list", commands.BYE) if options.catalogue else options.script
        return _Emulator(lambda files: self._command(files, lines), self.system.board.name)

    def cpus(self) -> frozenset[int]:
        """The one there is."""
        return frozenset({0})

    def apart(self) -> Mapping[str, str]:
        """What an image has no room for, by the beginning of a bench's id."""
        return {
            start: f"{what} is in the image {image}" for start, what, image in self.system.apart
        }

    def detail(self) -> dict[str, str | int | None]:
        """Everything that a result depends on."""
        kernel = self._kernel if self.system.kernel else None
        system, board = self.system, self.system.board
        return {
            "system": system.name,
            "board": board.name,
            "preempt": self._preempt,
            "seed": self._seed if system.kernel else None,
            "icount": self._icount,
            "shift": board.shift if self._icount else None,
            "instructions_per_s": board.instructions_per_s if self._icount else None,
            "qemu": self._version,
            "emulator_sha256": digest(Path(shutil.which(board.emulator) or board.emulator)),
            "emulator_command": self._words(),
            "kernel": kernel and kernel.release,
            "kernel_sha256": kernel and kernel.sha256,
            "initramfs_sha256": kernel and sha256(images.linux(kernel, b"")).hexdigest(),
            "kernel_bytes": kernel and kernel.image.stat().st_size,
            "image_sha256": None if kernel else digest(self._image),
            "agent_sha256": digest(self._image),
        }

    def _words(self) -> str:
        """The emulator's command line, whatever its files are called and the seed is."""
        linux = self.system.kernel is not None
        return " ".join(
            systems.command(
                self.system,
                image=Path("image"),
                initramfs=Path("initramfs") if linux else None,
                script=None if linux else Path("script"),
                preempt=self._preempt,
                seed=0,
                icount=self._icount,
                serial=f"file:{CONSOLE}",
            )
        )

    @cached_property
    def _kernel(self) -> Kernel:
        if self._kernel_file is not None:
            return kernels.from_file(self._kernel_file)
        assert self.system.kernel is not None
        return kernels.find(self.system.kernel, self.system.board.arch)

    @property
    def _image(self) -> Path:
        """The agent: a program of the guest, or one with its operating system."""
        if self.system.image:
            return BUILT / self.system.image
        return images.AGENTS[self.system.board.arch]

    @cached_property
    def _version(self) -> str:
        """Of the emulator.  Raises TargetError if it is not there, or too old."""
        board = self.system.board
        if shutil.which(board.emulator) is None:
            raise TargetError(
                f"{board.emulator} is not installed; install it with: apt-get install "
                f"{board.package}"
            )
        told = subprocess.run(
            [board.emulator, "--version"], capture_output=True, text=True, check=False
        ).stdout
        found = re.search(r"version (\d+)\.(\d+)[\d.]*", told)
        if not found:
            raise TargetError(f"{board.emulator} does not say its version; it said: {told[:80]!r}")
        if (int(found[1]), int(found[2])) < OLDEST:
            oldest = ".".join(map(str, OLDEST))
            raise TargetError(f"{board.emulator} is of {found[0]}; the lab needs {oldest} or later")
        return found[0].removeprefix("version ")

    def _command(self, files: _Files, lines: Sequence[str]) -> list[str]:
        """The emulator's command line; what it reads is among ``files``, as is its console."""
        assert self._version
        if not self._image.exists():
            raise TargetError(
                f"no agent for this board, {self._image}; `rtstone lab build` makes it"
            )
        text = "".join(f"{line}\n" for line in lines).encode("ascii")
        image, initramfs, script = self._image, None, None
        if self.system.kernel:
            image = self._kernel.image
            initramfs = files.holding(images.linux(self._kernel, text))
        else:
            script = files.holding(SCRIPT_MARK + text + b"\0")
        return systems.command(
            self.system,
            image=image,
            initramfs=initramfs,
            script=script,
            preempt=self._preempt,
            seed=self._seed,
            icount=self._icount,
            serial=f"file:{files.console}",
        )


def _words(words: Sequence[str], system: System, spec: str) -> dict[str, str]:
    """The words behind the name.  Raises UsageError."""
    known = {"icount": Word(("on", "off"))}
    if system.kernel:
        known["seed"] = Word()
    if system.preempt:
        known["preempt"] = Word(system.preempt)
    given: dict[str, str] = {}
    for word in words:
        name, _, value = word.partition("=")
        if name == "preempt" and not system.preempt:
            raise UsageError(f"{system.name} has but one preemption model, in target '{spec}'")
        if name == "seed" and not system.kernel:
            raise UsageError(f"{system.name} draws no random numbers to seed, in target '{spec}'")
        if name not in known:
            raise unknown("word", name, known)
        if name in given:
            raise UsageError(f"{name} is given twice, in target '{spec}'")
        known[name].check(name, value, spec)
        given[name] = value
    return given


class _Files:
    """Files without names, for an emulator that gets their descriptors: nothing can be left."""

    def __init__(self) -> None:
        self._open = ExitStack()
        self.written: IO[bytes] = self._new()
        self.numbers = [self.written.fileno()]

    @property
    def console(self) -> Path:
        """What the emulator is to write to."""
        return _path(self.written)

    def holding(self, data: bytes) -> Path:
        """A file to read.  Raises TargetError if there is no room for it."""
        try:
            file = self._new()
            file.write(data)
            file.flush()
        except OSError as error:
            raise _no_file(error) from error
        self.numbers.append(file.fileno())
        return _path(file)

    def close(self) -> None:
        """Gives them back."""
        self._open.close()

    def _new(self) -> IO[bytes]:
        try:
            return self._open.enter_context(tempfile.TemporaryFile())
        except OSError as error:
            raise _no_file(error) from error


def _path(file: IO[bytes]) -> Path:
    """Its name for a process that has it open by the same number."""
    return Path(f"/proc/self/fd/{file.fileno()}")


def _no_file(error: OSError) -> TargetError:
    place = tempfile.gettempdir()
    return TargetError(f"no temporary file for the emulator, in {place}: {error.strerror}")


class _Emulator(Process):
    """A running emulator whose console is a file: a pipe that is full would hold up the guest."""

    def __init__(self, command: Callable[[_Files], list[str]], board: str) -> None:
        """``command`` gets this run's own files; ``board``: for messages."""
        self.noun = f"the emulated {board}"
        self._noise: list[bytes] = []
        self._seen = 0  # bytes of the console
        with ExitStack() as stack:
            files = _Files()
            stack.callback(files.close)
            words = _bound_to_this(command(files))
            super().__init__(words, "see `rtstone lab list`", files.numbers)
            self._files = stack.pop_all()
            self._console = files.written

    def close(self) -> None:
        """Ends the emulator and removes its files."""
        super().close()
        self._files.close()

    def _more(self, timeout: float) -> bytes | None:
        end = time.monotonic() + timeout
        while True:
            dead = self._dead()  # first, so that nothing comes behind what is read now
            if more := os.pread(self._console.fileno(), 1 << 20, self._seen):
                self._seen += len(more)
                return more
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
        """Why the guest gave up, as far as its console tells; else the emulator's own words."""
        fatal = [line for line in self._noise if _FATAL.search(line)]
        lines = fatal[:3] or self._noise[-1:]
        text = " ".join(b" ".join(lines).decode(errors="replace").split())
        return f"; the console said: {text[:WORDS]}" if text else super().last_words()


def _bound_to_this(command: list[str]) -> list[str]:
    """The command, so that it ends if this process is killed."""
    keeper = shutil.which("setpriv")
    return [keeper, "--pdeathsig", "KILL", *command] if keeper else command
