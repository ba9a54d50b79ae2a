"""The deadline servers of a system: since Linux 6.12 they run other tasks before real-time ones."""

from __future__ import annotations

from rtstone.cpus import cpu_list
from rtstone.documents.pauses import DEFAULT_SERVER, SERVERS_SINCE, kernel_version
from rtstone.system.facts import System
from rtstone.system.findings import Finding, Seen
from rtstone.units import trimmed

DEBUG = "sys/kernel/debug"
SCHED = f"{DEBUG}/sched"
SERVERS = ("fair_server", "ext_server")  # the latter for tasks of sched_ext
SCHED_EXT = "sys/kernel/sched_ext"
READ = (
    f"{DEBUG}/", f"{SCHED}/", *(f"{SCHED}/{server}/cpu*/*" for server in SERVERS),
    f"{SCHED_EXT}/state", f"{SCHED_EXT}/root/ops",
)  # fmt: skip


def runtime(server: str, cpu: int) -> str:
    """Return the file with the ns of each period that a server runs other tasks."""
    return f"{SCHED}/{server}/cpu{cpu}/runtime"


def exist(system: System) -> bool | None:
    """Return whether the kernel has deadline servers; None: that cannot be seen."""
    names = system.names(SCHED)
    if SERVERS[0] in names:
        return True
    version = kernel_version(system.read("proc/sys/kernel/osrelease"))
    if names or (version and version < SERVERS_SINCE):
        return False
    return True if version else None


def unreadable(system: System) -> str:
    """Return why settings of the servers cannot be read."""
    if system.names(SCHED):
        return f"/{SCHED} is closed, as by lockdown"
    if system.names(DEBUG):
        return f"/{SCHED} cannot be read"
    return f"/{DEBUG} is empty or closed: as root, `mount -t debugfs debugfs /{DEBUG}` may open it"


def server(seen: Seen) -> Finding:
    """Check how long deadline servers may take the CPU from a busy real-time task."""
    system = seen.system
    have = exist(system)
    if have is None:
        return Finding("unknown", "the kernel does not report its version")
    if not have:
        return Finding("good", "none in this kernel")
    loaded = system.read(f"{SCHED_EXT}/state") not in (None, "disabled")
    cpus_of: dict[str, list[int]] = {}
    most = 0.0
    for name in SERVERS if loaded else SERVERS[:1]:
        for cpu in sorted(system.measured):
            length = system.number(runtime(name, cpu))
            period = system.number(f"{SCHED}/{name}/cpu{cpu}/period")
            if length is None or not period:
                return Finding("unknown", unreadable(system))
            most = max(most, length / period)
            setting = f"{trimmed(length, 'ns')} of {trimmed(period, 'ns')}" if length else "off"
            cpus_of.setdefault(f"{name} {setting}", []).append(cpu)
    text = "; ".join(f"{setting} on CPU {cpu_list(cpus)}" for setting, cpus in cpus_of.items())
    usual = DEFAULT_SERVER.length_ns / DEFAULT_SERVER.period_ns
    return Finding("warn" if most > usual else "yours", text)


def scheduler(seen: Seen) -> Finding:
    """Check whether a scheduler of sched_ext is loaded."""
    state = seen.system.read(f"{SCHED_EXT}/state")
    if state is None:
        version = kernel_version(seen.system.read("proc/sys/kernel/osrelease"))
        return Finding("good", "none") if version else Finding("unknown", "cannot be read")
    if state == "disabled":
        return Finding("good", "none")
    return Finding("warn", f"{seen.system.read(f'{SCHED_EXT}/root/ops') or 'unknown'} ({state})")
