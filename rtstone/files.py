"""Files and directories opened without waiting, and only if they are what they should be."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

_DESCRIPTORS = Path("/proc/self/fd")


def opened(path: Path, *, streams: bool = False) -> IO[bytes]:
    """Open a regular file for reading.

    ``streams``: also a pipe or device if this process was given it, as /dev/stdin, or what a shell
    makes of <(command).  Any other may have no writer, and reading it no end.  Raises OSError; it
    names the file unless ``streams``: whoever named it is shown its path.
    """
    noun = "it" if streams else path.name
    status = path.stat()  # first, as opening a device may already do something
    if streams and stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(status.st_mode) and not (streams and is_given(status)):
        raise OSError(errno.EINVAL, f"{noun} is {kind(status)}, not a regular file")
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    now = os.fstat(handle)
    if not stat.S_ISREG(now.st_mode) and not os.path.samestat(now, status):
        os.close(handle)
        raise OSError(errno.EAGAIN, f"{noun} has just become {kind(now)}")
    os.set_blocking(handle, True)
    return os.fdopen(handle, "rb")


def content(path: Path, largest: int | None = None) -> bytes:
    """Return the content of a file that a person names, at most ``largest`` + 1 bytes of it.

    Raises OSError.
    """
    with opened(path, streams=True) as file:
        return file.read(-1 if largest is None else largest + 1)


@contextmanager
def directory(path: Path, *, links: bool = False) -> Iterator[int]:
    """Hold a directory open, for files that are opened relative to it; not through a link.

    ``links``: through one, too.  Raises OSError.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if links else os.O_NOFOLLOW)
    handle = os.open(path, flags)
    try:
        yield handle
    finally:
        os.close(handle)


def sync(folder: Path) -> None:
    """Wait until the names in a directory are on its disk.  Raises OSError."""
    with directory(folder, links=True) as handle:
        os.fsync(handle)


def is_given(status: os.stat_result) -> bool:
    """Return whether that pipe or device is one of the files open in this process."""
    numbers = ["0", "1", "2"]
    with suppress(OSError):  # without /proc
        numbers = [path.name for path in _DESCRIPTORS.iterdir()]
    for number in numbers:
        with suppress(OSError):  # the one that lists them is closed by now
            mere_path = fcntl.fcntl(int(number), fcntl.F_GETFL) & os.O_PATH
            if not mere_path and os.path.samestat(os.fstat(int(number)), status):
                return True
    return False


def kind(status: os.stat_result) -> str:
    """Return what a file that is not a regular one is, in words."""
    words = {stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFDIR: "a directory"}
    return words.get(stat.S_IFMT(status.st_mode), "a device")
