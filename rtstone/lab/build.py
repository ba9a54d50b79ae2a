"""Build Linux kernels for the lab's boards, out of their source trees.

Equal sources, options and compilers give the same kernel, byte for byte.  What is being built is in
a folder of the lab's cache that nobody else can write to, and stays there, so that `make` compiles
only what has changed since; a kernel that is ready is moved to its place in one step.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone import resources
from rtstone.cpus import usable_cpus
from rtstone.errors import TargetError, UsageError
from rtstone.interrupt import Interrupt, bound
from rtstone.lab import kconfig, kernels, sources
from rtstone.lab.fetch import Say
from rtstone.lab.kconfig import Option
from rtstone.lab.kernels import NOTE, OWN, Built, Kernel, Note
from rtstone.lab.sources import Source
from rtstone.lab.systems import BOARDS, EPOCH, Board


class Recipe(NamedTuple):
    """How Linux is built for a board."""

    arch: str  # as Linux names it
    cross: str  # what the names of the compiler's programs begin with
    package: str  # of Debian, with the compiler
    goal: str  # of the kernel's Makefile
    image: str  # what that makes
    headers: tuple[tuple[str, str], ...] = ()  # for its tools, with Debian's packages of them


RECIPES = {
    "virt-a53": Recipe(
        "arm64", "aarch64-linux-gnu-", "gcc-aarch64-linux-gnu", "Image", "arch/arm64/boot/Image"
    ),
    "q35": Recipe(
        "x86",
        "x86_64-linux-gnu-",
        "gcc-x86-64-linux-gnu",
        "bzImage",
        "arch/x86/boot/bzImage",
        (("gelf.h", "libelf-dev"),),
    ),
}
# Programs that a kernel's Makefile runs, each with the Debian package that provides it.
TOOLS = {"make": "make", "gcc": "gcc", "flex": "flex", "bison": "bison", "bc": "bc"}
OBJECTS = "objects"  # folder of the lab's cache
LOG = "rtstone-build.log"  # beside the objects: what make said
ROOM = 1 << 30  # bytes that a build of a small kernel takes, at most
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
POLL_S = 0.1  # interval in which an interrupt is noticed
_KEPT = ("PATH", "HOME", "TMPDIR", "CCACHE_")  # what make learns of the environment
_WRONG = re.compile(r"No space left on device|\berror: |undefined reference|\*\*\* \S|not found$")


class _Job(NamedTuple):
    """A kernel to build."""

    name: str
    source: Source
    board: Board
    recipe: Recipe
    base: list[Option]  # of the board
    options: list[Option]  # by the user

    @property
    def wanted(self) -> dict[str, Option]:
        return kconfig.merged([*self.base, *self.options])

    @property
    def origin(self) -> str:
        words = [str(self.source.tree), self.board.name, *sorted(map(str, self.wanted.values()))]
        return sha256("\n".join(words).encode()).hexdigest()


def build(
    source: str, board: str, fragments: Sequence[str], name: str | None, say: Say = print
) -> Kernel:
    """Build a kernel, unless the same one is there, and return it.

    `source`: a directory, or a package of Debian as `rtstone.lab.sources` knows it.  `fragments`:
    files, or single options, beyond the board's own.  `name`: without ``own/``; made of version and
    options if it is None.  Raises UsageError for what cannot be built as requested, and
    TargetError if something is missing here, or the build fails.
    """
    recipe = RECIPES[board]
    options = [option for fragment in fragments for option in kconfig.read(fragment)]
    if name is not None and not NAME.fullmatch(name):
        raise UsageError(
            f"kernel name '{name}': take up to 40 letters, digits, dots, dashes and underscores"
        )
    sources.check_tools(TOOLS | {f"{recipe.cross}gcc": recipe.package})
    for header, package in recipe.headers:
        done = subprocess.run(
            ["gcc", "-E", "-include", header, "-x", "c", os.devnull], capture_output=True,
            check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        if done.returncode:
            raise TargetError(f"not installed: {header}; `apt-get install {package}` as root")
    base = kconfig.read(str(resources.path("lab", "fragments", f"{board}.config")))
    try:
        tree = sources.find(source, say)
        own = f"{OWN}/{name or _name_of(tree.version, options)}"
        return _build(_Job(own, tree, BOARDS[board], recipe, base, options), say)
    except OSError as error:
        place = error.filename or kernels.cache()
        if error.errno == errno.ENOSPC:
            raise _full(place) from error
        raise TargetError(f"the lab's folder, {place}: {error.strerror}") from error


def _name_of(version: str, options: Sequence[Option]) -> str:
    """Return a name that shows how a kernel differs from the board's own."""
    words = [version]
    for option in options:
        word = option.name.removeprefix("CONFIG_").lower()
        value = option.value.strip('"')
        words.append({"y": word, "n": f"no-{word}"}.get(value, f"{word}-{value}"))
    return re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join(words))[:40]


def _full(place: object) -> TargetError:
    return TargetError(f"the disk of {place} is full: make room, and run the same command again")


def _build(job: _Job, say: Say) -> Kernel:
    """Build a kernel, unless the same one is there."""
    arch = job.board.arch
    version = subprocess.run(
        [f"{job.recipe.cross}gcc", "--version"], capture_output=True, text=True, check=False
    )
    compiler = version.stdout.partition("\n")[0]
    made_of = (job.origin, sources.fingerprint(job.source.tree), compiler, EPOCH)
    key = sha256("\n".join(made_of).encode()).hexdigest()
    existing = next(
        (note for note in kernels.own() if (note.name, note.arch) == (job.name, arch)), None
    )
    if existing and existing.built and existing.built.key == key:
        with suppress(TargetError):  # it was damaged: it is built again
            kernel = kernels.find(job.name, arch)
            say(f"{job.name} is there already, of the same sources, options and compiler")
            return kernel
    if existing and (existing.built is None or existing.built.origin != job.origin):
        raise UsageError(
            f"name '{job.name.removeprefix(f'{OWN}/')}' is taken by a kernel of other options or "
            "sources; give another --name, or `rtstone lab remove "
            f"{kernels.PREFIX[arch]}{job.name}`"
        )
    place = objects(job.origin)
    place.mkdir(mode=0o700, exist_ok=True)
    sources.check_room(place, ROOM)
    with locked(place):  # no other build has it meanwhile
        config = _configure(job, place, say)
        say(f"building {job.name}: Linux {job.source.version} for {job.board.name}")
        _make(job, place, job.recipe.goal)
        kernel = kernels.from_file(place / job.recipe.image)
        if kernel.arch != arch:
            raise TargetError(f"{kernel.image} is for {kernel.arch}, not for {arch}")
        return _store(job, kernel, config, compiler, key)


def objects(origin: str) -> Path:
    """Return the folder of a kernel's objects, which need not exist."""
    return kernels.private(OBJECTS) / origin[:16]


@contextmanager
def locked(place: Path) -> Iterator[None]:
    """Keep others from a folder of objects.  Raises TargetError if a build has it."""
    with (place / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TargetError(
                f"this kernel is being built already, in {place}; wait for that"
            ) from None
        yield


# ---- the kernel's Makefile ---------------------------------------------------------------------


def _configure(job: _Job, place: Path, say: Say) -> str:
    """Write the `.config` and return its text.

    Raises UsageError for options that did not take: of the board's without the user's, as those may
    exclude some of them, which is reported.
    """
    config = _configured(job, place, job.base)
    if gone := kconfig.lost(job.base, config):
        raise UsageError(f"Linux {job.source.version}: {kconfig.refusal(gone)}")
    if not job.options:
        return config
    wanted = job.wanted
    config = _configured(job, place, list(wanted.values()))
    names = {option.name for option in job.options}
    if gone := kconfig.lost((wanted[name] for name in sorted(names)), config):
        raise UsageError(f"Linux {job.source.version}: {kconfig.refusal(gone)}")
    for option, value in kconfig.lost(job.base, config):
        if option.name not in names:
            say(f"your options make {option.name}={value}, which the board has as {option.value}")
    return config


def _configured(job: _Job, place: Path, options: Sequence[Option]) -> str:
    """Return the `.config` that the kernel's configurator makes of some options, and no others."""
    wanted = place / "rtstone-wanted.config"
    wanted.write_text(kconfig.text(kconfig.merged(options)))
    _make(job, place, "allnoconfig", f"KCONFIG_ALLCONFIG={wanted}")
    return (place / ".config").read_text()


def _make(job: _Job, place: Path, *words: str) -> None:
    """Run the kernel's Makefile.  Raises TargetError with the first error that it prints."""
    ccache = "ccache " if shutil.which("ccache") else ""
    command = [
        "make", "-C", str(job.source.tree), f"O={place}", f"-j{len(usable_cpus())}",
        f"ARCH={job.recipe.arch}", f"CROSS_COMPILE={job.recipe.cross}",
        f"CC={ccache}{job.recipe.cross}gcc", f"HOSTCC={ccache}gcc", *words,
    ]  # fmt: skip
    log = place / LOG
    with log.open("wb") as out:
        status = _run(command, out.fileno())
    if not status:
        return
    lines = log.read_text("utf-8", "replace").splitlines()
    said = next((line for line in lines if _WRONG.search(line)), (lines or ["nothing"])[-1])
    if "No space left" in said:
        raise _full(place)
    raise TargetError(f"the kernel's `make` failed and said: {said.strip()}; all of it: {log}")


def _run(command: list[str], out: int) -> int:
    """Return the status of a program, of which nothing is left if this is interrupted."""
    inherited = {key: value for key, value in os.environ.items() if key.startswith(_KEPT)}
    fixed = {
        "LC_ALL": "C", "KBUILD_BUILD_TIMESTAMP": EPOCH, "KBUILD_BUILD_VERSION": "1",
        "KBUILD_BUILD_USER": "rtstone", "KBUILD_BUILD_HOST": "lab",
    }  # fmt: skip
    with Interrupt() as interrupt:  # an exception would lose a process that is just being started
        process = subprocess.Popen(
            bound(command, signal.SIGTERM), env=inherited | fixed, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
        )  # fmt: skip
        while not interrupt.requested:
            with suppress(subprocess.TimeoutExpired):
                return process.wait(POLL_S)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()
    raise KeyboardInterrupt


# ---- the finished kernel -----------------------------------------------------------------------


def _store(job: _Job, kernel: Kernel, config: str, compiler: str, key: str) -> Kernel:
    """Move a kernel to its place among the lab's."""
    values = kconfig.values(config)
    models: tuple[str, ...] = ()
    if "CONFIG_PREEMPT_DYNAMIC" in values:
        models = kernels.LAZY if "CONFIG_ARCH_HAS_PREEMPT_LAZY" in values else kernels.DYNAMIC
    built = Built(
        board=job.board.name,
        source=job.source.name,
        options=tuple(map(str, kconfig.merged(job.options).values())),
        compiler=compiler,
        origin=job.origin,
        key=key,
        preempt=models,
        disk=all(values.get(name) == kconfig.YES for name in DISK),
    )
    place = kernels.folder(job.name, kernel.arch)
    with tempfile.TemporaryDirectory(dir=kernels.private(OWN), prefix=".new-") as work:
        new = Path(work) / "new"
        new.mkdir()
        shutil.copyfile(kernel.image, new / kernel.image.name)
        (new / "config").write_text(config)
        files = {name: resources.digest(new / name) or "" for name in (kernel.image.name, "config")}
        note = Note(
            job.name, kernel.arch, kernel.release, None, kernel.image.name, (), files, built
        )
        (new / NOTE).write_bytes(msgspec.json.format(msgspec.json.encode(note)) + b"\n")
        kernels.put(new, place)
    return kernels.find(job.name, kernel.arch)


DISK = ("CONFIG_BLK_DEV_RAM", "CONFIG_EXT4_FS")  # what the RAM disk of the loads needs
