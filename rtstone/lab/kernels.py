"""Linux kernels for the lab: fetched by `rtstone lab fetch`, built by `rtstone lab build-kernel`,
or in a file of the user's.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from rtstone import structures
from rtstone.errors import TargetError, UsageError
from rtstone.files import content
from rtstone.folders import needed
from rtstone.resources import architectures, digest

_T = TypeVar("_T")

PREFIX = {
    "aarch64": "",
    "x86_64": "q35/",
    "riscv64": "riscv/",
}  # prefix + kernel = name of the system
DEBIAN_ARCH = {architecture.name: architecture.debian for architecture in architectures()}
NOTE = "kernel.json"  # in the folder of a kernel: its description, with hashes of its files
OWN = "own"  # own/NAME: a kernel that was built here
EXACT = "@"  # linux-6.1@6.1.0-56: one build of a kernel of Debian's
# Of such a build: its release without flavour and architecture.
VERSION = re.compile(r"\d+(\.\d+)+(-\d+(\.deb\d+\.\d+)?)?(\+deb\d+[\w.~]*)?", re.ASCII)


class Package(NamedTuple):
    """A kernel of a Debian release: the newest build there is."""

    debian: str  # the release: its number, or unstable
    codename: str
    meta: str  # the package that depends on the newest build, with {} for the architecture
    title: str
    preempt: tuple[str, ...] = ()  # preemption models to start it with, on x86-64
    arches: tuple[str, ...] = ("aarch64", "x86_64")


DYNAMIC = ("none", "voluntary", "full")  # PREEMPT_DYNAMIC, since 5.12
LAZY = ("full", "lazy")  # what newer ones are left with


def _packages(
    version: str,
    debian: str,
    codename: str,
    preempt: tuple[str, ...] = (),
    further: tuple[str, ...] = (),
) -> dict[str, Package]:
    """Return the kernels of a release by name; architectures in `further` have the stock one."""
    number = "" if version == debian else f" {version}"
    title, meta = f"Linux{number} of Debian {debian}", "linux-image{}-{{}}"
    stock = Package(debian, codename, meta.format(""), title, preempt)
    real_time = Package(debian, codename, meta.format("-rt"), f"{title} with PREEMPT_RT")
    cloud = stock._replace(meta=meta.format("-cloud"), title=f"{title} for virtual machines")
    name = f"linux-{version}"
    stock = stock._replace(arches=(*stock.arches, *further))
    return {name: stock, f"{name}-cloud": cloud, f"{name}-rt": real_time}


PACKAGES = {
    **_packages("5.10", "11", "bullseye"),
    **_packages("6.1", "12", "bookworm", DYNAMIC),
    **_packages("6.12", "13", "trixie", DYNAMIC),
    **_packages("unstable", "unstable", "sid", LAZY, ("riscv64",)),  # whatever is the newest
}


XEN = "xen-4.17"

# Packages that are themselves what is fetched.
HYPERVISORS = {XEN: Package("12", "bookworm", "xen-hypervisor-4.17-{}", "Xen 4.17")}


class Built(msgspec.Struct, frozen=True):
    """How a kernel was built here."""

    board: str
    source: str  # a package of Debian's, or a directory
    options: tuple[str, ...]  # those the user gave
    compiler: str
    origin: str  # hash of where its sources are, the board and all options
    key: str  # hash of what it was made of: also its sources and the compiler
    preempt: tuple[str, ...]  # preemption models to start it with
    disk: bool  # it has a RAM disk and ext4


class Kernel(NamedTuple):
    """A kernel image, or a hypervisor's, and its modules in loading order."""

    name: str
    arch: str  # "aarch64", "x86_64", "riscv64"
    image: Path
    modules: tuple[Path, ...]
    release: str  # as uname -r prints it
    package: str | None  # "name version", if it is Debian's
    sha256: str  # of the image
    built: Built | None = None  # if it was built here

    @property
    def disk(self) -> bool:
        """Whether it has a RAM disk with ext4."""
        return self.built.disk if self.built else bool(self.modules)


class Note(msgspec.Struct, frozen=True):
    """The description stored with a kernel's files; `files`: name to hash."""

    name: str
    arch: str
    release: str
    package: str | None
    image: str
    modules: tuple[str, ...]
    files: dict[str, str]
    built: Built | None = None


def cache() -> Path:
    """Return the lab's cache directory.  Raises UsageError."""
    return needed("XDG_CACHE_HOME", ".cache", "kernels", "XDG_CACHE_HOME") / "rtstone" / "lab"


def private(part: str) -> Path:
    """Return a folder of the cache in which nobody else can place anything.

    Raises TargetError if somebody can, on the way to it.
    """
    place = (cache() / part).absolute()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = place.resolve()
    for parent in (place, *place.parents):
        state = parent.stat()
        shared = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
        if shared or state.st_uid not in {0, os.geteuid()}:
            raise TargetError(
                f"others can write to {parent}, and what is built there would run as you; "
                f"`chmod go-w {parent}`, or set XDG_CACHE_HOME to a folder of your own"
            )
    return place


def put(new: Path, place: Path, aside: Path | None = None) -> None:
    """Move a folder to its place, and one that is there `aside`, by default beside the new one.

    The new one lies in a temporary folder, with which the old one is then deleted.
    """
    if place.exists():
        place.rename(aside or new.parent / "old")
    new.rename(place)


def noted(file: Path, kind: type[_T]) -> _T | None:
    """Return what is noted in a file of the cache, None if it cannot be read."""
    try:
        return structures.decode(file.read_bytes(), kind)
    except (OSError, msgspec.MsgspecError):
        return None


def folder(name: str, arch: str) -> Path:
    """Return the directory of a kernel."""
    return cache() / f"{name}-{arch}"


def brings(name: str, arch: str) -> str:
    """Return the command that brings a kernel."""
    if name.startswith(f"{OWN}/"):
        return "rtstone lab build-kernel"
    return f"rtstone lab fetch {PREFIX[arch]}{name}"


def own() -> list[Note]:
    """Return the kernels that were built here."""
    return _noted(f"{OWN}/[!.]*")


def exact_builds() -> list[Note]:
    """Return the builds of Debian's kernels that are kept under their exact versions."""
    named = {}
    for note in _noted(f"*{EXACT}*"):
        if exact := version(note):
            name = f"{note.name.partition(EXACT)[0]}{EXACT}{exact}"
            named[name, note.arch] = msgspec.structs.replace(note, name=name)
    names = in_order(name for name, _ in named)
    return [named[key] for key in sorted(named, key=lambda key: (names.index(key[0]), key[1]))]


def stored() -> list[Note]:
    """Return all kernels and hypervisors in the cache."""
    names = [*PACKAGES, *HYPERVISORS]
    newest = [note for name in names for arch in PREFIX for note in _noted(f"{name}-{arch}")]
    return [*newest, *exact_builds(), *own()]


def _noted(folders: str) -> list[Note]:
    """Return what is noted in those folders of the cache."""
    notes = [noted(file, Note) for file in sorted(cache().glob(f"{folders}/{NOTE}"))]
    return [note for note in notes if note]  # `find` reports the others


# ---- builds of Debian's kernels ----------------------------------------------------------------


def suffix(name: str, debian_arch: str) -> str:
    """Return how the releases of a kernel of Debian's end: with flavour and architecture."""
    return PACKAGES[name].meta.format(debian_arch).removeprefix("linux-image")


def version(note: Note) -> str | None:
    """Return the exact version of a build of Debian's; None for a hypervisor or one's own."""
    name = note.name.partition(EXACT)[0]
    if name not in PACKAGES:
        return None
    return note.release.removesuffix(suffix(name, DEBIAN_ARCH[note.arch]))


def builds(name: str, arch: str) -> list[str]:
    """Return the versions of a kernel of Debian's that the cache has, the oldest first."""
    plain = name.partition(EXACT)[0]
    notes = [*_noted(f"{plain}-{arch}"), *_noted(f"{plain}{EXACT}*-{arch}")]
    return in_order(exact for note in notes if (exact := version(note)))


def newest(name: str, arch: str) -> str | None:
    """Return the version of a kernel of Debian's in the cache, None if there is none."""
    notes = _noted(place(name, arch).name) if PACKAGES.get(name.partition(EXACT)[0]) else []
    return version(notes[0]) if notes else None


def in_order(versions: Iterable[str]) -> list[str]:
    """Return versions, or names with them, each once, the oldest first: by the numbers in them."""

    def numbers(text: str) -> list[tuple[int, str]]:
        parts = re.findall(r"[0-9]+|[^0-9]+", text)
        return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]

    return sorted(set(versions), key=numbers)


def aside(new: Note) -> Path | None:
    """Return where the build goes that another takes the place of, None if it is not kept."""
    older = _noted(f"{new.name}-{new.arch}")
    exact = older and version(older[0])
    if not exact or EXACT in new.name or exact == version(new):
        return None
    return folder(f"{new.name}{EXACT}{exact}", new.arch)


def place(name: str, arch: str) -> Path:
    """Return the directory with a kernel: an exact build may be the newest of its series."""
    usual = folder(name, arch)
    plain, _, exact = name.partition(EXACT)
    if exact and not usual.exists():
        newest = _noted(f"{plain}-{arch}")
        if newest and version(newest[0]) == exact:
            return folder(plain, arch)
    return usual


def find(name: str, arch: str) -> Kernel:
    """Return a fetched or built kernel, after verifying its files.

    Raises TargetError if it is not there, or was changed.
    """
    directory = place(name, arch)
    how = "built" if name.startswith(f"{OWN}/") else "fetched"
    again = f"`{brings(name, arch)}` brings it"
    try:
        note = structures.decode((directory / NOTE).read_bytes(), Note)
    except FileNotFoundError:
        instead = ""
        if EXACT in name:
            versions = ", ".join(builds(name, arch)) or "none"
            instead = (
                " if Debian's archive has it, `rtstone lab fetch FILE.deb` from its package; of "
                f"{arch} the lab has {versions}"
            )
        raise TargetError(
            f"kernel {name} for {arch} has not been {how}; {again}{instead}"
        ) from None
    except (OSError, msgspec.MsgspecError) as error:
        raise TargetError(
            f"kernel {name} for {arch}, {directory / NOTE}: {error}; {again}"
        ) from error
    for file, hashed in note.files.items():
        if digest(directory / file) != hashed:
            raise TargetError(f"{directory / file} is not what was {how}; {again} again")
    return Kernel(
        note.name,
        note.arch,
        directory / note.image,
        tuple(directory / module for module in note.modules),
        note.release,
        note.package,
        note.files[note.image],
        note.built,
    )


# ---- a user's own ----------------------------------------------------------------------------

RISCV_MAGIC = slice(56, 60), b"RSC\x05"  # Documentation/riscv/boot-image-header.rst
ARM64_MAGIC = slice(56, 60), b"ARM\x64"  # Documentation/arm64/booting.rst
X86_MAGIC = slice(0x202, 0x206), b"HdrS"  # Documentation/x86/boot.rst
X86_64 = 1 << 0  # in xloadflags, at 0x236: it has a 64-bit entry point


def from_file(path: Path) -> Kernel:
    """Return the kernel in a file, with architecture and release read from it.

    Raises UsageError unless it is an arm64 or riscv64 Image (plain or gzip) or an x86-64 bzImage.
    """
    try:
        data = content(path)
    except OSError as error:
        raise UsageError(f"kernel '{path}': {error.strerror}") from error
    arch, release = _recognise(path, data)
    return Kernel(path.name, arch, path, (), release, None, sha256(data).hexdigest())


def _recognise(path: Path, data: bytes) -> tuple[str, str]:
    """Return (architecture, release) of a kernel image.  Raises UsageError."""
    if _has(data, X86_MAGIC):
        if not data[0x236] & X86_64:
            raise UsageError(
                f"kernel '{path}' is for 32-bit x86; the lab has x86-64, arm64, riscv64"
            )
        at = int.from_bytes(data[0x20E:0x210], "little") + 0x200
        return "x86_64", data[at : at + 256].split(b" ")[0].split(b"\0")[0].decode(
            "ascii", "replace"
        )
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise UsageError(f"kernel '{path}' does not decompress: {error}") from error
    for arch, magic in (("aarch64", ARM64_MAGIC), ("riscv64", RISCV_MAGIC)):
        if _has(data, magic):
            match = re.search(rb"Linux version (\S+) ", data)
            return arch, match[1].decode("ascii", "replace") if match else "unknown"
    noun = "an EFI zboot image: unpack it first" if data[4:8] == b"zimg" else "no kernel image"
    raise UsageError(
        f"kernel '{path}' is {noun}; the lab boots an x86-64 bzImage, or an arm64 or riscv64 "
        "Image, plain or compressed by gzip"
    )


def _has(data: bytes, magic: tuple[slice, bytes]) -> bool:
    return data[magic[0]] == magic[1]
