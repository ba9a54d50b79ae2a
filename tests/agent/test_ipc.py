"""ipc.*: which task runs when, messages arrive whole, and no mechanism leaves anything behind."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.processes import SHM, descendants, gone
from tests.agent.rights import as_root, needs_strace, nobody, realtime
from tests.agent.speak import (
    AGENT,
    QUICK,
    STUB,
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

MECHANISMS = ["queue", "sysv", "pipe", "fifo", "unix", "mailbox"]


# ---- on the stub, whose times are known ---------------------------------------------------------


@pytest.mark.parametrize("size", [16, 1024, 16384])
def test_one_receive_lies_between_the_stamps(size: int) -> None:
    record = result(f"ipc.receive size={size} samples=300 warmup=7", agent=STUB)
    assert (record["min"], record["max"]) == (1020, 1020)
    # one to see whether the system supports it, and one for each sample
    assert figures(record)["messages sent"] == 1 + 7 + 300


@pytest.mark.parametrize("mechanism", ["damaging", "repeating"])
def test_a_wrong_message_fails_the_case(mechanism: str) -> None:
    # the stub changes the last byte of the seventh message, or delivers the fifth one twice
    results, end = case(f"ipc.receive mechanism={mechanism} samples=50", agent=STUB)
    assert (end["status"], results) == ("failed", [])
    assert end["reason"] == "wrong contents of 1 of 61 messages"


def test_a_message_that_is_too_large_is_refused_with_the_limit() -> None:
    _, end = case("ipc.receive size=16385", agent=STUB)
    assert (end["status"], end["reason"]) == (
        "unsupported",
        "no channel of this mechanism for messages of 16385 bytes: the limit is the stub's",
    )


# ---- on this machine ----------------------------------------------------------------------------


@realtime
@pytest.mark.parametrize("entity", ["thread", "process"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_no_receiver_runs_while_a_send_is_timed(mechanism: str, entity: str) -> None:
    for size in (1024, 5120, 16384):
        record = result(f"ipc.send mechanism={mechanism} entity={entity} size={size} samples=150")
        values = figures(record)
        assert values["receiver ran within the interval"] == 0
        assert values["sent before the last one was received"] == 0
        # one at the start, one for each sample and one at the end: all were received and correct
        assert values["messages sent"] == 1 + 10 + 150 + 1


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_is_received_was_there_before(mechanism: str) -> None:
    for size in (1024, 5120, *([] if os.geteuid() else [16384])):  # beyond the limits of users
        results, end = case(f"ipc.receive mechanism={mechanism} size={size} samples=150")
        assert end["status"] == "ok", end["reason"]
        assert figures(results[0])["messages sent"] == 1 + 10 + 150
        # there is no other task, so it never had to wait
        assert end["evidence"]["tasks"] == 1
        assert end["evidence"]["nvcsw"] <= 1 + end["evidence"]["rests"]


@realtime
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_round_trip_is_two_messages_and_two_waits(mechanism: str) -> None:
    for size in (1024, 16384):
        results, end = case(f"ipc.srsr mechanism={mechanism} size={size} samples=200 warmup=20")
        assert end["status"] == "ok", end[
            "reason"
        ]  # B changes each number, so A sees that B answered
        assert figures(results[0])["messages sent"] == 1 + 20 + 200 + 1
        # each waits for the other once per round trip (some of the warm-up are counted), and
        # neither is preempted
        assert 2 * 200 <= end["evidence"]["nvcsw"] <= 2 * 220 + 5
        assert end["evidence"]["nivcsw"] <= 5


@realtime
@pytest.mark.parametrize("entity", ["thread", "process"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_round_trip_through_one_queue(mechanism: str, entity: str) -> None:
    """As in the source; possible if the kernel hands a message to the task that waits."""
    results, end = case(
        f"ipc.srsr queues=1 mechanism={mechanism} entity={entity} samples=200 warmup=20"
    )
    if mechanism not in {"queue", "sysv"}:
        assert (end["status"], results) == ("unsupported", [])
        assert "takes its own message back" in end["reason"]
        return
    assert end["status"] == "ok", end["reason"]
    assert figures(results[0])["messages sent"] == 1 + 1 + 20 + 200 + 1
    waits = 2 if entity == "thread" else 1
    assert 200 * waits <= end["evidence"]["nvcsw"] <= 220 * waits + 5


@realtime
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_round_trip_between_processes(mechanism: str) -> None:
    _, end = case(f"ipc.srsr mechanism={mechanism} entity=process samples=200 warmup=20")
    assert end["status"] == "ok", end["reason"]
    assert 200 <= end["evidence"]["nvcsw"] <= 220 + 5  # only of the measuring process


@realtime
def test_the_copies_are_computed_only_where_there_are_none() -> None:
    for mechanism in MECHANISMS:
        record = result(f"ipc.srsr mechanism={mechanism} size=16384 samples=100")
        values = figures(record)
        if mechanism != "mailbox":
            assert set(values) == {"messages sent"}
            continue
        net = record["sum"] / record["n"] - record["overhead"]
        rtt = net * 1e9 / record["hz"]
        copies = 2 * values["mean memcpy of a message"]
        assert copies > 0
        assert values["computed: mean round trip + 2 memcpy"] == pytest.approx(
            rtt + copies, abs=0.1
        )


@contextlib.contextmanager
def at_work(command: str, *agent: str | Path) -> Iterator[tuple[Agent, list[int]]]:
    """Start an agent and a case that lasts until the block is left; yield it and its processes."""
    process = Agent(*agent)
    family: list[int] = []
    try:
        process.begin(f"{command} samples=0 time=30000000000")
        family = descendants(process.pid)
        assert family
        yield process, family
    finally:
        process.end_now()
        assert gone(family)


def links(pids: list[int]) -> list[str]:
    """Return what the processes' file descriptors refer to, except those that every agent has."""
    links = []
    for pid in pids:
        for fd in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(OSError):
                links += [str(fd.readlink())] if int(fd.name) > 2 else []
    return links


def queues(agent: int, *namespace: str) -> list[list[str]]:
    """Return the System V queues of an agent, recognized by their keys, as seen in a namespace."""
    table = subprocess.run(
        [*namespace, "cat", "/proc/sysvipc/msg"],
        capture_output=True, text=True, check=True, timeout=10,
    )  # fmt: skip
    rows = [line.split() for line in table.stdout.splitlines()[1:]]
    return [row for row in rows if (int(row[0]) & 0xFFFFFFFF) >> 2 == 0x15 << 25 | agent]


def queues_of_case(agent: int, pid: int) -> list[list[str]]:
    """Return the queues that the tasks of a case see: its first thread only starts them."""
    task = next(t for t in Path(f"/proc/{pid}/task").iterdir() if t.name != str(pid))
    return queues(agent, "nsenter", f"--ipc={task}/ns/ipc")


@as_root
@realtime
@pytest.mark.parametrize(
    ("mechanism", "pattern", "descriptors"),
    [("queue", r"/rtstone-\d+\.\d \(deleted\)", 2), ("pipe", r"pipe:\[\d+\]", 4),
     ("fifo", r"/dev/shm/fifo\.rtstone-\d+\.\d \(deleted\)", 4), ("unix", r"socket:\[\d+\]", 4),
     ("sysv", "", 0), ("mailbox", "", 0)],
)  # fmt: skip
def test_a_mechanism_is_what_it_is_called(mechanism: str, pattern: str, descriptors: int) -> None:
    mechanisms = ["queue", "pipe", "fifo", "unix"]
    patterns = [r"/rtstone-\d+\.\d", r"pipe:", r"/dev/shm/fifo", r"socket:"]
    with at_work(f"ipc.srsr mechanism={mechanism}", AGENT, QUICK) as (agent, family):
        targets = links(family)
        if pattern:
            assert len([link for link in targets if re.fullmatch(pattern, link)]) == descriptors
        for other, strange in zip(mechanisms, patterns, strict=True):
            if other != mechanism:
                assert not [link for link in targets if re.match(strange, link)]
        ids = queues_of_case(agent.pid, family[0])
        assert len(ids) == (2 if mechanism == "sysv" else 0)
        assert not queues(agent.pid)  # no other process sees them, and they end with the case
        for row in ids:  # someone sent, and someone received
            assert int(row[5]) > 0
            assert int(row[6]) > 0


@pytest.fixture
def anyone(copy: Path) -> list[str | Path]:
    """Return the command of an agent without CAP_SYS_ADMIN, whose queues everyone sees."""
    return [*nobody("sys_nice"), copy, QUICK]


@as_root
@realtime
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_is_left_after_sigkill(mechanism: str, anyone: list[str | Path]) -> None:
    expected = 2 if mechanism == "sysv" else 0
    with at_work(f"ipc.srsr mechanism={mechanism}", *anyone) as (agent, _):
        assert len(queues(agent.pid)) == expected
    assert soon(lambda: not (SHM / f"rtstone-{agent.pid}.lock").exists())
    assert not queues(agent.pid)
    assert not list(SHM.glob(f"*rtstone-{agent.pid}.*"))
    mqueues = Path("/dev/mqueue")
    assert not (mqueues.is_dir() and list(mqueues.glob(f"rtstone-{agent.pid}.*")))


@as_root
@realtime
def test_a_case_that_was_killed_does_not_block_the_next(anyone: list[str | Path]) -> None:
    agent = Agent(*anyone)
    agent.begin("ipc.receive mechanism=sysv samples=0 time=30000000000")
    for pid in descendants(agent.pid):
        os.kill(pid, 9)
    answers = agent.rest("case 2 ipc.receive mechanism=sysv samples=50", "bye")
    assert [r["status"] for r in pick(answers, "end")] == ["failed", "ok"]
    assert not queues(agent.pid)  # the agent removes them when it ends


@as_root
@realtime
def test_a_limit_of_the_system_is_named(anyone: list[str | Path]) -> None:
    limits = {
        "queue": ("/proc/sys/fs/mqueue/msgsize_max", "fs.mqueue.msgsize_max"),
        "sysv": ("/proc/sys/kernel/msgmax", "kernel.msgmax"),
    }
    for mechanism, (file, name) in limits.items():
        size = int(Path(file).read_text()) + 1
        if size > 64 << 10:
            continue  # no message is that large
        done = subprocess.run(
            [*anyone],
            input=command_lines(f"case 1 ipc.send mechanism={mechanism} size={size}", "bye"),
            capture_output=True, check=True, timeout=20,
        )  # fmt: skip
        assert b'"status":"unsupported"' in done.stdout
        assert f"sysctl {name}".encode() in done.stdout


def test_the_limits_of_the_system_stay_as_they_are() -> None:
    """The case raises its own limits if it may, never those of the system."""
    files = [Path("/proc/sys/kernel/msgmax"), Path("/proc/sys/fs/mqueue/msgsize_max")]
    before = [file.read_text() for file in files]
    for mechanism in ("queue", "sysv"):
        case(f"ipc.receive mechanism={mechanism} size=65536 samples=20")
    assert [file.read_text() for file in files] == before


@needs_strace
@pytest.mark.parametrize(
    ("call", "mechanism", "says"),
    [
        ("mq_open", "queue", "this kernel has no POSIX message queues (CONFIG_POSIX_MQUEUE)"),
        ("msgget", "sysv", "this kernel has no System V message queues (CONFIG_SYSVIPC)"),
    ],
)
def test_a_kernel_without_queues_is_named(call: str, mechanism: str, says: str) -> None:
    without = ("-f", "-o", os.devnull, "-e", f"inject={call}:error=ENOSYS")
    words = [f"case 1 ipc.send mechanism={mechanism} samples=10"]
    (end,) = pick(talk(words, *without, str(AGENT), QUICK, agent=Path("strace")), "end")
    assert end["status"] == "unsupported"
    assert end["reason"].endswith(says)
