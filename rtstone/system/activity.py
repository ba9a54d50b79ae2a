"""Current activity: the difference between the counts of two moments."""

from __future__ import annotations

import time
from typing import NamedTuple

from rtstone.cpus import LAST_CPU
from rtstone.system.facts import System, listed, whole

KERNEL_THREAD = 0x00200000  # PF_KTHREAD in the flags of /proc/PID/stat
POLICIES = {0: "other", 1: "fifo", 2: "rr", 3: "batch", 5: "idle", 6: "deadline"}
REALTIME = {"fifo", "rr", "deadline"}
# Columns of a disk in /proc/diskstats: reads and writes completed.
READS, WRITES = 3, 7
READ = (
    "proc/uptime", "proc/", "proc/[0-9]*/task/", "proc/[0-9]*/task/*/stat",
    "proc/[0-9]*/task/*/status", "proc/interrupts", "proc/stat", "proc/diskstats", "sys/block/",
)  # fmt: skip


class Task(NamedTuple):
    """A thread; ``ran`` is its CPU time in clock ticks, ``key`` is never that of a later one."""

    key: tuple[int, int]  # thread id, start
    name: str
    policy: str
    priority: int
    kernel: bool
    cpus: frozenset[int]
    ran: int

    def __str__(self) -> str:
        level = f" {self.policy} {self.priority}" if self.policy in REALTIME else ""
        return f"{self.name} ({self.key[0]}{level})"


class Moment(NamedTuple):
    """Counts since boot."""

    at: float  # seconds
    tasks: dict[tuple[int, int], Task]
    processes: int
    interrupts: dict[str, tuple[str, list[int]]]  # name: what it is, count of each CPU
    cpu_times: dict[str, list[int]]  # of "cpu", "cpu0" …: clock ticks in /proc/stat's order
    disk: int | None  # requests completed

    @property
    def whole(self) -> bool:
        """Whether the tasks of all users can be seen: hidepid hides the first process, too."""
        return any(number == 1 for number, _ in self.tasks)


def now(system: System) -> Moment:
    """Return the current counts."""
    system.files.look(*READ)
    processes = [name for name in system.names("proc") if name.isdigit()]
    tasks = {}
    for process in processes:
        folder = f"proc/{process}/task"
        for tid in system.names(folder):
            if task := _task(system, f"{folder}/{tid}", tid):
                tasks[task.key] = task
    # Of the system itself: what was counted there may take its time to come here.
    seconds, _, rest = (system.read("proc/uptime") or "").partition(".")
    hundredths = whole(seconds + rest[:2])
    rows = [line.split() for line in (system.raw("proc/stat") or "").splitlines()]
    return Moment(
        at=time.monotonic() if hundredths is None else hundredths / 100,
        tasks=tasks,
        processes=len(processes),
        interrupts=_interrupts(system),
        cpu_times={
            row[0]: [whole(word) or 0 for word in row[1:]]
            for row in rows
            if row and row[0].startswith("cpu")
        },
        disk=_disk(system),
    )


def _task(system: System, folder: str, tid: str) -> Task | None:
    """Return a thread, None if it is gone or unreadable."""
    _, opened, rest = (system.read(f"{folder}/stat") or "").partition("(")
    name, closed, tail = rest.rpartition(")")
    number_of = whole(tid)
    numbers = [whole(word) for word in tail.split()[1:]]  # from the fourth field on
    cpus = listed(system.fields(f"{folder}/status").get("Cpus_allowed_list"))
    if not (opened and closed) or len(numbers) < 38 or cpus is None or number_of is None:
        return None

    def field(number: int) -> int:
        return numbers[number - 4] or 0

    return Task(
        key=(number_of, field(22)),
        name=name,
        policy=POLICIES.get(field(41), "unknown"),
        priority=field(40),
        kernel=bool(field(9) & KERNEL_THREAD),
        cpus=cpus,
        ran=field(14) + field(15),
    )


def _interrupts(system: System) -> dict[str, tuple[str, list[int]]]:
    lines = (system.raw("proc/interrupts") or "").splitlines()
    if not lines:
        return {}
    columns = [whole(word[3:]) for word in lines[0].split()]
    cpus = [cpu for cpu in columns if cpu is not None and 0 <= cpu <= LAST_CPU]
    if len(cpus) != len(columns):
        return {}
    interrupts = {}
    for line in lines[1:]:
        name, _, rest = line.partition(":")
        words = rest.split()
        counts = [whole(word) for word in words[: len(cpus)]]
        if len(counts) != len(cpus) or None in counts:
            continue  # ERR and MIS are not counted by CPU
        by_cpu = [0] * (max(cpus, default=-1) + 1)  # offline CPUs have no column
        for cpu, count in zip(cpus, counts, strict=True):
            by_cpu[cpu] = count or 0
        interrupts[name.strip()] = (" ".join(words[len(cpus) :]), by_cpu)
    return interrupts


def _disk(system: System) -> int | None:
    text = system.raw("proc/diskstats")
    if text is None:
        return None
    rows = [line.split() for line in text.splitlines()]
    whole_disks = set(system.names("sys/block"))  # a partition's requests are its disk's too
    return sum(
        (whole(row[READS]) or 0) + (whole(row[WRITES]) or 0)
        for row in rows
        if len(row) > WRITES and row[2] in whole_disks
    )
