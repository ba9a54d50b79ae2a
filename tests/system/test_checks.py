"""The checklist on systems of every kind: findings and verdicts."""

from __future__ import annotations

import grp
import gzip
import os
import pwd
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from rtstone.cli.system_lines import GUEST, checklist
from rtstone.documents.run import Result, Run, Slope, Target
from rtstone.errors import UsageError
from rtstone.store.measurements import measurements
from rtstone.system import checks, probes, rights, tune
from rtstone.system.facts import CPU, System, chosen, mask, masked
from rtstone.system.findings import GROUPS, VERDICTS
from rtstone.system.membership import membership
from rtstone.system.probes import Probe
from rtstone.system.settings import SETTINGS
from tests.cli.test_compare import store_run
from tests.system.trees import (
    ALL,
    KERNEL,
    LIMITS,
    NO,
    Tree,
    deadline_servers,
    interrupts,
    plant,
    system,
    task,
    usual,
)

Found = dict[str, tuple[str, str]]

WORKING = {
    "realtime": lambda: Probe(True, "SCHED_FIFO granted"),
    "levels": lambda: Probe(True, "99"),
    "idle_request": lambda: Probe(True, "may be used"),
    "timers": lambda: Probe(True, "0.001"),
}


def look(tree: System) -> Found:
    return {line.id: (line.verdict, line.value) for line in checks.lines(tree)}


def verdicts(findings: Found, *names: str) -> list[str]:
    return [findings[name][0] for name in names]


# ---- systems ------------------------------------------------------------------------------------


def test_a_tuned_real_time_box(tmp_path: Path) -> None:
    tree = usual() | {
        "sys/kernel/realtime": "1\n",
        "proc/sys/kernel/version": "#1 SMP PREEMPT_RT Debian 6.12\n",
        "boot/config-6.12": "CONFIG_PREEMPT_RT=y\n",
        "proc/cmdline": "isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3 mitigations=off\n",
        f"{CPU}/isolated": "2-3\n",
        f"{CPU}/nohz_full": "2-3\n",
        f"{CPU}/cpu3/cpufreq/scaling_governor": "performance\n",
        f"{CPU}/cpu3/cpuidle/state2/disable": "1\n",
        "proc/self/status": "CapEff:\t000001ffffffffff\nCpus_allowed_list:\t0-1\n",
        "proc/irq/default_smp_affinity": "3\n",
        "proc/irq/24/effective_affinity_list": "1\n",
        "proc/interrupts": interrupts(5, 5, 0, 0),
        "sys/devices/virtual/workqueue/cpumask": "3\n",
        "proc/sys/kernel/watchdog_cpumask": "0-1\n",
        "proc/sys/kernel/nmi_watchdog": "0\n",
        "proc/sys/kernel/timer_migration": "0\n",
        "proc/sys/vm/stat_interval": "10\n",
        "proc/sys/fs/mqueue/msgsize_max": "16384\n",
        "proc/meminfo": "SwapTotal: 0 kB\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]\n",
    }  # fmt: skip
    box = system(plant(tmp_path, tree), probes=WORKING)
    assert box.measured == {3}  # the last isolated CPU, although it is not in the affinity mask
    findings = look(box)
    poor = {name: line for name, line in findings.items() if line[0] in ("bad", "warn")}
    assert poor == {}
    assert findings["os.preemption"] == ("good", "PREEMPT_RT")
    assert findings["mp.tasks"] == ("good", "isolated; 0 tasks bound to it")
    assert "isolcpus=2-3" in findings["today.cmdline"][1]


def test_a_laptop_as_it_comes(tmp_path: Path) -> None:
    findings = look(system(plant(tmp_path, usual()), probes=WORKING))
    assert findings["today.governor"] == ("bad", "powersave")
    assert findings["today.idle"] == ("warn", "C6 85 µs")
    assert findings["today.thp"] == ("warn", "always")
    assert findings["today.swap"] == ("warn", "2048 MiB")
    assert findings["today.soft_watchdog"] == ("warn", "on CPU 0-3")
    assert findings["mp.interrupts"] == ("warn", "1 of 3 may: 24")
    assert findings["mp.hits"] == ("warn", "24 eth0 5x")
    assert findings["mp.tasks"] == ("warn", "1 tasks may run there, 0 of them nowhere else")
    assert findings["mp.isolated"] == ("warn", "none")
    assert findings["mp.nohz_full"][0] == "warn"
    assert findings["os.preemption"] == (
        "unknown", "PREEMPT_DYNAMIC, started as voluntary; not reported now",
    )  # fmt: skip
    assert findings["today.virtual"] == ("good", "no")
    assert findings["rt.throttling"] == (
        "good", "none in this kernel; its limit (950000 of 1000000 µs) is for deadline tasks",
    )  # fmt: skip


# The release and the configuration of `usual()` are of 6.12, without RT_GROUP_SCHED.
OLD = {"proc/sys/kernel/osrelease": "6.1.0\n", "boot/config-6.1.0": "CONFIG_HZ=250\n"}
GROUPED = {"boot/config-6.12": "CONFIG_RT_GROUP_SCHED=y\n"}
NO_LIMIT = {"proc/sys/kernel/sched_rt_runtime_us": "-1\n"}
CLOSED = {"sys/kernel/debug/sched/fair_server/cpu3/runtime/closed": ""}  # no file can be read there
LOADED = {"sys/kernel/sched_ext/state": "enabled\n", "sys/kernel/sched_ext/root/ops": "lavd\n"}
LIMITED = "950000 of 1000000 µs"
HANGS = "off: a runaway real-time task keeps its CPU for good, and can hang the machine"


@pytest.mark.parametrize(
    ("tree", "throttling", "server"),
    [
        (OLD, ("yours", LIMITED), ("good", "none in this kernel")),
        (OLD | NO_LIMIT, ("yours", HANGS), ("good", "none in this kernel")),
        (deadline_servers(50_000_000),
         ("good", f"none in this kernel; its limit ({LIMITED}) is for deadline tasks"),
         ("yours", "fair_server 50 ms of 1 s on CPU 3")),
        (deadline_servers(50_000_000) | NO_LIMIT | GROUPED,
         ("yours", "off"), ("yours", "fair_server 50 ms of 1 s on CPU 3")),
        (deadline_servers(60_000_000), None,
         ("warn", "fair_server 60 ms of 1 s on CPU 3")),
        (deadline_servers(0) | GROUPED,
         ("yours", LIMITED), ("yours", "fair_server off on CPU 3")),
        (CLOSED, None, ("unknown", "/sys/kernel/debug/sched is closed, as by lockdown")),
        ({"sys/kernel/debug/sched": ""}, None,
         ("unknown", "/sys/kernel/debug/sched cannot be read")),
        ({}, None,
         ("unknown", "/sys/kernel/debug is empty or closed: as root, `mount -t debugfs debugfs "
          "/sys/kernel/debug` may open it")),
        ({"sys/kernel/debug/sched/preempt": "none (full)\n"}, ("yours", LIMITED),
         ("good", "none in this kernel")),
        (deadline_servers(50_000_000) | deadline_servers(200_000_000, "ext_server"), None,
         ("yours", "fair_server 50 ms of 1 s on CPU 3")),
        (deadline_servers(50_000_000) | deadline_servers(200_000_000, "ext_server") | LOADED, None,
         ("warn", "fair_server 50 ms of 1 s on CPU 3; "
          "ext_server 200 ms of 1 s on CPU 3")),
        (deadline_servers(50_000_000) | deadline_servers(200_000_000, "ext_server")
         | {"sys/kernel/sched_ext/state": "disabled\n"}, None,
         ("yours", "fair_server 50 ms of 1 s on CPU 3")),
        # of a distribution that has them in an older kernel
        (OLD | deadline_servers(50_000_000),
         ("good", f"none in this kernel; its limit ({LIMITED}) is for deadline tasks"),
         ("yours", "fair_server 50 ms of 1 s on CPU 3")),
    ],
)  # fmt: skip
def test_who_takes_the_cpu_from_a_busy_real_time_task(
    tmp_path: Path, tree: Tree, throttling: tuple[str, str] | None, server: tuple[str, str]
) -> None:
    lines = look(system(plant(tmp_path, usual() | tree)))
    assert lines["rt.server"] == server
    assert throttling in (None, lines["rt.throttling"])


def test_servers_are_named_by_cpu(tmp_path: Path) -> None:
    tree = usual() | deadline_servers(50_000_000)
    tree["sys/kernel/debug/sched/fair_server/cpu1/runtime"] = "60000000\n"
    tree["sys/kernel/debug/sched/fair_server/cpu2/runtime"] = "0\n"
    lines = look(system(plant(tmp_path, tree), cpus="0-3"))
    assert lines["rt.server"] == (
        "warn", "fair_server 50 ms of 1 s on CPU 0,3; fair_server 60 ms of 1 s on CPU 1; "
        "fair_server off on CPU 2",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("tree", "finding"),
    [
        ({}, ("good", "none")),
        ({"sys/kernel/sched_ext/state": "disabled\n"}, ("good", "none")),
        (LOADED, ("warn", "lavd (enabled)")),
    ],
)
def test_a_loaded_scheduler(tmp_path: Path, tree: Tree, finding: tuple[str, str]) -> None:
    assert look(system(plant(tmp_path, usual() | tree)))["rt.sched_ext"] == finding


def test_deep_states_that_nobody_may_hold_off_are_bad(tmp_path: Path) -> None:
    held = WORKING | {"idle_request": lambda: Probe(False, "Permission denied")}
    findings = look(system(plant(tmp_path, usual()), probes=held))
    assert verdicts(findings, "today.idle", "today.dma_latency") == ["bad", "warn"]


def test_a_container_without_rights_in_the_trap_of_group_scheduling(tmp_path: Path) -> None:
    mount = "sys/fs/cgroup/cpu,cpuacct"
    tree = usual() | {
        "proc/self/status": f"CapEff:\t{NO}\nCpus_allowed_list:\t0-3\n",
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n",
        "proc/self/mountinfo": f"32 31 0:30 / /{mount} rw - cgroup cgroup rw,cpu,cpuacct\n",
        f"{mount}/cpu.rt_runtime_us": "950000\n",
        f"{mount}/docker/abc/cpu.rt_runtime_us": "0\n",
        f"{mount}/docker/abc/cpu.cfs_quota_us": "50000\n",
        f"{mount}/docker/abc/cpu.cfs_period_us": "100000\n",
        ".dockerenv": "",
        f"{CPU}/cpu3/cpufreq/scaling_governor": "performance\n",
    }
    findings = look(system(plant(tmp_path, tree)))
    assert findings["rt.group"] == ("bad", "0 µs in group /docker/abc")
    assert findings["rt.granted"] == ("bad", "no CAP_SYS_NICE, and a limit of 0")
    assert findings["cap.nice"] == ("bad", "not held")
    names = ("cap.lock", "cap.admin", "cap.rawio", "cap.resource", "cap.override")
    assert verdicts(findings, *names) == ["warn"] * 5
    assert verdicts(findings, "limit.rtprio", "limit.memlock", "limit.queues") == ["warn"] * 3
    assert findings["today.container"] == ("warn", "docker")
    assert findings["today.quota"] == ("warn", f"50000 of 100000 µs in /{mount}/docker/abc")


def test_the_trap_catches_who_holds_every_capability(tmp_path: Path) -> None:
    tree = usual() | {
        "proc/self/cgroup": "1:cpu:/a\n",
        "proc/self/mountinfo": "32 31 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n",
        "sys/fs/cgroup/cpu/a/cpu.rt_runtime_us": "0\n",
    }
    findings = look(system(plant(tmp_path, tree)))
    assert findings["rt.granted"] == ("bad", "refused by the control group")
    assert verdicts(findings, "cap.nice", "rt.group") == ["good", "bad"]


def test_limits_do_where_capabilities_are_missing(tmp_path: Path) -> None:
    tree = usual() | {
        "proc/self/status": f"CapEff:\t{NO}\nCpus_allowed_list:\t0-3\n",
        "proc/self/limits": LIMITS.format(nproc="4096", memlock="unlimited", rtprio="99"),
    }
    findings = look(system(plant(tmp_path, tree)))
    names = ("cap.nice", "cap.lock", "limit.rtprio", "limit.memlock", "rt.granted")
    assert verdicts(findings, *names) == ["good"] * 5


def test_capabilities_of_the_agents_file_count(tmp_path: Path) -> None:
    bits = 1 << 23 | 1 << 14
    data = struct.pack("<5I", 0x02000001, bits, 0, 1, 0)
    assert probes.file_capabilities(data) == bits | 1 << 32
    assert probes.file_capabilities(struct.pack("<5I", 0x02000000, bits, 0, 1, 0)) == 0
    tree = usual() | {"proc/self/status": f"CapEff:\t{NO}\nCpus_allowed_list:\t0-3\n"}
    by_file = {
        "realtime": lambda: Probe(False, "EPERM"),
        "agent_capabilities": lambda: Probe(True, f"{bits:x}"),
    }
    findings = look(system(plant(tmp_path, tree), probes=by_file))
    names = ("rt.granted", "cap.nice", "cap.lock", "cap.rawio")
    assert verdicts(findings, *names) == ["good", "good", "good", "warn"]


def test_the_rights_of_the_agents_group_count_for_its_members_only(tmp_path: Path) -> None:
    tree = plant(
        tmp_path, usual() | {"proc/self/status": f"CapEff:\t{NO}\nCpus_allowed_list:\t0-3\n"}
    )
    by_file = {
        "realtime": lambda: Probe(False, "EPERM"),
        "agent_capabilities": lambda: Probe(True, f"{1 << 23 | 1 << 14:x}"),
        "agent_group": lambda: Probe(True, "by the rights of group rtstone"),
    }
    findings = look(system(tree, probes=by_file))
    assert findings["rt.granted"] == ("good", "by the rights of group rtstone")
    assert verdicts(findings, "cap.nice", "cap.lock") == ["good", "good"]
    by_file["agent_group"] = lambda: Probe(False, "for others: join them")
    findings = look(system(tree, probes=by_file))
    assert findings["rt.granted"] == ("bad", "the agent is for others: join them")
    assert verdicts(findings, "cap.nice", "cap.lock") == ["bad", "warn"]


def test_a_refusal_is_bad(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()), probes={"realtime": lambda: Probe(False, "EPERM")})
    assert look(tree)["rt.granted"] == ("bad", "EPERM, although CAP_SYS_NICE is held")


@pytest.mark.parametrize(
    ("plants", "remedy"),
    [
        ({"proc/self/status": f"CapEff:\t{ALL}\nSeccomp:\t2\n"}, "a filter of system calls"),
        ({"proc/config": "CONFIG_RT_GROUP_SCHED=y\n"}, "echo $$ > /sys/fs/cgroup/cgroup.procs"),
        ({}, "a sandbox"),
    ],
)
def test_whoever_holds_the_capability_is_not_told_to_add_it(
    tmp_path: Path, plants: dict[str, str], remedy: str
) -> None:
    config = {"boot/config-6.12": plants.pop("proc/config", "CONFIG_SMP=y\n")}
    tree = plant(tmp_path, usual() | config | plants)
    refused = system(tree, probes={"realtime": lambda: Probe(False, "EPERM")})
    (line,) = (line for line in checks.lines(refused) if line.id == "rt.granted")
    assert remedy in line.advice
    assert "CAP_SYS_NICE" not in line.advice


def test_what_cannot_be_seen_is_not_good(tmp_path: Path) -> None:
    """With hidepid, only one's own processes are there."""
    tree = {name: text for name, text in usual().items() if not name.startswith("proc/1/")}
    findings = look(system(plant(tmp_path, tree)))
    for name in ("env.competitors", "env.realtime", "mp.tasks"):
        assert findings[name] == (
            "unknown", "other users' processes are hidden (hidepid); root sees them"
        )  # fmt: skip


def test_a_limit_of_running_is_no_secret(tmp_path: Path) -> None:
    limits = usual()["proc/self/limits"].replace("timeout      unlimited", "timeout      200000")
    tree = usual() | {"proc/self/limits": limits}
    assert look(system(plant(tmp_path, tree)))["limit.rttime"] == ("warn", "200000")


def test_a_quota_above_the_own_group_counts_too(tmp_path: Path) -> None:
    tree = usual() | {
        "proc/self/cgroup": "0::/pod/box\n",
        "sys/fs/cgroup/pod/box/cgroup.controllers": "cpu\n",
        "sys/fs/cgroup/pod/box/cpu.max": "max 100000\n",
        "sys/fs/cgroup/pod/cpu.max": "20000 100000\n",
        "sys/fs/cgroup/cgroup.controllers": "cpu\n",
    }
    findings = look(system(plant(tmp_path, tree)))
    assert findings["today.quota"] == ("warn", "20000 of 100000 µs in /sys/fs/cgroup/pod")


def test_a_virtual_machine(tmp_path: Path) -> None:
    tree = usual(2) | {
        "proc/cpuinfo": "vendor_id\t: AuthenticAMD\nflags\t\t: fpu hypervisor\n",
        "proc/stat": "cpu0 9 0 0 0 0 0 0 0 0 0\ncpu1 700 0 0 290 0 0 0 10 0 0\n",
        "sys/class/dmi/id/product_name": "KVM\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "kvm-clock\n",
    }
    findings = look(system(plant(tmp_path, tree)))
    assert findings["today.virtual"] == ("warn", "yes KVM")
    assert findings["today.steal"] == ("warn", "1.00% since the start")
    assert findings["today.smi"] == ("unknown", "not counted for a guest")
    assert findings["env.clock"] == ("warn", "kvm-clock")


def test_a_system_where_nearly_nothing_is_told(tmp_path: Path) -> None:
    findings = look(system(tmp_path))
    judged = {name: line for name, line in findings.items() if line[0] not in ("unknown", "yours")}
    assert judged == {
        "today.proc": ("warn", "not mounted"),
        "today.sys": ("warn", "not mounted"),
    }
    assert all(value for verdict, value in findings.values() if verdict == "unknown")


def test_nonsense_in_files_is_unknown(tmp_path: Path) -> None:
    tree = dict.fromkeys(usual(), "nonsense ?! -7 [\n")
    findings = look(system(plant(tmp_path, tree)))
    assert findings["rt.throttling"][0] == "unknown"
    assert findings["mp.default_affinity"][0] == "unknown"
    assert findings["env.competitors"][0] == "unknown"


def test_what_a_hostile_machine_says_is_no_defect(tmp_path: Path) -> None:
    tree = usual() | task(50, "x") | {
        "proc/interrupts": "  CPU0 CPU99999999999\n 24: 1 2 PCI eth0\n",
        "proc/50/task/²/stat": "1 (x) S" + " 0" * 60,
        "proc/timer_list": ".resolution: many nsecs\n",
        "proc/uptime": "nan\n",
        "proc/stat": "cpu3 x\n",
        f"{CPU}/online": "0-999999999\n",
        f"{CPU}/cpu3/cpuidle/state2/latency": "9" * 5000,
    }  # fmt: skip
    plant(tmp_path, tree)
    (tmp_path / "proc/config.gz").write_bytes(gzip.compress(bytes(100 << 20)))
    findings = look(system(tmp_path))
    assert findings["env.interrupts"] == ("unknown", "/proc/interrupts cannot be read")
    assert findings["os.timers"][0] == "unknown"


# ---- single checks ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("files", "finding"),
    [
        ({"sys/kernel/debug/sched/preempt": "none voluntary (full) lazy\n"},
         ("warn", "full (PREEMPT_DYNAMIC)")),
        ({"sys/kernel/debug/sched/preempt": "none (voluntary) full\n"},
         ("bad", "voluntary (PREEMPT_DYNAMIC)")),
        ({"proc/cmdline": "preempt=full\n"},
         ("unknown", "PREEMPT_DYNAMIC, started as full; not reported now")),
        ({"proc/sys/kernel/version": "#1 SMP\n", "boot/config-6.12": "CONFIG_PREEMPT_NONE=y\n"},
         ("bad", "none")),
        ({"proc/sys/kernel/version": "#1 SMP PREEMPT\n", "boot/config-6.12": ""},
         ("warn", "full")),
        # since 6.13 a lazy kernel calls itself PREEMPT, too
        ({"proc/sys/kernel/version": "#1 SMP PREEMPT\n", "proc/sys/kernel/osrelease": "7.2.13\n"},
         ("unknown", "full or lazy; the kernel's configuration is not available")),
        ({"proc/sys/kernel/version": "#1 SMP PREEMPT\n", "proc/sys/kernel/osrelease": "7.2.13\n",
          "boot/config-7.2.13": "CONFIG_PREEMPT_LAZY=y\n"}, ("warn", "lazy")),
        ({"proc/sys/kernel/version": "#1 SMP\n", "boot/config-6.12": ""},
         ("unknown", "the kernel's configuration is not available")),
    ],
)  # fmt: skip
def test_preemption(tmp_path: Path, files: dict[str, str], finding: tuple[str, str]) -> None:
    assert look(system(plant(tmp_path, usual() | files)))["os.preemption"] == finding


@pytest.mark.parametrize(
    ("competitor", "finding"),
    [
        (task(50, "spin", policy=1, rtprio=98),
         ("bad", "at priority 98 or above: spin (50 fifo 98)")),
        (task(50, "spin", policy=2, rtprio=97), ("good", "none seen")),
        (task(50, "dl", policy=6), ("bad", "at priority 98 or above: dl (50 deadline 0)")),
        (task(50, "spin", policy=1, rtprio=99, cpus="0-2"), ("good", "none seen")),
        # a kernel thread that is not the stopper
        (task(50, "watchdogd", policy=1, rtprio=99, flags=KERNEL),
         ("bad", "at priority 98 or above: watchdogd (50 fifo 99)")),
        # a user task with the stopper's name
        (task(50, "migration/9", policy=1, rtprio=99),
         ("bad", "at priority 98 or above: migration/9 (50 fifo 99)")),
    ],
)  # fmt: skip
def test_competitors(tmp_path: Path, competitor: dict[str, str], finding: tuple[str, str]) -> None:
    assert look(system(plant(tmp_path, usual() | competitor)))["env.competitors"] == finding


def test_other_real_time_tasks(tmp_path: Path) -> None:
    findings = look(system(plant(tmp_path, usual() | task(50, "jackd", policy=1, rtprio=70))))
    assert findings["env.realtime"] == ("warn", "jackd (50 fifo 70)")


def between(tmp_path: Path, change: dict[str, str]) -> Found:
    """Return the findings if the tree changes between the two readings."""
    root = plant(tmp_path, usual() | task(50, "hog", ran=100))
    return look(system(root, pause=lambda: plant(root, change)))


def test_what_goes_on_now(tmp_path: Path) -> None:
    findings = between(
        tmp_path,
        task(50, "hog", ran=10**6)
        | {
            "proc/interrupts": interrupts(5, 5, 5, 10**6),
            "proc/diskstats": "8 0 sda 99999 0 0 0 10 0 0 0 0 0 0\n",
            "proc/stat": "cpu3 100 0 100 800 0 0 0 50 0 0\n",
        },
    )
    assert findings["env.competitors"][0] == "warn"
    assert findings["env.competitors"][1].startswith("busy: hog (50)")
    assert findings["env.interrupts"][0] == "warn"
    assert "24 eth0 999995x" in findings["env.interrupts"][1]
    assert findings["env.disk"][0] == "warn"
    assert findings["today.steal"][1].startswith("goes on")


def test_requests_of_a_partition_are_not_counted_twice(tmp_path: Path) -> None:
    change = "8 0 sda 11 0 0 0 10 0 0 0 0 0 0\n8 1 sda1 99999 0 0 0 10 0 0 0 0 0 0\n"
    rate = between(tmp_path, {"proc/diskstats": change})["env.disk"][1].split()[0]
    assert int(rate) <= 1000  # one request, in at least a millisecond


def test_a_new_task_of_an_old_number_is_not_taken_for_it(tmp_path: Path) -> None:
    later = task(50, "hog", ran=10**6)
    path = "proc/50/task/50/stat"
    later[path] = later[path].replace(" 100 ", " 101 ")  # its start time
    assert between(tmp_path, later)["env.competitors"] == ("good", "none seen")


@pytest.mark.parametrize(
    ("allowed", "effective", "finding"),
    [
        ("0-3", "3", ("warn", "1 of 3 may: 24")),
        ("0-3", "1", ("good", "none of 3")),
        ("0-2", "3", ("good", "none of 3; 1 move with their next")),
        ("3", "", ("warn", "1 of 3 may: 24")),  # its target is not chosen yet
    ],
)
def test_steered_interrupts(
    tmp_path: Path, allowed: str, effective: str, finding: tuple[str, str]
) -> None:
    tree = usual() | {
        "proc/irq/24/smp_affinity_list": f"{allowed}\n",
        "proc/irq/24/effective_affinity_list": f"{effective}\n",
    }
    assert look(system(plant(tmp_path, tree)))["mp.interrupts"] == finding


def test_interrupts_of_other_cpus_are_no_matter(tmp_path: Path) -> None:
    findings = between(tmp_path, {"proc/interrupts": interrupts(10**6, 10**6, 10**6, 5)})
    assert findings["env.interrupts"][0] == "good"


def test_smi_count(tmp_path: Path) -> None:
    data = bytearray(64)
    data[0x34 : 0x34 + 8] = struct.pack("<Q", 7)
    root = plant(tmp_path, usual() | {"dev/cpu/3/msr": ""})
    (root / "dev/cpu/3/msr").write_bytes(data)
    assert look(system(root))["today.smi"] == ("warn", "7 since the start")
    (root / "dev/cpu/3/msr").write_bytes(bytes(64))
    assert look(system(root))["today.smi"] == ("good", "0 since the start")
    (root / "dev/cpu/3/msr").unlink()
    assert look(system(root))["today.smi"][0] == "unknown"


def test_hyper_threads(tmp_path: Path) -> None:
    siblings = {f"{CPU}/cpu3/topology/thread_siblings_list": "1,3\n"}
    findings = look(system(plant(tmp_path, usual() | siblings)))
    assert findings["mp.siblings"] == ("warn", "shares its core: CPU 1,3")


@pytest.mark.parametrize(
    ("source", "verdict"), [("tsc", "good"), ("hpet", "bad"), ("acpi_pm", "bad"), ("xen", "warn")]
)
def test_clock_source(tmp_path: Path, source: str, verdict: str) -> None:
    name = "sys/devices/system/clocksource/clocksource0/current_clocksource"
    findings = look(system(plant(tmp_path, usual() | {name: source})))
    assert findings["env.clock"] == (verdict, source)


@pytest.mark.parametrize(
    ("outcome", "verdict"),
    [(Probe(True, "0.001"), "good"), (Probe(False, "4000"), "bad")],
)
def test_timers(tmp_path: Path, outcome: Probe, verdict: str) -> None:
    findings = look(system(tmp_path, probes={"timers": lambda: outcome}))
    assert findings["os.timers"] == (verdict, f"{outcome.text} µs")


# ---- which CPU ----------------------------------------------------------------------------------


def test_the_measured_cpus(tmp_path: Path) -> None:
    root = plant(tmp_path, usual())
    assert system(root).measured == {3}
    assert system(root, cpus="0-1").measured == {0, 1}
    with pytest.raises(UsageError, match="CPU 4 is not online"):
        _ = system(root, cpus="3-4").measured
    with pytest.raises(UsageError, match="bad CPU list 'x'"):
        _ = system(root, cpus="x").measured
    plant(root, {"proc/self/status": "Cpus_allowed_list:\t0-2\n"})
    assert system(root).measured == {2}
    plant(root, {f"{CPU}/isolated": "1,3\n"})
    assert system(root).measured == {3}
    usable = {"usable_cpus": lambda: Probe(True, "", frozenset({0, 1, 2}))}
    assert system(root, probes=usable).measured == {1}  # a cpuset forbids the other CPU


def test_lists_and_masks() -> None:
    assert masked("ff,00000001") == frozenset([0, *range(32, 40)])
    assert masked("") is None
    assert masked("3x") is None
    assert mask(frozenset({0, 33}), like="ff,ffffffff") == "00000002,00000001"
    assert mask(frozenset({0, 3}), like="f") == "9"
    assert chosen("a [b] c") == "b"
    assert chosen("a (b) c") == "b"
    assert chosen("a b") is None


# ---- what was measured --------------------------------------------------------------------------


def past(*results: Result, slopes: list[Slope] | None = None) -> Callable[[str], list[Run]]:
    document = Run(run_id="20261121-x", created="", status="complete", target=Target(name="local"),
                   results=list(results), slopes=slopes or [])  # fmt: skip
    return lambda bench: [document]


def result(bench: str, worst: float, status: Any = "ok") -> Result:
    return Result(case=1, bench=bench, status=status, load="none", params={}, unit="ns", n=1000,
                  p50=100.0, max=worst, evidence={"section_ns": 7 * 10**9})  # fmt: skip


def test_known_quantities_are_seen_and_not_judged(tmp_path: Path) -> None:
    results = (result("dk.periodic", 5000.0), result("dk.periodic", 9000.0),
               result("det.bintime", 10.0, "failed"), result("sched.yield", 700.0))  # fmt: skip
    findings = look(system(tmp_path, past=past(*results)))
    assert findings["known.wakeup"] == (
        "seen",
        "max 9.00 µs in 7.00 s, p50 100 ns, n 1 000, dk.periodic, load none, run 20261121-x",
    )  # fmt: skip
    assert findings["known.syscalls"][1].startswith(
        "max 700 ns in 7.00 s, p50 100 ns, n 1 000, sched.yield"
    )
    calls = (result("sched.yield", 700.0), result("sys.read", 300.0), result("sys.read", 900.0))
    seen = look(system(tmp_path, past=past(*calls)))["known.syscalls"]
    assert seen[1].startswith("max 900 ns in 7.00 s, p50 100 ns, n 1 000, sys.read")
    assert findings["known.masking"] == ("unknown", "not measured")
    assert findings["known.interrupt"] == ("unknown", "not measured")


@pytest.mark.parametrize(
    ("rate", "width", "verdict", "message"),
    [
        (2.3, 1.0, "warn", "2.30 ns more per waiting task"),
        (-2.3, 1.0, "good", "2.30 ns less per waiting task"),
        (2.3, 3.0, "good", "no growth seen"),
    ],
)
def test_constant_time_scheduling_is_a_slope(
    tmp_path: Path, rate: float, width: float, verdict: str, message: str
) -> None:
    slope = Slope(bench="ctx.ballast", load="none", over="ballast", params={}, points=[],
                  slope=rate, ci95=(rate - width, rate + width), unit="ns per task",
                  constant=width > abs(rate))  # fmt: skip
    findings = look(system(tmp_path, past=past(slopes=[slope])))
    assert findings["os.scaling"] == (verdict, message)


def test_each_quantity_is_of_the_newest_run_that_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RTSTONE_HOME", str(tmp_path))
    for day, names in ((1, ["dk.periodic", "sys.read"]), (2, ["sys.read"]), (3, ["null"])):
        results = [result(name, 1000.0 * day) for name in names]
        document = msgspec.structs.replace(past(*results)("")[0], run_id=f"2026112{day}-x",
                                           created=f"2026-11-2{day}T00:00:00+00:00")  # fmt: skip
        store_run(document)
    findings = look(system(tmp_path / "root", past=measurements()))
    assert findings["known.wakeup"][1].startswith("max 1.00 µs")
    assert findings["known.syscalls"][1].startswith("max 2.00 µs")
    assert findings["known.syscalls"][1].endswith("run 20261122-x")


# ---- the list itself ----------------------------------------------------------------------------


def test_every_line_has_a_name_a_group_and_advice() -> None:
    names = [check.id for check in checks.CHECKS]
    assert len(set(names)) == len(names)
    assert {check.group for check in checks.CHECKS} == set(GROUPS)
    assert all(check.title and check.advice for check in checks.CHECKS)
    order = [GROUPS.index(check.group) for check in checks.CHECKS]
    assert order == sorted(order)


def test_the_list_as_data(tmp_path: Path) -> None:
    table = checks.table(system(plant(tmp_path, usual())))
    assert table.columns == ["id", "group", "title", "verdict", "value", "advice"]
    assert [row[0] for row in table.rows] == [check.id for check in checks.CHECKS]
    assert all(row[3] in VERDICTS for row in table.rows)


def test_a_narrow_terminal(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()))
    lines = checks.lines(tree)
    rows = [str(row) for row in checklist(lines, tree.measured, 80)]
    assert max(len(line) for row in rows for line in row.split("\n")) <= 80
    bad = next(n for n, row in enumerate(rows) if row.startswith("X"))
    assert bad < min(n for n, row in enumerate(rows) if row.startswith(("+", "!", "?", "-")))
    text = "\n".join(rows)
    assert all(line.title in text for line in lines)
    assert "bad: mend these first" in text


def test_the_verdict_stands_first_and_counts_what_tune_mends(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()))
    lines = checks.lines(tree)
    first = next(iter(checklist(lines, tree.measured, 200))).plain
    bad = [line for line in lines if line.verdict == "bad"]
    warned = [line for line in lines if line.verdict == "warn"]
    mended = [line for line in lines if "tune apply` does it" in line.advice]
    mended = [line for line in mended if line.verdict in ("bad", "warn")]
    assert first == (
        f"Cannot be measured as it is: {', '.join(line.title for line in bad)}; {len(warned)} "
        f"warnings, {len(mended)} mended by `rtstone tune apply`"
    )
    well = [line._replace(verdict="good", advice="") for line in bad]
    rest = [line for line in lines if line not in bad] + well
    assert next(iter(checklist(rest, tree.measured, 200))).plain.startswith(
        f"Can be measured; {len(warned)} warnings, "
    )


def test_a_virtual_machine_is_the_first_line(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()))
    lines = [
        line._replace(verdict="warn", value="yes KVM", advice="pin it")
        if line.id == GUEST
        else line
        for line in checks.lines(tree)
    ]
    rows = [row.plain for row in checklist(lines, tree.measured, 200)]
    assert "; a virtual machine; " in rows[0]
    first, advice, second = [row for row in rows if row.startswith(("X ", "! ", " "))][:3]
    assert first == f"! warn    {'virtual machine':<31} yes KVM"
    assert advice.strip() == "-> pin it"
    assert second.startswith("X bad")
    assert sum("virtual machine" in row for row in rows[1:]) == 1
    well = [line for line in lines if line.verdict != "bad"]
    rows = [row.plain for row in checklist(well, tree.measured, 200)]
    assert rows[0].startswith("Can be measured, as a virtual machine; ")
    assert next(row for row in rows if row.startswith(("X ", "! "))) == first


def test_the_first_screen_is_the_answer(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()))
    lines = checks.lines(tree)
    bad = [line for line in lines if line.verdict == "bad"]
    warned = [line for line in lines if line.verdict == "warn"]
    for room in (23, 30, 60, 5):
        rows = [row.plain for row in checklist(lines, tree.measured, 80, room=room)]
        assert sum(row.count("\n") + 1 for row in rows) <= max(room, 20)
        assert max(len(part) for row in rows for part in row.split("\n")) <= 80
        assert sum(row.startswith("X bad") for row in rows) == len(bad)
        brief = sum(row.startswith("! warn") for row in rows)
        left = len(warned) - brief
        assert (f"{left} more warning" in " ".join(rows)) == bool(left)
        assert not [row for row in rows if row.startswith(("+", "=", "-"))]
        assert "with --all every line is shown" in " ".join(rows)


def test_who_else_measures_is_on_the_first_screen(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()))
    lines = checks.lines(tree)
    agents = ["the agent of anna (process 7)"]
    rows = [row.plain for row in checklist(lines, tree.measured, 200, room=23, agents=agents)]
    assert rows[2].startswith("! measuring now: the agent of anna (process 7); what is started")
    assert not any("measuring now" in row.plain for row in checklist(lines, tree.measured, 200))


@pytest.mark.parametrize("setting", [setting.name for setting in SETTINGS if setting.default])
def test_tuning_is_offered_only_where_it_would_change_something(
    tmp_path: Path, setting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the setting: of what `tune apply` calls impossible, doctor does not promise it."""
    tree = system(plant(tmp_path, usual()))
    before = checks.lines(tree)
    without = tuple(
        each._replace(plan=lambda system: "not by this kernel") if each.name == setting else each
        for each in SETTINGS
    )
    monkeypatch.setattr(checks, "SETTINGS", without)
    changed = {line.id for line, was in zip(checks.lines(tree), before, strict=True) if line != was}
    assert changed == {
        line.id for line in before
        if "tune restore" in line.advice and checks.SETTING[line.id] == setting
    }  # fmt: skip
    for line in checks.lines(tree):
        if line.id in changed:
            assert line.advice == "`rtstone tune apply` cannot change it: not by this kernel"
            assert not line.tunable


def test_doctor_and_tune_agree_that_there_is_no_governor_to_set(tmp_path: Path) -> None:
    tree = {name: text for name, text in usual().items() if "cpufreq" not in name}
    machine = system(plant(tmp_path, tree))
    (line,) = (line for line in checks.lines(machine) if line.id == "today.governor")
    (entry,) = tune.dry_run(machine, tune.settings(["governor"]))
    assert entry.outcome == "impossible"
    assert line.advice == f"`rtstone tune apply` cannot change it: {entry.reason}"


@pytest.mark.parametrize("status", ["CapEff:\t0\n", ""])
def test_tuning_is_offered_to_root_alone(tmp_path: Path, status: str) -> None:
    tree = system(plant(tmp_path, usual() | {"proc/self/status": status}))
    lines = checks.lines(tree)
    advised = [line for line in lines if "tune apply" in line.advice]
    assert advised and all(line.for_root for line in advised)
    mended = sum(line.tunable for line in lines)
    assert mended
    first = next(iter(checklist(lines, tree.measured, 300))).plain
    assert first.endswith(f"{mended} mended by `rtstone tune apply` as root")
    privileged = checks.lines(system(plant(tmp_path / "root", usual())))
    assert not any(line.for_root for line in privileged)


def test_problems_are_what_is_not_good(tmp_path: Path) -> None:
    tree = system(plant(tmp_path, usual()))
    lines = checks.lines(tree)
    rows = [str(row) for row in checklist(lines, tree.measured, 400, problems=True)]
    shown = {row.split()[1] for row in rows[2:] if row.startswith(tuple("+=!X?-"))}
    assert shown == {"bad", "warn", "unknown"}
    for line in lines:
        is_shown = any(
            row[10:].startswith(f"{line.title:<31} {line.value}".strip()) for row in rows
        )
        assert is_shown == (line.verdict in shown)


# ---- trials -------------------------------------------------------------------------------------


def test_a_trial_cannot_harm_its_caller() -> None:
    def fails() -> Probe:
        raise RuntimeError("of the trial")

    def hangs() -> Probe:
        while True:
            pass

    assert probes.tried(lambda: Probe(False, "EPERM")) == Probe(False, "EPERM")
    assert probes.tried(fails).works is None
    assert "of the trial" in probes.tried(fails).text
    assert probes.tried(hangs, limit_s=0.2).works is None


def test_inheritance_is_seen_only_where_the_holder_is_raised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With a mutex without a protocol the same trial has to fail."""
    if not probes.LIVE["realtime"]().works:
        pytest.skip("no right to real-time")
    assert probes.LIVE["inheritance"]() == Probe(True, "holder raised")
    monkeypatch.setattr(probes, "PRIO_INHERIT", 0)  # PTHREAD_PRIO_NONE
    monkeypatch.setattr(probes, "LIMIT_S", 0.4)
    assert probes.LIVE["inheritance"]() == Probe(False, "holder not raised")


def test_this_machine_can_be_looked_at() -> None:
    lines = checks.lines(System(pause=lambda: None))
    assert len(lines) == len(checks.CHECKS)
    assert all(line.verdict in VERDICTS for line in lines)


def test_who_is_in_the_agents_group_is_told_from_who_has_to_join_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = tmp_path / "agent"
    assert membership(agent) is None
    agent.touch()
    members: list[str] = []
    group = grp.struct_group(("latency", "x", 4711, members))
    monkeypatch.setattr(grp, "getgrgid", lambda gid: group)
    for mode in (0o755, 0o700):
        agent.chmod(mode)
        assert membership(agent) is None
    agent.chmod(0o750)
    assert membership(agent) == ("latency", None)  # root may always
    monkeypatch.setattr(os, "access", lambda path, how: False)
    join = "sudo adduser $USER latency, and log in again"
    assert membership(agent) == ("latency", join)
    assert rights.granting(agent, tmp_path) == join
    members.append(pwd.getpwuid(os.getuid()).pw_name)
    assert membership(agent) == ("latency", "log in again, or newgrp latency")


def test_the_command_that_grants_rights_fits_the_machine(
    on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent = on_disk / "an agent"
    agent.touch()
    root = on_disk / "root"
    plant(root, {"proc/self/cgroup": "0::/user.slice\n", "proc/1/cgroup": "0::/init.scope\n"})
    monkeypatch.setattr(shutil, "which", lambda name, path: f"/usr/sbin/{name}")
    plain = f"sudo setcap cap_sys_nice,cap_ipc_lock+ep '{agent}'"
    assert rights.granting(agent, root) == plain
    assert "limits.d" in rights.granting(on_disk / "none", root)
    monkeypatch.setattr(shutil, "which", lambda name, path: None)
    assert "limits.d/rtstone.conf" in rights.granting(agent, root)
    plant(root, {".dockerenv": ""})
    assert "--cap-add=SYS_NICE" in rights.granting(agent, root)


def test_in_a_container_capabilities_are_of_its_root_and_others_are_told_what_helps_them(
    on_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, root = on_disk / "agent", on_disk / "root"
    agent.touch()
    monkeypatch.setattr(shutil, "which", lambda name, path: f"/usr/sbin/{name}")

    def granting(uid: int, bounding: str = "1ffffffffff", new: int = 0) -> str:
        status = f"Uid:\t0\t{uid}\t0\t0\nCapBnd:\t{bounding}\nNoNewPrivs:\t{new}\n"
        plant(root, {"proc/self/status": status, ".dockerenv": "",
                     "proc/self/cgroup": "0::/\n", "proc/1/cgroup": "0::/\n"})  # fmt: skip
        return rights.granting(agent, root)

    limits = "start the container with --ulimit rtprio=99 --ulimit memlock=-1"
    assert "--cap-add=SYS_NICE --cap-add=IPC_LOCK" in granting(0)
    assert granting(65534) == (
        f"setcap cap_sys_nice,cap_ipc_lock+ep {agent} as root; or {limits}; or measure as root"
    )
    assert granting(65534, new=1) == granting(65534, bounding="0") == limits
    agent.unlink()
    assert granting(65534) == f"{limits}, or measure as root"
