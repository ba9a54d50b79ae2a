"""Read what Linux tells of its threads: names, processes, policies, priorities, CPUs."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from rtstone.cpus import cpu_set
from rtstone.documents.tasks import Policy
from rtstone.explain.system_calls import names

PROC = Path("/proc")
_KERNEL = 0x00200000  # PF_KTHREAD, in the flags of a task
# Fields of /proc/PID/stat after the name, which is in parentheses.
_FLAGS, _PRIORITY, _POLICY = 6, 37, 38
_POLICIES: dict[int, Policy] = {0: "other", 1: "fifo", 2: "rr", 3: "other", 5: "other",
                                6: "deadline"}  # fmt: skip
_ATTRIBUTES = struct.Struct("=IIQiIQQQ")  # struct sched_attr, 48 bytes


class Thread(NamedTuple):
    """A thread; ``process``: the number of its process.  ``kernel``: it is one of the kernel's.

    ``priority``: 1 to 99 of real-time policies, else 0.  ``reservation``: of ``deadline``: runtime,
    deadline and period in ns, None if they cannot be read.
    """

    tid: int
    process: int
    name: str
    kernel: bool
    policy: Policy
    priority: int
    cpus: tuple[int, ...]
    reservation: tuple[int, int, int] | None = None


def threads(process: int | None = None, proc: Path = PROC) -> dict[int, Thread]:
    """Return the threads of a process, or of all, by number; those that end meanwhile are not."""
    processes = [process] if process is not None else _numbers(proc)
    return {
        thread.tid: thread
        for number in processes
        for tid in _numbers(proc / str(number) / "task")
        if (thread := _thread(proc / str(number) / "task" / str(tid), number, tid))
    }


def numbers(process: int, proc: Path = PROC) -> list[int]:
    """Return the numbers of a process's threads; empty if there is no such process."""
    return list(_numbers(proc / str(process) / "task"))


def _numbers(folder: Path) -> Iterator[int]:
    names: list[str] = []
    with suppress(OSError):
        names = [path.name for path in folder.iterdir()]
    return (int(name) for name in names if name.isdigit())


def _thread(folder: Path, process: int, tid: int) -> Thread | None:
    try:
        stat = (folder / "stat").read_text("utf-8", "replace")
        status = (folder / "status").read_text("utf-8", "replace")
    except OSError:  # it has ended
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    words = stat[stat.rindex(")") + 2 :].split()
    lines = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    policy = _POLICIES.get(int(words[_POLICY]), "other")
    return Thread(
        tid=tid,
        process=process,
        name=name,
        kernel=bool(int(words[_FLAGS]) & _KERNEL),
        policy=policy,
        priority=int(words[_PRIORITY]),
        cpus=tuple(sorted(cpu_set(lines["Cpus_allowed_list"]))),
        reservation=_reservation(tid) if policy == "deadline" else None,
    )


def _reservation(tid: int) -> tuple[int, int, int] | None:
    """Return runtime, deadline and period of a thread with SCHED_DEADLINE, ns; None: unknown."""
    numbers = {name: number for number, name in names(os.uname().machine).items()}
    if "sched_getattr" not in numbers:
        return None
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.size)
    called = ctypes.CDLL(None).syscall(
        ctypes.c_long(numbers["sched_getattr"]), ctypes.c_long(tid), attributes,
        ctypes.c_long(_ATTRIBUTES.size), ctypes.c_long(0),
    )  # fmt: skip
    if called != 0:
        return None
    runtime, deadline, period = _ATTRIBUTES.unpack(attributes.raw)[-3:]
    return runtime, deadline, period or deadline
