"""Parse and format CPU lists such as ``0-2,4``."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from rtstone.errors import UsageError

_CPUS = re.compile(r"[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*")
ALL = "all"  # the CPUs that the agent may use
LAST_CPU = 1023  # the largest number that the agent knows


def cpu_set(text: str) -> frozenset[int]:
    """Return the CPUs of a list such as ``0-2,4``.  Raises UsageError."""
    if not _CPUS.fullmatch(text):
        raise UsageError(f"bad CPU list '{text}'; write numbers and ranges such as 0-2,4")
    ends = [[int(end) for end in part.split("-")] for part in text.split(",")]
    if any(end > LAST_CPU for pair in ends for end in pair):
        raise UsageError(f"bad CPU list '{text}'; the largest CPU number is {LAST_CPU}")
    cpus = frozenset(cpu for pair in ends for cpu in range(pair[0], pair[-1] + 1))
    if not cpus:
        raise UsageError(f"empty CPU list '{text}'; write numbers and ranges such as 0-2,4")
    return cpus


def cpu_list(cpus: Iterable[int]) -> str:
    """Return the shortest list of these CPUs."""
    ends: list[list[int]] = []
    for cpu in sorted(cpus):
        if ends and ends[-1][1] == cpu - 1:
            ends[-1][1] = cpu
        else:
            ends.append([cpu, cpu])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in ends)


def bind(cpus: Iterable[int]) -> bool:
    """Bind this thread to CPUs; return whether the system lets it, which a sandbox may not."""
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:
        return False
    return True


def usable_cpus() -> set[int]:
    """Return the CPUs that the affinity can be set to; a cpuset may forbid others."""
    home = os.sched_getaffinity(0)
    if not bind(range(LAST_CPU + 1)):
        return home
    try:
        return home | os.sched_getaffinity(0)
    finally:
        bind(home)
