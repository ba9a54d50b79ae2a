"""The checklist of the operating environment (Dankwardt): one entry, one line."""

from __future__ import annotations

from rtstone.documents.doctor import Group
from rtstone.system import facts, features, machine, quiet, rights, sandbox, servers, view
from rtstone.system.facts import System
from rtstone.system.findings import (
    TUNE,
    UNDOES,
    UNREADABLE,
    Check,
    Finding,
    Line,
    Seen,
    carry_out,
)
from rtstone.system.settings import SETTINGS
from rtstone.wire.records import TextTable

REMAINS_YOURS = "cannot be checked from here"


def _own(identity: str, title: str) -> Check:
    """Return a check of the user's application, which only the user can make."""
    return Check(identity, "application", title, lambda _: Finding("yours", ""), REMAINS_YOURS)


def _manual(identity: str, group: Group, title: str, value: str, advice: str) -> Check:
    """Return a check that only the user can make."""
    return Check(identity, group, title, lambda _: Finding("yours", value), advice)


_FEATURES = (
    Check(
        "os.threads",
        "OS features",
        "multithreaded",
        features.tried("threads", "bad"),
        "the agent needs POSIX threads",
    ),
    Check(
        "os.preemption",
        "OS features",
        "preemptible kernel",
        features.preemption,
        "a PREEMPT_RT kernel bounds latencies; on a PREEMPT_DYNAMIC one boot with preempt=full "
        "(as root with debugfs mounted: /sys/kernel/debug/sched/preempt shows and sets it)",
    ),
    Check(
        "os.priorities",
        "OS features",
        "priority levels",
        features.priorities,
        "more than 100 are required",
    ),
    Check(
        "os.synchronisation",
        "OS features",
        "predictable synchronisation",
        features.measured("sem.wait.busy", "sem."),
        "`rtstone run sem.wait.busy` measures it",
    ),
    Check(
        "os.inheritance",
        "OS features",
        "priority inheritance",
        features.tried("inheritance", "bad"),
        "needs a kernel with FUTEX_PI and its C library",
    ),
    Check(
        "os.deadline",
        "OS features",
        "deadline scheduler",
        features.tried("deadline"),
        "needs CAP_SYS_NICE, an affinity to all CPUs, and a free share of CPU time",
    ),
    Check(
        "os.timers",
        "OS features",
        "timer resolution",
        features.timer_resolution,
        "timers wait for the tick: build with HIGH_RES_TIMERS, boot without highres=off",
    ),
    Check(
        "os.posix",
        "OS features",
        "complete 1003.1b",
        features.tried("options"),
        "options that the C library lacks cannot be measured here",
    ),
    Check(
        "os.scaling",
        "OS features",
        "constant-time scheduling",
        features.scaling,
        "`rtstone run ctx.ballast -p ballast=0,1,33,65,129` measures it",
    ),
    Check(
        "os.user_interrupts",
        "OS features",
        "user-space interrupts, DMA",
        features.user_interrupts,
        "only user-space drivers need UIO or VFIO",
    ),
)

_QUANTITIES = (
    Check("known.interrupt", "known quantities", "interrupt latency",
          features.measured("int.latency.phase", "int.latency.self", "rheal.il"),
          "`rtstone run int.latency.phase` measures it"),
    Check("known.wakeup", "known quantities", "wake-up latency", features.measured("dk.periodic"),
          "`rtstone run dk.periodic --time 60` measures it"),
    Check("known.syscalls", "known quantities", "system-call times",
          features.measured("sys.read", "sys.getpid", "sched.yield", "sem."),
          "`rtstone run sys.getpid sys.read` measures the lightest, `rtstone run full` many"),
    Check("known.masking", "known quantities", "longest masking time",
          features.measured("dk.irqsoff", "det.bintime"),
          "`rtstone run det.bintime` shows the longest time that the CPU was taken away"),
    _manual("known.levels", "known quantities", "interrupt levels, request lines",
           "set by the drivers", "for durations, trace irq_handler_entry and irq_handler_exit"),
)  # fmt: skip

_APPLICATION = (
    _own("app.priority", "high FIFO priority"),
    _own("app.memory", "memory locked, no growth, stack pre-grown"),
    _own("app.faults", "no page faults"),
    _own("app.lockfree", "lock-free communication where possible"),
    _own("app.cache", "careful cache use"),
    _own("app.io", "no non-deterministic I/O such as sockets"),
    _own("app.calls", "no system calls in the RT path (sub-kernel users)"),
    _own("app.allocation", "no allocation"),
    _own("app.drivers", "no unpatched drivers that mask interrupts"),
    _own("app.inversion", "no costly priority inversion"),
)

_ENVIRONMENT = (
    Check("env.interrupts", "environment", "device interrupts now", quiet.device_interrupts,
          f"steer them to other CPUs: {TUNE}"),
    Check("env.processes", "environment", "number of processes", quiet.processes,
          "limit it: ulimit -u, or pids.max of the control groups"),
    _manual("env.calls", "environment", "few system calls by others", "not counted",
           "perf stat -e raw_syscalls:sys_enter -a counts them"),
    Check("env.competitors", "environment", "competitors", quiet.competitors,
          "end them, lower their priority, or bind them to other CPUs (chrt, taskset)"),
    Check("env.realtime", "environment", "other real-time tasks", quiet.realtime_tasks,
          "they run on the measured CPU; bind them to other CPUs if possible"),
    Check("env.disk", "environment", "disk I/O now", quiet.disk,
          "wait until it ends, or measure under it as a load"),
    _manual("env.actions", "environment", "known problem actions avoided", "",
           "no console switching, modprobe, hdparm, CPU hotplug or fsync storms during a run"),
    Check("env.clock", "environment", "clock source", machine.clock_source,
          "a clock read should not go over a bus; dmesg says why the TSC was rejected"),
)  # fmt: skip

_MULTIPROCESSOR = (
    Check(
        "mp.tasks",
        "multiprocessor",
        "foreign tasks on the CPU",
        quiet.foreign_tasks,
        "isolcpus= at boot, or a cpuset by `rtstone tune apply` where cgroup v2 has it",
    ),
    Check(
        "mp.interrupts",
        "multiprocessor",
        "interrupts that can reach it",
        quiet.steered,
        f"steer them away: {TUNE}",
    ),
    Check(
        "mp.hits",
        "multiprocessor",
        "interrupts that reached it",
        quiet.interrupts_so_far,
        "counts since boot; only those from now on matter",
    ),
    Check(
        "mp.default_affinity",
        "multiprocessor",
        "future interrupts",
        quiet.default_affinity,
        TUNE,
    ),
    Check("mp.workqueues", "multiprocessor", "unbound kernel work", quiet.workqueues, TUNE),
    Check(
        "mp.isolated",
        "multiprocessor",
        "isolated CPUs",
        quiet.cpu_file("isolated"),
        "boot with isolcpus=managed_irq,domain,LIST for the CPUs you measure",
    ),
    Check(
        "mp.nohz_full",
        "multiprocessor",
        "tickless CPUs (nohz_full)",
        quiet.cpu_file("nohz_full"),
        "boot with nohz_full=LIST; the kernel needs NO_HZ_FULL",
    ),
    Check(
        "mp.rcu_nocbs",
        "multiprocessor",
        "RCU callbacks offloaded",
        quiet.callbacks,
        "boot with rcu_nocbs=LIST, which nohz_full=LIST implies",
    ),
    Check(
        "mp.siblings",
        "multiprocessor",
        "hyper-thread sibling",
        machine.siblings,
        "leave the sibling idle: take it offline, or boot with nosmt",
    ),
    Check(
        "mp.kinds",
        "multiprocessor",
        "kinds of CPUs",
        machine.kinds,
        "what is measured on one kind says nothing of the other: name CPUs with --cpus",
    ),
)

_TODAY = (
    Check("rt.granted", "today", "real-time privilege", rights.realtime,
          "run as root, or with CAP_SYS_NICE, or with an rtprio limit of 99"),
    Check("rt.calls", "today", "system calls", sandbox.refused,
          "those that measuring takes are tried on this machine only"),
    Check("rt.group", "today", "RT group scheduling", rights.rt_group,
          "with a budget of 0, real-time scheduling is refused even to root: " + TUNE),
    Check("rt.throttling", "today", "RT throttling", rights.throttling,
          "protects the machine from a runaway task; the agent stays within its limit. Turn it off "
          "only if you must: `rtstone tune apply --only rt_throttling`"),
    Check("rt.server", "today", "deadline servers", servers.server,
          "they run other tasks that wait while a real-time task keeps its CPU, whatever RT "
          "throttling is; the agent's busy tasks leave them time. Turn them off only if you must: "
          "`rtstone tune apply --only fair_server`"),
    Check("rt.sched_ext", "today", "sched_ext scheduler", servers.scheduler,
          "it schedules what is not real-time, the loads, too: end it, or compare only runs with "
          "the same"),
    Check("cap.nice", "today", "CAP_SYS_NICE",
          rights.capability("CAP_SYS_NICE", "bad", "Max realtime priority"),
          "for real-time priorities and deadlines; or an rtprio limit of 99 (limits.conf)"),
    Check("cap.lock", "today", "CAP_IPC_LOCK",
          rights.capability("CAP_IPC_LOCK", "warn", "Max locked memory"),
          "for locked memory; or a memlock limit of 256 MiB or more"),
    Check("cap.admin", "today", "CAP_SYS_ADMIN", rights.capability("CAP_SYS_ADMIN", "warn"),
          "for a private /dev/shm per case; without it a killed agent can leave a file there"),
    Check("cap.rawio", "today", "CAP_SYS_RAWIO", rights.capability("CAP_SYS_RAWIO", "warn"),
          "for /dev/cpu/N/msr, which counts SMIs; without it they are not detected"),
    Check("cap.resource", "today", "CAP_SYS_RESOURCE",
          rights.capability("CAP_SYS_RESOURCE", "warn"),
          "for message queues beyond the limits; or raise the limits (next lines)"),
    Check("cap.override", "today", "CAP_DAC_OVERRIDE",
          rights.capability("CAP_DAC_OVERRIDE", "warn"),
          "for files of root: /dev/cpu_dma_latency, and everything that `rtstone tune` writes"),
    Check("limit.rtprio", "today", "limit of real-time priority",
          rights.limit("Max realtime priority", rights.PRIORITY, "CAP_SYS_NICE"),
          "ulimit -r 99, or rtprio 99 in limits.conf"),
    Check("limit.rttime", "today", "limit of real-time running (µs)", rights.rttime,
          "the kernel kills a real-time task that runs for longer without a wait: "
          "ulimit -R unlimited, or LimitRTTIME=infinity for a service"),
    Check("limit.memlock", "today", "limit of locked memory (bytes)",
          rights.limit("Max locked memory", rights.LOCKED, "CAP_IPC_LOCK"),
          "ulimit -l unlimited, or memlock unlimited in limits.conf"),
    Check("limit.msgqueue", "today", "limit of message queues (bytes)",
          rights.limit("Max msgqueue size", 2 * rights.QUEUE, "CAP_SYS_RESOURCE"),
          "ulimit -q unlimited, or msgqueue unlimited in limits.conf"),
    Check("limit.queues", "today", "message queue limits", rights.queues,
          f"too small for messages of 16 KiB: {TUNE}"),
    Check("limit.files", "today", "limit of open files",
          rights.limit("Max open files", rights.FILES), "ulimit -n 1024, or nofile in limits.conf"),
    Check("limit.file_size", "today", "limit of a file's size (bytes)",
          rights.limit("Max file size", rights.FILE_SIZE),
          "results cannot be stored beyond it: ulimit -f unlimited, or fsize in limits.conf"),
    Check("today.proc", "today", "/proc", view.proc, "what it does not show is unknown"),
    Check("today.sys", "today", "/sys", view.sys, "mount it: mount -t sysfs sysfs /sys"),
    Check("today.dev", "today", "/dev", features.tried("devices"),
          "without /dev/null nothing starts; without a writable /dev/shm (a tmpfs, mode 1777) "
          "named semaphores are unsupported, and runs do not see each other"),
    Check("today.agent", "today", "agent", features.tried("agent", "bad"),
          "`make agent` builds it; RTSTONE_AGENT names another one, or another place"),
    Check("today.results", "today", "place for results", features.tried("results", "bad"),
          "name one that can be written to with RTSTONE_HOME"),
    Check("today.governor", "today", "frequency governor", machine.governor,
          f"set it to performance: {TUNE}"),
    Check("today.idle", "today", "deep idle states", machine.idle_states,
          f"the agent disables them while it runs, if it may; {TUNE}"),
    Check("today.dma_latency", "today", "/dev/cpu_dma_latency", machine.idle_request,
          "deep idle states cannot be disabled: make it writable for the user, or disable them"),
    Check("today.smi", "today", "SMI count", machine.smi,
          "modprobe msr and CAP_SYS_RAWIO make it readable; if it grows, check USB legacy support "
          "and power management in the firmware set-up"),
    Check("today.soft_watchdog", "today", "soft-lockup watchdog", machine.soft_watchdog, TUNE),
    Check("today.nmi_watchdog", "today", "NMI watchdog",
          machine.switch("proc/sys/kernel/nmi_watchdog", 0),
          "sysctl kernel.nmi_watchdog=0 while you measure"),
    Check("today.timer_migration", "today", "timer migration",
          machine.switch("proc/sys/kernel/timer_migration", 0), TUNE),
    Check("today.stat", "today", "interval of VM statistics",
          quiet.statistics, TUNE),
    Check("today.thp", "today", "transparent huge pages", machine.huge_pages, TUNE),
    Check("today.swap", "today", "swap", machine.swap,
          "swapoff -a, or lock the memory of everything that matters"),
    Check("today.virtual", "today", "virtual machine", machine.virtual,
          "the host can take the CPU at any time: measure on bare metal, or pin the guest's CPUs"),
    Check("today.steal", "today", "steal time", machine.steal,
          "give the guest dedicated CPUs"),
    Check("today.container", "today", "container", machine.container,
          "neighbours share the kernel; for rights give its root --cap-add=SYS_NICE and IPC_LOCK, "
          "other users --ulimit rtprio=99 and memlock=-1"),
    Check("today.quota", "today", "CPU time quota", rights.cpu_quota,
          "it limits rtstone and its loads: remove it (max in cpu.max, -1 in cpu.cfs_quota_us, "
          "CPUQuota= of a service, --cpus of docker)"),
    Check("today.mitigations", "today", "mitigations", machine.mitigations,
          "they make system calls slower; compare only runs with the same mitigations"),
    Check("today.cmdline", "today", "kernel command line", machine.command_line,
          "boot options that matter for latency"),
)  # fmt: skip

CHECKS = _FEATURES + _QUANTITIES + _APPLICATION + _ENVIRONMENT + _MULTIPROCESSOR + _TODAY


# All that they read, besides what goes on now, files of control groups, and where there is no
# /proc/config.gz the one in /boot.
READ = (
    facts.READ + features.READ + machine.READ + quiet.READ + rights.READ + servers.READ + view.READ
)


# The setting of `rtstone tune` that the advice of a check promises.
SETTING = {
    "env.interrupts": "interrupts", "mp.interrupts": "interrupts",
    "mp.default_affinity": "interrupts", "mp.workqueues": "workqueues", "rt.group": "rt_group",
    "rt.granted": "rt_group",
    "limit.queues": "queues", "today.governor": "governor", "today.idle": "idle",
    "today.soft_watchdog": "watchdog", "today.timer_migration": "timer_migration",
    "today.stat": "statistics", "today.thp": "huge_pages",
}  # fmt: skip


def lines(system: System) -> list[Line]:
    """Return every line of the checklist for this system, in its order."""
    system.files.look(*READ)
    seen = Seen(system)
    return [_possible(carry_out(check, seen), system) for check in CHECKS]


def _possible(line: Line, system: System) -> Line:
    """Return a line without the advice to tune what `rtstone tune apply` would refuse to."""
    if UNDOES not in line.advice:
        return line
    (setting,) = (setting for setting in SETTINGS if setting.name == SETTING[line.id])
    plan = setting.plan(system)
    if not isinstance(plan, str) or (plan.endswith(UNREADABLE) and not system.may_tune):
        return line
    return line._replace(advice=f"`rtstone tune apply` cannot change it: {plan}")


def table(system: System) -> TextTable:
    """Return `env.check`, to be stored with a run."""
    rows = [list(line) for line in lines(system)]
    return TextTable("checklist of the operating environment", list(Line._fields), rows)
