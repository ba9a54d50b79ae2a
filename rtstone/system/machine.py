"""Probes of the machine: frequency, idle states, clock, firmware, neighbours, virtualisation."""

from __future__ import annotations

import struct
from collections.abc import Callable

from rtstone.cpus import cpu_list
from rtstone.documents.capacity import measured
from rtstone.documents.doctor import Verdict
from rtstone.system.facts import CPU, chosen, whole
from rtstone.system.findings import Finding, Seen, unreadable

DEEP_US = 5  # leaving a state that takes longer is seen in a latency; see also settings.py
SMI_COUNT = 0x34  # MSR_SMI_COUNT of Intel's CPUs
GOOD_CLOCKS = {"tsc", "arch_sys_counter", "riscv_clocksource", "timebase"}
SLOW_CLOCKS = {"hpet", "acpi_pm", "pit", "jiffies", "refined-jiffies"}  # buses, or ticks
STEAL = 7  # column of a cpu line in /proc/stat
CLOCK = "sys/devices/system/clocksource/clocksource0/current_clocksource"
READ = (
    f"{CPU}/", f"{CPU}/cpu[0-9]*/", f"{CPU}/cpu[0-9]*/cpufreq/scaling_governor",
    f"{CPU}/cpu[0-9]*/cpufreq/scaling_available_governors",
    f"{CPU}/cpu[0-9]*/topology/thread_siblings_list", f"{CPU}/cpu[0-9]*/cpuidle/",
    f"{CPU}/cpu[0-9]*/cpuidle/*/latency", f"{CPU}/cpu[0-9]*/cpuidle/*/disable",
    f"{CPU}/cpu[0-9]*/cpuidle/*/name", f"{CPU}/vulnerabilities/", f"{CPU}/vulnerabilities/*",
    "proc/cpuinfo", "proc/meminfo", "proc/device-tree/hypervisor/", "sys/hypervisor/type",
    "sys/class/dmi/id/product_name", "run/systemd/container", ".dockerenv", "run/.containerenv",
    "proc/1/cgroup", CLOCK, "proc/sys/kernel/soft_watchdog", "proc/sys/kernel/watchdog_cpumask",
    "proc/sys/kernel/watchdog", "proc/sys/kernel/nmi_watchdog", "proc/sys/kernel/timer_migration",
    "sys/kernel/mm/transparent_hugepage/enabled",
)  # fmt: skip
CONTAINERS = ("docker", "kubepods", "lxc", "libpod", "containerd")
# Options that matter for latency, which the line of the command line shows.
OPTIONS = (
    "preempt", "isolcpus", "nohz_full", "rcu_nocbs", "irqaffinity", "idle", "processor.max_cstate",
    "intel_idle.max_cstate", "intel_pstate", "nosmt", "mitigations", "clocksource", "tsc",
    "skew_tick", "nosoftlockup", "nmi_watchdog", "threadirqs", "rcu_nocb_poll", "nohz",
)  # fmt: skip


def _each(seen: Seen, name: str) -> dict[int, str]:
    """Return a file of each measured CPU's folder, of those where it can be read."""
    texts = {
        cpu: seen.system.read(f"{CPU}/cpu{cpu}/{name}") for cpu in sorted(seen.system.measured)
    }
    return {cpu: text for cpu, text in texts.items() if text is not None}


def _virtual(seen: Seen) -> bool | None:
    """Return whether this is a guest, None if it is not known."""
    info = seen.system.fields("proc/cpuinfo")
    if "flags" in info:
        return "hypervisor" in info["flags"].split()
    if seen.system.names("proc/device-tree/hypervisor") or seen.system.read("sys/hypervisor/type"):
        return True
    return None


# ---- frequency and idle -------------------------------------------------------------------------


def governor(seen: Seen) -> Finding:
    """Check the frequency governor: a CPU that has to speed up first measures its governor."""
    governors = _each(seen, "cpufreq/scaling_governor")
    if not governors:
        if seen.system.names(f"{CPU}/cpu{min(seen.system.measured, default=0)}"):
            return Finding("unknown", "the kernel does not set the frequency (cpufreq)")
        return unreadable(f"{CPU}/cpuN/cpufreq/scaling_governor")
    names = sorted(set(governors.values()))
    if names == ["performance"]:
        return Finding("good", "performance")
    return Finding("bad" if "powersave" in names else "warn", ", ".join(names))


def idle_states(seen: Seen) -> Finding:
    """Check for enabled deep idle states, and their exit latency."""
    system, deep, states = seen.system, [], 0
    for cpu in sorted(system.measured):
        for state in system.names(f"{CPU}/cpu{cpu}/cpuidle"):
            folder = f"{CPU}/cpu{cpu}/cpuidle/{state}"
            latency = system.number(f"{folder}/latency")
            if latency is None:
                continue
            states += 1
            if latency > DEEP_US and system.number(f"{folder}/disable") != 1:
                deep.append(f"{system.read(f'{folder}/name') or state} {latency} µs")
    if not system.names(CPU):
        return unreadable(CPU)
    if not states:
        return Finding("unknown", "the kernel reports no idle states (cpuidle)")
    if not deep:
        return Finding("good", f"none above {DEEP_US} µs")
    held = system.probe("idle_request").works
    kinds = ", ".join(dict.fromkeys(deep))
    return Finding("warn" if held else "bad", kinds)


def idle_request(seen: Seen) -> Finding:
    """Check whether the agent can disable idle states."""
    outcome = seen.system.probe("idle_request")
    if outcome.works is None:
        return Finding("unknown", outcome.text)
    return Finding("good" if outcome.works else "warn", outcome.text)


# ---- neighbours ---------------------------------------------------------------------------------


def siblings(seen: Seen) -> Finding:
    """Check for hyper-threads that share a core with the measured CPUs."""
    lists = _each(seen, "topology/thread_siblings_list")
    if not lists:
        return unreadable(f"{CPU}/cpuN/topology/thread_siblings_list")
    shared = {text for text in lists.values() if not text.isdigit()}
    if not shared:
        return Finding("good", "none")
    return Finding("warn", f"shares its core: CPU {'; '.join(sorted(shared))}")


def kinds(seen: Seen) -> Finding:
    """Check for CPUs of several kinds, and whether the measured one is of the largest."""
    system = seen.system
    if not system.kinds:
        return Finding("unknown", "the kernel does not report it (cpu_capacity)")
    first, *smaller = system.kinds
    if not smaller:
        return Finding("good", ", ".join(filter(None, (first.name, first.capacity))))
    value = f"{'; '.join(map(str, system.kinds))}; a run takes {_placed(seen, system.default)}"
    if system.measured != system.default:
        value += f"; measured here: {_placed(seen, system.measured)}"
    if system.measured <= first.cpus:
        return Finding("good" if system.measured else "unknown", value)
    if system.measured & first.cpus:
        return Finding("warn", value, "look at each kind by itself: results have a line per CPU")
    if larger := system.usable & first.cpus:
        return Finding("warn", value, f"--cpus {max(larger)} measures one of the largest")
    return Finding(
        "warn", value, "this process may use no larger one: by its affinity, or a cpuset"
    )


def _placed(seen: Seen, cpus: frozenset[int]) -> str:
    """Return CPUs with their kinds."""
    if not cpus:
        return "one that is not known"
    names = [kind.name for kind in measured(seen.system.kinds, cpus)] or ["unknown"]
    return f"CPU {cpu_list(cpus)}, {' and '.join(names)}"


def virtual(seen: Seen) -> Finding:
    """Check for a hypervisor, which can take the CPU away at any time."""
    guest = _virtual(seen)
    product = seen.system.read("sys/class/dmi/id/product_name") or ""
    if guest is None:
        return Finding("unknown", "not reported by the CPU")
    return Finding("warn", f"yes {product}".strip()) if guest else Finding("good", "no")


def steal(seen: Seen) -> Finding:
    """Check steal time of the measured CPUs: now, and since boot."""
    before, after = seen.moments
    names = [f"cpu{cpu}" for cpu in sorted(seen.system.measured)]
    rows = [(before.cpu_times.get(n, []), after.cpu_times.get(n, [])) for n in names]
    if not rows or any(min(len(a), len(b)) <= STEAL for a, b in rows):
        return unreadable("proc/stat")
    recent, ever = sum(b[STEAL] - a[STEAL] for a, b in rows), sum(b[STEAL] for _, b in rows)
    total = sum(sum(b[: STEAL + 1]) for _, b in rows)
    if not ever:
        return Finding("good", "none since the start")
    share = f"{ever / total:.2%} since the start"
    return Finding("warn", f"{'goes on, ' if recent else ''}{share}")


def container(seen: Seen) -> Finding:
    """Check for a container, whose view and privileges are limited, and which shares the kernel."""
    system = seen.system
    kind = system.read("run/systemd/container")
    if system.files.exists(".dockerenv"):
        kind = "docker"
    if system.files.exists("run/.containerenv"):
        kind = "podman"
    groups = (system.read("proc/self/cgroup") or "") + (system.read("proc/1/cgroup") or "")
    kind = kind or next((name for name in CONTAINERS if name in groups), None)
    if kind:
        return Finding("warn", kind)
    return Finding("good", "no sign of one") if groups else unreadable("proc/self/cgroup")


# ---- clock and firmware -------------------------------------------------------------------------


def clock_source(seen: Seen) -> Finding:
    """Check for a counter of the CPU; Dankwardt saw one read of a bus's device take 70 us."""
    source = seen.system.read(CLOCK)
    if source is None:
        return unreadable(CLOCK)
    if source in GOOD_CLOCKS:
        return Finding("good", source)
    return Finding("bad" if source in SLOW_CLOCKS else "warn", source)


def smi(seen: Seen) -> Finding:
    """Check for system-management interrupts since the start; only Intel's CPUs count them."""
    info = seen.system.fields("proc/cpuinfo")
    if _virtual(seen):
        return Finding("unknown", "not counted for a guest")
    if "vendor_id" in info and info["vendor_id"] != "GenuineIntel":
        return Finding("unknown", f"{info['vendor_id']} does not count them")
    if "vendor_id" not in info:
        return Finding("unknown", "not counted by this kind of CPU")
    cpu = min(seen.system.measured, default=0)
    try:
        data = seen.system.files.register(f"dev/cpu/{cpu}/msr", SMI_COUNT)
    except OSError as error:
        return Finding("unknown", f"/dev/cpu/{cpu}/msr: {error.strerror}")
    if len(data) != 8:
        return Finding("unknown", f"/dev/cpu/{cpu}/msr holds no count")
    count = struct.unpack("<Q", data)[0] & 0xFFFFFFFF
    verdict: Verdict = "warn" if count else "good"
    return Finding(verdict, f"{count} since the start")


# ---- the kernel's habits ------------------------------------------------------------------------


def switch(name: str, wanted: int) -> Callable[[Seen], Finding]:
    """Return the check of a file that holds 0 for off, and anything else for on."""

    def probe(seen: Seen) -> Finding:
        value = seen.system.number(name)
        if value is None:
            return unreadable(name)
        text = "on" if value else "off"
        return Finding("good" if bool(value) == bool(wanted) else "warn", text)

    return probe


def soft_watchdog(seen: Seen) -> Finding:
    """Check for the watchdog, a thread of the highest priority on each of its CPUs."""
    system = seen.system
    state = system.number("proc/sys/kernel/soft_watchdog")
    cpus = system.cpus("proc/sys/kernel/watchdog_cpumask")
    if state is None:
        return unreadable("proc/sys/kernel/soft_watchdog")
    if not state or system.number("proc/sys/kernel/watchdog") == 0:
        return Finding("good", "off")
    if cpus is None:
        return Finding("unknown", "on; its CPUs are not known")
    return Finding("warn" if cpus & system.measured else "good", f"on CPU {cpu_list(cpus)}")


def huge_pages(seen: Seen) -> Finding:
    """Check transparent huge pages: the kernel may stop a task to compact its memory."""
    name = "sys/kernel/mm/transparent_hugepage/enabled"
    setting = chosen(seen.system.read(name))
    if setting is None:
        return unreadable(name)
    return Finding("warn" if setting == "always" else "good", setting)


def swap(seen: Seen) -> Finding:
    """Check for swap, from which only locked memory is exempt."""
    words = seen.system.fields("proc/meminfo").get("SwapTotal", "").split()
    total = whole(words[0]) if words else None
    if total is None:
        return unreadable("proc/meminfo")
    return Finding("warn", f"{total // 1024} MiB") if total else Finding("good", "none")


def mitigations(seen: Seen) -> Finding:
    """Check CPU vulnerability mitigations, which cost time in each system call."""
    folder = f"{CPU}/vulnerabilities"
    states = {
        name: seen.system.read(f"{folder}/{name}") or "" for name in seen.system.names(folder)
    }
    if not states:
        return unreadable(folder)
    active = [name for name, state in states.items() if "Mitigation" in state]
    if "mitigations" in seen.system.command_line:
        option = f"mitigations={seen.system.command_line['mitigations']}; "
    else:
        option = ""
    return Finding("yours", f"{option}{len(active)} active: {', '.join(active) or 'none'}")


def command_line(seen: Seen) -> Finding:
    """Return the options that matter for latency."""
    line = seen.system.command_line
    if not line:
        return unreadable("proc/cmdline")
    named = [f"{name}={line[name]}".rstrip("=") for name in OPTIONS if name in line]
    return Finding("yours", " ".join(named) or "none of those that matter")
