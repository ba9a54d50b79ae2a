"""Sources of Linux kernels: a directory of the user's, or a package of Debian.

`linux-source-6.1` is unpacked from /usr/src, or fetched by apt.  `linux-source-6.1-rt` is the same
with the patches for PREEMPT_RT, from Debian's source package: from 6.12 on Linux has them.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
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
HASHES = "source-hashes"  # another: what trees of sources were read as
SETTLED_S = 2.0  # a file that was changed later than this could be changed again in the same tick
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
        state = "is a file; unpack it first" if tree.exists() else "does not exist"
        raise UsageError(
            f"kernel source '{name}' {state}; give a kernel's source directory, or a package of "
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

    The files are read unless they are those of the last time, by names, sizes and times: a change
    that these do not show would not be compiled by `make` either.  Raises UsageError for a file
    that cannot be read.
    """
    folder = kernels.private(HASHES)
    note = folder / sha256(os.fsencode(tree)).hexdigest()[:16]
    try:
        listing, newest = _listing(tree)
        if (last := kernels.noted(note, _Hash)) and last.listing == listing:
            return last.contents
        settled = newest < time.time() - SETTLED_S  # a later change has another time
        contents = _contents(tree)
        unchanged = _listing(tree)[0] == listing
    except OSError as error:
        raise UsageError(f"kernel source {error.filename}: {error.strerror}") from error
    if settled and unchanged:
        with tempfile.TemporaryDirectory(dir=folder, prefix=".new-") as work:
            (new := Path(work) / "new").write_bytes(msgspec.json.encode(_Hash(listing, contents)))
            new.rename(note)
    return contents


class _Hash(msgspec.Struct, frozen=True):
    """The hash of a tree's contents, and that of the listing of its files."""

    listing: str
    contents: str


def _listing(tree: Path) -> tuple[str, float]:
    """Return a hash of what shows a change of any file, and the time of the last one in s.

    That is the time of the inode's last change, which, unlike its content's, nobody can set.
    """
    total, newest = sha256(), 0.0
    for name, state in _files(str(tree)):
        shows = (state.st_ino, state.st_mode, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
        total.update(os.fsencode(name) + b"\0%d %d %d %d %d\0" % shows)
        newest = max(newest, state.st_ctime)
    return total.hexdigest(), newest


def _contents(tree: Path) -> str:
    """Return a hash of all files' names and contents."""
    total = sha256()
    for name, state in _files(str(tree)):
        link = stat.S_ISLNK(state.st_mode)
        data = os.fsencode(Path(name).readlink()) if link else Path(name).read_bytes()
        total.update(os.fsencode(name[len(str(tree)) + 1 :]) + b"\0" + sha256(data).digest())
    return total.hexdigest()


def _files(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the path and state of each file and link below a folder, but git's, in order."""
    folders = []
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            state = entry.stat(follow_symlinks=False)
            if stat.S_ISDIR(state.st_mode):
                folders += [entry.path] * (entry.name != ".git")
            elif stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode):
                yield entry.path, state
    for subfolder in folders:
        yield from _files(subfolder)


# ---- Debian's packages -------------------------------------------------------------------------


def _unpacked(package: str, series: str, real_time: bool, say: Say) -> Path:
    """Return the tree of a package, which is unpacked unless it was before."""
    if f"linux-{series}" not in kernels.PACKAGES:
        names = [name for name in kernels.PACKAGES if re.fullmatch(r"linux-\d+\.\d+", name)]
        raise unknown("kernel source", package, (f"linux-source-{name[6:]}" for name in names))
    codename = kernels.PACKAGES[f"linux-{series}"].codename
    check_tools(TOOLS | ({"patch": "patch"} if real_time else {}))
    place = kernels.private(UNPACKED) / (package + "-rt" * real_time)
    archive = PACKED / f"{package}.tar.xz"
    unpacked = kernels.noted(place / NOTE, _Note)
    if unpacked and (not archive.exists() or unpacked.archive == digest(archive)):
        return place / "linux"
    check_room(place.parent, ROOM)
    with tempfile.TemporaryDirectory(dir=place.parent, prefix=".new-") as work:
        new = Path(work) / "new"
        if not archive.exists():
            say(f"fetching {package}")
            archive = fetch.source_archive(package, codename, Path(work))
        say(f"unpacking {package}")
        (new / "linux").mkdir(parents=True)
        command = ["tar", "-xf", str(archive), "--strip-components=1", "--no-same-owner"]
        _run(command, new / "linux")
        version = _patch(series, codename, new / "linux", Path(work), say) if real_time else None
        note = _Note(sha256(archive.read_bytes()).hexdigest(), version)
        (new / NOTE).write_bytes(msgspec.json.encode(note))
        kernels.put(new, place)
    return place / "linux"


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
