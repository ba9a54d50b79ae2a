"""Checks of the privileges of this process: capabilities, limits, control groups."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

from rtstone.documents.doctor import Verdict
from rtstone.system import calls, sandbox, servers
from rtstone.system.facts import CAPABILITIES
from rtstone.system.findings import TUNE, Finding, Seen, unreadable
from rtstone.system.membership import membership
from rtstone.system.probes import without_capabilities

RUNTIME = "proc/sys/kernel/sched_rt_runtime_us"
PERIOD = "proc/sys/kernel/sched_rt_period_us"
PRIORITY = 99  # the agent's watchdog
LOCKED = 256 << 20  # bytes; under a lower limit the agent does not lock its memory
MESSAGE = 16 << 10  # bytes of the largest message of Sjöblom's
QUEUE = 10 * MESSAGE  # bytes of a queue of the default length
NAMESPACE = (
    "this user namespace (a rootless container, unshare -U) is not the machine's, and the kernel "
    "does not count its capabilities here: measure outside of it, or give its user there an rtprio "
    "limit of 99 and an unlimited memlock (limits.conf)"
)
BOUND = (
    "this session can gain no capability (no_new_privs, or its bounding set): measure outside of "
    "it, or give the service AmbientCapabilities=CAP_SYS_NICE CAP_IPC_LOCK, or LimitRTPRIO=99 and "
    "LimitMEMLOCK=infinity"
)
FILES = 64  # that the agent or its host may have open at once
FILE_SIZE = 1 << 30  # bytes; a wire log of many hours
_NONE = "its control group has no budget of real time, which is refused even to root"
_OUTSIDE = "give it one outside of the container: --cpu-rt-runtime=950000 of docker"
_MORE = "as root, `echo 950000 > /{0.folder}/cpu.rt_runtime_us`; --cpu-rt-runtime of docker"
_TOOLS = "/usr/sbin:/sbin:/usr/bin:/bin"  # also where the PATH of a user has no sbin
MQ = "proc/sys/fs/mqueue"
READ = (RUNTIME, PERIOD, f"{MQ}/*")  # and files of the control group, wherever that is


def _has(seen: Seen, name: str) -> bool | None:
    held = seen.system.capabilities
    return None if held is None else name in held


def _amount(value: float) -> str:
    return "unlimited" if value == float("inf") else f"{value:.0f}"


# ---- real-time scheduling -----------------------------------------------------------------------


def realtime(seen: Seen) -> Finding:
    """Check whether SCHED_FIFO is granted or, if that cannot be tested, should be.

    The agent's file can have capabilities that this process, which tries it, lacks.
    """
    group = seen.system.probe("agent_group")
    if group.works is False:
        return Finding("bad", f"the agent is {group.text}")
    by_file = group.text if group.works else "by the capabilities of the agent's file"
    outcome = seen.system.probe("realtime")
    if outcome.works:
        return Finding("good", outcome.text)
    able, limit = _has(seen, "CAP_SYS_NICE"), seen.system.limit("Max realtime priority")
    if outcome.works is None:
        if able is None or limit is None:
            return Finding("unknown", outcome.text)
        if not able and limit < PRIORITY:
            text = f"no CAP_SYS_NICE, and a limit of {_amount(limit)}"
            return Finding("bad", text, _gaining(seen))
    if (budget := rt_group(seen)).verdict == "bad":
        return Finding("bad", "refused by the control group", budget.advice)
    by_its_file = seen.system.agent_capabilities >> CAPABILITIES["CAP_SYS_NICE"] & 1
    sandboxed = seen.system.probe("sched_setscheduler").works is False
    if (by_its_file and not sandboxed) or outcome.works is None:
        return Finding("good", by_file if by_its_file else "by right")
    held = able or "CAP_SYS_NICE" in (seen.system.held or ())
    text = f"{outcome.text}{', although CAP_SYS_NICE is held' if held else ''}"
    return Finding("bad", text, refusal(seen) if held or sandboxed else _gaining(seen))


def _gaining(seen: Seen, agent: Path | None = None) -> str:
    """Return how this process can gain rights where no login gives them; else "".

    ``agent``: its file, if it is on this machine.
    """
    from rtstone.system.machine import container

    if container(seen).verdict == "warn":
        return _in_container(seen, agent)
    return BOUND if seen.system.bound else ""


def _in_container(seen: Seen, agent: Path | None) -> str:
    """Return how this process can gain rights in a container.

    Capabilities that a container is started with are those of its root alone: another user has
    limits, or what the agent's file gives where the session may gain that.
    """
    limits = "--ulimit rtprio=99 --ulimit memlock=-1"
    user = seen.system.status.get("Uid", "").split()[1:2]  # effective
    if user in ([], ["0"]):
        return f"start the container with --cap-add=SYS_NICE --cap-add=IPC_LOCK {limits}"
    start = f"start the container with {limits}"
    if seen.system.bound:
        return start
    if agent is None or not _takes_capabilities(agent):
        return f"{start}, or measure as root"
    return f"{_setcap(agent)} as root; or {start}; or measure as root"


def _takes_capabilities(agent: Path) -> bool:
    """Return whether capabilities can be given to the agent's file here."""
    return bool(shutil.which("setcap", path=_TOOLS)) and not without_capabilities(agent)


def _setcap(agent: Path) -> str:
    return f"setcap cap_sys_nice,cap_ipc_lock+ep {shlex.quote(str(agent))}"


def refusal(seen: Seen) -> str:
    """Return what to do if real-time scheduling is refused to a process with CAP_SYS_NICE."""
    system, call = seen.system, seen.system.probe("sched_setscheduler")
    if (budget := rt_group(seen)).verdict == "bad":
        return budget.advice
    if call.works is False or (call.works is None and system.status.get("Seccomp") == "2"):
        return sandbox.way_out(seen, "sched_setscheduler", "sched_setattr")
    if system.in_user_namespace:
        return NAMESPACE
    group = system.group("cpu")
    if "RT_GROUP_SCHED" in (system.configuration or ()) and not group:
        return (
            "the kernel has RT_GROUP_SCHED, and the control group, which cannot be seen here, may "
            "have no budget (cpu.rt_runtime_us): mount its groups, or start from the topmost one"
        )
    if "RT_GROUP_SCHED" in (system.configuration or ()) and group and group.version == 2:
        return (
            "the kernel has RT_GROUP_SCHED, which under cgroup v2 leaves real-time tasks to the "
            f"topmost group: `echo $$ > /{group.mount}/cgroup.procs` as root, then measure"
        )
    return sandbox.way_out(seen)


def rt_group(seen: Seen) -> Finding:
    """Check the RT_GROUP_SCHED budget: with 0, real-time is refused even to root."""
    system = seen.system
    options, group = system.configuration, system.group("cpu")
    budget = system.number(f"{group.folder}/cpu.rt_runtime_us") if group else None
    if budget is not None and group is not None:
        text = f"{budget} µs in group /{group.path}"
        if budget and budget < (system.number(RUNTIME) or 0):
            return Finding("warn", text, f"real-time tasks pause beyond it: {_MORE.format(group)}")
        if not budget:  # the topmost that is seen gets its own from those above it
            return Finding("bad", text, f"{_NONE}: {TUNE if group.path else _OUTSIDE}")
        return Finding("good", text)
    if options is not None and "RT_GROUP_SCHED" not in options:
        return Finding("good", "not in this kernel")
    if options is None:
        return Finding("unknown", "the kernel's configuration is not available")
    return Finding("unknown", "in this kernel; the budget of the control group cannot be read")


def throttling(seen: Seen) -> Finding:
    """Check RT throttling: how long real-time tasks may run in each period."""
    runtime, period = seen.system.number(RUNTIME), seen.system.number(PERIOD)
    if runtime is None or period is None:
        return unreadable(RUNTIME)
    options, served = seen.system.configuration, servers.exist(seen.system)
    text = "off" if runtime < 0 or runtime >= period else f"{runtime} of {period} µs"
    if served and options is not None and "RT_GROUP_SCHED" not in options:
        return Finding("good", f"none in this kernel; its limit ({text}) is for deadline tasks")
    if text == "off" and not served:
        text = "off: a runaway real-time task keeps its CPU for good, and can hang the machine"
    return Finding("yours", text)


def refused(capability: str) -> str | None:
    """Return what to do if a right was refused, here and though this capability is held.

    None if it is not held.
    """
    from rtstone.system.facts import System

    seen = Seen(System(probes=calls.LIVE))
    if capability not in (seen.system.held or ()):
        return None
    if capability == "CAP_SYS_NICE":
        return refusal(seen)
    return NAMESPACE if seen.system.in_user_namespace else sandbox.way_out(seen, "mlockall")


def granting(agent: Path, root: Path = Path("/")) -> str:
    """Return the command that grants the agent real-time scheduling and locked memory here."""
    from rtstone.system.facts import System

    reserved = membership(agent)
    if reserved and reserved.joining:
        return reserved.joining
    seen = Seen(System(root))
    if seen.system.group("cpu") and rt_group(seen).verdict == "bad":
        return "sudo rtstone tune apply"
    if gaining := _gaining(seen, agent):
        return gaining
    if _takes_capabilities(agent):
        return f"sudo {_setcap(agent)}"
    return (
        "printf '%s - rtprio 99\\n%s - memlock unlimited\\n' $USER $USER | "
        "sudo tee /etc/security/limits.d/rtstone.conf, and log in again"
    )


# ---- capabilities -------------------------------------------------------------------------------


def capability(name: str, lacking: Verdict, instead: str = "") -> Callable[[Seen], Finding]:
    """Return whether a capability is held; ``instead`` titles a limit that may do as well."""

    def probe(seen: Seen) -> Finding:
        held = _has(seen, name)
        if held is None:
            return unreadable("proc/self/status")
        if held:
            return Finding("good", "held")
        ours = name in (seen.system.held or ())
        limit = seen.system.limit(instead) if instead else None
        enough = limit is not None and limit >= (PRIORITY if "prio" in instead else LOCKED)
        if enough and limit is not None:
            return Finding("good", f"not held, but covered by a limit of {_amount(limit)}")
        if ours:
            return Finding(lacking, "held in a user namespace only, where it does not count")
        return Finding(lacking, "not held")

    return probe


# ---- limits -------------------------------------------------------------------------------------


def limit(title: str, enough: float, by: str | None = None) -> Callable[[Seen], Finding]:
    """Return the check of a limit, which does not bind a holder of the capability ``by``."""

    def probe(seen: Seen) -> Finding:
        value = seen.system.limit(title)
        if value is None:
            return unreadable("proc/self/limits")
        if value >= enough:
            return Finding("good", _amount(value))
        free = _has(seen, by) if by else False
        text = f"{_amount(value)}{f', but {by} is held' if free else ''}"
        return Finding("good" if free else "warn", text)

    return probe


def rttime(seen: Seen) -> Finding:
    """Check how long a real-time task may run without a wait, which binds root, too."""
    value = seen.system.limit("Max realtime timeout")
    if value is None:
        return unreadable("proc/self/limits")
    return Finding("good" if value == float("inf") else "warn", _amount(value))


def queues(seen: Seen) -> Finding:
    """Return whether a POSIX queue takes messages of 16 KiB."""
    names = ("msg_max", "msgsize_max", "queues_max")
    values = {name: seen.system.number(f"{MQ}/{name}") for name in names}
    if None in values.values():
        return unreadable(f"{MQ}/msgsize_max")
    text = ", ".join(f"{name} {value}" for name, value in values.items())
    if seen.system.probe("mq_open").works is False:
        return Finding("unknown", f"{text}, but none can be opened", "see system calls, above")
    if not values["queues_max"] or (values["msg_max"] or 0) < QUEUE // MESSAGE:
        few = "sysctl fs.mqueue.queues_max=256 fs.mqueue.msg_max=10"
        return Finding("warn", text, f"too few queues, or messages of one: {few}")
    fits = (values["msgsize_max"] or 0) >= MESSAGE
    free = fits or bool(_has(seen, "CAP_SYS_RESOURCE"))  # the limits of others do not bind it
    return Finding("good" if free else "warn", text)


# ---- control groups -----------------------------------------------------------------------------


def cpu_quota(seen: Seen) -> Finding:
    """Check for a CPU time quota of this control group or one above it."""
    group = seen.system.group("cpu")
    if group is None:
        return Finding("unknown", "no control group of CPU time is seen")
    quotas = []
    for folder in group.upwards():
        if group.version == 2:
            words = (seen.system.read(f"{folder}/cpu.max") or "max").split()
        else:
            names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
            words = [seen.system.read(f"{folder}/{name}") or "-1" for name in names]
        if words[0] not in ("max", "-1"):
            quotas.append(f"{' of '.join(words)} µs in /{folder}")
    return Finding("warn", "; ".join(quotas)) if quotas else Finding("good", "none")
