"""Benches of the POSIX metric groups: which task ran when, what arrived; nothing is left behind."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.agent.processes import SHM, descendants, gone
from tests.agent.rights import (
    as_root,
    limited,
    may_realtime,
    needs_strace,
    nobody,
    realtime,
    unprivileged,
)
from tests.agent.speak import (
    AGENT,
    QUICK,
    STUB,
    WATCHED,
    Agent,
    Json,
    case,
    command_lines,
    figures,
    listed,
    pick,
    records,
    result,
    talk,
)
from tests.agent.test_posix import measuring
from tests.waiting import soon

pytestmark = pytest.mark.machine

GROUPS = {
    "signal exchange", "synchronous I/O", "asynchronous I/O", "semaphores",
    "mutexes and condition variables", "access to locked memory", "shared memory", "scheduling",
    "clocks and timers", "message passing", "thread management", "thread cancellation",
}  # fmt: skip
N, WARMUP = 50, 10


BENCHES = {b["id"]: b for b in listed("bench") if b["id"].startswith("posix.") and b["metric"]}


def test_every_group_has_a_bench_and_no_other_word_is_used() -> None:
    words = {b["metric"] for b in listed("bench")} - {None}
    assert words == GROUPS
    for name, group in [("sig", "signal exchange"), ("sio", "synchronous I/O"),
                        ("aio", "asynchronous I/O"), ("mutex", "mutexes and condition variables"),
                        ("cond", "mutexes and condition variables"), ("shm", "shared memory"),
                        ("mlock", "access to locked memory"), ("timer", "clocks and timers"),
                        ("thread", "thread management"),
                        ("cancel", "thread cancellation")]:  # fmt: skip
        assert {b["metric"] for i, b in BENCHES.items() if i.split(".")[1] == name} == {group}


# ---- all benches ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers() -> dict[str, tuple[list[Json], Json]]:
    """Return results and end of every bench, from one agent."""
    records = talk([f"case {i} {name} samples={N}" for i, name in enumerate(BENCHES)])
    return {
        name: (
            [r for r in records if r["t"] == "result" and r["id"] == i],
            next(r for r in records if r["t"] == "end" and r["id"] == i),
        )
        for i, name in enumerate(BENCHES)
    }


@pytest.mark.parametrize("name", BENCHES)
def test_it_takes_its_samples(name: str, answers: dict[str, tuple[list[Json], Json]]) -> None:
    results, end = answers[name]
    if "priorities" in BENCHES[name]["needs"] and not may_realtime():
        assert end["status"] == "unsupported"
        return
    assert end["status"] == "ok", end["reason"]
    # How many calls a sample has, and so whether they are also timed one by one, is the clock's.
    series = ["", "single"] if results[0]["batch"] > 1 else [""]
    assert [r["series"] for r in results] == series
    assert [(r["n"], r["warmup"]) for r in results] == [(N, WARMUP)] * len(series)


@as_root
def test_without_rights_none_of_them_fails(copy: Path) -> None:
    ends = unprivileged(copy, [f"case {i} {n} samples={N}" for i, n in enumerate(BENCHES)], [])
    for bench, end in zip(BENCHES.values(), ends, strict=True):
        wanted = "unsupported" if "priorities" in bench["needs"] else "ok"
        assert (end["status"], bench["id"]) == (wanted, bench["id"]), end["reason"]


# ---- which task ran when --------------------------------------------------------------------

# What must not happen with priorities on one CPU, and how often per sample the measuring task
# must have been preempted or have blocked, as counted by the kernel, not by the bench.
ORDERED = [
    ("posix.mutex.handover", ["waiter was not waiting", "waiter did not preempt"], 2),
    ("posix.mutex.handover protocol=inherit",
     ["waiter was not waiting", "waiter did not preempt"], 2),
    ("posix.cond.signal.higher", ["waiters were not waiting", "waiters did not preempt"], 1),
    ("posix.cond.broadcast waiters=9", ["waiters were not waiting", "waiters did not preempt"], 9),
    ("posix.shm.handover", ["reader did not preempt"], 1),
    ("posix.thread.create", ["thread ran within the interval"], 1),
    ("posix.thread.start", ["thread did not preempt"], 1),
    ("posix.thread.join", ["thread had not ended before"], 1),
    ("posix.thread.exit", ["thread ran before it was joined"], 1),
    ("posix.cancel.deferred", ["thread did not preempt", "thread was not at its place"], 2),
    ("posix.cancel.asynchronous",
     ["thread ran before it was joined", "thread was not at its place"], 2),
    ("posix.aio.submit.write", ["completed before the call returned"], 1),
    ("posix.aio.submit.read", ["completed before the call returned"], 1),
    ("posix.aio.write", ["not completed after aio_suspend"], 1),
    ("posix.aio.read", ["not completed after aio_suspend"], 1),
    ("posix.aio.signal", ["completed without its signal", "not completed at its signal"], 1),
    ("posix.aio.cancel", ["could not be cancelled"], 1),
]  # fmt: skip


@realtime
@pytest.mark.parametrize(("command", "never", "switches"), ORDERED)
def test_who_runs_when(command: str, never: list[str], switches: int) -> None:
    results, end = case(f"{command} samples=200")
    assert end["status"] == "ok", end["reason"]
    counted = figures(results[0])
    assert {event: counted[event] for event in never} == dict.fromkeys(never, 0)
    evidence = end["evidence"]
    # Of all threads of the process: those of a condition variable or a mutex block themselves.
    assert evidence["nivcsw"] + evidence["nvcsw"] >= switches * 200


@realtime
@pytest.mark.parametrize(
    "command", ["posix.sig.send", "posix.sig.handler", "posix.mutex.try.free", "posix.thread.self",
                "posix.cond.signal.nobody", "posix.timer.arm", "posix.cancel.state"],
)  # fmt: skip
def test_alone_it_keeps_the_cpu(command: str) -> None:
    _, end = case(f"{command} samples=200")
    assert end["evidence"]["tasks"] == 1
    assert end["evidence"]["nvcsw"] == end["evidence"]["rests"] == 0


@realtime
def test_a_waiter_more_costs_a_switch_more() -> None:
    few, many = (case(f"posix.cond.broadcast waiters={n} samples=100")[1] for n in (1, 65))
    assert (few["evidence"]["tasks"], many["evidence"]["tasks"]) == (3, 67)
    assert many["evidence"]["nvcsw"] >= 65 * 100


@realtime
def test_what_one_cpu_cannot_show_is_said() -> None:
    _, end = case("posix.mutex.handover protocol=protect")
    assert end["status"] == "unsupported"
    assert "on one CPU no task ever waits" in end["reason"]
    _, end = case("posix.mutex.lock protocol=protect batch=2")
    assert end["status"] == "unsupported"
    assert "cannot be batched" in end["reason"]
    _, end = case("posix.thread.start config=2cpu")
    assert end["status"] == "unsupported"


# ---- what arrived ---------------------------------------------------------------------------


def counts(command: str) -> tuple[dict[str, float], int]:
    """Return the figures, and the operations of all samples including warm-up."""
    record = result(f"{command} samples={N}")
    return figures(record), (record["n"] + record["warmup"]) * record["batch"]


@pytest.mark.parametrize("batch", [1, 16])
@pytest.mark.parametrize("bench", ["posix.sig.send", "posix.sig.accept"])
def test_signals_received_are_those_sent(bench: str, batch: int) -> None:
    counted, operations = counts(f"{bench} batch={batch}")
    assert operations == (N + WARMUP) * batch
    assert counted == {
        "signals sent": operations, "signals received": operations, "out of order": 0,
    }  # fmt: skip


def test_every_signal_is_handled_before_kill_returns() -> None:
    counted, operations = counts("posix.sig.handler")
    assert counted == {
        "signals sent": operations, "signals received": operations,
        "not handled when kill returned": 0,
    }  # fmt: skip


@realtime
@pytest.mark.parametrize("bench", ["posix.cancel.deferred", "posix.cancel.asynchronous"])
def test_every_cancelled_thread_cleans_up_once(bench: str) -> None:
    counted, operations = counts(bench)
    assert counted["threads cancelled"] == counted["cleanup handlers run"] == operations
    assert counted["threads not cancelled"] == 0


@realtime
@pytest.mark.parametrize("name", ["create", "start", "join", "exit"])
def test_every_thread_runs_once(name: str) -> None:
    counted, operations = counts(f"posix.thread.{name}")
    assert counted["threads run"] == operations


@pytest.mark.parametrize("size", [1, 512, 4096, 65536])
@pytest.mark.parametrize("name", ["submit.write", "submit.read", "write", "read", "signal"])
def test_all_requests_complete_and_move_what_they_should(name: str, size: int) -> None:
    counted, operations = counts(f"posix.aio.{name} size={size}")
    assert counted["requests completed"] == operations
    assert counted["transferred wrong"] == 0


def test_a_list_is_so_many_requests() -> None:
    counted, operations = counts("posix.aio.list requests=7 size=512")
    assert counted["requests completed"] == 7 * operations
    assert counted["transferred wrong"] == counted["not completed after lio_listio"] == 0


@realtime
def test_what_is_called_off_is_not_written() -> None:
    counted, operations = counts("posix.aio.cancel size=512")
    assert counted["requests cancelled"] == counted["requests completed"] == operations
    assert counted["transferred wrong"] == 0


@pytest.mark.parametrize("size", [512, 4096, 65536])
@pytest.mark.parametrize("name", ["fsync", "fdatasync", "osync", "odsync", "pread"])
def test_what_is_read_back_is_what_was_written(name: str, size: int) -> None:
    assert figures(result(f"posix.sio.{name} size={size} samples=20"))["read back wrong"] == 0


@realtime
@pytest.mark.parametrize("size", [1, 4096, 100_000])
def test_the_other_process_reads_what_was_written(size: int) -> None:
    counted, operations = counts(f"posix.shm.handover size={size}")
    assert counted["blocks read"] == operations
    assert counted["blocks read wrong"] == 0


@pytest.mark.parametrize(("name", "pages"), [("lock", 0), ("populate", 3)])
def test_locking_fetches_what_is_not_there(name: str, pages: int) -> None:
    size = 2 * resource.getpagesize() + 1
    counted, operations = counts(f"posix.mlock.{name} size={size}")
    assert counted == {"pages fetched": pages * operations}


def test_a_page_that_is_not_there_costs_one_fault() -> None:
    results, end = case("posix.mlock.fault samples=200")
    assert figures(results[0])["not one page fault"] == 0
    assert end["evidence"]["minflt"] >= 200


@as_root
def test_locked_memory_costs_no_fault() -> None:
    for access in ("read", "write"):
        _, end = case(f"posix.mlock.{access} size=1048576 samples=10000 batch=64")
        assert end["status"] == "ok", end["reason"]
        assert end["evidence"]["minflt"] < 256  # there are 256 pages, each accessed often


@pytest.mark.parametrize("bench", ["posix.cond.timedwait", "posix.timer.expiry"])
def test_no_wait_is_cut_short(bench: str) -> None:
    delay = 2_000_000
    results, end = case(f"{bench} delay={delay} samples={N}")
    counted = figures(results[0])
    assert {w: n for w, n in counted.items() if w != "signals received"} == dict.fromkeys(
        [w for w in counted if w != "signals received"], 0
    )
    # the lateness is the length of the section less the delays
    assert end["evidence"]["section_ns"] >= N * delay + results[0]["sum"]


@pytest.mark.parametrize(
    ("clock", "name"),
    [("realtime", time.CLOCK_REALTIME), ("monotonic", time.CLOCK_MONOTONIC),
     ("process_cputime", time.CLOCK_PROCESS_CPUTIME_ID),
     ("thread_cputime", time.CLOCK_THREAD_CPUTIME_ID)],
)  # fmt: skip
def test_clocks_are_asked_by_name(clock: str, name: int) -> None:
    counted = figures(result(f"posix.timer.getres clock={clock} samples={N}"))
    assert counted["resolution"] == round(time.clock_getres(name) * 1e9)
    assert figures(result(f"posix.timer.gettime clock={clock} samples={N}"))["backward steps"] == 0


# ---- exact times ----------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["lock", "unlock"])
@pytest.mark.parametrize("batch", [1, 8])
def test_one_call_and_one_read_of_the_clock_lie_between_the_stamps(name: str, batch: int) -> None:
    record = result(f"posix.mutex.{name} batch={batch}", agent=STUB)
    assert (record["min"], record["max"]) == (batch * 1000 + 20, batch * 1000 + 20)


# ---- the system calls, as strace sees them ---------------------------------------------------

# System calls of a sample: their name, and a text in the trace.
CALLS = [
    ("posix.sig.send", "rt_sigqueueinfo", "", 1),
    ("posix.sig.handler", "kill", "SIGRT", 1),
    ("posix.sio.fsync", "fsync", "", 1),
    ("posix.sio.fdatasync", "fdatasync", "", 1),
    ("posix.timer.expiry", "timer_settime", "TIMER_ABSTIME", 1),
    ("posix.timer.arm", "timer_settime", "{tv_sec=3600,", 1),
    ("posix.timer.disarm", "timer_settime", "it_value={tv_sec=0, tv_nsec=0}", 1),
    ("posix.timer.nanosleep", "clock_nanosleep|nanosleep", "tv_nsec=1}", 1),
    ("posix.thread.setschedparam", "sched_setscheduler", "SCHED_FIFO, [98]", 0.5),
    ("posix.mutex.lock protocol=protect", "sched_setscheduler|sched_setparam", "[98]", 1),
    ("posix.shm.unlink", "unlink|unlinkat", "shm.rtstone", 1),
]


def traced(command: str, call: str, directory: Path) -> list[str]:
    """Return the system calls of these names that the agent makes in a case."""
    log = directory / "calls"
    subprocess.run(
        ["strace", "-f", "-o", log, "-e", f"trace=/^({call})$", AGENT, QUICK],
        input=command_lines(f"case 1 {command}", "bye"),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=True,
    )  # fmt: skip
    return [x for x in log.read_text().splitlines() if "(" in x and "resumed>" not in x]


@realtime
@needs_strace
@pytest.mark.parametrize(("command", "call", "text", "per_sample"), CALLS)
def test_the_system_sees_the_call(
    command: str, call: str, text: str, per_sample: float, tmp_path: Path
) -> None:
    bench = BENCHES[command.partition(" ")[0]]
    batch = " batch=1" if any(p["name"] == "batch" for p in bench["params"]) else ""
    count = sum(text in x for x in traced(f"{command} samples=100{batch}", call, tmp_path))
    operations = (100 + WARMUP + (WATCHED if batch else 0)) * per_sample
    # one or two more for the preparation, and some of the agent that puts off the watchdog
    assert operations <= count <= operations + 9


@needs_strace
@pytest.mark.parametrize(
    ("name", "flag"),
    [("fsync", None), ("fdatasync", None), ("osync", "O_SYNC"), ("odsync", "O_DSYNC")],
)
def test_the_file_is_opened_to_be_written_through(
    name: str, flag: str | None, tmp_path: Path
) -> None:
    calls = traced(f"posix.sio.{name} samples=5", "openat|open", tmp_path)
    calls = [x for x in calls if "O_TMPFILE" in x and '"/dev/shm"' not in x]  # not the agent's lock
    (opened,) = [set(re.findall(r"O_\w+", x)) for x in calls]
    assert opened & {"O_SYNC", "O_DSYNC"} == ({flag} if flag else set())


# ---- limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("bench", ["posix.sig.send", "posix.sig.accept", "posix.timer.create",
                                   "posix.timer.delete", "posix.timer.arm"])  # fmt: skip
def test_a_limit_of_signals_is_named(bench: str) -> None:
    _, end = case(
        f"{bench} batch=64 samples={N}", preexec_fn=limited(resource.RLIMIT_SIGPENDING, 20)
    )
    assert end["status"] == "unsupported"
    assert "ulimit -i" in end["reason"]


@as_root
def test_a_limit_of_locked_memory_is_named(copy: Path) -> None:
    for name in ("lock", "populate", "unlock", "read", "write"):
        (end,) = unprivileged(
            copy, [f"case 1 posix.mlock.{name} size=1048576"], [],
            preexec_fn=limited(resource.RLIMIT_MEMLOCK, 65536),
        )  # fmt: skip
        assert end["status"] == "unsupported"
        assert "ulimit -l" in end["reason"]


@as_root
@pytest.mark.parametrize("bench", ["posix.sio.fsync", "posix.aio.write"])
def test_a_file_in_memory_is_no_file(bench: str) -> None:
    done = subprocess.run(
        ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /var/tmp && exec "$0"', AGENT],
        input=command_lines(f"case 1 {bench}", "bye"), stdout=subprocess.PIPE, timeout=60,
        check=True, env={**os.environ, "TMPDIR": "/dev/shm"},
    )  # fmt: skip
    end = pick(records(done.stdout), "end")[0]
    assert end["status"] == "unsupported"
    assert "is kept in memory: set TMPDIR" in end["reason"]


# ---- nothing is left ------------------------------------------------------------------------


def objects(agent: Agent) -> list[str]:
    """Return the objects with this agent's process id; other agents may run at the same time."""
    return [p.name for p in SHM.iterdir() if re.search(rf"rtstone-{agent.pid}\.", p.name)]


def start_in(directory: Path) -> Agent:
    return Agent(env={**os.environ, "TMPDIR": str(directory)})


def test_after_a_run_nothing_is_left(tmp_path: Path) -> None:
    agent = start_in(tmp_path)
    proc = Path("/proc", str(agent.pid))
    agent.until("hello")
    opened = len(list((proc / "fd").iterdir()))
    for i, name in enumerate(BENCHES):
        agent.send(f"case {i} {name} samples=20")
        while agent.next()["t"] != "end":
            assert not list(tmp_path.iterdir())  # files never have a name
        assert soon(lambda: not descendants(agent.pid)), name
        assert len(list((proc / "task").iterdir())) == 1
        assert len(list((proc / "fd").iterdir())) == opened
        assert not (proc / "timers").exists() or not (proc / "timers").read_text()
    agent.rest("bye")
    assert not objects(agent)


@realtime
@pytest.mark.parametrize("bench", ["posix.thread.create", "posix.thread.start",
                                   "posix.cancel.deferred", "posix.cancel.asynchronous",
                                   "posix.timer.create batch=1", "posix.timer.expiry"])  # fmt: skip
def test_threads_and_timers_do_not_pile_up(bench: str) -> None:
    agent = Agent()
    begun = agent.begin(f"{bench} samples=0 time=3000000000")
    child = measuring(agent)
    tasks, timers = 0, 0
    for _ in range(15):
        try:
            tasks = max(tasks, len(os.listdir(f"/proc/{child}/task")))  # noqa: PTH208
            listed = Path(f"/proc/{child}/timers").read_text()
            timers = max(timers, len(re.findall("^ID:", listed, re.MULTILINE)))
        except FileNotFoundError:
            break
        time.sleep(0.02)
    agent.send_signal(signal.SIGTERM)
    end = pick(begun + agent.rest(), "end")[0]
    assert (end["status"], end["reason"]) == ("failed", "stopped")
    # main thread, measuring task, the thread of a sample, and the one before it: the task that
    # joins a thread has a higher priority and continues before that thread has left the kernel
    assert 2 <= tasks <= 4
    assert timers <= 1


@realtime
@pytest.mark.parametrize("bench", ["posix.mutex.handover", "posix.cond.signal.higher",
                                   "posix.cond.broadcast waiters=20", "posix.shm.handover",
                                   "posix.aio.list"])  # fmt: skip
def test_told_to_stop_its_tasks_end(bench: str) -> None:
    agent = Agent()
    begun = agent.begin(f"{bench} samples=0 time=60000000000")
    family = descendants(agent.pid)
    agent.send_signal(signal.SIGTERM)
    answers = begun + agent.rest()
    # by itself: a case that has to be killed, 2.5 s later, does not close its series
    assert pick(answers, "result")[0]["ended"] == "stopped"
    assert gone(family)
    assert not objects(agent)


@pytest.mark.parametrize("bench", ["posix.sio.fsync", "posix.aio.write", "posix.shm.create",
                                   "posix.timer.expiry", "posix.thread.getspecific"])  # fmt: skip
def test_killed_it_leaves_nothing(bench: str, tmp_path: Path) -> None:
    agent = start_in(tmp_path)
    agent.begin(f"{bench} samples=0 time=60000000000")
    family = descendants(agent.pid)
    agent.end_now()
    assert gone(family)
    assert not list(tmp_path.iterdir())
    assert soon(lambda: not objects(agent))


@as_root
@pytest.mark.parametrize("victim", ["agent", "case"])
def test_an_object_of_who_was_killed_is_removed(copy: Path, victim: str) -> None:
    """Without a private /dev/shm, which only root gets, the object is visible to all."""
    agent = Agent(*nobody(), copy, QUICK)

    def shm() -> list[str]:
        return [o for o in objects(agent) if o.startswith("shm.")]

    agent.send("case 1 posix.shm.attach samples=0 time=60000000000")
    assert soon(shm)
    if victim == "agent":
        family = descendants(agent.pid)
        agent.end_now()
        assert gone(family)
    else:
        for pid in descendants(agent.pid):
            os.kill(pid, signal.SIGKILL)
        end = pick(agent.rest("bye"), "end")[0]
        assert "signal 9" in end["reason"]
    assert soon(lambda: not objects(agent))
