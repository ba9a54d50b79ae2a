"""The processes of agents: which there are, and waiting until they have ended."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from pathlib import Path

from tests.waiting import soon

SHM = Path("/dev/shm")  # where agents have lock files and objects with a name


def stat_of(pid: int) -> list[str]:
    """Return what the system tells of a process behind its name: state, parent and so on."""
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()


def parents() -> dict[int, int]:
    """Return the parent of every process that is no zombie."""
    parents_by_pid = {}
    for directory in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, parent, *_ = stat_of(pid := int(directory.name))
            if state not in "ZX":
                parents_by_pid[pid] = int(parent)
    return parents_by_pid


def children(pid: int) -> list[int]:
    """Return the processes that a process has started itself."""
    return [child for child, parent in parents().items() if parent == pid]


def descendants(pid: int) -> list[int]:
    """Return all processes that descend from one; a child's number may be the lower one."""
    everyone = parents()
    pids = [pid]
    for ancestor in pids:
        pids += [child for child, parent in everyone.items() if parent == ancestor]
    return pids[1:]


def name_of(pid: int) -> str:
    """Return the name of a process, or "" if it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


def sleeps(pid: int) -> bool:
    """Return whether a process executes ``sleep``, and waits for its end."""
    return name_of(pid) == "sleep" and waits(pid)


def waits(pid: int) -> bool:
    """Return whether a process is blocked, in a way that a signal ends."""
    return stat_of(pid)[0] == "S"


def gone(pids: Iterable[int]) -> bool:
    """Wait until processes have ended; return whether they did within 20 s."""
    return soon(lambda: not parents().keys() & set(pids))
