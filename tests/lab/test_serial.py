"""A FreeRTOS image in the emulator, reached by the emulator's serial line as a board is."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rtstone.documents.run import Result, Run
from rtstone.interrupt import bound
from rtstone.lab import systems
from rtstone.resources import BUILT
from rtstone.results.assembly import replay
from rtstone.store.rundir import RunDirectory, load
from tests.conftest import Cli
from tests.lab.boards import needs

pytestmark = pytest.mark.lab


@contextmanager
def board(name: str) -> Iterator[str]:
    """Start the image without a script; yield the target that reaches it."""
    system = systems.find(name)
    command = systems.command(system, image=BUILT / str(system.image), serial="pty")
    # Here its time must not run ahead of ours while it waits for the host: a lease would end.
    words = [word.replace(",sleep=off", "") for word in command]
    with subprocess.Popen(bound(words), stdout=subprocess.PIPE, text=True) as emulator:
        try:
            assert emulator.stdout
            match = re.search(r"/dev/pts/\d+", emulator.stdout.readline())
            assert match
            yield f"serial:{match[0]}"
        finally:
            emulator.kill()


def run(cli: Cli, target: str, out: Path) -> Run:
    done = cli("run", "lab", "--target", target, "--out", str(out))
    assert done.status == 0, done.err
    return load(out)


UNDER_LOAD = ("bench", "params", "load", "status", "reason", "unit", "n", "min", "ended", "flags")


def same(result: Result) -> Result | dict[str, Any]:
    """Return what is the same by both targets: all, but under a load that runs.

    It has run for longer when the command of its case comes, and been interrupted at each look for
    that: its tasks are at other places of their work, and its heap is another one.
    """
    if result.load == "none" or result.status != "ok":
        return result
    figures = {name: getattr(result, name) for name in UNDER_LOAD}
    names = ("tasks", "prio", "sched", "cpus", "config", "locked")
    return figures | {name: result.evidence.get(name) for name in names}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=needs(name)) for name in ("freertos-m3", "freertos-a64")]
)
def test_a_serial_line_tells_what_the_emulators_own_target_does(
    cli: Cli, tmp_path: Path, name: str
) -> None:
    if name != "freertos-m3" and os.environ.get("RTSTONE_LAB") != "all":
        pytest.skip("takes long: RTSTONE_LAB=all runs it")
    measured_run = run(cli, f"qemu:{name}", tmp_path / "qemu")
    with board(name) as target:
        run(cli, target, tmp_path / "serial")
    directory, plan, logs = RunDirectory.resume(tmp_path / "serial")
    directory.close()
    plan = structs.replace(plan, target=measured_run.target)  # whose clock counts instructions
    here = replay(plan, *logs)
    for result, other in zip(here.results, measured_run.results, strict=True):
        assert same(result) == same(other)
        if result.status == "ok":
            assert result.p50 == pytest.approx(other.p50, rel=0.05)
    identity: dict[str, Any] = {
        "run_id": "",
        "created": "",
        "command": [],
        "duration_s": None,
        "results": [],
    }
    assert structs.replace(here, **identity) == structs.replace(measured_run, **identity)
