"""An agent whose file has capabilities that its user lacks (docs/guides/security.md)."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.agent.processes import descendants
from tests.agent.rights import as_root, copied, nobody, realtime
from tests.agent.speak import HASTY, QUICK, Json, command_lines, pick, records
from tests.agent.test_loads import LoadAgent, text

pytestmark = [pytest.mark.machine, as_root]

RIGHTS = ("sys_nice", "ipc_lock")
BITS = 1 << 23 | 1 << 14  # those of RIGHTS
USER = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]
WHY = "refused, as the agent has rights by its file that its user has not"
PROGRAMS = {"command": "run=id", "stress-ng": "args=--cpu%201", "hackbench": "", "x11": ""}
TEXTS = [
    "write dir=/tmp", "copy dir=/tmp", "driver device=/dev/zero", "heavy tree=/etc",
    "heavy irq=external serial=/dev/ttyS0", "heavy net=external peer=192.0.2.1:9",
]  # fmt: skip


def granted(agent: Path, directory: Path) -> Path:
    """Copy an agent and give the copy's file the two capabilities, as setcap does."""
    path = copied(agent, directory)
    if os.statvfs(path).f_flag & os.ST_NOSUID:
        pytest.skip("a file system that is mounted nosuid")
    os.setxattr(path, "security.capability", struct.pack("<5I", 0x02000001, BITS, 0, 0, 0))
    return path


@pytest.fixture
def agent(reachable: Path) -> Path:
    return granted(HASTY, reachable)


def records_of(command: list[str], *lines: str, **options: Any) -> list[Json]:
    """Send commands to an agent that is started so, and return all records of its answer."""
    done = subprocess.run(
        [*command, QUICK], input=command_lines(*lines, "bye"),
        stdout=subprocess.PIPE, timeout=60, check=True, **options,
    )  # fmt: skip
    return records(done.stdout)


@realtime
def test_its_user_measures_with_the_rights_of_the_file(agent: Path) -> None:
    answers = records_of(
        [*USER, str(agent)], "case 1 dk.periodic period=1000000 samples=5 warmup=0"
    )
    (end,), (conditions,) = pick(answers, "end"), pick(answers, "conditions")
    assert end["status"] == "ok", end["reason"]
    assert (end["evidence"]["sched"], end["evidence"]["locked"]) == ("fifo", True)
    values = conditions["values"]
    assert (values["rights.realtime"], values["rights.by_file"], values["rights.uid"]) == (
        True, True, 65534,
    )  # fmt: skip


def test_it_refuses_programs_files_and_addresses_of_its_users_choice(agent: Path) -> None:
    loads = [*(f"{name} {words}".strip() for name, words in PROGRAMS.items()), *TEXTS]
    answers = records_of(
        [*USER, str(agent)],
        *(f"load {load}" for load in loads),
        "load none",
        "case 1 int.latency.timerlat tracefs=/tmp",
        "case 2 null samples=10",
    )
    loaded = pick(answers, "loaded")
    assert len(loaded) == len(loads) + 1
    for load in loaded[:-1]:
        assert (load["status"], WHY in load["reason"]) == ("unsupported", True), load
    chosen, null = pick(answers, "end")
    assert chosen["status"] == "unsupported"
    assert chosen["reason"].startswith(f"parameter tracefs: {WHY}")
    assert null["status"] == "ok"


def test_who_has_the_rights_otherwise_may_choose(agent: Path, reachable: Path) -> None:
    """Root, and a user with capabilities of their own, gain nothing by the file."""
    reachable.chmod(0o777)
    plain = shutil.copy(HASTY, reachable / "plain")
    for command in ([str(agent)], [*nobody(*RIGHTS), str(plain)]):
        answers = records_of(
            command, f"load write dir={text(reachable)} ram=1 size=65536", "case 1 null samples=10"
        )
        (loaded,) = pick(answers, "loaded")
        assert loaded["status"] == "ok", loaded["reason"]
        assert pick(answers, "conditions")[0]["values"]["rights.by_file"] is False


def test_no_variable_chooses_a_program_or_a_directory(agent: Path, reachable: Path) -> None:
    directory, started = reachable / "planted", reachable / "started"
    directory.mkdir()
    for name in ("sh", "gzip", "printf", "sort", "sed", "test"):
        program = directory / name
        program.write_text(f"#!/bin/sh\n/bin/echo {name} >> {started}\n")
        program.chmod(0o755)
    reachable.chmod(0o777)
    environment = {
        "PATH": str(directory), "TMPDIR": "/nonexistent", "ENV": str(directory / "sh"),
        "BASH_FUNC_sort%%": f"() {{ echo sort >> {started}; }}",
    }  # fmt: skip
    user = [f"/usr/bin/{USER[0]}", *USER[1:]]
    plain = shutil.copy(HASTY, reachable / "plain")
    records_of([*user, str(plain)], "case 1 posix.options", env=environment)
    assert "sort" in started.read_text()  # as the variable says
    started.unlink()
    answers = records_of(
        [*user, str(agent)],
        "case 1 posix.options",
        "load files many=100",  # in $TMPDIR, or else in /var/tmp
        "case 2 null samples=10",
        env=environment,
    )
    assert not started.exists(), started.read_text()
    assert [r["status"] for r in pick(answers, "end")] == ["ok", "ok"]


def sets(pid: int) -> dict[str, int]:
    """Return the capability sets of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {line[:6]: int(line[8:], 16) for line in lines if line.startswith("Cap")}


def test_what_it_starts_inherits_nothing_and_nobody_looks_into_it(reachable: Path) -> None:
    """Not even what its user may pass on."""
    path = granted(HASTY, reachable)
    before = [*USER[:-1], "--inh-caps=-all,+net_raw"]
    started = LoadAgent(*before, agent=path)
    try:
        started.load("min")
        family = [started.pid, *descendants(started.pid)]
        assert len(family) > 1
        for pid in family:
            held = sets(pid)
            assert (held["CapInh"], held["CapAmb"]) == (0, 0)
            assert held["CapPrm"] == held["CapEff"] == BITS
            look = subprocess.run(
                [*USER, "head", "-c1", f"/proc/{pid}/environ"], capture_output=True, check=False
            )
            assert b"Permission denied" in look.stderr
    finally:
        started.bye()
