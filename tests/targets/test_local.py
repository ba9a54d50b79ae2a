from __future__ import annotations

import os
import resource
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from rtstone import resources
from rtstone.errors import TargetError, UsageError
from rtstone.system.membership import Membership
from rtstone.targets import find, process
from rtstone.targets.base import Link, Options
from rtstone.wire.commands import framed
from tests.conftest import Fake


@pytest.fixture
def fake(fake_process: Fake) -> Fake:
    """Use a process, because these tests are about processes."""
    return fake_process


def lines(link: Link) -> list[bytes]:
    seen = []
    while (line := link.read(5)) != b"":
        if line:
            seen.append(line)
    return seen


def agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    program = tmp_path / "agent"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("RTSTONE_AGENT", str(program))


def test_a_dialogue(fake: Fake) -> None:
    with find("local").start(Options()) as link:
        link.send(framed(1, "case 1 null"))
        link.send(framed(2, "bye"))
        got = lines(link)
    assert b'"hello"' in got[0]
    assert b'"bye"' in got[-1]
    assert all(line.endswith(b"\n") for line in got)


@pytest.mark.parametrize(
    ("options", "arguments"),
    [
        (Options(catalogue=True), "--list"),
        (Options(keep_idle=True), "--keep-idle"),
        (Options(), ""),
    ],
)
def test_the_agents_options(fake: Fake, options: Options, arguments: str) -> None:
    trace = fake()
    with find("local").start(options) as link:
        link.send(framed(1, "bye"))
        lines(link)
    assert trace.read_text() == arguments + "\n"  # and no sweep after a normal end


def test_no_agent_tells_how_to_build_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RTSTONE_AGENT", raising=False)
    monkeypatch.setattr(resources, "BUILT", tmp_path)
    with pytest.raises(TargetError, match=r"agent: No such file or directory; `make agent`"):
        find("local").start(Options())
    assert find("local").detail()["agent_sha256"] is None
    monkeypatch.setenv("RTSTONE_AGENT", str(tmp_path / "mine"))  # make does not build it
    with pytest.raises(TargetError, match=r"mine: No such file or directory; see RTSTONE_AGENT"):
        find("local").start(Options())


def test_an_agent_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(tmp_path, monkeypatch, "echo here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RTSTONE_AGENT", "./agent")
    with find("local").start(Options()) as link:
        assert lines(link) == [b"here\n"]


def test_no_temporary_directory(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise FileNotFoundError(2, "No usable temporary directory found")

    monkeypatch.setattr("tempfile.TemporaryFile", none)
    with pytest.raises(TargetError, match="No usable temporary directory"):
        find("local").start(Options())


def test_an_agent_that_may_not_be_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").touch(0o644)
    monkeypatch.setenv("RTSTONE_AGENT", str(tmp_path / "file"))
    with pytest.raises(TargetError, match="Permission denied"):
        find("local").start(Options())


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo out; echo the last words >&2; exit 3", "status 3; its output ends: the last words"),
        ("kill -KILL $$", "was killed by SIGKILL"),
        ("kill -SEGV $$", "was killed by SIGSEGV"),
    ],
)
def test_how_it_died_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, message: str
) -> None:
    agent(
        tmp_path,
        monkeypatch,
        f'[ "$1" = --sweep ] && echo swept >{tmp_path}/swept && exit\n{script}',
    )
    with pytest.raises(TargetError, match=message), find("local").start(Options()) as link:
        lines(link)
    assert (tmp_path / "swept").exists()


def test_an_unfinished_last_line_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent(tmp_path, monkeypatch, "printf 'one\\ntw'")
    with find("local").start(Options()) as link:
        assert lines(link) == [b"one\n", b"tw"]


def test_a_line_without_end_ends_somewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rtstone.targets.lines.LINE", 1000)
    agent(tmp_path, monkeypatch, "head -c 5000 /dev/zero; echo; echo more")
    with find("local").start(Options()) as link:
        got = lines(link)
    assert b"".join(got) == bytes(5000) + b"\nmore\n"
    assert got[-1] == b"more\n"
    assert {len(line) for line in got[:5]} == {1000}


def test_a_child_that_holds_the_pipe_does_not_hide_the_death(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(
        tmp_path,
        monkeypatch,
        f"""[ "$1" = --sweep ] && exit
        sleep 600 & echo $! >{tmp_path}/child; kill -KILL $$""",
    )
    with pytest.raises(TargetError, match="SIGKILL"), find("local").start(Options()) as link:
        while link.read(0.05) != b"":
            pass
    child = int((tmp_path / "child").read_text())
    state = Path(f"/proc/{child}/stat")
    for _ in range(1000):  # it ends a moment later
        if not state.exists() or state.read_text().split()[2] == "Z":
            return
        time.sleep(0.01)
    raise AssertionError("the child lives on")


def test_stop_is_obeyed(fake: Fake) -> None:
    fake(at=1, fate="hang")
    with find("local").start(Options()) as link:
        link.send(framed(1, "case 1 null"))
        while b"progress" not in (link.read(5) or b""):
            pass
        link.stop()
        got = lines(link)
    assert b'"stopped"' in got[-2]
    assert b'"bye"' in got[-1]


def test_an_agent_that_does_not_obey_is_killed(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = fake(at=1, fate="deaf")
    monkeypatch.setattr(process, "STOP_S", 0.05)
    with find("local").start(Options()) as link:
        link.send(framed(1, "case 1 null"))
        while b"progress" not in (link.read(5) or b""):
            pass
        link.stop()
        with pytest.raises(TargetError, match="SIGKILL"):
            while link.read(0.05) != b"":
                pass
    assert trace.read_text().splitlines() == ["", "--sweep"]


def test_closing_ends_an_agent_that_still_runs(fake: Fake, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(at=1, fate="deaf")
    monkeypatch.setattr(process, "STOP_S", 0.05)
    with find("local").start(Options()) as link:
        link.send(framed(1, "case 1 null"))
        assert b"hello" in (link.read(5) or b"")
    with pytest.raises(ProcessLookupError):
        os.kill(link._process.pid, 0)  # type: ignore[attr-defined]


def test_the_terminals_ctrl_c_does_not_reach_the_agent(fake: Fake) -> None:
    with find("local").start(Options()) as link:
        assert os.getsid(link._process.pid) != os.getsid(0)  # type: ignore[attr-defined]
        link.send(framed(1, "bye"))
        lines(link)


def test_the_host_leaves_the_measured_cpu_and_comes_back(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, set_to = {0, 1, 2}, []
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: home)
    monkeypatch.setattr(os, "sched_setaffinity", lambda _, cpus: set_to.append(cpus))
    for measured in (None, frozenset({0}), frozenset({0, 1, 2})):
        with find("local").start(Options(cpus=measured)) as link:
            link.send(framed(1, "bye"))
            lines(link)
    assert set_to == [{0, 1}, home, {1, 2}, home, home, home]


def test_sending_to_a_dead_agent_is_told_by_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(tmp_path, monkeypatch, "exit 7")
    with pytest.raises(TargetError, match="status 7"), find("local").start(Options()) as link:
        while link.read(0.05) != b"":
            link.send(framed(1, "case 1 null"))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("locl", "did you mean 'local'"),
        ("local:x", "takes no argument"),
        ("", "known: .*local"),
    ],
)
def test_unknown_targets(spec: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        find(spec)


def test_signals_without_a_name() -> None:
    assert process._fate(-signal.SIGRTMIN - 1) == f"was killed by signal {signal.SIGRTMIN + 1}"


def test_a_cpu_outside_the_affinity_can_be_measured() -> None:
    """Such are isolated CPUs: the boot parameter isolcpus keeps them out of every affinity mask."""
    home = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(home)})
        assert find("local").cpus() == home
        assert os.sched_getaffinity(0) == {min(home)}
    finally:
        os.sched_setaffinity(0, home)


def test_a_program_with_very_many_open_files(fake: Fake) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, before[1]), before[1]))
    with ExitStack() as files:
        files.callback(resource.setrlimit, resource.RLIMIT_NOFILE, before)
        for _ in range(1100):
            files.enter_context(Path("/dev/null").open())
        with find("local").start(Options()) as link:
            link.send(framed(1, "case 1 null"))
            link.send(framed(2, "bye"))
            got = lines(link)
    assert b'"bye"' in got[-1]


HOLDS = """import fcntl, os, sys, time
os.setpgid(0, 0)
lock = open(sys.argv[1], "w")
fcntl.flock(lock, fcntl.LOCK_EX)
time.sleep(0.4)"""


def test_what_a_dead_agent_left_is_removed_once_its_children_have_gone_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A child in another process group ends a moment later, and holds the lock until then."""
    seen, lock = tmp_path / "seen", tmp_path / "lock"
    agent(
        tmp_path,
        monkeypatch,
        f"""
if [ "$1" = --sweep ]; then
    if flock -n {lock} true; then echo free; else echo held; fi > {seen}
    exit
fi
{sys.executable} -S -E -c '{HOLDS}' {lock} > /dev/null &
while flock -n {lock} true; do :; done
kill -9 $$""",
    )
    with pytest.raises(TargetError, match="killed by SIGKILL"), find("local").start(Options()) as a:
        lines(a)
    assert seen.read_text() == "free\n"


def test_who_is_not_in_the_agents_group_is_told_how_to_join_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent(tmp_path, monkeypatch, "exit 0")
    membership = Membership("latency", "sudo adduser $USER latency, and log in again")
    monkeypatch.setattr("rtstone.system.membership.membership", lambda program: membership)
    (tmp_path / "agent").chmod(0o644)
    with pytest.raises(TargetError) as refused:
        find("local").start(Options())
    assert str(refused.value).endswith(
        "Permission denied; it is for members of group latency only: "
        "sudo adduser $USER latency, and log in again"
    )
