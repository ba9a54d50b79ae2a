"""Benches of single system calls, as strace sees them; nothing is left behind."""

from __future__ import annotations

import ctypes
import re
import resource
import shutil
import subprocess
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.agent.rights import limited, needs_strace
from tests.agent.speak import (
    AGENT,
    QUICK,
    WATCHED,
    Agent,
    case,
    command_lines,
    figures,
    pick,
    result,
    talk,
)
from tests.waiting import soon

pytestmark = pytest.mark.machine

N, WARMUP = 50, 10
BENCHES = [
    "sys.getpid", "sys.read file=zero", "sys.read file=null", "sys.read file=pipe",
    "sys.write file=zero", "sys.write file=null", "sys.write file=pipe", "sys.select", "sys.mmap",
    "sys.forkexec", "sys.sem", "sys.shm",
]  # fmt: skip


def traced(command: str, calls: str, directory: Path) -> list[str]:
    """Return the system calls of these names in a case of N samples, each with its result."""
    log = directory / "calls"
    subprocess.run(
        ["strace", "-f", "-y", "-o", log, "-e", f"trace={calls}", AGENT, QUICK],
        input=command_lines(f"case 1 {command} samples={N}", "bye"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True,
    )  # fmt: skip
    return log.read_text().splitlines()


# The system call of a sample, and a pattern of it with its result.
PIPE = r"\d+<pipe:\[\d+\]>"
CALLS = [
    ("sys.getpid", "getpid", r" getpid\(\) += \d+$"),
    ("sys.read file=zero", "read", r' read\(\d+</dev/zero.*>, "\\0", 1\) += 1$'),
    ("sys.read file=null", "read", r' read\(\d+</dev/null.*>, "", 1\) += 0$'),
    ("sys.read file=pipe", "read", rf' read\({PIPE}, "\\1", 1\) += 1$'),
    ("sys.write file=zero", "write", r' write\(\d+</dev/zero.*>, "\\1", 1\) += 1$'),
    ("sys.write file=null", "write", r' write\(\d+</dev/null.*>, "\\1", 1\) += 1$'),
    ("sys.write file=pipe", "write", rf' write\({PIPE}, "\\1", 1\) += 1$'),
    ("sys.select descriptors=7", "select,pselect6",
     r"select6?\(\d+, NULL, \[.*\], NULL, .* = 7 "),
    ("sys.mmap size=12288", "mmap",
     r" mmap\(NULL, 12288, .*MAP_PRIVATE\|MAP_ANONYMOUS, .*0\) += 0x"),
    ("sys.mmap size=12288", "munmap", r" munmap\(0x\w+, 12288\) += 0$"),
    ("sys.forkexec", "execve", r' execve\("/proc/self/exe", \["rtstone-child"\], .* = 0$'),
    ("sys.forkexec", "wait4", r"WIFEXITED\(s\) && WEXITSTATUS\(s\) == 0\}\], 0, NULL\) = \d+$"),
    ("sys.sem", "semget", r" semget\(0x\w+, 1, IPC_CREAT\|IPC_EXCL\|0600\) = \d+$"),
    ("sys.sem", "semctl", r" semctl\(\d+, 0, IPC_RMID, NULL\) += 0$"),
    ("sys.shm", "shmget", r" shmget\(0x\w+, 4096, IPC_CREAT\|IPC_EXCL\|0600\) = \d+$"),
    ("sys.shm", "shmctl", r" shmctl\(\d+, IPC_RMID, NULL\) += 0$"),
]  # fmt: skip


@needs_strace
@pytest.mark.parametrize(("command", "calls", "pattern"), CALLS)
def test_a_sample_is_the_call_that_it_is_called_after(
    command: str, calls: str, pattern: str, tmp_path: Path
) -> None:
    batch = "" if command.startswith("sys.forkexec") else " batch=1"
    lines = traced(command + batch, calls, tmp_path)
    tasks = Counter(line.split()[0] for line in lines if re.search(pattern, line))
    if calls == "execve":  # each in a process of its own
        assert list(tasks.values()) == [1] * (N + WARMUP)
    else:  # the measuring task, which makes most of them
        # It first asks for its own process id, in each of two passes.
        extra = (WATCHED if batch else 0) + 2 * (command == "sys.getpid")
        calls_seen = tasks.most_common(1)[0][1]  # strace tears lines that two tasks end at once
        assert 0 <= N + WARMUP + extra - calls_seen <= 4, lines[-20:]


@pytest.mark.parametrize("command", BENCHES)
def test_it_is_alone_and_keeps_its_samples(command: str) -> None:
    results, end = case(f"{command} samples={N}")
    assert end["status"] == "ok", end["reason"]
    assert [(r["n"], r["warmup"]) for r in results] == [(N, WARMUP)]
    assert end["evidence"]["tasks"] == 1


@pytest.mark.parametrize("file", ["zero", "null", "pipe"])
@pytest.mark.parametrize("way", ["read", "write"])
def test_a_batch_moves_a_byte_each(way: str, file: str) -> None:
    # the bench fails if a call did not transfer its byte
    assert result(f"sys.{way} file={file} batch=4096 samples={N}")["batch"] == 4096


def test_every_program_ends_well_and_is_waited_for() -> None:
    assert figures(result(f"sys.forkexec samples={N}")) == {"programs run": N + WARMUP}


def test_a_program_that_cannot_be_executed_fails_the_case(tmp_path: Path) -> None:
    copy = tmp_path / "agent"
    shutil.copy(AGENT, copy)
    agent = Agent(copy)
    agent.until("hello")
    limit = 2  # bytes of stack: no program can start
    resource.prlimit(agent.pid, resource.RLIMIT_STACK, (limit, limit))
    end = agent.ask(f"case 1 sys.forkexec samples={N}", "end")[-1]
    agent.rest("bye")
    assert end["status"] == "failed"
    assert "could not be executed" in end["reason"]


def test_a_limit_of_descriptors_is_named() -> None:
    _, end = case(
        f"sys.select descriptors=200 samples={N}",
        preexec_fn=limited(resource.RLIMIT_NOFILE, 100),
    )
    assert end["status"] == "unsupported"
    assert "ulimit -n" in end["reason"]


def test_more_descriptors_or_bytes_are_what_the_system_is_asked_for() -> None:
    ends = [
        r for r in talk([f"case 1 sys.select descriptors=1000 samples={N}",
                         f"case 2 sys.select descriptors=1001 samples={N}"])
        if r["t"] == "end"
    ]  # fmt: skip
    assert [end["status"] for end in ends] == ["ok", "failed"]
    assert "above the maximum" in ends[1]["reason"]


def test_system_v_objects_of_an_agent_that_was_killed_are_removed() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    agent = Agent()
    agent.until("hello")  # its lock file exists
    keys = [ctypes.c_int32(0x15 << 27 | agent.pid << 2 | slot).value for slot in range(4)]
    assert min(libc.semget(key, 1, 0o1600) for key in keys) >= 0
    assert min(libc.shmget(key, 4096, 0o1600) for key in keys) >= 0
    agent.end_now()
    subprocess.run([AGENT, "--sweep"], check=True, timeout=10)
    until = time.monotonic() + 10  # the agent of another test may have been first, and be at it
    while max(libc.shmget(key, 0, 0) for key in keys) >= 0 and time.monotonic() < until:
        time.sleep(0.01)
    assert [libc.semget(key, 0, 0) for key in keys] == [-1] * 4
    assert [libc.shmget(key, 0, 0) for key in keys] == [-1] * 4


def test_no_object_or_process_is_left() -> None:
    agent = Agent()
    for i, name in enumerate(["sys.sem", "sys.shm", "sys.forkexec"]):
        (end,) = pick(agent.ask(f"case {i} {name} samples={N}", "end"), "end")
        assert end["status"] == "ok"
    left = [
        line for kind in ("sem", "shm")
        for line in Path(f"/proc/sysvipc/{kind}").read_text().splitlines()[1:]
        if (int(line.split()[0]) & 0xFFFFFFFF) >> 2 == 0x15 << 25 | agent.pid  # those of its keys
    ]  # fmt: skip
    agent.rest("bye")
    assert left == []
    assert soon(lambda: "rtstone-child" not in programs())  # one of another agent ends


def programs() -> list[str]:
    """Return the command lines of all processes."""
    output = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    return output.stdout.split("\n")


# ---- memory available and in use ------------------------------------------------------------


def test_the_footprint_is_what_the_system_tells_of_it() -> None:
    counted = figures(result("sys.footprint"))
    kilobytes = dict(re.findall(r"(\w+): +(\d+) kB", Path("/proc/meminfo").read_text()))
    assert counted["memory that the kernel has to give"] == int(kilobytes["MemTotal"]) * 1024
    assert 0 < counted["of it in use"] < int(kilobytes["MemTotal"]) * 1024
    assert counted["agent, file"] == AGENT.stat().st_size
    code = re.findall(r"([0-9a-f]+)-([0-9a-f]+) : Kernel code", Path("/proc/iomem").read_text())
    bytes_of_code = sum(int(to, 16) - int(start, 16) + 1 for start, to in code if int(to, 16))
    assert counted.get("kernel, code", 0) == bytes_of_code


@pytest.mark.skipif(shutil.which("nm") is None, reason="needs nm")
def test_the_agent_is_as_large_as_its_symbols_say() -> None:
    listed = subprocess.run(["nm", AGENT], capture_output=True, text=True, check=True).stdout
    at = {name: int(where, 16) for where, name in re.findall(r"(\w+) . (\w+)\n", listed)}
    counted = figures(result("sys.footprint"))
    assert counted["agent, code"] == at["etext"] - at["__executable_start"]
    assert counted["agent, constants and data"] == at["end"] - at["etext"]
