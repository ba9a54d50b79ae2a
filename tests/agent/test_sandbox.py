"""A sandbox that refuses a system call: the cause is named, and nothing else is blamed."""

from __future__ import annotations

import errno
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.agent.speak import AGENT, QUICK, asked, pick, records

pytestmark = [
    pytest.mark.machine,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="its filter is for x86-64"),
]
AFFINITY = 203  # sched_setaffinity
# Fails one system call, by a filter that holds for all that the process executes.
FILTER = """
import ctypes, os, struct, sys
call, error, *command = sys.argv[1:]
code = [(0x20, 0, 0, 0), (0x15, 0, 1, int(call)), (0x06, 0, 0, 0x50000 | int(error)),
        (0x06, 0, 0, 0x7FFF0000)]
text = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in code))
class Program(ctypes.Structure):
    _fields_ = [("n", ctypes.c_ushort), ("code", ctypes.c_void_p)]
program = Program(len(code), ctypes.cast(text, ctypes.c_void_p))
libc = ctypes.CDLL(None, use_errno=True)
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, ctypes.byref(program), 0, 0):
    sys.exit(77)
os.execv(command[0], command)
"""
CAUSE = "a sandbox refuses to bind tasks to CPUs"


def within(call: int, *command: str | Path, **options: str) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, "-c", FILTER, str(call), str(errno.EPERM), *map(str, command)]
    commands = asked("case 1 null samples=20", "bye") if command[0] == AGENT else b""
    done = subprocess.run(
        words, input=commands, capture_output=True, check=False, timeout=60,
        env=os.environ | options,
    )  # fmt: skip
    if done.returncode == 77:
        pytest.skip("no filter of system calls can be set")
    return done


def test_a_refused_affinity_is_named_by_the_agent() -> None:
    (end,) = pick(records(within(AFFINITY, AGENT, QUICK).stdout), "end")
    assert end["status"] == "unsupported"
    assert CAUSE in end["reason"]


def test_the_host_goes_on_where_it_may_not_keep_off_the_measured_cpus(tmp_path: Path) -> None:
    rtstone = Path(sys.executable).with_name("rtstone")
    done = within(AFFINITY, rtstone, "run", "null", "--time", "0.1", RTSTONE_HOME=str(tmp_path))
    said = (done.stdout + done.stderr).decode()
    assert done.returncode == 0, said
    assert CAUSE in said and "cannot write" not in said
