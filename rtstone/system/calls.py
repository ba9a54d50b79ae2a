"""The system calls that measuring takes, each tried in a process of its own.

None of them takes rights: a sandbox refuses it, a limit is reached, or the kernel is built without.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from rtstone.cpus import LAST_CPU
from rtstone.system.probes import Probe, refusing, tried

MONOTONIC, ABSOLUTE = 1, 1  # CLOCK_MONOTONIC, TIMER_ABSTIME
KEY = 0x72747374  # of System V objects that nobody has
CAPABILITY_VERSION = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
TIMESPEC = 16  # bytes; zeros are a time that has passed


class Call(NamedTuple):
    """A system call; ``trial`` returns its error, 0 if it is there, and changes nothing."""

    name: str
    trial: Callable[[], int]
    needed: bool  # nothing can be measured without
    host: bool = False  # the host of a run makes it, too


def _library() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _error(result: int, *expected: int) -> int:
    """Return the error of a call of the C library; the expected ones show that it is there."""
    number = ctypes.get_errno() if result == -1 else 0
    return 0 if number in expected else number


def _timer() -> int:
    timer = ctypes.c_void_p()
    return _error(_library().timer_create(MONOTONIC, None, ctypes.byref(timer)))


def _sleep() -> int:
    past = ctypes.create_string_buffer(TIMESPEC)
    return int(_library().clock_nanosleep(MONOTONIC, ABSOLUTE, past, None))


def _queue() -> int:
    library = _library()
    if not hasattr(library, "mq_open"):  # before glibc 2.34
        library = ctypes.CDLL("librt.so.1", use_errno=True)
    return _error(library.mq_open(b"/rtstone-none", os.O_RDONLY), errno.ENOENT, errno.EACCES)


def _lock() -> int:
    handle = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    with suppress(BlockingIOError):  # another process has locked it
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    return 0


def _read_affinity() -> int:
    os.sched_getaffinity(0)
    return 0


def _capabilities() -> int:
    head = struct.pack("II", CAPABILITY_VERSION, 0)
    return _error(_library().capget(head, ctypes.create_string_buffer(24)))


def _bind() -> int:
    os.sched_setaffinity(0, range(LAST_CPU + 1))  # of which those count that are allowed
    return 0


def _schedule() -> int:
    """Schedule this process as it is, which takes no rights."""
    os.sched_setscheduler(0, os.sched_getscheduler(0), os.sched_getparam(0))
    return 0


CALLS = (
    Call("sched_getaffinity", _read_affinity, True, host=True),
    Call("sched_setaffinity", _bind, True, host=True),
    Call("sched_setscheduler", _schedule, False),
    Call("timer_create", _timer, True),
    Call("clock_nanosleep", _sleep, True, host=True),
    Call("capget", _capabilities, False),
    Call("mlockall", lambda: _error(_library().mlockall(0), errno.EINVAL), False),
    Call("timerfd_create", lambda: _error(_library().timerfd_create(MONOTONIC, 0)), False),
    Call("mq_open", _queue, False),
    Call("msgget", lambda: _error(_library().msgget(KEY, 0), errno.ENOENT, errno.EACCES), False),
    Call("flock", _lock, False, host=True),
)


def _outcome(trial: Callable[[], int]) -> Probe:
    """Return whether a call is there, else the name of its error."""

    def attempt() -> Probe:
        try:
            number = trial()
        except OSError as error:
            number = error.errno or 0
        return Probe(not number, errno.errorcode.get(number, str(number)) if number else "")

    return refusing(tried(attempt))


LIVE: Mapping[str, Callable[[], Probe]] = {
    call.name: partial(_outcome, call.trial) for call in CALLS
}
