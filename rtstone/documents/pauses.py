"""What takes the CPU from a busy real-time task, as the conditions of a run record it.

Up to Linux 6.11 RT throttling stops real-time tasks that exceed sched_rt_runtime_us.  Since 6.12 a
deadline server of each CPU (fair_server) runs the other tasks for a share of each period if they
wait, whatever sched_rt_runtime_us says, and RT throttling is left only in kernels that are built
with RT_GROUP_SCHED (kernel/sched/rt.c, update_curr_rt).  Kernels with sched_ext have a second
server, ext_server, for the tasks of its schedulers.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Literal, NamedTuple

SERVERS_SINCE = (6, 12)
FAIR, EXT = "sched.fair_server", "sched.ext_server"
_NONE = "none"  # the kernel has no such server
# CPUs and the ns of each period, as the agent writes them: "0-2: 50000000/1000000000".
_ENTRY = re.compile(r"(\d{1,4})(?:-(\d{1,4}))?: (\d{1,18})/([1-9]\d{0,17})", re.ASCII)


class Pause(NamedTuple):
    """How long others get the CPU in each period, in ns, and by what."""

    by: Literal["throttling", "server"]
    length_ns: float
    period_ns: float


DEFAULT_SERVER = Pause("server", 50e6, 1e9)


def kernel_version(release: object) -> tuple[int, int] | None:
    """Return the first two numbers of a release such as 6.12.1-rt."""
    numbers = re.match(r"(\d{1,9})\.(\d{1,9})", release if isinstance(release, str) else "")
    return (int(numbers[1]), int(numbers[2])) if numbers else None


def has_servers(conditions: Mapping[str, Any]) -> bool:
    """Return whether the kernel has deadline servers; some distributions' older ones do, too."""
    version = kernel_version(conditions.get("kernel.release")) or (0, 0)
    return version >= SERVERS_SINCE or isinstance(conditions.get(FAIR), list)


def throttling(conditions: Mapping[str, Any]) -> Pause | None:
    """Return the pause of RT throttling; None if there is none, or cannot be in this kernel."""
    if has_servers(conditions) and conditions.get("sched.rt_group_sched") == "no":
        return None
    runtime, period = (_number(conditions.get(f"sched.rt_{n}_us")) for n in ("runtime", "period"))
    if not 0 < runtime < period:
        return None
    return Pause("throttling", (period - runtime) * 1e3, period * 1e3)


def servers(
    conditions: Mapping[str, Any], cpus: Collection[int] | None = None
) -> list[Pause] | None:
    """Return the pauses of the deadline servers of these CPUs, by default of all.

    None: the kernel has servers, but what they are set to is not recorded.  The server of sched_ext
    counts only while one of its schedulers is loaded.
    """
    if not has_servers(conditions):
        return []
    loaded = conditions.get("sched_ext.state") not in (None, "", "disabled")
    pauses: list[Pause] = []
    for name in (FAIR, EXT) if loaded else (FAIR,):
        entries = conditions.get(name)
        if entries == _NONE:
            continue
        settings = _settings(entries, cpus) if isinstance(entries, list) else []
        if not settings:
            return None
        pauses += [Pause("server", runtime, period) for runtime, period in settings if runtime]
    return list(dict.fromkeys(pauses))


def pauses(conditions: Mapping[str, Any], cpus: Collection[int] | None = None) -> list[Pause]:
    """Return the pauses that are possible, of servers that are not known those of the default."""
    throttled, served = throttling(conditions), servers(conditions, cpus)
    return ([throttled] if throttled else []) + ([DEFAULT_SERVER] if served is None else served)


def _settings(entries: list[Any], cpus: Collection[int] | None) -> list[tuple[int, int]]:
    """Return runtime and period of the entries that are of these CPUs."""
    matches = [_ENTRY.fullmatch(entry) for entry in entries if isinstance(entry, str)]
    return [
        (int(match[3]), int(match[4]))
        for match in matches
        if match
        and (not cpus or any(int(match[1]) <= cpu <= int(match[2] or match[1]) for cpu in cpus))
    ]


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 0
