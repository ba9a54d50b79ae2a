"""A guest with two CPUs: a case whose deadlines are bound to one gets a partition of that CPU."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from rtstone.interrupt import bound
from rtstone.lab import images, kernels, ready, systems
from tests.agent.speak import command_lines, pick
from tests.lab.test_boot import records

pytestmark = pytest.mark.lab

LIMIT_S = 240
SLEEPS = "dk.periodic period=20000000 samples=10 cpus=1"
DEADLINES = f"{SLEEPS} policy=deadline runtime=15000000"  # a busy host takes much of it


def ends(kernel: str, commands: list[str], place: Path) -> list[dict[str, Any]]:
    """Boot that kernel with two CPUs, its instructions not counted; return the ends of its cases.

    Counting would let each CPU wait for the emulator to have run the other.
    """
    system = systems.find(kernel)
    if lacking := ready.missing(system):
        pytest.skip(f"no {lacking[0].component}: {lacking[0].command}")
    linux = kernels.find(kernel, system.board.arch)
    initramfs, console = place / "initramfs", place / "console"
    initramfs.write_bytes(images.linux(linux, command_lines(*commands, "bye")))
    words = systems.command(
        system, image=linux.image, initramfs=initramfs, icount=False, serial=f"file:{console}"
    )
    words[words.index("-smp") + 1] = "2"
    subprocess.run(bound(words), check=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL)
    return pick(records(console.read_bytes()), "end")


def test_a_case_enters_a_partition_and_the_next_finds_the_cpu_as_it_was(tmp_path: Path) -> None:
    commands = [
        f"case 1 {DEADLINES}", f"case 2 {SLEEPS}",
        "load min", f"case 3 {DEADLINES}", f"case 4 {SLEEPS}",
        "load bg50 place=any", f"case 5 {DEADLINES}",
        "load none", f"case 6 {DEADLINES}",
    ]  # fmt: skip
    first, second, third, fourth, fifth, sixth = ends("linux-6.12", commands, tmp_path)
    for end in (first, second, third, fourth, sixth):
        assert end["status"] == "ok", end["reason"]
    policies = [end["evidence"]["sched"] for end in (first, second, third, fourth, sixth)]
    assert policies == ["deadline", "fifo", "deadline", "fifo", "deadline"]
    for end in (third, fourth):  # the load goes on, in the partition and after it
        assert end["load"][0]["achieved"] > 0
        assert end["load"][0]["alive"]
    assert fifth["reason"] == (
        "policy=deadline: admission control refuses a task bound to one of several CPUs (no "
        "partition of its own: the load runs on other CPUs as well: give it place=measured); use "
        "config=2cpu, or `rtstone tune apply --only rt_throttling`"
    )


def test_a_kernel_that_would_lose_the_bindings_of_others_is_left_alone(tmp_path: Path) -> None:
    end, after = ends("linux-6.1", [f"case 1 {DEADLINES}", f"case 2 {SLEEPS}"], tmp_path)
    assert "before Linux 6.2 that resets the CPU bindings of other processes" in end["reason"]
    assert after["status"] == "ok"
