"""Write pages and exports: files atomically, pipes and devices directly."""

from __future__ import annotations

import errno
import os
import stat
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.files import is_given, kind

READER_S = 2.0  # for somebody to begin to read a pipe
_LINKS = 40  # that a path may go by, as in Linux


class _Place(NamedTuple):
    """Where a path leads, by a directory that is held open: nobody can exchange it for a link."""

    folder: int
    name: str
    handle: int | None  # what has this name, opened with O_PATH; None if nothing has it


def write(content: str | bytes, path: Path) -> int:
    """Write text or bytes, and return the number of bytes.

    A file is replaced and keeps its mode, if it was this user's; pipes and devices are written
    directly.  Links of this user and of root are followed; one of anybody else would choose which
    file is lost, and raises PermissionError.  Raises OSError.
    """
    data = content.encode("utf-8", "replace") if isinstance(content, str) else content
    with ExitStack() as opened:
        place = _walk(path, opened)
        old = None if place.handle is None else os.fstat(place.handle)
        if old is None or stat.S_ISREG(old.st_mode):
            _replace(data, place, old)
        else:
            assert place.handle is not None
            _pour(data, f"/proc/self/fd/{place.handle}", old)
    return len(data)


def _pour(data: bytes, place: str, status: os.stat_result) -> None:
    """Write into a pipe or device, which need not have been given to this process.

    A pipe of another user could keep it waiting, and so could one that nobody reads.
    """
    own = is_given(status)
    if stat.S_ISFIFO(status.st_mode) and not own and status.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"it is a pipe of another user (uid {status.st_uid})")
    end = time.monotonic() + READER_S
    flags = os.O_WRONLY | os.O_NOCTTY | os.O_CLOEXEC | (0 if own else os.O_NONBLOCK)
    handle = -1
    while handle < 0:
        try:
            handle = os.open(place, flags)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() > end:
                raise OSError(errno.ENXIO, f"it is {kind(status)} that nobody reads") from error
            time.sleep(0.05)
    with os.fdopen(handle, "wb") as out:
        os.set_blocking(handle, True)
        out.write(data)


def require_writable(path: Path) -> None:
    """Raise the OSError of `write` that can be foreseen, so that no work is done in vain."""
    with ExitStack() as opened:
        place = _walk(path, opened)
        mode = stat.S_IFREG if place.handle is None else os.fstat(place.handle).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        needs = os.W_OK | os.X_OK
        if stat.S_ISREG(mode) and not os.access(
            f"/proc/self/fd/{place.folder}", needs, effective_ids=True
        ):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _walk(path: Path, opened: ExitStack) -> _Place:
    """Follow a path one name after the other, with the links that may be followed."""
    folder, links = _enter(".", None, opened), 0
    names = list(reversed(path.parts)) or ["."]
    while True:
        name = names.pop()
        try:
            handle = _enter(name, folder, opened)
        except FileNotFoundError:
            if names:
                raise
            return _Place(folder, name, None)
        kind = os.fstat(handle)
        if not stat.S_ISLNK(kind.st_mode):
            if not names:
                return _Place(folder, name, handle)
            folder = handle
            continue
        if (links := links + 1) > _LINKS:
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if kind.st_uid not in {0, os.geteuid()}:
            raise PermissionError(
                errno.EPERM,
                f"{name} is a link of another user (uid {kind.st_uid}), not followed; "
                "name the file itself",
            )
        if not names and (stream := _stream(name, folder, kind, opened)) is not None:
            return _Place(folder, name, stream)
        names += reversed(Path(os.readlink("", dir_fd=handle)).parts)


def _enter(name: str, folder: int | None, opened: ExitStack, flags: int = os.O_NOFOLLOW) -> int:
    handle = os.open(name, os.O_PATH | os.O_CLOEXEC | flags, dir_fd=folder)
    opened.callback(os.close, handle)
    return handle


def _stream(name: str, folder: int, link: os.stat_result, opened: ExitStack) -> int | None:
    """Return the pipe or device that a link of /proc stands for, as /dev/stdout: it has no path."""
    if link.st_dev != Path("/proc").stat().st_dev:
        return None
    handle = _enter(name, folder, opened, flags=0)
    return None if stat.S_ISREG(os.fstat(handle).st_mode) else handle


def _replace(data: bytes, place: _Place, old: os.stat_result | None) -> None:
    part = f".rtstone-{os.urandom(8).hex()}"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    handle = os.open(part, flags, 0o666, dir_fd=place.folder)  # minus the umask
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            if old is not None and old.st_uid == os.geteuid():
                os.fchmod(handle, old.st_mode & 0o777)
            os.fsync(handle)
        os.replace(part, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(part, dir_fd=place.folder)
        raise
