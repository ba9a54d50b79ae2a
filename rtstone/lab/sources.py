"""Sources of Linux kernels: a directory of the user's, or a package of Debian.

`linux-source-6.1` is unpacked from /usr/src, or fetched by apt.  `linux-source-6.1-rt` is the same
with the patches for PREEMPT_RT, from Debian's source package: from 6.12 on Linux has them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec

from rtstone.errors import TargetError, UsageError, unknown
from rtstone.lab import fetch, kernels
from rtstone.lab.fetch import Say
from rtstone.resources import digest

PACKED = Path("/usr/src")  # where Debian's packages put their archives
PACKAGE = re.compile(r"(linux-source-(\d+\.\d+))(-rt)?")
UNPACKED = "source"  # folder of the lab's cache
NOTE = "source.json"  # beside an unpacked tree: what it was made of
ROOM = 3 << 30  # bytes that unpacking takes, at most
TOOLS = {"tar": "tar", "xz": "xz-utils"}  # program: Debian's package
PATCHES = "debian/patches-rt"


class Source(NamedTuple):
    """A tree of sources; ``name``: the package, or the directory."""

    name: str
    tree: Path
    version: str  # as in the tree's Makefile


class _Note(msgspec.Struct, frozen=True):
    """What an unpacked tree was made of; ``patches``: the version of the source package."""

    archive: str  # hash
    patches: str | None


def find(name: str, say: Say) -> Source:
    """Return the sources of a package of Debian, or in a directory.

    Raises UsageError for neither, TargetError if the package cannot be had.
    """
    package = PACKAGE.fullmatch(name)
    if package:
        tree = _unpacked(package[1], package[2], bool(package[3]), say)
        return Source(name, tree, _version(tree))
    tree = Path(name).absolute()
    if not tree.is_dir():
        what = "is a file; unpack it first" if tree.exists() else "does not exist"
        raise UsageError(
            f"kernel source '{name}' {what}; give a kernel's source directory, or a package of "
            "Debian like linux-source-6.1"
        )
    return Source(str(tree), tree, _version(tree))


def _version(tree: Path) -> str:
    """Return the version of a kernel tree.  Raises UsageError if it is none."""
    try:
        lines = (tree / "Makefile").read_text("utf-8", "replace").splitlines()[:20]
    except OSError:
        lines = []
    words = dict(line.replace(" ", "").split("=", 1) for line in lines if "=" in line)
    if not {"VERSION", "PATCHLEVEL", "SUBLEVEL"} <= words.keys():
        raise UsageError(f"'{tree}' is no source tree of Linux: its Makefile names no version")
    numbers = (words["VERSION"], words["PATCHLEVEL"], words["SUBLEVEL"])
    return ".".join(numbers) + words.get("EXTRAVERSION", "")


def fingerprint(tree: Path) -> str:
    """Return a hash of the names and contents of all files, but git's own.

    Raises UsageError for a file that cannot be read.
    """
    total = sha256()
    try:
        for file in _files(tree):
            link = file.is_symlink()
            data = bytes(file.readlink()) if link else file.read_bytes()
            name = str(file.relative_to(tree)).encode("utf-8", "surrogateescape")
            total.update(name + b"\0" + sha256(data).digest())
    except OSError as error:
        raise UsageError(f"kernel source {error.filename}: {error.strerror}") from error
    return total.hexdigest()


def _files(tree: Path) -> Iterable[Path]:
    def unreadable(error: OSError) -> None:
        raise error

    for folder, folders, names in os.walk(tree, onerror=unreadable):
        folders[:] = sorted(name for name in folders if name != ".git")
        place = Path(folder)
        links = [name for name in folders if (place / name).is_symlink()]
        for name in sorted([*names, *links]):
            if (path := place / name).is_symlink() or path.is_file():
                yield path


# ---- Debian's packages -------------------------------------------------------------------------


def _unpacked(package: str, series: str, real_time: bool, say: Say) -> Path:
    """Return the tree of a package, which is unpacked unless it was before."""
    if f"linux-{series}" not in kernels.PACKAGES:
        known = [name for name in kernels.PACKAGES if re.fullmatch(r"linux-\d+\.\d+", name)]
        raise unknown("kernel source", package, (f"linux-source-{name[6:]}" for name in known))
    codename = kernels.PACKAGES[f"linux-{series}"].codename
    check_tools(TOOLS | ({"patch": "patch"} if real_time else {}))
    place = kernels.private(UNPACKED) / (package + "-rt" * real_time)
    archive = PACKED / f"{package}.tar.xz"
    there = _noted(place)
    if there and (not archive.exists() or there.archive == digest(archive)):
        return place / "linux"
    check_room(place.parent, ROOM)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as work:
        new = Path(work) / "new"
        if not archive.exists():
            say(f"fetching {package}")
            archive = fetch.source_archive(package, codename, Path(work))
        say(f"unpacking {package}")
        _unpack(archive, new / "linux")
        version = _patch(series, codename, new / "linux", Path(work), say) if real_time else None
        note = _Note(sha256(archive.read_bytes()).hexdigest(), version)
        (new / NOTE).write_bytes(msgspec.json.encode(note))
        if place.exists():
            place.rename(Path(work) / "old")  # deleted with the temporary folder
        new.rename(place)
    return place / "linux"


def _noted(place: Path) -> _Note | None:
    try:
        return msgspec.json.decode((place / NOTE).read_bytes(), type=_Note)
    except (OSError, msgspec.MsgspecError):
        return None


def _unpack(archive: Path, tree: Path) -> None:
    tree.mkdir(parents=True)
    _run(["tar", "-xf", str(archive), "--strip-components=1", "--no-same-owner"], tree)


def _patch(series: str, codename: str, tree: Path, work: Path, say: Say) -> str:
    """Apply Debian's patches for PREEMPT_RT and return the version they are of."""
    say(f"fetching the real-time patches of linux {series}")
    archive, version = fetch.packaging("linux", codename, work)
    _run(["tar", "-xf", str(archive)], work)
    order = work / PATCHES / "series"
    if not order.exists():
        raise TargetError(
            f"Debian's sources of linux {version} have no {PATCHES}: from 6.12 on Linux itself has "
            f"PREEMPT_RT; take linux-source-{series} with --config CONFIG_PREEMPT_RT=y"
        )
    names = [line.split()[0] for line in order.read_text().splitlines() if line.strip()]
    for name in names:
        if not name.startswith("#"):
            _run(["patch", "-s", "-f", "-p1", "-i", str(work / PATCHES / name)], tree)
    return version


def check_tools(tools: dict[str, str]) -> None:
    """Raise TargetError naming the programs that are not there, and Debian's packages of them."""
    lacking = [tool for tool in tools if not shutil.which(tool)]
    if lacking:
        packages = " ".join(dict.fromkeys(tools[tool] for tool in lacking))
        raise TargetError(
            f"not installed: {', '.join(lacking)}; `apt-get install {packages}` as root"
        )


def check_room(place: Path, size: int) -> None:
    """Raise TargetError if a file system has not this many bytes left."""
    free = shutil.disk_usage(place).free
    if free < size:
        raise TargetError(
            f"{place} has {free / 2**30:.1f} GiB left, and this takes up to {size / 2**30:.1f}: "
            "make room, or set XDG_CACHE_HOME to a place that has it"
        )


def _run(command: list[str], place: Path) -> None:
    done = subprocess.run(
        command, cwd=place, check=False, capture_output=True, text=True, errors="replace",
        stdin=subprocess.DEVNULL, env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
        raise TargetError(f"`{' '.join(command)}` in {place} failed and said: {said[-1]}")
