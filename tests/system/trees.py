"""Scratch trees of different systems, and a simulated kernel behind their files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rtstone.system.facts import CPU, System
from rtstone.system.files import Below
from rtstone.system.journal import FOLDER

KERNEL = 0x00208040  # flags of a kernel thread
BOOT = "proc/sys/kernel/random/boot_id"
CGROUP2 = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw,nsdelegate\n"
ALL, NO = "000001ffffffffff", "0000000000000000"
LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max processes             {nproc}                unlimited            processes
Max locked memory         {memlock}              unlimited            bytes
Max msgqueue size         819200                 819200               bytes
Max realtime priority     {rtprio}               0
Max realtime timeout      unlimited              unlimited            us
"""

Tree = dict[str, str]


def task(tid: int, name: str, *, policy: int = 0, rtprio: int = 0, ran: int = 0, flags: int = 0,
         cpus: str = "0-3") -> Tree:  # fmt: skip
    """Return the files of a process with one thread."""
    fields = ["0"] * 52
    fields[0], fields[1], fields[2] = str(tid), f"({name})", "S"
    fields[8], fields[13], fields[21] = str(flags), str(ran), "100"
    fields[39], fields[40] = str(rtprio), str(policy)
    folder = f"proc/{tid}/task/{tid}"
    return {f"{folder}/stat": " ".join(fields), f"{folder}/status": f"Cpus_allowed_list:\t{cpus}\n"}


def interrupts(*counts: int, cpus: int = 4) -> str:
    """Return /proc/interrupts with these counts of device 24, and the timers."""
    head = "       " + " ".join(f"CPU{cpu}" for cpu in range(cpus))
    device = f" 24: {' '.join(map(str, counts))} PCI-MSI eth0"
    return f"{head}\n{device}\nLOC: {'9 ' * cpus} Local\nERR: 0\n"


def usual(cpus: int = 4) -> Tree:
    """Return the tree of an untuned PC, where everything is readable."""
    last = cpus - 1
    every = f"0-{last}"
    tree = {
        BOOT: "11111111-2222\n",
        "proc/sys/kernel/version": "#1 SMP PREEMPT_DYNAMIC Debian 6.12\n",
        "proc/sys/kernel/osrelease": "6.12\n",
        "boot/config-6.12": "CONFIG_PREEMPT_VOLUNTARY=y\nCONFIG_PREEMPT_DYNAMIC=y\n",
        "proc/cmdline": "root=/dev/sda1 quiet -- init=options\n",
        "proc/sys/kernel/sched_rt_runtime_us": "950000\n",
        "proc/sys/kernel/sched_rt_period_us": "1000000\n",
        "proc/sys/kernel/timer_migration": "1\n",
        "proc/sys/kernel/watchdog": "1\n",
        "proc/sys/kernel/nmi_watchdog": "1\n",
        "proc/sys/kernel/soft_watchdog": "1\n",
        "proc/sys/kernel/watchdog_cpumask": f"{every}\n",
        "proc/sys/vm/stat_interval": "1\n",
        "proc/sys/fs/mqueue/msg_max": "10\n",
        "proc/sys/fs/mqueue/msgsize_max": "8192\n",
        "proc/sys/fs/mqueue/queues_max": "256\n",
        "proc/self/status": f"CapEff:\t{ALL}\nCpus_allowed_list:\t{every}\n",
        "proc/self/limits": LIMITS.format(nproc="4096", memlock="8388608", rtprio="0 "),
        "proc/self/cgroup": "0::/user.slice\n",
        "proc/self/mountinfo": CGROUP2,
        "sys/fs/cgroup/cgroup.controllers": "cpuset cpu io memory\n",
        "sys/fs/cgroup/cgroup.subtree_control": "cpu memory\n",
        "sys/fs/cgroup/cgroup.procs": "1\n",
        "sys/fs/cgroup/user.slice/cgroup.controllers": "cpuset cpu io memory\n",
        "sys/fs/cgroup/user.slice/cgroup.procs": f"{os.getpid()}\n",
        "proc/cpuinfo": "vendor_id\t: GenuineIntel\nflags\t\t: fpu tsc constant_tsc\n",
        "proc/meminfo": "MemTotal: 100 kB\nSwapTotal: 2097152 kB\n",
        "proc/stat": "".join(f"cpu{n} 100 0 100 800 0 0 0 0 0 0\n" for n in range(cpus)),
        "proc/diskstats": "8 0 sda 10 0 0 0 10 0 0 0 0 0 0\n8 1 sda1 10 0 0 0 10 0 0 0 0 0 0\n",
        "sys/block/sda/size": "1\n",
        "proc/interrupts": interrupts(*[5] * cpus, cpus=cpus),
        "proc/irq/default_smp_affinity": f"{(1 << cpus) - 1:x}\n",
        "sys/devices/virtual/workqueue/cpumask": f"{(1 << cpus) - 1:x}\n",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never\n",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
        f"{CPU}/online": f"{every}\n",
        f"{CPU}/isolated": "\n",
        f"{CPU}/nohz_full": "(null)\n",
        f"{CPU}/vulnerabilities/meltdown": "Mitigation: PTI\n",
        f"{CPU}/vulnerabilities/mds": "Not affected\n",
    }
    for irq in (9, 24, 131):
        tree[f"proc/irq/{irq}/smp_affinity_list"] = f"{every}\n"
        tree[f"proc/irq/{irq}/effective_affinity_list"] = f"{last if irq == 24 else 0}\n"
    for cpu in range(cpus):
        folder = f"{CPU}/cpu{cpu}"
        tree[f"{folder}/topology/thread_siblings_list"] = f"{cpu}\n"
        tree[f"{folder}/cpufreq/scaling_governor"] = "powersave\n"
        tree[f"{folder}/cpufreq/scaling_available_governors"] = "performance powersave\n"
        for number, (name, latency) in enumerate([("POLL", 0), ("C1", 2), ("C6", 85)]):
            state = f"{folder}/cpuidle/state{number}"
            tree |= {f"{state}/name": f"{name}\n", f"{state}/latency": f"{latency}\n",
                     f"{state}/disable": "0\n"}  # fmt: skip
    return tree | task(1, "init (odd) name") | task(16, "migration/3", policy=1, rtprio=99,
                                                    flags=KERNEL, cpus="3")  # fmt: skip


def deadline_servers(runtime: int, server: str = "fair_server", cpus: int = 4) -> Tree:
    """Return the files of the deadline servers of all CPUs, with a period of a second."""
    folder = f"sys/kernel/debug/sched/{server}"
    return {
        f"{folder}/cpu{cpu}/{name}": f"{ns}\n"
        for cpu in range(cpus)
        for name, ns in (("runtime", runtime), ("period", 10**9))
    }


def plant(root: Path, tree: Tree) -> Path:
    """Write a tree to a directory, without removing anything there."""
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def system(root: Path, **members: Any) -> System:
    """Return the system of a tree, without trials and pauses."""
    settings: dict[str, Any] = {"probes": {}, "pause": lambda: None}
    return System(root, **(settings | members))


def snapshot(root: Path) -> dict[str, bytes | None]:
    """Return every file and directory of a tree, except those of the journal."""
    contents: dict[str, bytes | None] = {}
    for place, folders, files in os.walk(root):
        inside = f"{place}/"[len(f"{root}/") :]
        contents |= {inside + name: None for name in folders}
        contents |= {inside + name: Path(place, name).read_bytes() for name in files}
    return {
        name: text
        for name, text in contents.items()
        if not FOLDER.startswith(name) and FOLDER not in name
    }


HALF = "half~"  # a folder that Kernel is making or removing


class Kernel(Below):
    """Files that behave like those of the kernel.

    ``refused`` contains errors by path, ``bent`` the value that a path takes whatever is written.
    ``point`` is called before and after every operation.
    """

    def __init__(
        self,
        root: Path,
        refused: dict[str, int] | None = None,
        bent: dict[str, str] | None = None,
        point: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(root)
        self.root, self.refused, self.bent, self.point = root, refused or {}, bent or {}, point
        self.writes: list[tuple[str, str]] = []

    def write(self, path: str, text: str) -> None:
        self.point()
        self._check(path)
        if not (self.root / path).exists():
            raise FileNotFoundError(2, "No such file or directory")
        self.writes.append((path, text))
        self._put(path, self.bent.get(path) or self._meant(path, text.rstrip("\n")))
        self.point()

    def make(self, path: str) -> None:
        self.point()
        self._check(path)
        folder = self.root / path
        if "cpuset" not in (folder.parent / "cgroup.subtree_control").read_text().split():
            files = {"cgroup.procs": ""}
        else:
            files = {"cgroup.procs": "", "cgroup.subtree_control": "\n", "cpuset.cpus": "\n",
                     "cpuset.cpus.partition": "member\n"}  # fmt: skip
        fresh = self.root / HALF
        plant(fresh, files)
        fresh.rename(folder)
        self.point()

    def remove(self, path: str) -> None:
        self.point()
        self._check(path)
        folder = self.root / path
        if (folder / "cgroup.procs").read_text().strip():
            raise OSError(16, "Device or resource busy")
        gone = self.root / HALF
        folder.rename(gone)
        for file in gone.iterdir():
            file.unlink()
        gone.rmdir()
        self.point()

    def _check(self, path: str) -> None:
        if number := self.refused.get(path):
            raise OSError(number, os.strerror(number))

    def _meant(self, path: str, text: str) -> str:
        now = (self.root / path).read_text()
        if "[" in now:
            words = now.replace("[", "").replace("]", "").split()
            return " ".join(f"[{word}]" if word == text else word for word in words) + "\n"
        if path.endswith("subtree_control"):
            words = [word for word in now.split() if word != text[1:]]
            return " ".join(sorted(words + [text[1:]] * (text[0] == "+"))) + "\n"
        return f"{text}\n"

    def _put(self, path: str, text: str) -> None:
        """Write atomically, as the kernel does: half of a value is never visible."""
        if path.endswith("cgroup.procs"):
            self._move(path, text)
            return
        fresh = self.root / FOLDER / "value"
        fresh.write_text(text)
        fresh.replace(self.root / path)

    def _move(self, path: str, process: str) -> None:
        for file in (self.root / "sys/fs/cgroup").rglob("cgroup.procs"):
            rest = [line for line in file.read_text().split() if line != process.strip()]
            file.write_text("".join(f"{line}\n" for line in rest))
        with (self.root / path).open("a") as file_:
            file_.write(f"{process.strip()}\n")
