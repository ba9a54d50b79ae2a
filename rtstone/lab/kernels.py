"""Linux kernels for the lab: fetched by `rtstone lab fetch`, or the user's own."""

from __future__ import annotations

import gzip
import os
import re
import zlib
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone.errors import TargetError, UsageError
from rtstone.resources import digest

PREFIX = {"aarch64": "", "x86_64": "q35/"}  # prefix + kernel = name of the system
NOTE = "kernel.json"  # in the folder of a kernel: its description, with hashes of its files


class Package(NamedTuple):
    """A kernel of a Debian release: the newest build there is."""

    debian: str  # the release: its number, or unstable
    codename: str
    meta: str  # the package that depends on the newest build, with {} for the architecture
    title: str
    preempt: tuple[str, ...] = ()  # preemption models to start it with, on x86-64


_DYNAMIC = ("none", "voluntary", "full")  # PREEMPT_DYNAMIC, since 5.12
_LAZY = ("full", "lazy")  # what newer ones are left with


def _packages(
    version: str, debian: str, codename: str, preempt: tuple[str, ...] = ()
) -> dict[str, Package]:
    """Return the kernels of a release by their names."""
    number = "" if version == debian else f" {version}"
    title, meta = f"Linux{number} of Debian {debian}", "linux-image{}-{{}}"
    stock = Package(debian, codename, meta.format(""), title, preempt)
    real_time = Package(debian, codename, meta.format("-rt"), f"{title} with PREEMPT_RT")
    cloud = stock._replace(meta=meta.format("-cloud"), title=f"{title} for virtual machines")
    name = f"linux-{version}"
    return {name: stock, f"{name}-cloud": cloud, f"{name}-rt": real_time}


PACKAGES = {
    **_packages("5.10", "11", "bullseye"),
    **_packages("6.1", "12", "bookworm", _DYNAMIC),
    **_packages("6.12", "13", "trixie", _DYNAMIC),
    **_packages("unstable", "unstable", "sid", _LAZY),  # whatever is the newest
}


class Kernel(NamedTuple):
    """A kernel image, and its modules in loading order."""

    name: str
    arch: str  # "aarch64", "x86_64"
    image: Path
    modules: tuple[Path, ...]
    release: str  # as uname -r prints it
    package: str | None  # "name version", if it is Debian's
    sha256: str  # of the image


class Note(msgspec.Struct, frozen=True):
    """The description stored with the files of a fetched kernel; `files`: name to hash."""

    name: str
    arch: str
    release: str
    package: str
    image: str
    modules: tuple[str, ...]
    files: dict[str, str]


def cache() -> Path:
    """Return the lab's cache directory."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rtstone" / "lab"


def folder(name: str, arch: str) -> Path:
    """Return the directory of a fetched kernel."""
    return cache() / f"{name}-{arch}"


def find(name: str, arch: str) -> Kernel:
    """Return a fetched kernel, after verifying its files.

    Raises TargetError if it has not been fetched, or was changed.
    """
    place = folder(name, arch)
    again = f"`rtstone lab fetch {PREFIX[arch]}{name}` brings it"
    try:
        note = msgspec.json.decode((place / NOTE).read_bytes(), type=Note)
    except FileNotFoundError:
        raise TargetError(f"kernel {name} for {arch} has not been fetched; {again}") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise TargetError(f"kernel {name} for {arch}, {place / NOTE}: {error}; {again}") from error
    for file, known in note.files.items():
        if digest(place / file) != known:
            raise TargetError(f"{place / file} is not what was fetched; {again} again")
    return Kernel(
        note.name,
        note.arch,
        place / note.image,
        tuple(place / module for module in note.modules),
        note.release,
        note.package,
        note.files[note.image],
    )


# ---- a user's own ----------------------------------------------------------------------------

ARM64_MAGIC = slice(56, 60), b"ARM\x64"  # Documentation/arm64/booting.rst
X86_MAGIC = slice(0x202, 0x206), b"HdrS"  # Documentation/x86/boot.rst
X86_64 = 1 << 0  # in xloadflags, at 0x236: it has a 64-bit entry point


def from_file(path: Path) -> Kernel:
    """Return the kernel in a file, with architecture and release read from it.

    Raises UsageError unless it is an arm64 Image (plain or gzip) or an x86-64 bzImage.
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
            raise UsageError(f"kernel '{path}' is for 32-bit x86; the lab has x86-64 and arm64")
        at = int.from_bytes(data[0x20E:0x210], "little") + 0x200
        return "x86_64", data[at : at + 256].split(b" ")[0].split(b"\0")[0].decode(
            "ascii", "replace"
        )
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise UsageError(f"kernel '{path}' does not decompress: {error}") from error
    if _has(data, ARM64_MAGIC):
        found = re.search(rb"Linux version (\S+) ", data)
        return "aarch64", found[1].decode("ascii", "replace") if found else "unknown"
    what = "an EFI zboot image: unpack it first" if data[4:8] == b"zimg" else "no kernel image"
    raise UsageError(
        f"kernel '{path}' is {what}; the lab boots an x86-64 bzImage, or an arm64 Image, plain or "
        "compressed by gzip"
    )


def _has(data: bytes, magic: tuple[slice, bytes]) -> bool:
    return data[magic[0]] == magic[1]
