"""Disassemble the agents: only the system call lies between two time stamps."""

from __future__ import annotations

import itertools
import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from rtstone.resources import BUILT
from tests.agent.speak import AGENT, BUILD

# The procedures, and the source file of each.
PROCEDURES = {"try_free_sem": "sem", "run_yield": "ctx", "read_pairs": "clk"}
SOURCES = {**PROCEDURES, "wake_up_periodically": "dk_periodic"}


class Machine(NamedTuple):
    """How to disassemble an agent."""

    path: Path  # the agent, or the directory of its object files if it is stripped
    objdump: str
    stamp: str  # the instruction that reads the counter
    timed: tuple[str, str]  # in try_free_sem and in run_yield: the only system call
    leave: str  # a branch or call
    load: str  # a load from memory


def objects(arch: str) -> Path:
    """Return where the object files of a static agent are, which is stripped."""
    return BUILD.parent / f"agent-{arch}" / "CMakeFiles" / "agent.dir" / "benches"


A64 = (r"\bcntvct_el0", r"^(bl|blr|b|b\..*|cbn?z|tbn?z|svc)\s", r"^(ld\w+|adrp)\s")
A32 = (r"^(bl?x?|b\w\w|cbn?z)(\.[nw])?\s", r"^(ld|pop)")
LIBC = ("sem_trywait", "sched_yield")
MACHINES = {
    "x86-64": Machine(
        AGENT, "objdump", "^rdtsc", LIBC, "^(call|j)", r"^(?!lea|nop|call).*\(%\w+.*\),|\(%rip\)"
    ),
    "aarch64": Machine(
        objects("aarch64"), "aarch64-linux-gnu-objdump", A64[0], LIBC, A64[1], A64[2]
    ),
    "armv7": Machine(
        objects("armv7"), "arm-linux-gnueabihf-objdump", r"^mrrc\s.*cr14", LIBC, A32[0], A32[1]
    ),
    "riscv64": Machine(
        objects("riscv64"), "riscv64-linux-gnu-objdump", "^rdtime", LIBC,
        r"^(j|jr|jalr?|call|tail|ret|b\w+)\s", r"^(l[bhwd]u?|fl[wd])\s",
    ),
    "freertos-a64": Machine(
        BUILT / "freertos-a64.elf", "aarch64-linux-gnu-objdump",
        A64[0], ("xQueueSemaphoreTake", "^svc"), A64[1], A64[2],
    ),
    "freertos-m3": Machine(
        BUILT / "freertos-m3.elf", "arm-none-eabi-objdump", r"^ldr(\.w)? r\d+, \[r\d+, #4\]",
        ("xQueueSemaphoreTake", r"^str.*#3332\]"), A32[0], A32[1],
    ),
}  # fmt: skip


def instructions(machine: Machine, name: str) -> list[str]:
    """Return the instructions of a procedure, with the names of the functions it calls."""
    path = machine.path
    if path.is_dir():
        path = path / f"{SOURCES[name]}.c.o"
    if not path.exists() or not shutil.which(machine.objdump):
        pytest.skip(f"needs {path.name} and {machine.objdump}")
    symbols = subprocess.run(
        [machine.objdump, "-t", path], capture_output=True, text=True, check=True
    )
    # The compiler may change the parameters of a procedure, and says so in its name.
    named = re.search(rf"\s({name}(\.\w+\.\d+)*)$", symbols.stdout, re.MULTILINE)
    assert named, f"no {name} in {path}"
    done = subprocess.run(
        [machine.objdump, "-dr", "--no-show-raw-insn", f"--disassemble={named[1]}", path],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    code: list[str] = []
    for line in done.stdout.splitlines():
        if relocation := re.match(r"\s+[0-9a-f]+: R_\w+\s+(\S+)", line):
            code[-1] += f" {relocation[1]}"
        elif instruction := re.match(r"\s+[0-9a-f]+:\t(.*)", line):
            text = " ".join(instruction[1].split())
            if text.startswith("jalr ra") and code[-1].startswith("auipc ra"):  # one call
                code[-1] += f" {text}"
            else:
                code.append(text)
    assert code, f"no {name} in {path}"
    return code


@pytest.mark.parametrize("name", list(PROCEDURES))
@pytest.mark.parametrize("which", list(MACHINES))
def test_between_two_stamps_lies_the_call_and_nothing_else(which: str, name: str) -> None:
    machine = MACHINES[which]
    code = instructions(machine, name)
    at = [i for i, text in enumerate(code) if re.search(machine.stamp, text)]
    spans = [code[a + 1 : b] for a, b in itertools.pairwise(at)]
    if name == "read_pairs":
        call = None
        timed = [s for s in spans if not any(re.search(machine.leave, i) for i in s)]
    else:
        call = machine.timed[list(PROCEDURES).index(name)]
        timed = [s for s in spans if any(re.search(call, i) for i in s)]
    assert timed, f"{name}: no interval with {call or 'nothing'} in it among {spans}"
    between = min(timed, key=len)
    own = [i for i in between if not (call and re.search(call, i))]
    assert len(between) - len(own) == (call is not None), between
    assert not [i for i in own if re.search(machine.leave, i)], between
    assert not [i for i in own if re.search(machine.load, i)], between
    assert len(own) <= 12, between


@pytest.mark.parametrize("which", ["x86-64", "aarch64", "armv7", "riscv64"])
def test_the_time_is_read_as_soon_as_a_sleep_returns(which: str) -> None:
    """After clock_nanosleep() comes nothing but the test for EINTR, and clock_gettime()."""
    machine = MACHINES[which]
    code = instructions(machine, "wake_up_periodically")
    slept = [i for i, text in enumerate(code) if "clock_nanosleep" in text]
    assert len(slept) == 2  # by either clock
    for start in slept:
        after = itertools.takewhile(lambda text: "clock_gettime" not in text, code[start + 1 :])
        between = list(after)
        assert len(between) <= 6, between
        assert len([i for i in between if re.search(machine.leave, i)]) <= 1, between
