"""The catalogue of `rtstone provoke`: what other processes do, and what each needs consent for.

On a system without processes it is what other tasks do.  The work itself is in the agent: load
provoke (agent/loads/linux/provoke.h, agent/loads/freertos/provoke.h), and loads that were there
before.  The agent of Linux refuses an action without consent by a table of its own, which
tests/agent/test_provoke.py compares with this one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from rtstone.documents.plan import load_name
from rtstone.documents.provocation import CONSENTS, Action, Consent
from rtstone.errors import UsageError, unknown
from rtstone.wire.records import Load


def _own(name: str, meanwhile: str, *, consent: Consent = "own", several: bool = False) -> Action:
    """Return an action of load provoke."""
    permission = f",consent={consent}" if consent in {"shared", "system"} else ""
    return Action(
        name=name, load=f"provoke:action={name}{permission}", consent=consent,
        meanwhile=meanwhile, several_cpus=several,
    )  # fmt: skip


def _other(load: str, meanwhile: str, *, consent: Consent = "own", several: bool = False) -> Action:
    """Return an action that is a load of its own."""
    return Action(
        name=load.partition(":")[0], load=load, consent=consent, meanwhile=meanwhile,
        several_cpus=several,
    )  # fmt: skip


CONTROL = _own("spin", "nothing is asked of the kernel")

PROCESSES = (
    _own("forks", "50 processes are started and end"),
    _own("execs", "a program is executed"),
    _own("timers", "1000 timers of a process expire together"),
    _own("herd", "200 sleeping processes wake up together"),
    _own("futex", "200 threads at a futex are woken by one call"),
    _own("signals", "1000 signals are queued to a process"),
    _own("pipes", "100 pipes are filled and closed"),
    _own("netns", "a user's network namespace is made and taken apart"),
    _own("firewall", "200 rules of a user's firewall are made and removed"),
    _own("gpu", "a buffer of 4 MiB of a GPU is made, written and removed"),
    _own("mprotect", "the protection of 64 MiB is changed"),
    _own("hugesplit", "32 huge pages are split"),
    _own("epolls", "a descriptor that 1000 epoll instances watch is written"),
    _own("poll", "a process polls 1000 descriptors"),
    _own("inotify", "a file that 100 inotify instances watch is written"),
    _own("locks", "4000 locks of a file are taken and given back"),
    _own("readdir", "a directory of 10000 files is read"),
    _own("descriptors", "1000 descriptors are opened and closed"),
    _own("iouring", "an io_uring is made and taken apart"),
    _other("unmap:size=64MiB", "64 MiB of small pages are mapped and unmapped"),
    _other("exit:size=64MiB", "a process of 64 MiB ends"),
    _other("fork:size=64MiB", "a process of 64 MiB forks"),
    _other("smaps", "the maps of a large process are read"),
    _other("proc", "/proc is read"),
    _other("urandom", "random numbers are read, 256 KiB a call"),
    _other("truncate", "a large file is truncated"),
    _other("files", "2000 files are made and removed"),
    _other("tcp", "4 MiB a call are sent over TCP to this machine itself"),
    _other("udp", "datagrams are sent to this machine itself"),
    _other("bandwidth", "memory is copied on other CPUs", several=True),
    _other("cache", "caches are filled by other CPUs", several=True),
    _own("memcg", "a group's limit has the kernel reclaim its memory", consent="shared"),
    _own("oom", "a group at the limit of its memory has a process killed", consent="shared"),
    _own("cgmove", "a process moves between control groups", consent="shared"),
    _own("drop", "the kernel's caches are dropped", consent="shared"),
    _own("compact", "memory is compacted", consent="shared"),
    _own("membarrier", "a process calls membarrier()", consent="shared", several=True),
    _own("fsync", "a file is written and flushed", consent="shared"),
    _own("sync", "4 MiB are written, and all file systems flushed", consent="shared"),
    _own("mount", "a file system is mounted and unmounted", consent="shared"),
    _own("kallsyms", "/proc/kallsyms is read", consent="shared"),
    _own("slabinfo", "the kernel's statistics of memory are read", consent="shared"),
    _own("perf", "events of perf are opened and closed", consent="shared"),
    _other("hdparm", "the settings of a disk are read", consent="shared"),
    _other("blkdev", "a block device is closed", consent="shared"),
    _own("schedstats", "a setting changes the kernel's text (a static key)", consent="system"),
    _own("hugepages", "huge pages are switched on and off", consent="system"),
    _own("adjtime", "the rate of the clock is adjusted", consent="system"),
    _own("kprobe", "a kprobe is added and removed", consent="system"),
    _own("ftrace", "the function tracer is switched on and off", consent="system"),
    _own("swapoff", "8 MiB are swapped out, and in as swap is switched off", consent="system"),
    _own("suspend", "a device is woken and suspended", consent="system"),
    _own("hotplug", "a CPU is switched off and on", consent="system", several=True),
    _other("scroll:allow=on", "a virtual console scrolls", consent="system"),
    _other("console:allow=on", "the visible console is switched", consent="system"),
    _own("settime", "the clock is set", consent="lab"),
    _own("sysrq", "the kernel prints all tasks (SysRq t)", consent="lab"),
    _own("kmsg", "lines are written to the kernel's log", consent="lab"),
    _own("module", "a module is loaded and removed", consent="lab"),
)

TASKS = (
    _own("tasks", "tasks are created and deleted"),
    _own("queues", "a queue is filled and emptied"),
    _own("streams", "messages pass a stream buffer"),
    _own("heap", "blocks come from a heap with many holes"),
    _own("events", "tasks that wait for an event are woken by one call"),
    _own("notify", "tasks are notified one by one"),
    _own("waiters", "tasks wait at a semaphore again and again"),
    _own("mutexes", "tasks wait for a mutex, whose owner inherits their priority"),
    _own("names", "a task is looked for by its name among others"),
    _own("sleepers", "tasks wake up at the same tick"),
    _own("delays", "a task waits with a time limit, behind others that sleep"),
    _own("softtimers", "software timers expire at the same tick"),
)

ACTIONS = (*PROCESSES, *TASKS)

BY_NAME = {action.name: action for action in ACTIONS}


def actions_of(loads: Mapping[str, Load]) -> tuple[Action, ...]:
    """Return what there is to do on a system whose agent has these loads, load provoke among them.

    An action that the agent lacks is among it all the same.
    """
    return TASKS if _choices(loads) & {action.name for action in TASKS} else PROCESSES


def within_load(loads: Mapping[str, Load]) -> list[Action]:
    """Return the actions that load provoke of this agent has."""
    return [action for action in actions_of(loads) if action.name in _choices(loads)]


def _choices(loads: Mapping[str, Load]) -> set[str]:
    parameter = loads[load_name(CONTROL.load)].param("action")
    return set(parameter.choices or ()) if parameter else set()


def choose(
    names: Sequence[str], consents: Collection[Consent], actions: Sequence[Action]
) -> list[Action]:
    """Return the actions of these names, or all of ``actions`` that these consents allow.

    Raises UsageError for a name that there is not, and for one that lacks its consent.
    """
    for name in names:
        if name not in BY_NAME:
            raise unknown("action", name, BY_NAME)
    lacking = [BY_NAME[name] for name in names if BY_NAME[name].consent not in consents]
    if lacking:
        action = lacking[0]
        raise UsageError(f"action {action.name}: {action.meanwhile}; {_ADVICE[action.consent]}")
    chosen = dict.fromkeys(names) or dict.fromkeys(
        action.name for action in actions if action.consent in consents
    )
    return [BY_NAME[name] for name in chosen]


_ADVICE: dict[Consent, str] = {
    "shared": "this slows others, or leaves their caches cold: allow it with --consent shared",
    "system": "this changes settings, which are restored: allow it with --consent system",
    "lab": "this may lose data or hang: only a guest of the lab does it, --target qemu:linux-6.1",
}


def withheld(consents: Collection[Consent], actions: Sequence[Action]) -> dict[str, int]:
    """Return how many of the actions need each consent that is lacking."""
    counts = Counter(action.consent for action in actions)
    return {name: counts[name] for name in CONSENTS if counts[name] and name not in consents}
