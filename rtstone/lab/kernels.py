"""Linux kernels for the lab: fetched by `rtstone lab fetch`, built by `rtstone lab build-kernel`,
or in a file of the user's.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import zlib
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone.errors import TargetError, UsageError
from rtstone.resources import digest

PREFIX = {
    "aarch64": "",
    "x86_64": "q35/",
    "riscv64": "riscv/",
}  # prefix + kernel = name of the system
NOTE = "kernel.json"  # in the folder of a kernel: its description, with hashes of its files
OWN = "own"  # own/NAME: a kernel that was built here


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
    """Return the lab's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rtstone" / "lab"


def private(part: str) -> Path:
    """Return a folder of the cache in which nobody else can place anything.

    Raises TargetError if somebody can, on the way to it.
    """
    place = (cache() / part).absolute()
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place = place.resolve()
    for one in (place, *place.parents):
        state = one.stat()
        shared = state.st_mode & (stat.S_IWGRP | stat.S_IWOTH) and not state.st_mode & stat.S_ISVTX
        if shared or state.st_uid not in {0, os.geteuid()}:
            raise TargetError(
                f"others can write to {one}, and what is built there would run as you; "
                f"`chmod go-w {one}`, or set XDG_CACHE_HOME to a folder of your own"
            )
    return place


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
    found = []
    for file in sorted((cache() / OWN).glob(f"[!.]*/{NOTE}")):
        try:
            found.append(msgspec.json.decode(file.read_bytes(), type=Note))
        except (OSError, msgspec.MsgspecError):  # `find` tells of it
            continue
    return found


def find(name: str, arch: str) -> Kernel:
    """Return a fetched or built kernel, after verifying its files.

    Raises TargetError if it is not there, or was changed.
    """
    place = folder(name, arch)
    how = "built" if name.startswith(f"{OWN}/") else "fetched"
    again = f"`{brings(name, arch)}` brings it"
    try:
        note = msgspec.json.decode((place / NOTE).read_bytes(), type=Note)
    except FileNotFoundError:
        raise TargetError(f"kernel {name} for {arch} has not been {how}; {again}") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise TargetError(f"kernel {name} for {arch}, {place / NOTE}: {error}; {again}") from error
    for file, known in note.files.items():
        if digest(place / file) != known:
            raise TargetError(f"{place / file} is not what was {how}; {again} again")
    return Kernel(
        note.name,
        note.arch,
        place / note.image,
        tuple(place / module for module in note.modules),
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
        data = path.read_bytes()
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
            found = re.search(rb"Linux version (\S+) ", data)
            return arch, found[1].decode("ascii", "replace") if found else "unknown"
    what = "an EFI zboot image: unpack it first" if data[4:8] == b"zimg" else "no kernel image"
    raise UsageError(
        f"kernel '{path}' is {what}; the lab boots an x86-64 bzImage, or an arm64 or riscv64 "
        "Image, plain or compressed by gzip"
    )


def _has(data: bytes, magic: tuple[slice, bytes]) -> bool:
    return data[magic[0]] == magic[1]
