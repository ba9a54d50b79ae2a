"""Access to the files of a system: what is looked at, what tuning writes, and what it keeps."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from rtstone.files import opened, sync

NOT_OURS = "it, or its directory, is a link, or others may write to it"


class Files(ABC):
    """The files of a system, by names without a leading slash.  All methods raise OSError.

    ``pid``: the process that looks, which sees itself among the others.
    """

    pid: int
    to_become_root = "run as root"

    @abstractmethod
    def where(self, name: str) -> str:
        """Return the place of a file, for messages."""

    # ---- reading ---------------------------------------------------------------------------

    def look(self, *patterns: str) -> None:  # noqa: B027  most read what they are asked for
        """Read all at once what matches these patterns, as it is now.

        A ``*`` matches no slash; a pattern that ends with a slash is a directory to list.  Where
        each reading takes its time, what was read here answers for the files from now on.
        """

    @abstractmethod
    def read(self, name: str) -> bytes:
        """Return the content of a file."""

    @abstractmethod
    def names(self, folder: str) -> list[str]:
        """Return what a directory holds, in order."""

    @abstractmethod
    def links(self, pattern: str) -> list[str]:
        """Return the symbolic links that match a pattern, in order."""

    @abstractmethod
    def register(self, name: str, number: int) -> bytes:
        """Return the 8 bytes of a register, from a file where its number is its place."""

    def exists(self, name: str) -> bool:
        """Return whether there is a file or directory."""
        try:
            self.read(name)
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True
        return True

    # ---- settings --------------------------------------------------------------------------

    @abstractmethod
    def write(self, name: str, text: str) -> None:
        """Write to an existing file in one call, as the kernel's files require."""

    @abstractmethod
    def make(self, folder: str) -> None:
        """Create a control group."""

    @abstractmethod
    def remove(self, folder: str) -> None:
        """Remove an empty control group."""

    # ---- what is kept there ----------------------------------------------------------------

    @abstractmethod
    def locked(self, folder: str) -> AbstractContextManager[None]:
        """Hold a directory, made if it is missing, until the block or this process ends.

        Raises BlockingIOError if another process holds it, PermissionError if others than its owner
        and root may write there.
        """

    @abstractmethod
    def stored(self, name: str) -> bytes:
        """Return a file that was stored; PermissionError if another user may have made it."""

    @abstractmethod
    def append(self, name: str, line: bytes) -> None:
        """Add a line after the last whole one, in a directory that is held; it is then on disk."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file, if it is there, from a directory that is held."""


class Below(Files):
    """The files below a root, by default those of this machine."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root
        self.pid = os.getpid()

    def where(self, name: str) -> str:
        """Return the place of a file, for messages."""
        return str(self._root / name)

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with opened(self._root / name) as file:
            return file.read()

    def names(self, folder: str) -> list[str]:
        """Return what a directory holds, in order."""
        return sorted(path.name for path in (self._root / folder).iterdir())

    def links(self, pattern: str) -> list[str]:
        """Return the symbolic links that match a pattern, in order."""
        links = [path for path in self._root.glob(pattern) if path.is_symlink()]
        return sorted(str(path.relative_to(self._root)) for path in links)

    def register(self, name: str, number: int) -> bytes:
        """Return the 8 bytes of a register."""
        with (self._root / name).open("rb", buffering=0) as file:
            return os.pread(file.fileno(), 8, number)

    def write(self, name: str, text: str) -> None:
        """Write to an existing file in one call."""
        handle = os.open(self._root / name, os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC)
        try:
            os.write(handle, text.encode() or b"\n")
        finally:
            os.close(handle)

    def make(self, folder: str) -> None:
        """Create a control group."""
        (self._root / folder).mkdir()

    def remove(self, folder: str) -> None:
        """Remove an empty control group."""
        (self._root / folder).rmdir()

    @contextmanager
    def locked(self, folder: str) -> Iterator[None]:
        """Hold a directory until the block or this process ends."""
        (self._root / folder).mkdir(mode=0o755, parents=True, exist_ok=True)
        handle = _open(self._root / folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        finally:
            os.close(handle)

    def stored(self, name: str) -> bytes:
        """Return a file that was stored; nobody else can have written to its directory either."""
        path = self._root / name
        os.close(_open(path.parent, os.O_RDONLY | os.O_DIRECTORY))
        handle = _open(path, os.O_RDONLY)
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def append(self, name: str, line: bytes) -> None:
        """Add a line after the last whole one."""
        path = self._root / name
        handle = _open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
        try:
            _put(handle, line)
        finally:
            os.close(handle)
        sync(path.parent)

    def delete(self, name: str) -> None:
        """Remove a file, if it is there."""
        path = self._root / name
        path.unlink(missing_ok=True)
        sync(path.parent)


def _open(path: Path, flags: int) -> int:
    """Open a file or directory that nobody but its owner, this user or root, can have written."""
    try:
        handle = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o644)
    except OSError as error:
        if error.errno == errno.ELOOP or path.is_symlink():
            raise PermissionError(errno.EPERM, NOT_OURS) from error
        raise
    status = os.fstat(handle)
    writable = stat.S_IWOTH | (stat.S_IWGRP if os.geteuid() == 0 else 0)
    ours = status.st_uid in {0, os.geteuid()} and not status.st_mode & writable
    if not ours or not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        os.close(handle)
        raise PermissionError(errno.EPERM, NOT_OURS)
    return handle


def _put(handle: int, line: bytes) -> None:
    data = os.pread(handle, os.fstat(handle).st_size, 0)
    os.ftruncate(handle, data.rfind(b"\n") + 1)
    if os.write(handle, line) != len(line):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(handle)
