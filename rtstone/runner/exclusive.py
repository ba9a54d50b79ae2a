"""One measurement at a time: programs of one user that measure on this machine wait for each other.

Workers of pytest-xdist, say.  What other users measure, the agent sees (the flag ``other_run``).
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rtstone.errors import Interrupted, UsageError
from rtstone.interrupt import Interrupt

POLL_S = 0.05  # while another one measures
_NAME = "rtstone-measuring.lock"


@contextmanager
def alone(interrupt: Interrupt) -> Iterator[None]:
    """Waits until no other program of this user measures, and keeps those to come waiting.

    The kernel lets go of the lock when its holder ends, however that is.  Raises Interrupted,
    UsageError where there is no place for the lock that is the user's own.
    """
    handle = _opened()
    try:
        while not _locked(handle):
            if interrupt.requested:
                raise Interrupted("interrupted before the run began")
            time.sleep(POLL_S)
        yield
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # there are file systems without locks
        pass
    return True


def _opened() -> int:
    """The file, made if need be; no link is followed, and nothing of another user is believed."""
    place = _place()
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        folder = os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if not _own(os.fstat(folder)):
                raise UsageError(f"not a directory of this user alone, {place}; {_CURE}")
            handle = os.open(_NAME, flags, 0o600, dir_fd=folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise UsageError(f"cannot lock, {place}: {error.strerror}; {_CURE}") from error
    return handle


_CURE = "remove it, or set XDG_RUNTIME_DIR to a directory that is yours"


def _place() -> Path:
    """The user's directory for as long as the machine is up, else one of its own."""
    if (named := os.environ.get("XDG_RUNTIME_DIR")) and _is_own(Path(named)):
        return Path(named)
    place = Path(tempfile.gettempdir()) / f"rtstone-{os.getuid()}"
    try:
        place.mkdir(mode=0o700)
    except FileExistsError:
        pass
    except OSError as error:
        raise UsageError(f"cannot make a lock, {place}: {error.strerror}; {_CURE}") from error
    return place


def _is_own(place: Path) -> bool:
    try:
        return _own(place.lstat())
    except OSError:
        return False


def _own(status: os.stat_result) -> bool:
    """True for a directory that is the user's, and in which no other one can write."""
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
