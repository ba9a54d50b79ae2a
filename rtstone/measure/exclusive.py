"""Serialize measurements: programs of one user, such as pytest-xdist workers, wait for each other.

Measurements of other users are detected by the agent (flag ``other_run``).
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from rtstone.errors import Interrupted, UsageError
from rtstone.files import directory
from rtstone.interrupt import Interrupt
from rtstone.store.layout import lock
from rtstone.targets.base import Target

POLL_S = 0.05  # interval between attempts to take the lock
LOOK_S = 0.5  # interval of looking for the agents of others
_NAME = "rtstone-measuring.lock"
_NEXT = "rtstone-measuring-next.lock"  # of who waits for the other one
_CURE = "remove it, or set XDG_RUNTIME_DIR to a directory that you own"


@contextmanager
def undisturbed(
    targets: Sequence[Target], interrupt: Interrupt, announce: Callable[[str], None]
) -> Iterator[None]:
    """Wait until no other measurement disturbs those on targets, and keep the user's own from them.

    ``announce`` is called with what is waited for, whenever that changes.  Raises as ``alone``.
    """
    shared = [target for target in targets if target.other_users() is not None]
    if not shared:
        yield
        return
    with alone(interrupt, announce):
        announced: list[str] = []
        while agents := [agent for target in shared for agent in target.other_users() or ()]:
            if agents != announced:
                announce(f"waiting for {', '.join(agents)}")
                announced = agents
            if interrupt.requested:
                raise Interrupted("interrupted before the run began")
            time.sleep(LOOK_S)
        yield


def alone(
    interrupt: Interrupt, announce: Callable[[str], None] = lambda text: None
) -> AbstractContextManager[None]:
    """Hold the user's measurement lock, waiting until it is free; ``announce`` that it is not.

    The kernel releases the lock however its holder ends.  Raises Interrupted, and UsageError if
    there is no directory for the lock that belongs to the user alone.
    """
    return _held(fcntl.LOCK_EX, interrupt, announce)


def beside(interrupt: Interrupt) -> AbstractContextManager[None]:
    """Share the user's measurement lock with others that do not mind, as they measure no time.

    Raises as ``alone``.
    """
    return _held(fcntl.LOCK_SH, interrupt, lambda text: None)


@contextmanager
def _held(kind: int, interrupt: Interrupt, announce: Callable[[str], None]) -> Iterator[None]:
    """Hold the user's measurement lock, shared or alone."""
    following = _opened(_NEXT)  # what only shares the lock lets the next one pass
    try:
        handle = _opened(_NAME)
        try:
            _wait(following, fcntl.LOCK_EX, interrupt, announce)
            _wait(handle, kind, interrupt, announce)
            fcntl.flock(following, fcntl.LOCK_UN)
            yield
        finally:
            os.close(handle)
    finally:
        os.close(following)


def _wait(handle: int, kind: int, interrupt: Interrupt, announce: Callable[[str], None]) -> None:
    """Lock an open file, waiting until that is possible.  Raises Interrupted."""
    if lock(handle, kind):
        return
    announce("waiting for another measurement of this user")
    while not lock(handle, kind):
        if interrupt.requested:
            raise Interrupted("interrupted before the run began")
        time.sleep(POLL_S)


def _opened(name: str) -> int:
    """Open or create a lock file, without following links or trusting another user's files.

    It is in XDG_RUNTIME_DIR if that is private to the user, else in a directory in TMPDIR.
    """
    place = Path(os.environ.get("XDG_RUNTIME_DIR") or "")
    private = False
    with suppress(OSError):
        private = place != Path() and _own(place.lstat())
    if not private:
        place = Path(tempfile.gettempdir()) / f"rtstone-{os.getuid()}"
        try:
            place.mkdir(mode=0o700)
        except FileExistsError:
            pass
        except OSError as error:
            raise UsageError(
                f"cannot create the lock, in {place}: {error.strerror}; {_CURE}"
            ) from error
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        with directory(place) as folder:
            if not _own(os.fstat(folder)):
                raise UsageError(f"directory is not private to this user, {place}; {_CURE}")
            return os.open(name, flags, 0o600, dir_fd=folder)
    except OSError as error:
        raise UsageError(f"cannot open the lock, in {place}: {error.strerror}; {_CURE}") from error


def _own(status: os.stat_result) -> bool:
    """Return whether it is a directory that the user owns and nobody else can write to."""
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )
