"""`rtstone run` on systems of every kind: it measures, or says why not and what helps there."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.agent.rights import as_root, realtime
from tests.agent.speak import AGENT, QUICK, Agent
from tests.kinds.kinds import (
    KILL,
    NO_ENTRY,
    NO_NULL,
    NO_PROC,
    NO_SYS,
    OUTER_PROC,
    USER_NAMESPACE,
    control_group,
    filtered,
    inside,
    limited,
    mounted,
    run,
    without,
)

pytestmark = [pytest.mark.machine, as_root, realtime]
WAKE_UP = ("dk.periodic", "--time", "0.1")
QUEUE = ("ipc.send", "--time", "0.1")
BOUND = "a sandbox refuses to bind tasks to CPUs: let it allow sched_setaffinity()"
REFUSED = "is refused, but not for want of a capability: `rtstone doctor` names the cause"
BUSY = ("det.bintime", "--time", "1.5")


@pytest.mark.parametrize(
    ("kind", "case", "status", "says"),
    [
        (filtered("sched_setaffinity"), WAKE_UP, 3, BOUND),
        *((filtered(call, error=KILL), WAKE_UP, 4,
           f"a filter of system calls (seccomp) kills who calls {call}: measure outside of the "
           f"sandbox, or let its profile (a service's SystemCallFilter=) allow {call}")
          for call in ("sched_setaffinity", "sched_getaffinity", "flock", "clock_nanosleep")),
        (filtered("flock", error=KILL), ("null", "--target", "sim"), 4, "kills who calls flock"),
        (filtered("sched_getaffinity"), WAKE_UP, 4, "a system call is refused, by a sandbox"),
        (filtered("sched_setscheduler"), WAKE_UP, 0,
         "CAP_SYS_NICE is held, and yet it is refused: a filter of system calls (seccomp)"),
        (filtered("sched_setscheduler"), QUEUE, 3, f"real-time scheduling {REFUSED}"),
        (filtered("sched_setscheduler", error=KILL), WAKE_UP, 4,
         "was killed by SIGSYS, a filter of system calls (seccomp)"),
        (filtered("sched_setattr"), ("dk.periodic", "-p", "policy=deadline", "--time", "0.1"), 3,
         f"SCHED_DEADLINE {REFUSED}"),
        (filtered("mlockall"), WAKE_UP, 0,
         "CAP_IPC_LOCK is held, and yet it is refused: a filter of system calls (seccomp)"),
        (filtered("mlockall", error=KILL), WAKE_UP, 3, "a filter of system calls (seccomp)"),
        (filtered("timer_create"), WAKE_UP, 3, "its watchdog: a sandbox refuses timer_create()"),
        (filtered("clock_nanosleep"), WAKE_UP, 3, "refuses to let it sleep, by clock_nanosleep()"),
        (filtered("mq_open"), QUEUE, 3, f"mq_open() {REFUSED}"),
        (filtered("mq_open", error=errno.ENOSYS), QUEUE, 3,
         "this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)"),
        (filtered("msgget"), ("ipc.send", "-p", "mechanism=sysv", "--time", "0.1"), 3,
         f"msgget() {REFUSED}"),
        (USER_NAMESPACE, WAKE_UP, 0,
         "CAP_SYS_NICE is held, and yet it is refused: this user namespace"),
        (limited(sigpending=0), WAKE_UP, 3, "the limit of pending signals is reached (ulimit -i)"),
        (limited(rttime=100_000), BUSY, 3,
         "the limit RLIMIT_RTTIME of 100000 us: ulimit -R unlimited, or LimitRTTIME=infinity)"),
        (limited(nofile=8), WAKE_UP, 4, "Too many open files; raise the limit of open files"),
        (limited(fsize=4096), WAKE_UP, 2, "File too large; raise the limit of a file's size"),
        (mounted("mount -t tmpfs -o ro none /mnt"), ("null", "--out", "/mnt/here"), 2,
         "Read-only file system; name a writable place"),
    ],
)  # fmt: skip
def test_it_says_why_it_cannot_measure_and_what_helps(
    kind: list[str], case: tuple[str, ...], status: int, says: str
) -> None:
    done = run(kind, "run", *case)
    assert says in " ".join(done.said.split()), done.said
    assert done.status == status, done.said
    assert "--cap-add" not in done.said and "cannot write" not in done.said


@pytest.mark.parametrize(
    "kind",
    [filtered("sched_getscheduler"), filtered("flock"), NO_PROC, NO_SYS, OUTER_PROC, NO_NULL,
     mounted("mount -t tmpfs -o ro none /dev/shm")],
)  # fmt: skip
def test_it_measures_where_it_can(kind: list[str]) -> None:
    done = run(kind, "run", *WAKE_UP)
    assert done.status == 0, done.said
    assert "WITHOUT" not in done.said and "beside another run" not in done.said
    assert "dk.periodic, load none:  n " in done.said


def test_a_run_that_is_resumed_says_what_would_kill_it(home: Path) -> None:
    """It ended by SIGSYS, without a word."""
    assert run([], "run", "null", "--target", "sim", "-p", "samples=10").status == 0
    (document,) = (home / "runs").glob("*/run.json")
    document.unlink()
    done = run(filtered("flock", error=KILL), "run", "--resume", "last")
    assert (done.status, "kills who calls flock" in done.said) == (4, True), done.said
    assert run([], "run", "--resume", "last").status == 0


def test_without_a_home_it_asks_for_a_place_before_it_measures() -> None:
    done = run(NO_ENTRY, "run", "null", RTSTONE_HOME=None, HOME=None, XDG_DATA_HOME=None)
    assert done.status == 2
    assert "neither HOME nor an entry in passwd; name one with RTSTONE_HOME" in done.said


def test_results_do_not_depend_on_where_it_was_started_if_home_is_relative(tmp_path: Path) -> None:
    """They were stored below the current directory, where nobody finds them again."""
    (tmp_path / "here").mkdir()
    entry = f"root:x:0:0::{tmp_path}/home:/bin/sh"
    kind = mounted(
        f"echo {entry} >{tmp_path}/passwd && mount --bind {tmp_path}/passwd /etc/passwd && "
        f"cd {tmp_path}/here"
    )
    done = run(kind, "run", "null", "--time", "0.05", RTSTONE_HOME=None, HOME="one",
               XDG_DATA_HOME="two")  # fmt: skip
    assert done.status == 0, done.said
    assert list((tmp_path / "here").iterdir()) == []
    assert (tmp_path / "home/.local/share/rtstone/runs").is_dir()


def test_a_budget_of_nothing_is_named_with_what_gives_one() -> None:
    with control_group({"cpu.rt_runtime_us": "0"}) as group:
        done = run(inside(group), "run", *WAKE_UP)
    assert "WITHOUT real-time scheduling" in done.said, done.said
    assert "rtstone tune apply" in done.said and "--cap-add" not in done.said


def test_a_cpu_that_the_control_group_loses_is_named() -> None:
    """It was "Invalid argument"."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("needs two CPUs")
    every = {"cpuset.mems": "0", "cpuset.cpus": ",".join(map(str, cpus))}
    with (
        control_group(every, controller="cpuset") as group,
        Agent(*inside(group), AGENT, QUICK) as agent,
    ):
        assert agent.ask("case 1 null samples=20", "end")[-1]["status"] == "ok"
        (group / "cpuset.cpus").write_text(str(cpus[0]))
        end = agent.ask("case 2 null samples=20", "end")[-1]
        agent.ask("bye", "bye")
    assert end["status"] != "ok"
    assert "the control group (cpuset) has lost a CPU since the agent was started" in end["reason"]


def test_few_tasks_of_a_control_group_are_named() -> None:
    with control_group({"pids.max": "4"}, controller="pids") as group:
        done = run(inside(group), "run", *WAKE_UP)
    assert "a limit is reached (ulimit -u" in done.said and "pids.max" in done.said, done.said


def test_a_file_system_that_starts_nothing_is_named(tmp_path: Path) -> None:
    agent = tmp_path / "agent"
    agent.write_bytes(b"")
    agent.chmod(0o755)
    script = f"mount --bind {tmp_path} {tmp_path} && mount -o remount,bind,noexec {tmp_path}"
    done = run(mounted(script), "run", "null", RTSTONE_AGENT=str(agent))
    assert (done.status, "mounted noexec" in done.said) == (4, True), done.said


def test_capabilities_of_a_file_beyond_the_session_are_named(tmp_path: Path) -> None:
    """The kernel does not start such a program."""
    script = (
        f"mount -t tmpfs none {tmp_path} && cp {AGENT} {tmp_path}/agent && "
        f"setcap cap_sys_nice+ep {tmp_path}/agent"
    )
    agent = f"{tmp_path}/agent"
    done = run([*mounted(script), *without("sys_nice")], "run", "null", RTSTONE_AGENT=agent)
    assert (done.status, "gives capabilities that this session may not have" in done.said) == (
        4, True,
    ), done.said  # fmt: skip


def test_a_closed_stream_without_a_device_for_it_is_one_line() -> None:
    """It was a traceback."""
    done = run([*NO_NULL, "sh", "-c", 'exec "$@" <&-', "sh"], "--version")
    assert (done.status, len(done.said.splitlines())) == (1, 1), done.said
    assert "a standard stream is closed" in done.said


def test_a_refused_lock_leaves_no_file_behind(tmp_path: Path) -> None:
    shm = mounted(f"mount --bind {tmp_path} /dev/shm")
    done = run([*shm, *filtered("flock")], "run", "null", "--time", "0.05")
    assert done.status == 0, done.said
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("rtstone-")] == []
