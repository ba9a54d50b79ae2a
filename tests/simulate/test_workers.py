"""Worker processes that share work."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rtstone.errors import TargetError
from rtstone.simulate.workers import shared_out
from tests.waiting import soon

SIMULATES = "from rtstone.cli.main import main; main()"


def late(number: int) -> int:
    """Let the first ones take longest."""
    time.sleep(0.05 * (5 - number) if number < 5 else 0)
    return number * number


def fails(number: int) -> int:
    if number == 3:
        raise ValueError("three")
    return number


def dies(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_answers_come_in_order() -> None:
    assert list(shared_out(late, range(20), 3)) == [n * n for n in range(20)]
    assert list(shared_out(late, [7], 3)) == [49]


def test_what_goes_wrong_is_told() -> None:
    with pytest.raises(ValueError, match="three"):
        list(shared_out(fails, range(5), 2))
    with pytest.raises(TargetError, match="a worker of the simulation was killed"):
        list(shared_out(dies, range(5), 2))


def test_who_stops_asking_leaves_no_worker() -> None:
    answers = shared_out(late, range(50), 2)
    assert next(answers) == 0
    workers = multiprocessing.active_children()
    assert len(workers) == 2
    answers.close()  # type: ignore[attr-defined]
    assert not any(worker.is_alive() for worker in workers)


@pytest.mark.machine  # it examines /dev/shm
@pytest.mark.parametrize("after_s", [0.0, 0.1, 1.0])
def test_a_simulation_that_is_killed_leaves_nothing(after_s: float) -> None:
    """At any time after its first worker has started."""
    before = objects()
    command = [sys.executable, "-c", SIMULATES, "simulate", "--workers", "2", "--sets", "100000"]
    with subprocess.Popen(command, stdout=-3, stderr=-3) as process:
        while len(family(process.pid)) < 2:  # one is multiprocessing's own
            time.sleep(0.01)
        time.sleep(after_s)
        workers = family(process.pid)
        process.kill()
    ended = soon(lambda: not any(worker.exists() for worker in workers), 30)
    assert ended, f"of {workers} some are left"
    assert soon(lambda: objects() <= before)  # those of a test beside this one go, too


def objects() -> set[Path]:
    """Return named shared memory and semaphores; directories belong to tests."""
    return {path for path in Path("/dev/shm").iterdir() if not path.is_dir()}


def family(parent: int) -> list[Path]:
    """Return a process's children, which must have none of their own."""
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [Path("/proc", child) for child in children.split()]
