"""Functional tests of the system, each in a process of its own."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import select
import signal
import struct
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rtstone import resources
from rtstone.cpus import cpu_list, cpu_set, usable_cpus
from rtstone.errors import UsageError
from rtstone.folders import HOMELESS, results
from rtstone.printable import shown
from rtstone.system.membership import membership

LIMIT_S = 5.0  # a trial that has not ended by then is ended
PRIO_INHERIT = 1  # PTHREAD_PRIO_INHERIT of glibc and musl
MUTEX_BYTES = 128  # no pthread_mutex_t or its attributes are larger
SCHED_DEADLINE = 6
KILLED = "killed by SIGSYS"  # the outcome of a test that a filter of system calls ended
DEVICES = (Path("/dev/null"), Path("/dev/shm"))
# The number of sched_setattr, by machine.
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274, "armv7l": 380, "i686": 351}
# Options of 1003.1b (Obenland's list), as os.sysconf names them.
OPTIONS = (
    "ASYNCHRONOUS_IO", "FSYNC", "MAPPED_FILES", "MEMLOCK", "MEMLOCK_RANGE", "MEMORY_PROTECTION",
    "MESSAGE_PASSING", "PRIORITIZED_IO", "PRIORITY_SCHEDULING", "REALTIME_SIGNALS", "SEMAPHORES",
    "SHARED_MEMORY_OBJECTS", "SYNCHRONIZED_IO", "TIMERS",
)  # fmt: skip


class Probe(NamedTuple):
    """The outcome of a test; ``works`` None: undetermined; ``text``: the observation."""

    works: bool | None
    text: str
    cpus: frozenset[int] | None = None


def tried(trial: Callable[[], Probe], limit_s: float = LIMIT_S) -> Probe:
    """Run a test in a forked child, whose changes end with it, and return the outcome."""
    reading, writing = os.pipe()
    try:
        child = os.fork()
    except OSError as error:
        os.close(reading)
        os.close(writing)
        return Probe(None, f"no process to try it in: {error.strerror}")
    if child == 0:
        # Whatever happens, the child must not go on as the program.
        try:
            os.close(reading)
            os.write(writing, _line(trial()).encode())
        except BaseException as fault:  # reported to the parent
            os.write(writing, _line(Probe(None, repr(fault))).encode())
        finally:
            os._exit(0)
    os.close(writing)
    try:
        ready, _, _ = select.select([reading], [], [], limit_s)
        said = os.read(reading, 4096).decode() if ready else ""
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)  # a child that has ended is still there until waited for
        _, status = os.waitpid(child, 0)
    if not said and not ready:
        return Probe(None, f"the test did not end within {limit_s:.0f} s")
    if not said and not os.WIFSIGNALED(status):
        return Probe(None, "died")
    if not said:
        return Probe(None, f"killed by {signal.Signals(os.WTERMSIG(status)).name}")
    word, _, text = said.partition(" ")
    return Probe({"yes": True, "no": False}.get(word), text)


def refusing(outcome: Probe) -> Probe:
    """Return the outcome of a test of one system call: a filter (seccomp) may end who makes it."""
    return outcome._replace(works=False) if outcome.text == KILLED else outcome


def _line(probe: Probe) -> str:
    return f"{ {True: 'yes', False: 'no', None: 'unknown'}[probe.works] } {probe.text}"


def _code() -> str:
    number = ctypes.get_errno()
    return f"{errno.errorcode.get(number, number)}"


# ---- scheduling ---------------------------------------------------------------------------------


def _realtime() -> Probe:
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError as error:
        return Probe(False, errno.errorcode.get(error.errno or 0, str(error)))
    return Probe(True, "SCHED_FIFO granted")


def _levels() -> Probe:
    low, high = (f(os.SCHED_FIFO) for f in (os.sched_get_priority_min, os.sched_get_priority_max))
    return Probe(True, str(high - low + 1))


def _deadline() -> Probe:
    """Request 1 ms in every 100 ms, on all CPUs as the kernel requires."""
    number = SCHED_SETATTR.get(platform.machine())
    if number is None:
        return Probe(None, f"not tried on {platform.machine()}")
    # struct sched_attr, version 0: size, policy, flags, nice, priority, runtime, deadline, period
    attributes = struct.pack("=IIQiIQQQ", 48, SCHED_DEADLINE, 0, 0, 0, 10**6, 10**8, 10**8)
    call = ctypes.CDLL(None, use_errno=True).syscall
    if call(ctypes.c_long(number), 0, attributes, 0) == 0:
        return Probe(True, "SCHED_DEADLINE granted")
    if ctypes.get_errno() != errno.EPERM:
        return Probe(False, _code())
    # It is there, but not for this process, or not while its affinity is not all CPUs.
    own = os.sched_getaffinity(0)
    bound = len(own) < os.sysconf("SC_NPROCESSORS_ONLN")
    return Probe(None, f"{_code()}, bound to CPU {cpu_list(own)}" if bound else _code())


# ---- inheritance --------------------------------------------------------------------------------


def _inheritance() -> Probe:
    """Test priority inheritance: is a holder at priority 1 boosted to 2 by a waiter at 2?"""
    libc = ctypes.CDLL(None, use_errno=True)
    attributes, mutex = (ctypes.create_string_buffer(MUTEX_BYTES) for _ in range(2))
    libc.pthread_mutexattr_init(attributes)
    if libc.pthread_mutexattr_setprotocol(attributes, PRIO_INHERIT):
        return Probe(False, "mutexes do not take PTHREAD_PRIO_INHERIT")
    if error := libc.pthread_mutex_init(mutex, attributes) or libc.pthread_mutex_lock(mutex):
        return Probe(False, f"no such mutex: {errno.errorcode.get(error, error)}")
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        return Probe(None, "mutexes accept it; testing it needs real-time privileges")
    try:
        before = _priority()
    except OSError:
        return Probe(None, "mutexes accept it; /proc does not show whether a holder is raised")

    def wait() -> None:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
        libc.pthread_mutex_lock(mutex)
        libc.pthread_mutex_unlock(mutex)

    waiter = threading.Thread(target=wait, daemon=True)
    waiter.start()
    limit = time.monotonic() + LIMIT_S / 2
    while _priority() == before and time.monotonic() < limit:
        time.sleep(0.001)
    raised = _priority()
    libc.pthread_mutex_unlock(mutex)
    waiter.join(LIMIT_S / 2)
    return Probe(raised < before, "holder raised" if raised < before else "holder not raised")


def _priority() -> int:
    """Return the kernel's effective priority of this thread; lower values are higher priorities."""
    with open(f"/proc/self/task/{threading.get_native_id()}/stat") as file:  # noqa: PTH123
        return int(file.read().rpartition(")")[2].split()[15])


# ---- what needs no trial ------------------------------------------------------------------------


def _options() -> Probe:
    missing = []
    for name in OPTIONS:
        try:
            if os.sysconf(f"SC_{name}") <= 0:
                missing.append(name)
        except (ValueError, OSError):
            return Probe(None, f"sysconf does not know {name}")
    if missing:
        return Probe(False, f"without {', '.join(missing)}")
    return Probe(True, f"all {len(OPTIONS)} options")


def _threads() -> Probe:
    try:
        return Probe(True, os.confstr("CS_GNU_LIBPTHREAD_VERSION") or sys.thread_info.name)
    except (ValueError, OSError):
        return Probe(True, sys.thread_info.name)


def _timers() -> Probe:
    """Return the resolution: 1 ns where timers do not wait for a tick, else the length of one."""
    resolution = time.clock_getres(time.CLOCK_MONOTONIC)
    return Probe(resolution < 1e-6, f"{resolution * 1e6:g}")


def _idle_request() -> Probe:
    """Return whether /dev/cpu_dma_latency can be used to disable idle states; changes nothing."""
    try:
        os.close(os.open("/dev/cpu_dma_latency", os.O_WRONLY | os.O_CLOEXEC))
    except OSError as error:
        return Probe(False, error.strerror or str(error))
    return Probe(True, "may be used")


def file_capabilities(data: bytes) -> int:
    """Return the bits that the attribute security.capability gives to a program (vfs_cap_data)."""
    if len(data) < 20 or not data[0] & 1:  # without the effective flag the program has to ask
        return 0
    low, _, high, _ = struct.unpack_from("<4I", data, 4)
    return int(low | high << 32)


def without_capabilities(agent: Path) -> bool:
    """Return whether the file system ignores capabilities of files, or there is no such file."""
    return _mounted(agent, os.ST_NOSUID) is not False


def _agent_capabilities() -> Probe:
    if without_capabilities(resources.local_agent()):
        return Probe(False, "its file system takes none (nosuid), or it is not there")
    try:
        data = os.getxattr(resources.local_agent(), "security.capability")
    except OSError as error:  # none, or no agent
        return Probe(False, error.strerror or str(error))
    return Probe(True, f"{file_capabilities(data):x}")


def _agent_group() -> Probe:
    """Return whether this user may start an agent that is reserved for a group."""
    reserved = membership(resources.local_agent())
    if reserved is None:
        return Probe(None, "not reserved for a group")
    if reserved.joining is None:
        return Probe(True, f"by the rights of group {reserved.group}")
    return Probe(False, f"for members of group {reserved.group} only: {reserved.joining}")


def _usable_cpus() -> Probe:
    """Try it in a child: a sandbox may end who asks."""
    outcome = tried(lambda: Probe(True, cpu_list(usable_cpus())))
    return outcome._replace(cpus=cpu_set(outcome.text) if outcome.works else None)


def _results() -> Probe:
    """Return whether results can be stored, and where."""
    try:
        place = results().absolute()
    except UsageError:
        return Probe(False, HOMELESS)
    folder = next(path for path in (place, *place.parents) if os.path.lexists(path))
    if not folder.is_dir():
        return Probe(False, f"{shown(str(folder))} is no directory")
    if not os.access(folder, os.R_OK | os.W_OK | os.X_OK):
        return Probe(False, f"{shown(str(folder))} cannot be written to")
    return Probe(True, shown(str(place)))


def on_noexec(program: Path) -> bool:
    """Return whether a program lies on a file system from which nothing can be started."""
    return _mounted(program, os.ST_NOEXEC) is True


def _mounted(path: Path, option: int) -> bool | None:
    """Return whether the file system of a file is mounted with an option; None: no such file."""
    try:
        return bool(os.statvfs(path).f_flag & option)
    except OSError:
        return None


def _agent() -> Probe:
    """Return whether the agent can be started."""
    program = resources.local_agent()
    if not program.exists():
        return Probe(False, f"{shown(str(program))} is not there")
    if on_noexec(program):
        return Probe(False, f"{shown(str(program))} lies on a file system mounted noexec")
    if not os.access(program, os.X_OK):
        return Probe(False, f"{shown(str(program))} cannot be started by this user")
    return Probe(True, shown(str(program)))


def _devices() -> Probe:
    """Return which of the devices and directories in /dev that measuring takes are missing."""
    wrong = [f"no {path}" for path in DEVICES if not path.exists()]
    closed = (path for path in DEVICES if path.exists() and not os.access(path, os.W_OK))
    wrong += [f"{path} cannot be written to" for path in closed]
    return Probe(not wrong, ", ".join(wrong or map(str, DEVICES)))


LIVE: Mapping[str, Callable[[], Probe]] = {
    "realtime": lambda: refusing(tried(_realtime)),
    "levels": _levels,
    "deadline": lambda: tried(_deadline),
    "inheritance": lambda: tried(_inheritance),
    "options": _options,
    "threads": _threads,
    "timers": _timers,
    "idle_request": _idle_request,
    "agent_capabilities": _agent_capabilities,
    "agent_group": _agent_group,
    "usable_cpus": _usable_cpus,
    "results": _results,
    "agent": _agent,
    "devices": _devices,
}
