"""Recordings of this machine, where it has tracefs: of tasks that are known, and what remains.

The kernel has one tracefs, which is mounted in a namespace of each program that the test starts.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rtstone import toml
from rtstone.documents.tasks import Chain, TaskSet
from rtstone.tasks.file import parse
from rtstone.tasks.threads import Thread, threads
from rtstone.tasks.tracing import PREFIX, described
from tests.agent.rights import as_root, realtime
from tests.waiting import soon

MOUNT = 'mount -t tracefs tracefs /sys/kernel/tracing && exec "$@"'
KNOWN = Path(__file__).with_name("known.c")
TRACE = (str(Path(sys.executable).with_name("rtstone")), "tasks", "from-trace")


def with_tracefs(*command: str) -> list[str]:
    """Return the command line of a program that has tracefs."""
    return ["unshare", "--mount", "sh", "-c", MOUNT, "sh", *command]


def instances() -> set[str]:
    """Return the instances of recordings of task sets."""
    listed = subprocess.run(
        with_tracefs("ls", "/sys/kernel/tracing/instances"), capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    if listed.returncode:
        pytest.skip(f"tracefs cannot be mounted: {listed.stderr.strip()}")
    return {name for name in listed.stdout.split() if name.startswith(PREFIX)}


@pytest.fixture
def tasks_program(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Yield the program of tasks that are known, which runs until its input ends."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    program = tmp_path / "known"
    subprocess.run([compiler, "-O2", "-pthread", "-o", program, KNOWN], check=True)
    with subprocess.Popen(
        [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        if process.stdout.readline() != "started\n":
            pytest.skip("no threads of real-time priority")
        yield process
        process.kill()


def traced(*arguments: str) -> tuple[str, TaskSet]:
    done = subprocess.run(
        with_tracefs(*TRACE, *arguments), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    path = Path("tasks.toml")
    return done.stdout, parse(toml.parse(done.stdout.encode(), path, "task set"), path)


@pytest.mark.machine
@as_root
@realtime
def test_tasks_that_are_known(tasks_program: subprocess.Popen[str]) -> None:
    before = instances()
    text, tasks = traced("3", "--pid", str(tasks_program.pid))
    assert instances() <= before
    out, _ = tasks_program.communicate("")
    medians = {name: int(median) for name, _, median, _ in map(str.split, out.splitlines())}
    assert {task.name for task in tasks.tasks} == set(medians)
    # On a machine that others use a task may be too irregular; then that is what the text says.
    for name, period in (("control", 10_000_000), ("slow", 25_000_000)):
        if tasks.task(name).arrival == "periodic":
            assert tasks.task(name).period_ns == pytest.approx(period, rel=0.01)
        else:
            assert "no period: irregular" in text
    assert tasks.task("act").arrival == "woken"
    assert tasks.chains == [Chain(name="control to act", path=["control", "act"])]
    for task in tasks.tasks:
        # Of each job's execution time the program does not see its calls of the kernel.
        assert task.work.least_ns and task.work.most_ns
        assert task.work.least_ns <= 1.1 * medians[task.name]
        assert task.work.most_ns >= medians[task.name]
    assert {(task.policy, task.priority) for task in tasks.tasks} == {
        ("fifo", 30), ("fifo", 20), ("fifo", 10),
    }  # fmt: skip
    assert "semaphore shuffling (rheal.ss): " in text


@pytest.mark.machine
@as_root
def test_what_a_killed_recording_leaves_the_next_one_removes() -> None:
    before = instances()
    command = with_tracefs(*TRACE, "60")
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    ) as recording:
        assert soon(lambda: instances() - before)
        alive = instances() - before
        subprocess.run(with_tracefs(*TRACE, "0.05"), capture_output=True, check=False)
        assert alive <= instances()  # it is somebody's
        os.killpg(recording.pid, signal.SIGKILL)
    assert alive <= instances()
    subprocess.run(with_tracefs(*TRACE, "0.05"), capture_output=True, check=False)
    assert not alive & instances()


@pytest.mark.machine
@as_root
def test_a_recording_may_be_ended() -> None:
    command = with_tracefs(*TRACE, "60")
    before = instances()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as recording:
        assert soon(lambda: instances() - before)
        recording.send_signal(signal.SIGINT)
        out, err = recording.communicate(timeout=100)
    assert recording.returncode in {0, 3}, err
    assert b"ended early: you ended it" in out or recording.returncode == 3
    assert not instances() - before


@pytest.mark.machine
@as_root
def test_there_is_no_such_process() -> None:
    instances()
    done = subprocess.run(
        with_tracefs(*TRACE, "1", "--pid", "4194303"), capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "no process 4194303, in --pid; name one that runs" in done.stderr


def test_the_second_argument_of_a_call_is_a_field() -> None:
    text = (
        "name: sys_enter\nID: 443\nformat:\n"
        "\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
        "\tfield:long id;\toffset:8;\tsize:8;\tsigned:1;\n"
        "\tfield:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;\n"
    )
    lines = described(text).splitlines()
    assert "\tfield:unsigned long operation;\toffset:24;\tsize:8;\tsigned:0;" in lines
    assert not any("args" in line or "common_pid" in line for line in lines)
    assert any("long id;" in line for line in lines)


def test_threads_of_a_process(tmp_path: Path) -> None:
    own = threads(os.getpid())[os.getpid()]
    assert (own.process, own.kernel, own.policy) == (os.getpid(), False, "other")
    assert own.cpus == tuple(sorted(os.sched_getaffinity(0)))
    # A name may be anything.
    folder = tmp_path / "7" / "task" / "8"
    folder.mkdir(parents=True)
    fields = ["0"] * 49
    fields[6], fields[37], fields[38] = str(0x200040), "50", "1"
    (folder / "stat").write_text(f"8 (a) (b) {' '.join(['S', *fields[1:]])}\n")
    (folder / "status").write_text("Name:\ta\nCpus_allowed_list:\t0,2-3\n")
    (tmp_path / "7" / "task" / "9").mkdir()  # which has just ended
    assert threads(proc=tmp_path) == {
        8: Thread(8, 7, "a) (b", kernel=True, policy="fifo", priority=50, cpus=(0, 2, 3)),
    }
