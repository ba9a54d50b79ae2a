"""The settings that can be changed at run time for a measurement.

The reasons are given with each; nothing that is already enough is raised or lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

from rtstone.cpus import cpu_list
from rtstone.documents.capacity import largest
from rtstone.documents.pauses import kernel_version
from rtstone.system import servers
from rtstone.system.facts import CPU, System, chosen, listed, mask, masked
from rtstone.system.findings import UNREADABLE
from rtstone.system.machine import DEEP_US
from rtstone.system.quiet import STAT_S
from rtstone.system.rights import MESSAGE, MQ, RUNTIME

# How the text of a file is to be understood.
# text: as it is; list: CPUs as 0-2; mask: CPUs as ff; choice: a [marked] word; member: +cpuset
Form = Literal["text", "list", "mask", "choice", "member"]
CPUSET = "rtstone"  # the name of the control group, and of that of its agents
AGENTS = f"{CPUSET}/agent"  # as in agent/ports/linux/partition.c
BINDINGS_SINCE = (6, 2)  # which a partition no longer takes from the processes around it


class Write(NamedTuple):
    """A value to write to an existing file."""

    path: str
    new: str
    form: Form = "text"


class Make(NamedTuple):
    """A control group to create, and the values to write to its files, in this order."""

    path: str
    contents: list[tuple[str, str, Form]]


Change = Write | Make


class Setting(NamedTuple):
    """A setting; ``plan`` returns the changes, or the reason why it is impossible.

    One that is not ``default`` is only carried out when it is asked for by name.
    """

    name: str
    title: str
    plan: Callable[[System], list[Change] | str]
    default: bool = True


def value(form: Form, text: str) -> object:
    """Return a text in canonical form, so that equivalent texts compare equal."""
    stripped = text.strip()
    canonical: object = None
    if form == "list":
        canonical = listed(stripped)
    elif form == "mask":
        canonical = masked(stripped)
    elif form == "choice":
        canonical = chosen(stripped)
    elif form == "member":
        return "cpuset" in stripped.replace("+", " ").split()
    return stripped if canonical is None else canonical


def undoing(form: Form, old: str) -> str:
    """Return what to write so that the file reads ``old`` again."""
    if form == "member":
        return "+cpuset" if value(form, old) else "-cpuset"
    if form == "choice":
        return chosen(old) or old
    return old


# ---- CPUs ---------------------------------------------------------------------------------------


def _rest(system: System) -> frozenset[int]:
    """Return the CPUs left for everything else."""
    return system.online - system.measured


NO_REST = "all CPUs are measured, so there is none to move things to"


def _governor(system: System) -> list[Change] | str:
    """Plan governor performance: a CPU that has to speed up first measures its governor."""
    changes: list[Change] = []
    for cpu in sorted(system.measured):
        folder = f"{CPU}/cpu{cpu}/cpufreq"
        if "performance" in (system.read(f"{folder}/scaling_available_governors") or "").split():
            changes.append(Write(f"{folder}/scaling_governor", "performance"))
    return changes or "the kernel does not offer the performance governor here"


def _idle(system: System) -> list[Change] | str:
    """Plan disabling the states whose exit takes longer than DEEP_US."""
    changes: list[Change] = []
    states = 0
    for cpu in sorted(system.measured):
        for name in system.names(f"{CPU}/cpu{cpu}/cpuidle"):
            folder = f"{CPU}/cpu{cpu}/cpuidle/{name}"
            states += 1
            if (system.number(f"{folder}/latency") or 0) > DEEP_US:
                changes.append(Write(f"{folder}/disable", "1"))
    return changes if states else "the kernel reports no idle states (cpuidle)"


def _interrupts(system: System) -> list[Change] | str:
    """Plan moving interrupts off the measured CPUs, those of later drivers as well."""
    rest = _rest(system)
    if not rest:
        return NO_REST
    changes: list[Change] = []
    for name in sorted(system.names("proc/irq"), key=lambda n: (len(n), n)):
        path = f"proc/irq/{name}/smp_affinity_list"
        cpus = system.cpus(path)
        if cpus and cpus & system.measured:
            changes.append(Write(path, cpu_list(cpus & rest or rest), "list"))
    changes += _masked_off(system, "proc/irq/default_smp_affinity")
    return changes if system.names("proc/irq") else f"/proc/irq {UNREADABLE}"


def _workqueues(system: System) -> list[Change] | str:
    """Plan moving the kernel's unbound work off the measured CPUs."""
    path = "sys/devices/virtual/workqueue/cpumask"
    if system.read(path) is None:
        return f"/{path} {UNREADABLE}"
    return list(_masked_off(system, path)) if _rest(system) else NO_REST


def _masked_off(system: System, path: str) -> Iterator[Write]:
    text = system.read(path)
    cpus = masked(text)
    if cpus and text and cpus & system.measured:
        rest = _rest(system)
        yield Write(path, mask(cpus & rest or rest, like=text), "mask")


def _watchdog(system: System) -> list[Change] | str:
    """Plan moving the watchdog, whose thread is above every other on its CPU."""
    path = "proc/sys/kernel/watchdog_cpumask"
    cpus = system.cpus(path)
    if cpus is None:
        return f"/{path} {UNREADABLE}"
    if not cpus & system.measured:
        return []
    left = cpus & _rest(system)
    return [Write(path, cpu_list(left), "list")] if left else NO_REST


# ---- values of the kernel -----------------------------------------------------------------------


def _number(
    path: str, wanting: Callable[[int], bool], new: str
) -> Callable[[System], list[Change] | str]:
    """Return the plan for a file with one number, which is replaced where it is ``wanting``."""

    def plan(system: System) -> list[Change] | str:
        now = system.number(path)
        if now is None:
            return f"/{path} {UNREADABLE}"
        return [Write(path, new)] if wanting(now) else []

    return plan


# A busy CPU would be given the timers of idle ones.
_TIMER_MIGRATION = _number("proc/sys/kernel/timer_migration", lambda now: now != 0, "0")
# The kernel sums up its memory statistics on every CPU so often.
_STATISTICS = _number("proc/sys/vm/stat_interval", lambda now: now < STAT_S, str(STAT_S))
# RT throttling protects from a runaway real-time task.
_NO_THROTTLING = _number(RUNTIME, lambda now: now >= 0, "-1")


def _huge_pages(system: System) -> list[Change] | str:
    """Plan huge pages only for programs that request them, as madvise has it."""
    path = "sys/kernel/mm/transparent_hugepage/enabled"
    setting = chosen(system.read(path))
    if setting is None:
        return f"/{path} {UNREADABLE}"
    return [Write(path, "madvise", "choice")] if setting == "always" else []


def _queues(system: System) -> list[Change] | str:
    """Plan room for messages of 16 KiB, and for as many queues and messages as Linux's default."""
    changes: list[Change] = []
    for name, least in (("msg_max", 10), ("msgsize_max", MESSAGE), ("queues_max", 256)):
        now = system.number(f"{MQ}/{name}")
        if now is None:
            return f"/{MQ}/{name} cannot be read"
        if now < least:
            changes.append(Write(f"{MQ}/{name}", str(least)))
    return changes


def _fair_server(system: System) -> list[Change] | str:
    """Plan turning the deadline servers of the measured CPUs off: runtime 0."""
    paths = [servers.runtime(name, cpu) for name in servers.SERVERS
             for cpu in sorted(system.measured)]  # fmt: skip
    changes: list[Change] = [Write(path, "0") for path in paths if system.number(path) is not None]
    if changes:
        return changes
    return servers.unreadable(system) if servers.exist(system) else "it has no deadline servers"


# ---- control groups -----------------------------------------------------------------------------


def _rt_group(system: System) -> list[Change] | str:
    """Plan a budget for this process's group, and for those above it, where it is 0."""
    group = system.group("cpu")
    if group is None or system.number(f"{group.folder}/cpu.rt_runtime_us") is None:
        return "no real-time budget of a control group found (RT_GROUP_SCHED)"
    folders = list(group.upwards())[::-1]
    budget = system.number(f"{folders[0]}/cpu.rt_runtime_us") or 0
    changes: list[Change] = []
    for folder in folders[1:]:
        path = f"{folder}/cpu.rt_runtime_us"
        now = system.number(path) or 0
        if now == 0 and budget > 0:
            changes.append(Write(path, str(budget)))
        budget = now or budget
    if budget <= 0:
        return f"/{folders[0]} has no budget to give (cpu.rt_runtime_us)"
    return changes


def _cpuset(system: System) -> list[Change] | str:
    """Plan an isolated partition for the measured CPUs.

    It holds one CPU more than those measured, for the agent's own threads. Agents are in a group of
    their own in it, beside which that of a case can be made which needs a CPU for itself.
    """
    group = system.group("cpuset")
    if group is None:
        return "no control groups with cpuset found"
    if group.version == 1:
        return (
            "cgroup v1 isolates CPUs only by moving every task, which cannot be undone exactly; "
            "boot with isolcpus="
        )
    version = kernel_version(system.read("proc/sys/kernel/osrelease"))
    if version and version < BINDINGS_SINCE:
        return (
            "before Linux 6.2 a partition resets the CPU bindings of other processes; boot with "
            "isolcpus="
        )
    rest = _rest(system)
    if len(rest) < 2:
        return (
            "it needs one CPU besides the measured ones for the agent, and one for everything else"
        )
    siblings = (system.cpus(f"{CPU}/cpu{cpu}/topology/thread_siblings_list")
                for cpu in system.measured)  # fmt: skip
    near = frozenset[int]().union(*(cpus for cpus in siblings if cpus))

    def preferred(cpu: int) -> bool:
        """Return whether an agent in the partition would measure on this one instead."""
        return cpu == max(largest(system.measured | {cpu}, system.kinds))

    spare = min(rest - {0}, key=lambda cpu: (cpu in near, preferred(cpu), cpu))
    cpus = cpu_list(system.measured | {spare})
    contents: list[tuple[str, str, Form]] = [
        ("cpuset.cpus", cpus, "list"),
        ("cpuset.cpus.partition", "isolated", "text"),
    ]
    return [
        Write(f"{group.mount}/cgroup.subtree_control", "+cpuset", "member"),
        Make(f"{group.mount}/{CPUSET}", contents),
        Write(f"{group.mount}/{CPUSET}/cgroup.subtree_control", "+cpuset", "member"),
        Make(f"{group.mount}/{AGENTS}", [("cpuset.cpus.partition", "member", "text")]),
    ]


SETTINGS = (
    Setting("governor", "frequency governor performance", _governor),
    Setting("idle", f"no idle states deeper than {DEEP_US} µs", _idle),
    Setting("interrupts", "interrupts to other CPUs", _interrupts),
    Setting("workqueues", "unbound kernel work to other CPUs", _workqueues),
    Setting("watchdog", "soft-lockup watchdog to other CPUs", _watchdog),
    Setting("timer_migration", "timers stay where they are", _TIMER_MIGRATION),
    Setting("statistics", "memory statistics less often", _STATISTICS),
    Setting("huge_pages", "no transparent huge pages unasked", _huge_pages),
    Setting("queues", "message queues take 16 KiB", _queues),
    Setting("rt_group", "a real-time budget for the own control group", _rt_group),
    Setting("cpuset", "an isolated partition (cgroup v2)", _cpuset),
    Setting("rt_throttling", "no RT throttling (only by name)", _NO_THROTTLING, default=False),
    Setting("fair_server", "no deadline servers (only by name)", _fair_server, default=False),
)
