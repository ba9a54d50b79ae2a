"""`rtstone doctor` on systems of every kind: one line has the cause, and what helps there."""

from __future__ import annotations

import errno
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.agent.rights import as_root, nobody
from tests.kinds.kinds import (
    FEW_QUEUES,
    KILL,
    NO_ENTRY,
    NO_NULL,
    NO_PROC,
    NO_SYS,
    OUTER_PROC,
    PRIVATE,
    REACHABLE,
    USER,
    USER_NAMESPACE,
    Line,
    control_group,
    doctor,
    filtered,
    inside,
    limited,
    mounted,
    reachable,
    without,
)

pytestmark = as_root
FILTER = r"\(seccomp\) refuses it: .* allow {}$"
USER_WITH_BOUNDS = [
    *REACHABLE, "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
]  # fmt: skip
HIDDEN = "as root, who sees them, or as a member of the group"


def hidden(how: str) -> list[str]:
    return [*mounted(f"mount -t proc -o hidepid={how} proc /proc"), *USER]


@cache
def lines(kind: tuple[str, ...]) -> dict[str, Line]:
    return doctor(kind)


@pytest.mark.parametrize(
    ("kind", "check", "verdict", "value", "advice"),
    [
        # ---- sandboxes
        (filtered("sched_setaffinity"), "rt.calls", "bad",
         r"refused: sched_setaffinity \(EPERM\)$", FILTER.format("sched_setaffinity")),
        (filtered("sched_setaffinity", error=errno.ENOSYS), "rt.calls", "bad",
         r"refused: sched_setaffinity \(ENOSYS\)$", FILTER.format("sched_setaffinity")),
        (filtered("sched_setaffinity", error=KILL), "rt.calls", "bad",
         r"refused: sched_setaffinity \(killed by SIGSYS\)$", FILTER.format("sched_setaffinity")),
        (filtered("sched_getaffinity"), "rt.calls", "bad",
         r"refused: sched_getaffinity \(EPERM\)", FILTER.format(".*")),
        (filtered("clock_nanosleep"), "rt.calls", "bad",
         r"refused: clock_nanosleep \(EPERM\)$", FILTER.format("clock_nanosleep")),
        (filtered("timer_create"), "rt.calls", "bad",
         r"refused: timer_create \(EPERM\)$", FILTER.format("timer_create")),
        (filtered("timer_create", "flock"), "rt.calls", "bad",
         r"timer_create \(EPERM\), flock \(EPERM\)$", FILTER.format("timer_create and flock")),
        (filtered("capget"), "rt.calls", "warn", r"refused: capget \(EPERM\)$",
         FILTER.format("capget")),
        (filtered("mlockall"), "rt.calls", "warn",
         r"refused: mlockall \(EPERM\)$", FILTER.format("mlockall")),
        (filtered("mlockall", error=KILL), "rt.calls", "warn",
         r"refused: mlockall \(killed by SIGSYS\)$", FILTER.format("mlockall")),
        (filtered("sched_setscheduler", "sched_setattr"), "rt.granted", "bad",
         "EPERM, although CAP_SYS_NICE is held$",
         FILTER.format("sched_setscheduler and sched_setattr")),
        (filtered("sched_setscheduler", "sched_setattr", error=KILL), "rt.granted", "bad",
         "killed by SIGSYS, although CAP_SYS_NICE is held$",
         FILTER.format("sched_setscheduler and sched_setattr")),
        (filtered("sched_setscheduler", error=KILL), "os.inheritance", "unknown", "SIGSYS$", ""),
        # ---- what a kernel is built without
        (filtered("mq_open", error=errno.ENOSYS), "rt.calls", "warn",
         r"refused: mq_open \(ENOSYS\)$", "^mq_open takes a kernel with CONFIG_POSIX_MQUEUE$"),
        (filtered("msgget", error=errno.ENOSYS), "rt.calls", "warn",
         r"refused: msgget \(ENOSYS\)$", "^msgget takes a kernel with CONFIG_SYSVIPC$"),
        (filtered("mq_open"), "rt.calls", "warn",
         r"refused: mq_open \(EPERM\)$", FILTER.format("mq_open")),
        (filtered("mq_open"), "limit.queues", "unknown", "but none can be opened$", "system calls"),
        # ---- rights
        (USER, "rt.granted", "bad", "EPERM$", "with --ulimit rtprio=99|gain no capability"),
        (without("sys_nice"), "rt.granted", "bad", "EPERM$",
         "--cap-add=SYS_NICE|gain no capability"),
        (without("sys_nice"), "cap.nice", "bad", "^not held$", "rtprio limit of 99"),
        (USER_NAMESPACE, "rt.granted", "bad", "although CAP_SYS_NICE is held$",
         "user namespace .* rtprio limit of 99"),
        (USER_NAMESPACE, "cap.nice", "bad", "^held in a user namespace only", ""),
        (USER_NAMESPACE, "cap.lock", "warn", "in a user namespace only, where it does not", ""),
        ([*USER_NAMESPACE, *limited(memlock=1 << 16)], "limit.memlock", "warn", "^65536$", ""),
        # ---- limits
        (limited(rttime=200_000), "limit.rttime", "warn", "^200000$", "LimitRTTIME=infinity"),
        (limited(rttime=1), "limit.rttime", "warn", "^1$", "ulimit -R unlimited"),
        (limited(sigpending=0), "rt.calls", "bad", r"timer_create \(EAGAIN\)$", "^.*ulimit -i$"),
        (limited(nofile=32), "limit.files", "warn", "^32$", "ulimit -n 1024"),
        (limited(fsize=1 << 20), "limit.file_size", "warn", "^1048576$", "ulimit -f unlimited"),
        ([*without("sys_resource"), *limited(msgqueue=0)], "limit.msgqueue", "warn", "^0$",
         "ulimit -q unlimited"),
        ([*limited(memlock=1 << 16), *USER], "limit.memlock", "warn", "^65536$", "ulimit -l"),
        ([*limited(nproc=20), *USER], "env.processes", "warn", "limit 20 per user$",
         "too few: ulimit -u 4096"),
        (limited(nproc=20), "env.processes", "good", "limit 20 per user$", ""),  # not of root
        (FEW_QUEUES, "limit.queues", "warn", "queues_max 0$", "fs.mqueue.queues_max=256"),
        # ---- what is shown
        (hidden("invisible"), "today.proc", "warn", "processes .hidepid=(invisible|2).$", HIDDEN),
        (hidden("noaccess"), "today.proc", "warn", "processes .hidepid=(noaccess|1).$", HIDDEN),
        (hidden("ptraceable"), "today.proc", "warn", "processes .hidepid=(ptraceable|4).$", HIDDEN),
        (hidden("invisible"), "env.competitors", "unknown", "hidden", ""),
        (mounted("mount -t proc -o hidepid=invisible proc /proc"), "today.proc", "good", "", ""),
        (mounted("mount -t proc -o subset=pid proc /proc"), "today.proc", "warn", "subset=pid",
         "without subset=pid"),
        (NO_PROC, "today.proc", "warn", "^not mounted$", "mount -t proc proc /proc"),
        (NO_PROC, "env.competitors", "unknown", "", ""),
        (OUTER_PROC, "today.proc", "warn", "another PID namespace", "mount -t proc proc /proc"),
        (OUTER_PROC, "os.inheritance", "unknown", "/proc does not show", ""),
        (NO_SYS, "today.sys", "warn", "^not mounted$", "mount -t sysfs sysfs /sys"),
        (NO_SYS, "today.idle", "unknown", "cannot be read$", ""),
        (NO_NULL, "today.dev", "warn", "^no /dev/null$", "without /dev/null nothing starts"),
        (mounted("mount -t tmpfs -o ro none /dev/shm"), "today.dev", "warn",
         "^/dev/shm cannot be written to$", "named semaphores"),
        # ---- CPUs
        (["taskset", "-c", "0"], "os.deadline", "unknown", "EPERM, bound to CPU 0$", "all CPUs"),
    ],
)  # fmt: skip
def test_one_line_has_the_cause_and_what_helps(
    kind: list[str], check: str, verdict: str, value: str, advice: str
) -> None:
    if check == "os.deadline" and len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two CPUs")
    line = lines(tuple(kind))[check]
    assert line.verdict == verdict, line
    assert re.search(value, line.value), line
    assert re.search(advice, line.advice), line


def test_here_none_of_these_lines_has_anything_to_say() -> None:
    lines = doctor([])
    quiet = ("rt.calls", "today.sys", "today.dev", "today.results", "limit.files")
    assert [lines[name].verdict for name in quiet] == ["good"] * len(quiet)


@pytest.mark.parametrize(
    ("kind", "homes", "verdict", "value"),
    [
        (NO_ENTRY, {"HOME": None}, "bad", "^this user has neither HOME nor an entry in passwd$"),
        (NO_ENTRY, {"HOME": "some/where"}, "bad", "neither HOME nor an entry"),
        ([], {"HOME": "/etc/passwd"}, "bad", "^/etc/passwd is no directory$"),
        ([], {"HOME": "/etc/passwd", "XDG_DATA_HOME": "/dev/shm"}, "good", "^/dev/shm/rtstone$"),
        ([], {"HOME": "/etc/passwd", "XDG_DATA_HOME": "shm"}, "bad", "^/etc/passwd is no dir"),
        ([], {"HOME": "relative"}, "good", "^/.*/[.]local/share/rtstone$"),  # by passwd
        ([], {"HOME": ""}, "good", "^/[^.].*/[.]local/share/rtstone$"),
        (mounted("mount -t tmpfs -o ro none /mnt"), {"HOME": "/mnt"}, "bad",
         "^/mnt cannot be written to$"),
        (NO_ENTRY, {"HOME": "/"}, "bad", "^/ cannot be written to$"),
        ([], {"RTSTONE_HOME": "/proc/version/x"}, "bad", "is no directory$"),
    ],
)  # fmt: skip
def test_a_place_for_results_is_looked_for_and_doctor_needs_none(
    kind: list[str], homes: dict[str, str | None], verdict: str, value: str
) -> None:
    line = doctor(kind, **({"RTSTONE_HOME": None, "XDG_DATA_HOME": None} | homes))["today.results"]
    assert line.verdict == verdict, line
    assert re.search(value, line.value), line
    assert not line.advice or "RTSTONE_HOME" in line.advice


@pytest.mark.parametrize("below", ["", "nested"])
def test_a_quota_is_named_with_its_group(below: str) -> None:
    with control_group({"cpu.cfs_quota_us": "20000"}, below) as group:
        line = doctor(inside(group))["today.quota"]
        limiting = group.parent if below else group
    assert (line.verdict, line.value) == ("warn", f"20000 of 100000 µs in {limiting}")
    assert "cpu.max" in line.advice and "cpu.cfs_quota_us" in line.advice


@pytest.mark.parametrize(
    ("budget", "verdict", "granted", "advice"),
    [
        ("0", "bad", ("bad", "refused by the control group"), "rtstone tune apply"),
        ("10000", "warn", ("good", "SCHED_FIFO granted"), r"echo 950000 > /\S+/cpu.rt_runtime_us"),
    ],
)
def test_a_budget_of_real_time_is_named(
    budget: str, verdict: str, granted: tuple[str, str], advice: str
) -> None:
    with control_group({"cpu.rt_runtime_us": budget}) as group:
        lines = doctor(inside(group))
    line = lines["rt.group"]
    assert (line.verdict, line.value) == (verdict, f"{budget} µs in group /{group.name}")
    assert re.search(advice, line.advice)
    assert lines["rt.granted"][:2] == granted
    assert "run as root" not in lines["rt.granted"].advice


def test_a_container_sees_its_own_group_as_the_topmost() -> None:
    """What tune does there cannot help: the budget comes from above."""
    own = "umount -l /sys/fs/cgroup/cpu && mount -t cgroup -o cpu none /sys/fs/cgroup/cpu"
    files = {"cpu.cfs_quota_us": "30000", "cpu.rt_runtime_us": "0"}
    with control_group(files) as group:
        lines = doctor([*inside(group), "unshare", "--cgroup", *mounted(own)])
    assert lines["today.quota"][:2] == ("warn", "30000 of 100000 µs in /sys/fs/cgroup/cpu")
    assert lines["rt.group"][:2] == ("bad", "0 µs in group /")
    assert "tune" not in lines["rt.granted"].advice
    assert "--cpu-rt-runtime" in lines["rt.granted"].advice


def test_a_mount_of_another_namespace_of_groups_is_not_taken_for_its_own() -> None:
    """It shows the topmost group, which has no quota and a large budget."""
    files = {"cpu.cfs_quota_us": "30000", "cpu.rt_runtime_us": "0"}
    with control_group(files) as group:
        lines = doctor([*inside(group), "unshare", "--cgroup"])
    assert lines["today.quota"].verdict == lines["rt.group"].verdict == "unknown"
    assert "cannot be seen here" in lines["rt.granted"].advice


def test_few_tasks_of_a_control_group_are_named_with_it() -> None:
    with control_group({"pids.max": "9"}, controller="pids") as group:
        line = doctor(inside(group))["env.processes"]
    assert line.verdict == "warn" and line.value.endswith("limit 9 of the control group")
    assert line.advice == f"too few: raise {group}/pids.max"


def test_an_agent_that_cannot_be_started_is_bad(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    absent = doctor([], RTSTONE_AGENT=str(agent))["today.agent"]
    agent.write_bytes(b"")
    agent.chmod(0o755)
    script = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,noexec {tmp_path}"
    lying = doctor(mounted(script), RTSTONE_AGENT=str(agent))["today.agent"]
    assert (absent.verdict, absent.value) == ("bad", f"{agent} is not there")
    assert (lying.verdict, lying.value) == ("bad", f"{agent} lies on a file system mounted noexec")


def with_capability(place: Path, options: str = "nodev") -> list[str]:
    """Make a system where an agent's file gives CAP_SYS_NICE, on a file system of its own."""
    return mounted(
        f"mount -t tmpfs -o {options} none {place} && cp /bin/true {place}/agent && "
        f"setcap cap_sys_nice+ep {place}/agent"
    )


@pytest.mark.parametrize(
    ("options", "session", "finding"),
    [
        ("nodev", USER_WITH_BOUNDS, ("good", "held")),
        ("nosuid", USER_WITH_BOUNDS, ("bad", "not held")),
        ("nodev", [*USER_WITH_BOUNDS, "--no-new-privs"], ("bad", "not held")),
        ("nodev", without("sys_nice"), ("bad", "not held")),
    ],
)
def test_a_file_gives_no_capabilities_where_the_kernel_ignores_them(
    options: str, session: list[str], finding: tuple[str, str]
) -> None:
    """Doctor took them for those that the agent would have."""
    with TemporaryDirectory() as place:  # any user can reach it
        Path(place).chmod(0o755)
        kind = [*with_capability(Path(place), options), *session]
        line = doctor(kind, RTSTONE_AGENT=f"{place}/agent")["cap.nice"]
    assert (line.verdict, line.value) == finding


def test_a_user_reaches_a_program_below_a_home_that_is_closed(tmp_path: Path) -> None:
    """Where root's home is closed, every test of an ordinary user there failed."""
    files = [tmp_path / name / "bin" / "program" for name in ("a b", "c")]
    for file in files:
        file.parent.mkdir(parents=True)
        file.touch()
        file.parents[1].chmod(0o700)
    tmp_path.chmod(0o700)
    if subprocess.run([*PRIVATE, "true"], check=False).returncode:
        pytest.skip("this system can make no namespace of mounts")
    for kind, status in ((reachable(*files), 0), ([], 1)):
        for file in files:
            done = subprocess.run([*kind, *nobody(), "test", "-r", file], check=False)
            assert done.returncode == status, file
