"""Find the agents of rtstone that run on this machine, whoever started them.

Each has a lock file in /dev/shm (docs/reference/wire.md).  Anyone can make such a file: it counts
only if there is a process of that id that belongs to the file's owner and is not younger than the
file.
"""

from __future__ import annotations

import os
import pwd
import re
import stat
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

SHM, PROC = Path("/dev/shm"), Path("/proc")
_LOCK = re.compile(r"rtstone-(\d{1,18})\.lock")
_PIDS = 1 << 22  # the file's number is the id plus a multiple of it, if that name was taken


class AgentProcess(NamedTuple):
    """A running agent: its process, and the name of its user."""

    pid: int
    user: str

    def __str__(self) -> str:
        return f"the agent of {self.user} (process {self.pid})"


def agents() -> list[AgentProcess]:
    """Return the agents that run now, in the order of their ids."""
    running = []
    with suppress(OSError):
        for name in os.listdir(SHM):  # noqa: PTH208  names are all that is wanted
            lock = _LOCK.fullmatch(name)
            agent = _agent(SHM / name, int(lock[1]) % _PIDS) if lock else None
            running += [agent] if agent else []
    return sorted(running)


def _agent(file: Path, pid: int) -> AgentProcess | None:
    with suppress(OSError, ValueError, IndexError):
        status = file.lstat()
        uid = status.st_uid
        ours = stat.S_ISREG(status.st_mode) and (PROC / str(pid)).stat().st_uid == uid
        if not ours:
            return None
        fields = (PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
        lines = (PROC / "stat").read_text().splitlines()
        boot = next(line for line in lines if line.startswith("btime "))  # in s since the epoch
        started = int(boot.split()[1]) + int(fields[19]) / os.sysconf("SC_CLK_TCK")
        if started <= status.st_ctime:
            with suppress(KeyError):
                return AgentProcess(pid, pwd.getpwuid(uid).pw_name)
            return AgentProcess(pid, f"user {uid}")
    return None
