"""Checks of other activity: tasks, interrupts, disks, and what may use the measured CPUs."""

from __future__ import annotations

import os
from collections.abc import Callable

from rtstone.cpus import cpu_list
from rtstone.documents.doctor import Verdict
from rtstone.system.activity import REALTIME, Task
from rtstone.system.facts import CPU, listed, masked
from rtstone.system.findings import Finding, Seen, unreadable

MEASURING = 98  # the priority of the measuring task unless -p prio says otherwise
BUSY = 0.5  # a task that uses more than this share of a CPU is bound by it
TASKS = 64  # that an agent, its host and a load may need
_UNBOUND = {"CAP_SYS_RESOURCE", "CAP_SYS_ADMIN"}  # the limit of processes does not bind who has one
NAMED = 4  # so many tasks or interrupts are named, the others counted
DEVICE_RATE = 1000  # device interrupts per second on the measured CPUs, beyond which it is noisy
STAT_S = 10  # the interval of tuned's real-time profiles, which are the model here
DISK_RATE = 100  # requests per second, likewise
READ = (
    "proc/irq/", "proc/irq/*/smp_affinity_list", "proc/irq/*/effective_affinity_list",
    "proc/irq/default_smp_affinity", "sys/devices/virtual/workqueue/cpumask", f"{CPU}/nohz_full",
    "proc/sys/vm/stat_interval",
)  # fmt: skip


def abridged(names: list[str]) -> str:
    """Return the first of these, and how many more there are."""
    rest = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + rest


# ---- tasks --------------------------------------------------------------------------------------


def _neighbours(seen: Seen) -> list[Task]:
    """Return the threads that may run on the measured CPUs, without those of this process."""
    own = seen.system.files.pid
    return [task for task in seen.moments[1].tasks.values()
            if task.cpus & seen.system.measured and task.key[0] != own]  # fmt: skip


def _unseen(seen: Seen) -> Finding | None:
    """Return the finding where some tasks cannot be seen, None where all can."""
    moment = seen.moments[1]
    if not moment.tasks:
        return Finding("unknown", "no task can be seen")
    if moment.whole:
        return None
    return Finding("unknown", "other users' processes are hidden (hidepid); root sees them")


def competitors(seen: Seen) -> Finding:
    """Check for tasks that the measuring task cannot preempt, or that monopolize a measured CPU.

    The kernel's stopper (migration/N) is above every task on every kernel and is not one of them.
    """
    before, after = seen.moments
    elapsed = (after.at - before.at) * os.sysconf("SC_CLK_TCK")
    above, busy = [], []
    for task in _neighbours(seen):
        earlier = before.tasks.get(task.key)
        share = (task.ran - earlier.ran) / elapsed if earlier and elapsed > 0 else 0.0
        stopper = task.kernel and task.name.startswith("migration/")
        outranks = task.policy in REALTIME and task.priority >= MEASURING
        if (task.policy == "deadline" or outranks) and not stopper:
            above.append(str(task))
        elif share > BUSY:
            busy.append(f"{task} using {share:.0%}")
    if above:
        return Finding("bad", f"at priority {MEASURING} or above: {abridged(above)}")
    if busy:
        return Finding("warn", f"busy: {abridged(busy)}")
    return _unseen(seen) or Finding("good", "none seen")


def realtime_tasks(seen: Seen) -> Finding:
    """Check for other real-time tasks on the measured CPUs."""
    tasks = [str(task) for task in _neighbours(seen) if task.policy in REALTIME and not task.kernel]
    if tasks:
        return Finding("warn", abridged(tasks))
    return _unseen(seen) or Finding("good", "none but the kernel's")


def foreign_tasks(seen: Seen) -> Finding:
    """Check for user tasks that may run, and call the kernel, on the measured CPUs."""
    apart = (seen.system.isolated or frozenset()) >= seen.system.measured
    tasks = [task for task in _neighbours(seen) if not task.kernel]
    pinned = [task for task in tasks if task.cpus <= seen.system.measured]
    if (unseen := _unseen(seen)) and not pinned:
        return unseen
    if not tasks:
        return Finding("good", "none")
    if apart:  # the scheduler moves nobody there who was not bound to it
        verdict: Verdict = "warn" if pinned else "good"
        return Finding(verdict, f"isolated; {len(pinned)} tasks bound to it")
    return Finding("warn", f"{len(tasks)} tasks may run there, {len(pinned)} of them nowhere else")


def processes(seen: Seen) -> Finding:
    """Check whether the number of processes is limited."""
    _, after = seen.moments
    limit = seen.system.limit("Max processes")
    if not after.processes:
        return Finding("unknown", "no process can be seen")
    count = f"{after.processes} processes, {len(after.tasks)} tasks"
    count += "" if after.whole else " can be seen"
    if limit is None:
        return Finding("unknown", count)
    status, able = seen.system.status, seen.system.capabilities or frozenset()
    bound = status.get("Uid", "0").split()[:1] != ["0"] and not able & _UNBOUND
    if bound and limit < TASKS:
        return Finding("warn", f"{count}; limit {limit:g} per user", "too few: ulimit -u 4096")
    group = seen.system.group("pids")  # its pids.max, and those of the groups above
    folders = group.upwards() if group else ()
    limits = ((seen.system.number(f"{folder}/pids.max"), folder) for folder in folders)
    most, folder = min(
        ((number, folder) for number, folder in limits if number is not None),
        default=(TASKS, ""),
    )
    if most < TASKS:
        text = f"{count}; limit {most} of the control group"
        return Finding("warn", text, f"too few: raise /{folder}/pids.max")
    bounded = limit != float("inf")
    return Finding("good" if bounded else "warn", f"{count}; limit {limit:g} per user")


# ---- interrupts ---------------------------------------------------------------------------------


def device_interrupts(seen: Seen) -> Finding:
    """Check which interrupts currently arrive on the measured CPUs."""
    before, after = seen.moments
    if not after.interrupts:
        return unreadable("proc/interrupts")
    hits = {}
    for name, (device, counts) in after.interrupts.items():
        earlier = before.interrupts.get(name, (device, [0] * len(counts)))[1]
        hit = _on(seen, counts) - _on(seen, earlier)
        if name.isdigit() and hit > 0:
            hits[name] = (hit, device.split()[-1] if device else "")
    if not hits:
        return Finding("good", "none on the measured CPU during the check")
    elapsed = max(after.at - before.at, 1e-3)
    rate = sum(hit for hit, _ in hits.values()) / elapsed
    named = [f"{name} {device} {hit}x" for name, (hit, device) in hits.items()]
    return Finding("warn" if rate > DEVICE_RATE else "good", f"{rate:.0f} per s: {abridged(named)}")


def interrupts_so_far(seen: Seen) -> Finding:
    """Check which interrupts have arrived on the measured CPUs since boot."""
    _, after = seen.moments
    if not after.interrupts:
        return unreadable("proc/interrupts")
    hits = [f"{name} {device.split()[-1] if device else ''} {_on(seen, counts)}x"
            for name, (device, counts) in after.interrupts.items()
            if name.isdigit() and _on(seen, counts)]  # fmt: skip
    return Finding("warn", abridged(hits)) if hits else Finding("good", "none since the start")


def _on(seen: Seen, counts: list[int]) -> int:
    return sum(counts[cpu] for cpu in seen.system.measured if cpu < len(counts))


def steered(seen: Seen) -> Finding:
    """Check which interrupts can be delivered to the measured CPUs.

    Of the CPUs it is allowed on, an interrupt goes to the effective ones; where it was moved, it
    goes there with the first that comes.
    """
    system, may, moving, total = seen.system, [], 0, 0
    for name in system.names("proc/irq"):
        allowed = system.cpus(f"proc/irq/{name}/smp_affinity_list")
        if allowed is None:
            continue
        total += 1
        effective = system.cpus(f"proc/irq/{name}/effective_affinity_list") or allowed
        if effective & system.measured:
            may += [name] if allowed & system.measured else []
            moving += not allowed & system.measured
    if not total:
        return unreadable("proc/irq")
    if may:
        return Finding("warn", f"{len(may)} of {total} may: {abridged(may)}")
    return Finding("good", f"none of {total}" + (f"; {moving} move with their next" * (moving > 0)))


def default_affinity(seen: Seen) -> Finding:
    """Check the default affinity of future interrupts."""
    return _off(seen, "proc/irq/default_smp_affinity")


def workqueues(seen: Seen) -> Finding:
    """Check the affinity of the kernel's unbound work."""
    return _off(seen, "sys/devices/virtual/workqueue/cpumask")


def _off(seen: Seen, name: str) -> Finding:
    cpus = masked(seen.system.read(name))
    if cpus is None:
        return unreadable(name)
    where = f"on CPU {cpu_list(cpus)}"
    return Finding("warn" if cpus & seen.system.measured else "good", where)


# ---- isolation ----------------------------------------------------------------------------------


def cpu_file(name: str) -> Callable[[Seen], Finding]:
    """Return whether the measured CPUs are in a list that the kernel was started with."""

    def probe(seen: Seen) -> Finding:
        text = seen.system.read(f"{CPU}/{name}")
        cpus = listed(text)
        if text is None:
            return unreadable(f"{CPU}/{name}")
        return _within(seen, cpus or frozenset())

    return probe


def callbacks(seen: Seen) -> Finding:
    """Check RCU callbacks: rcu_nocbs of the command line, or nohz_full, which implies it."""
    line = seen.system.command_line
    if not line:
        return unreadable("proc/cmdline")
    text = line.get("rcu_nocbs") or line.get("nohz_full") or ""
    if text == "all":
        return Finding("good", "all CPUs")
    return _within(seen, listed(text) or frozenset())


def _within(seen: Seen, cpus: frozenset[int]) -> Finding:
    if not cpus:
        return Finding("warn", "none")
    inside = seen.system.measured <= cpus
    return Finding("good" if inside else "warn", f"CPU {cpu_list(cpus)}")


def statistics(seen: Seen) -> Finding:
    """Check the interval of the kernel's per-CPU memory statistics."""
    name = "proc/sys/vm/stat_interval"
    seconds = seen.system.number(name)
    if seconds is None:
        return unreadable(name)
    return Finding("good" if seconds >= STAT_S else "warn", f"{seconds} s")


# ---- disks --------------------------------------------------------------------------------------


def disk(seen: Seen) -> Finding:
    """Check how many requests the disks completed."""
    before, after = seen.moments
    if before.disk is None or after.disk is None:
        return unreadable("proc/diskstats")
    rate = (after.disk - before.disk) / max(after.at - before.at, 1e-3)
    return Finding("warn" if rate > DISK_RATE else "good", f"{rate:.0f} requests per s now")
