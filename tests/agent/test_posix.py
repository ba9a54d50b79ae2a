"""The agent on this machine: procedures, rights, limits, ends of every kind."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agent.processes import SHM, descendants, gone, name_of, sleeps
from tests.agent.rights import as_root, limited, may_realtime, nobody, realtime, unprivileged
from tests.agent.speak import (
    AGENT,
    HASTY,
    QUICK,
    Agent,
    case,
    command_lines,
    figures,
    listed,
    pick,
    records,
    result,
    talk,
)
from tests.waiting import soon

pytestmark = pytest.mark.machine


def leftovers() -> list[str]:
    """Return objects of agents that have ended, and glibc's temporary semaphores."""
    sets = Path("/proc/sysvipc/sem").read_text().splitlines()[1:]
    keys = [int(line.split()[0]) & 0xFFFFFFFF for line in sets]
    names = [
        f"set {key:#x}" for key in keys
        if key >> 27 == 0x15 and not Path("/proc", str(key >> 2 & 0x3FFFFF)).exists()
    ]  # fmt: skip
    for path in SHM.iterdir():
        owner = re.search(r"rtstone-(\d+)\.", path.name)
        if re.fullmatch(r"sem\.\w{6}", path.name) or (
            owner and not Path("/proc", owner[1]).exists()
        ):
            names.append(path.name)
    return names


def test_every_bench_runs_or_says_why_not() -> None:
    catalogue = listed("bench")
    short = " samples=2 speed=1000000 duration=100000000 start=1000000"  # two Hartstone tests
    least = {  # benches with long samples
        "sched.bg50.orig": " samples=3 warmup=0",
        "sched.bg50.half": " samples=1 work=10000000",
        "sync.irqthread": " samples=3 block=5000000",
        "mq.throughput": " samples=5 time=5000000000",  # a sample is 1000 messages
        "dk.nanosleep": " samples=3",
        "dk.schedlat": " samples=10",
        "det.response": " samples=10",
        "tasks.set": " time=100000000",
    }

    def parameters(name: str) -> str:
        if name.startswith("hart.") and name != "hart.raw":
            return short
        return least.get(name, " samples=100 time=5000000000")

    answers = talk(
        [f"case {i} {bench['id']}{parameters(bench['id'])}" for i, bench in enumerate(catalogue)]
    )
    ends = pick(answers, "end")
    assert len(ends) == len(catalogue)
    for bench, end in zip(catalogue, ends, strict=True):
        if bench["id"] == "int.latency.timerlat" and end["status"] == "unsupported":
            continue  # it needs a tracer that few kernels have (test_interrupt.py)
        if os.geteuid() and "the limit of locked memory is reached" in (end["reason"] or ""):
            continue  # a user may lock less memory than it needs
        if bench["id"] == "boot":
            assert end["reason"].startswith("it is the start of a Linux guest"), end
            continue
        wants_more = set(bench["needs"]) - set(answers[0]["caps"])
        assert end["status"] == ("unsupported" if wants_more else "ok"), (bench, end["reason"])
    assert not leftovers()


@realtime
def test_evidence_is_of_all_tests_of_an_experiment_and_of_no_task_that_is_made() -> None:
    """Each of hart.PH.4's tests makes a task, whose stack takes page faults."""
    tests, duration = 4, 100_000_000
    command = f"hart.PH.4 samples={tests} duration={duration} start=40000000 speed=10000000"
    _, end = case(command)
    assert end["status"] == "ok", end["reason"]
    assert end["evidence"]["section_ns"] >= tests * duration
    assert end["evidence"]["minflt"] == 0


def test_the_clock_does_not_go_back_and_null_is_within_a_step_of_nothing() -> None:
    answers = talk(["case 1 null", "case 2 clk.resolution", "case 3 clk.resolution clock=time"])
    clock = pick(answers, "clock")[0]
    null, counter, system = pick(answers, "result")
    assert null["min"] - null["overhead"] >= -clock["granule"]
    assert figures(counter)["backward steps"] == figures(system)["backward steps"] == 0


@realtime
@pytest.mark.parametrize("sharing", ["", "type=named", "type=pshared", "type=named entity=process",
                                     "type=pshared entity=process", "type=sysv",
                                     "type=sysv entity=process"])  # fmt: skip
def test_who_preempts_whom_at_a_semaphore(sharing: str) -> None:
    higher = result(f"sem.post.higher samples=300 {sharing}")
    assert figures(higher)["waiter did not preempt"] == 0
    lower = result(f"sem.post.lower samples=300 {sharing}")
    assert figures(lower)["waiter ran within the interval"] == 0
    for rank in ("lower", "equal"):
        busy = result(f"sem.wait.busy samples=100 waiters=9 rank={rank} {sharing}")
        assert figures(busy)["did not have to wait"] == 0
        assert busy["n"] == 100


@realtime
@pytest.mark.parametrize("state", ["ready", "blocked"])
@pytest.mark.parametrize("policy", ["fifo", "rr"])
def test_ballast_is_there_and_never_runs(policy: str, state: str) -> None:
    results, end = case(f"ctx.ballast ballast=65 policy={policy} state={state} samples=500")
    assert end["status"] == "ok", end["reason"]  # it fails if ballast got the CPU
    # A, B, 65 ballast tasks, and if these have to block first, the one that reports it
    assert end["evidence"]["tasks"] == 67 + (state == "blocked")
    # a switch per sample; FIFO hand-over counts as involuntary
    switches = end["evidence"]["nivcsw"] + end["evidence"]["nvcsw"]
    assert switches >= results[0]["n"]


def test_processes_cannot_share_an_unnamed_semaphore() -> None:
    _, end = case("sem.post.higher entity=process")
    assert end["status"] == "unsupported"
    if may_realtime():
        assert "type=named or type=pshared" in end["reason"]


@realtime
def test_the_evidence_is_of_the_measuring_task() -> None:
    _, end = case("ctx.ballast policy=rr samples=50")
    assert (end["evidence"]["sched"], end["evidence"]["prio"]) == ("rr", 98)
    _, end = case("sem.post.higher prio=50 samples=50")
    assert (end["evidence"]["sched"], end["evidence"]["prio"]) == ("fifo", 49)


def test_one_cpu_is_enough_for_one_series() -> None:
    _, end = case(f"null samples=50 cpus={','.join(map(str, os.sched_getaffinity(0)))}")
    assert end["evidence"]["cpus"] == [min(os.sched_getaffinity(0))]


def test_a_cpu_that_is_not_there_is_named() -> None:
    _, end = case("null samples=50 cpus=1000")
    assert end["status"] == "failed"
    assert "measuring task" in end["reason"]
    assert "CPU 1000" in end["reason"]


def test_one_series_per_cpu() -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    # the second one's releases lie late in the period: it is the last to complete its samples
    results, end = case(
        "dk.periodic period=10000000 distance=9000000 samples=50 time=0 "
        f"cpus={','.join(map(str, cpus))}"
    )
    assert end["status"] == "ok", end["reason"]
    if len(cpus) > 1:
        assert [r["series"] for r in results] == [f"cpu{c}" for c in cpus]
    assert all(r["n"] == 50 for r in results)


def test_all_cpus_and_several_tasks_on_each() -> None:
    cpus = sorted(os.sched_getaffinity(0))
    results, end = case("dk.periodic period=10000000 samples=5 time=0 tasks=2 cpus=all")
    assert end["status"] == "ok", end["reason"]
    assert end["evidence"]["cpus"] == cpus
    if len(cpus) > 1:
        names = [f"cpu{cpu} task{i}" for cpu in cpus for i in range(2)]
        assert [r["series"] for r in results] == names
    assert [r["n"] for r in results] == [5] * 2 * len(cpus)


@realtime
@pytest.mark.parametrize(("policy", "prio"), [("fifo", 98), ("rr", 98), ("other", None)])
def test_the_policy_that_is_asked_for(policy: str, prio: int | None) -> None:
    _, end = case(f"dk.periodic samples=5 tasks=2 policy={policy}")
    assert end["status"] == "ok", end["reason"]
    assert (end["evidence"]["sched"], end["evidence"]["prio"]) == (policy, prio)


DEADLINE = 6  # its policy, as sched_getscheduler() has it


@realtime
@pytest.mark.parametrize("cpus", ["", " cpus=all"])
def test_the_watchdog_of_a_case_of_the_highest_priority(cpus: str) -> None:
    """It is on another CPU, or scheduled by deadline: or the case is not begun."""
    seen: set[int] = set()
    agent = Agent()
    agent.send(f"case 1 dk.periodic samples=0 time=400000000 prio=99{cpus}")
    while not agent.ready() or not pick([agent.next()], "end"):
        time.sleep(0.01)
        for task in Path(f"/proc/{agent.pid}/task").glob("*"):
            with contextlib.suppress(ProcessLookupError):
                seen.add(os.sched_getscheduler(int(task.name)))
    end = agent.last
    agent.rest("bye")
    if end["status"] == "ok":
        crowded = bool(cpus) or len(os.sched_getaffinity(0)) == 1
        assert (DEADLINE in seen) == crowded  # at first it has the highest priority
        assert end["evidence"]["prio"] == 99
    else:
        assert "use prio=98" in end["reason"]


def step_wall_clock(ms: int) -> bool:
    """Sets the wall clock of this machine forward or back; False: it may not be set."""
    timex = bytearray(208)
    struct.pack_into("=I", timex, 0, 0x2100)  # ADJ_SETOFFSET | ADJ_NANO
    struct.pack_into("=qq", timex, 72, *divmod(ms * 1_000_000, 1_000_000_000))
    buffer = (ctypes.c_char * len(timex)).from_buffer(timex)
    return bool(ctypes.CDLL(None).adjtimex(buffer) >= 0)


@pytest.mark.parametrize("bench", ["dk.periodic clock=realtime", "det.timer_jitter by=signal",
                                   "det.timer_jitter by=sigwaitinfo"])  # fmt: skip
def test_a_wall_clock_that_is_set_is_told(bench: str) -> None:
    """Set forward by more than a period, or back by less, the wake-up is no sample."""
    text = "wake-ups at which the clock was set"
    words = f"{bench} period=2000000"
    assert figures(result(f"{words} samples=20"))[text] == 0
    if not step_wall_clock(0):
        pytest.skip("needs the right to set the clock")
    agent = Agent()
    agent.send("progress 50")
    begun = agent.ask(f"case 1 {words} time=500000000 samples=0", "progress")  # it measures
    step_wall_clock(5)
    step_wall_clock(-5)
    [record] = pick(begun + agent.rest("bye"), "result")
    assert 1 <= figures(record)[text] <= 4, figures(record)  # each may be noticed twice
    assert record["max"] < 1 << 62  # nothing is late by what it would be early


@pytest.mark.parametrize("by", ["signal", "sigwaitinfo"])
def test_who_waits_for_a_wall_clock_looks_when_it_is_set(by: str) -> None:
    """Set again and again, it has hardly an expiration: the time limit is looked at, too."""
    if not step_wall_clock(0):
        pytest.skip("needs the right to set the clock")
    agent = Agent()
    period, limit = 100_000_000, 300_000_000
    case = f"case 1 det.timer_jitter by={by} period={period} time={limit} samples=0 warmup=0"
    begun = agent.ask(case, "case")
    for _ in range(100):
        if agent.ready():
            break
        step_wall_clock(1)
        step_wall_clock(-1)
        time.sleep(0.05)
    answers = begun + agent.rest("bye")
    if not pick(answers, "result"):  # on a busy machine it has none at all
        assert "its time was over before the first sample" in pick(answers, "end")[0]["reason"]
        return
    [record] = pick(answers, "result")
    assert 1 <= record["n"] <= 4
    assert record["ended"] == "time"
    assert figures(record)["wake-ups at which the clock was set"] >= 1


@as_root
def test_without_rights_it_goes_on_and_says_so(copy: Path) -> None:
    alone, pair = unprivileged(
        copy,
        ["case 1 sched.yield samples=100", "case 2 sem.post.higher"],
        [],
        preexec_fn=limited(resource.RLIMIT_MEMLOCK, 65536),
    )
    assert alone["status"] == "ok"
    assert alone["evidence"]["sched"] == "other"
    assert alone["evidence"]["locked"] is False
    assert pair["status"] == "unsupported"
    assert "CAP_SYS_NICE or RLIMIT_RTPRIO" in pair["reason"]


@as_root
def test_a_small_limit_of_locked_memory_does_not_make_malloc_fail(copy: Path) -> None:
    ends = unprivileged(
        copy,
        ["case 1 mem.malloc.small samples=3000", "case 2 mem.free samples=300"],
        ["sys_nice"],
        preexec_fn=limited(resource.RLIMIT_MEMLOCK, 8 << 20),
    )
    for end in ends:
        assert end["status"] == "ok", end["reason"]
        assert end["evidence"]["locked"] is False


@as_root
@realtime
def test_two_capabilities_are_enough(copy: Path) -> None:
    (end,) = unprivileged(copy, ["case 1 sem.post.higher samples=100"], ["sys_nice", "ipc_lock"])
    assert (end["status"], end["evidence"]["sched"], end["evidence"]["locked"]) == (
        "ok", "fifo", True,
    )  # fmt: skip


@as_root
@realtime
def test_a_limit_that_is_too_low_is_named(copy: Path) -> None:
    few, many = unprivileged(
        copy,
        ["case 1 ctx.ballast ballast=1 samples=50", "case 2 ctx.ballast ballast=129"],
        ["sys_nice", "ipc_lock"],
        preexec_fn=limited(resource.RLIMIT_NPROC, 40),
    )
    assert few["status"] == "ok", few["reason"]
    assert many["status"] == "unsupported"
    assert "cannot create task" in many["reason"]
    assert "ulimit -u" in many["reason"]


def measuring(agent: Agent) -> int | None:
    """Return the process of the case, once its measuring task exists."""
    for pid in descendants(agent.pid):
        with contextlib.suppress(FileNotFoundError):
            if len(list(Path(f"/proc/{pid}/task").iterdir())) > 1:
                return pid
    return None


def keepers() -> dict[int, int]:
    """Return the running keepers, by the inode of the lock file that they wait for."""
    locks_by_process = {}
    for comm in Path("/proc").glob("[0-9]*/comm"):
        with contextlib.suppress(OSError):
            if comm.read_text() == "rtstone-keeper\n":
                files = (comm.parent / "fd").iterdir()
                locks = [f.stat().st_ino for f in files if ".lock" in str(f.readlink())]
                locks_by_process.update(dict.fromkeys(locks, int(comm.parent.name)))
    return locks_by_process


def keeper_of(agent: Agent) -> int:
    inode = (SHM / f"rtstone-{agent.pid}.lock").stat().st_ino
    assert soon(lambda: inode in keepers())
    return keepers()[inode]


@realtime
def test_killed_at_ten_random_moments_it_leaves_nothing() -> None:
    moments = random.Random(7)
    for _ in range(10):
        agent = Agent()
        for i in range(15):
            for k, kind in enumerate(("named", "sysv")):
                first = 4 * i + 2 * k
                agent.send(f"case {first} sem.create type={kind} samples=3000")
                agent.send(
                    f"case {first + 1} sem.post.higher type={kind} entity=process samples=3000"
                )
        time.sleep(0.1 + 0.4 * moments.random())
        family = descendants(agent.pid)
        agent.kill()
        out, _ = agent.communicate(timeout=10)
        assert gone(family)
        lines = out.splitlines(keepends=True)
        whole = b"".join(line for line in lines if line.endswith(b"\n"))
        answers = records(whole)
        for end in pick(answers, "end"):
            assert end["status"] == "ok"
            assert any(r["t"] == "result" and r["id"] == end["id"] for r in answers)
        assert soon(lambda: not leftovers())


def test_a_set_that_a_killed_case_has_left_is_replaced() -> None:
    agent = Agent()
    begun = agent.begin("sem.wait.free type=sysv samples=0 time=60000000000")
    for pid in descendants(agent.pid):
        os.kill(pid, signal.SIGKILL)
    again = [f"case {number} sem.wait.free type=sysv samples=100" for number in range(2, 8)]
    ends = pick(begun + agent.rest(*again, "bye"), "end")
    assert [end["status"] for end in ends] == ["failed", *6 * ["ok"]]
    assert soon(lambda: not leftovers())


def test_more_sets_than_there_are_keys_for_are_refused() -> None:
    good, bad = (case(f"sem.create type=sysv batch={n} samples=10")[1] for n in (4, 5))
    assert good["status"] == "ok", good["reason"]
    assert bad["status"] == "unsupported"
    assert bad["reason"] == "no more than 4 semaphores of System V at a time: batch=4"


def test_with_its_keeper_killed_as_well_the_next_agent_removes_what_is_left() -> None:
    agent = Agent()
    agent.until("hello")
    lock = SHM / f"rtstone-{agent.pid}.lock"
    keeper = keeper_of(agent)
    os.kill(keeper, signal.SIGKILL)
    agent.end_now()
    assert gone([keeper])
    # Both were killed, so neither removed it; an agent of another test may be the next already.
    subprocess.run([AGENT, "--sweep"], check=True, timeout=10)
    assert not lock.exists()


@pytest.mark.parametrize("stop", ["bye", signal.SIGTERM, signal.SIGKILL])
def test_no_keeper_outlives_its_agent(stop: str | signal.Signals) -> None:
    agent = Agent()
    agent.until("hello")
    keeper = keeper_of(agent)
    assert keeper not in descendants(agent.pid)
    fds = {str(fd.readlink()) for fd in Path(f"/proc/{keeper}/fd").iterdir()}
    assert fds == {"/dev/null", f"/dev/shm/rtstone-{agent.pid}.lock"}
    if isinstance(stop, signal.Signals):
        agent.send_signal(stop)
    agent.communicate(command_lines("bye") if stop == "bye" else b"", timeout=10)
    assert gone([keeper])
    assert not (SHM / f"rtstone-{agent.pid}.lock").exists()


def test_a_case_that_nobody_listens_to_ends_and_leaves_nothing(tmp_path: Path) -> None:
    agent = Agent(HASTY, env={**os.environ, "TMPDIR": str(tmp_path)})
    agent.send("load command run=sleep%2060")
    agent.begin("dk.periodic samples=0 time=60000000000")
    assert list(tmp_path.iterdir())
    family = descendants(agent.pid)
    assert agent.stdin
    assert agent.stdout
    agent.stdout.close()
    assert agent.wait(timeout=30) == 1
    assert gone(family)
    assert not list(tmp_path.iterdir())
    assert not (SHM / f"rtstone-{agent.pid}.lock").exists()
    agent.stdin.close()


HOST = """
import subprocess, sys
agent = subprocess.Popen([sys.argv[1]], stdin=subprocess.PIPE)
agent.stdin.write(sys.argv[2].encode())
agent.stdin.flush()
agent.wait()
"""


@pytest.mark.parametrize("seed", range(3))
def test_a_host_that_is_killed_leaves_nothing_of_its_agent(seed: int, tmp_path: Path) -> None:
    moments = random.Random(seed)
    words = ["load command run=sleep%2060", "progress 20", "case 1 dk.periodic samples=0"]
    lines = command_lines(*words).decode()
    hosts = [
        subprocess.Popen(
            [sys.executable, "-S", "-c", HOST, HASTY, lines], stdout=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(tmp_path)},
        )
        for _ in range(8)
    ]  # fmt: skip
    assert soon(lambda: all("sleep" in map(name_of, descendants(host.pid)) for host in hosts))
    assert list(tmp_path.iterdir())
    families = [descendants(host.pid) for host in hosts]
    family = [pid for pids in families for pid in pids]
    locks = [SHM / f"rtstone-{agent}.lock" for agent, *_ in families]
    assert all(lock.exists() for lock in locks)
    for host in hosts:  # some during the ramp-up of the load, some during the case
        time.sleep(0.15 * moments.random())
        host.kill()
        host.communicate(timeout=10)
    assert gone(family)
    assert soon(lambda: not list(tmp_path.iterdir()))
    assert soon(lambda: not any(lock.exists() for lock in locks))


def test_a_sweep_spares_an_agent_that_lives() -> None:
    agent = Agent()
    try:
        agent.until("hello")
        lock = SHM / f"rtstone-{agent.pid}.lock"
        subprocess.run([AGENT, "--sweep"], check=True, timeout=10)
        assert lock.exists()
    finally:
        agent.communicate(command_lines("bye"), timeout=10)
    assert not lock.exists()


def test_a_sweep_never_comes_between_a_lock_and_its_name() -> None:
    """Each agent sweeps when it starts, here many at once."""
    for _ in range(25):
        agents = [Agent() for _ in range(12)]
        for agent in agents:
            agent.until("hello")
        names = {f"rtstone-{agent.pid}.lock" for agent in agents}
        assert names <= {path.name for path in SHM.iterdir()}
        for agent in agents:
            agent.communicate(command_lines("bye"), timeout=10)


MEANWHILE = "dk.nanosleep request=10000000 samples=0 time=200000000"


@contextlib.contextmanager
def beside(*command: str | Path, at_work: bool = True) -> Iterator[None]:
    """Keep another agent beside a test, measuring if it is at work."""
    other = Agent(*command)
    try:
        if at_work:
            other.begin("dk.periodic samples=0 time=60000000000")
        else:
            other.until("hello")
            time.sleep(0.1)
        yield
    finally:
        other.terminate()
        other.communicate(timeout=20)


def others_seen(command: str = MEANWHILE) -> int | None:
    seen: int | None = case(command)[1]["evidence"]["others"]
    return seen


@pytest.mark.sole
def test_another_agent_at_work_is_seen() -> None:
    alone = others_seen()
    assert alone is not None
    with beside():
        assert others_seen() == alone + 1
    with beside(at_work=False):
        assert others_seen() == alone


@pytest.mark.sole
@as_root
def test_an_agent_of_another_user_is_seen_in_either_direction(copy: Path) -> None:
    def seen_by_nobody() -> int | None:
        (end,) = unprivileged(copy, [f"case 1 {MEANWHILE}"], [])
        seen: int | None = end["evidence"]["others"]
        return seen

    alone = others_seen()
    assert alone is not None
    assert seen_by_nobody() == alone
    with beside():
        assert seen_by_nobody() == alone + 1
    with beside(*nobody(), copy, QUICK):
        assert others_seen() == alone + 1
        assert seen_by_nobody() == alone + 1


@pytest.mark.sole
@as_root
@pytest.mark.parametrize("whose", ["own", "a dead process's", "root's"])
def test_who_holds_a_lock_is_not_an_agent_for_that(whose: str) -> None:
    """Here the file belongs to another user, whose process holds the lock."""
    hold = "exec 9<>$0; flock 9; echo held; exec sleep 60"
    begin = 'read path; exec setpriv --reuid=65534 --clear-groups sh -c "$0" $path'
    holder = subprocess.Popen(
        ["sh", "-c", begin, hold],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert holder.stdin
    assert holder.stdout
    spin = ["sh", "-c", "while :; do :; done"] if whose == "root's" else ["sleep", "60"]
    spins = subprocess.Popen(spin)
    pids = {"own": holder.pid, "a dead process's": (1 << 22) - 1, "root's": spins.pid}
    lock = SHM / f"rtstone-{pids[whose]}.lock"
    try:
        alone = others_seen()
        lock.touch(mode=0o600)
        os.chown(lock, 65534, 65534)
        holder.stdin.write(f"{lock}\n".encode())
        holder.stdin.flush()
        assert holder.stdout.readline() == b"held\n"
        assert soon(lambda: sleeps(holder.pid))  # starting it would be work
        assert others_seen() == alone
    finally:
        lock.unlink()
        spins.kill()
        spins.wait()
        holder.kill()
        holder.communicate()


@pytest.mark.sole
@as_root
def test_a_process_that_is_younger_than_the_lock_file_is_no_agent() -> None:
    """It has the process id of an agent that was killed."""
    spin = ["sh", "-c", "while :; do :; done"]
    alone = others_seen()
    first = subprocess.Popen(spin)
    lock = SHM / f"rtstone-{first.pid}.lock"
    try:
        held = lock.open("w")
        fcntl.flock(held, fcntl.LOCK_EX)  # or it would be swept
        assert others_seen() == (alone or 0) + 1
        time.sleep(3.5)  # the tolerance is 2 s, and the system's start is known to a second
        for _ in range(100):  # other programs create processes as well
            first.kill()
            first.wait()
            Path("/proc/sys/kernel/ns_last_pid").write_text(str(int(lock.stem[8:]) - 1))
            first = subprocess.Popen(spin)
            if lock.stem == f"rtstone-{first.pid}":
                break
        assert lock.stem == f"rtstone-{first.pid}"
        assert others_seen() is None  # a process of this user holds the lock, but which?
    finally:
        lock.unlink(missing_ok=True)
        held.close()
        first.kill()
        first.wait()


@as_root
def test_where_others_are_hidden_it_is_not_known_whether_there_are(copy: Path) -> None:
    hidden = 'mount -t proc -o hidepid=2 none /proc && exec "$@"'
    with beside():
        done = subprocess.run(
            ["unshare", "--mount", "--propagation=private", "sh", "-c", hidden, "sh",
             *nobody(), copy],
            input=command_lines(f"case 1 {MEANWHILE}", "bye"), stdout=subprocess.PIPE, timeout=30,
            check=True,
        )  # fmt: skip
    assert [r["evidence"]["others"] for r in pick(records(done.stdout), "end")] == [None]


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_told_to_stop_it_hands_over_what_it_has(stop: signal.Signals) -> None:
    agent = Agent()
    begun = agent.begin("dk.periodic samples=0 time=60000000000", samples=101)
    agent.send_signal(stop)
    answers = begun + agent.rest()
    record = pick(answers, "result")[0]
    end = pick(answers, "end")[0]
    assert record["ended"] == "stopped"
    assert record["n"] > 100
    assert (end["status"], end["reason"]) == ("failed", "stopped")
    assert answers[-1]["t"] == "bye"
    assert not leftovers()


def test_who_does_not_come_back_does_not_lose_what_there_is() -> None:
    """A measuring task that is stopped, as if it slept for a long period, is killed."""
    agent = Agent()
    begun = agent.begin("dk.periodic samples=0 time=60000000000")
    (measures,) = descendants(agent.pid)
    os.kill(measures, signal.SIGSTOP)
    agent.send_signal(signal.SIGTERM)
    answers = begun + agent.rest()
    assert pick(answers, "result")[0]["n"] >= 1
    assert pick(answers, "end")[0]["reason"] == "stopped"
    assert gone([measures])


def test_it_can_be_started_by_one_that_ignores_its_children() -> None:
    done = subprocess.run(
        ["env", "--ignore-signal=CHLD", AGENT],
        input=command_lines("case 1 null samples=100", "bye"), stdout=subprocess.PIPE,
        timeout=20, check=True,
    )  # fmt: skip
    assert [r["status"] for r in pick(records(done.stdout), "end")] == ["ok"]


@as_root
def test_the_first_process_of_a_container_is_an_agent_like_others() -> None:
    """It is no guest's init, which ends the machine."""
    container = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    names = ["sem.post.higher type=pshared entity=process samples=20", "null samples=10"]
    commands = ["load bg50 tasks=2", *(f"case {i} {name}" for i, name in enumerate(names)), "bye"]
    done = subprocess.run(
        [*container, AGENT, QUICK], input=command_lines(*commands), capture_output=True, timeout=60,
        check=True,
    )  # fmt: skip
    answers_read = records(done.stdout)
    assert [end["status"] for end in pick(answers_read, "end")] == ["ok", "ok"]
    assert (answers_read[-1]["t"], done.stderr) == ("bye", b"")


def test_a_crash_costs_one_case() -> None:
    agent = Agent()
    begun = agent.begin("dk.periodic samples=0 time=60000000000")
    for pid in descendants(agent.pid):
        os.kill(pid, signal.SIGSEGV)
    answers = begun + agent.rest("case 2 null samples=100", "bye")
    first, second = pick(answers, "end")
    assert first["status"] == "failed"
    assert "signal 11" in first["reason"]
    assert second["status"] == "ok"


EXIT_0 = bytes.fromhex("b8e7000000 31ff 0f05")  # x86-64: exit_group(0)


def return_address(thread: Path) -> int:
    """Return where a thread goes on after what it waits for, once it does wait."""
    for _ in range(1000):
        words = (thread / "syscall").read_text().split()
        if words[0] != "running":
            return int(words[-1], 16)
        time.sleep(0.02)
    raise AssertionError(f"{thread} was never seen waiting")


def leave(pid: int) -> None:
    """Let a process exit with status 0 where its threads return from what they wait for."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # another let it exit
            address = return_address(thread)
            with Path(f"/proc/{pid}/mem").open("r+b", buffering=0) as memory:
                memory.seek(address)
                memory.write(EXIT_0)


@pytest.mark.skipif(
    os.geteuid() != 0 or os.uname().machine != "x86_64", reason="writes into a process of x86-64"
)
def test_a_process_that_ends_too_early_as_if_all_were_well_costs_its_case() -> None:
    """So does an emulator of user programs that crashes."""
    agent = Agent()
    begun = agent.begin("dk.periodic samples=0 time=60000000000")
    for pid in descendants(agent.pid):
        leave(pid)
    first, second = pick(begun + agent.rest("case 2 null samples=100", "bye"), "end")
    assert first["status"] == "failed"
    assert first["reason"] == "the measuring task was ended before its time, with exit status 0"
    assert second["status"] == "ok"


def address_space(pid: int) -> int:
    """Return the size of a process's mapped memory, in KiB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmSize:")[1].split()[0])


def test_memory_is_constant_over_a_run() -> None:
    agent = Agent()
    sizes = []
    for i in range(12):
        bench = "null" if i % 2 else "dk.periodic period=100000"
        agent.ask(f"case {i} {bench} samples={100 + 400 * i}", "end")
        sizes.append(address_space(agent.pid))
    agent.rest("bye")
    # The memory of the last case is kept, as its records may be asked for again.
    assert len(set(sizes[::2])) == len(set(sizes[1::2])) == 1, sizes


@realtime
def test_a_stall_of_8_ms_on_this_machine() -> None:
    """A task with a higher priority occupies the CPU during a release of a 1 ms task.

    The task reads the clock when it gets the CPU back: after the last look at the clock with the
    higher priority, and before the first one without real-time priority, which has to wait for it.
    """
    period, offset, length = 1_000_000, 500_000, 8_000_000
    allowed = os.sched_getaffinity(0)
    cpu = max(allowed)
    agent = Agent()
    begun = agent.begin(f"dk.periodic align={offset} cpus={cpu} samples=0 time=900000000")
    between = time.monotonic_ns() // period * period + 20 * period  # two releases
    try:
        os.sched_setaffinity(0, {cpu})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(99))
        time.sleep((between - time.monotonic_ns()) / 1e9)
        release = (time.monotonic_ns() - offset) // period * period + period + offset  # the next
        while (last := time.monotonic_ns()) < release + length:
            pass
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        first = time.monotonic_ns()
        os.sched_setaffinity(0, allowed)
    record = pick(begun + agent.rest("bye"), "result")[0]
    least, most = last - release, first - release
    assert [v for v, _, _ in record["worst"] if least <= v <= most], (least, most, record["worst"])
    assert record["missed"] >= (least - 1) // period


# ---- cold caches ----------------------------------------------------------------------------


def test_what_is_read_before_a_cold_sample_is_larger_than_any_cache() -> None:
    sizes = [path.read_text() for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("*/size")]
    _, end = case("sem.try.free samples=3 cache=cold")
    if not sizes:
        assert end["status"] == "unsupported"
        assert "the system does not show the sizes of the caches" in end["reason"]
        return
    largest = max(int(size.strip().rstrip("K")) << 10 for size in sizes)
    results, end = case("sem.try.free samples=3 cache=cold")
    assert end["status"] == "ok", end["reason"]
    assert figures(results[0])["read before each sample"] > 2 * largest
    if not os.geteuid():  # who may lock its memory
        assert end["evidence"]["minflt"] == 0  # all its pages are present before


def test_without_room_for_what_fills_the_caches_a_cold_case_is_not_had() -> None:
    _, end = case(
        "sem.try.free samples=3 cache=cold",
        preexec_fn=limited(resource.RLIMIT_AS, 24 << 20),
    )
    assert end["status"] == "unsupported"
    assert "no memory to fill the caches with" in end["reason"] or "not told" in end["reason"]


@as_root
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all there is")
def test_all_cpus_are_the_isolated_ones_too(tmp_path: Path) -> None:
    """As on a machine booted with isolcpus=: a process does not start on those."""
    first, *_, last = sorted(os.sched_getaffinity(0))
    (tmp_path / "isolated").write_text(f"{last}\n")
    script = (
        f"mount --bind {tmp_path}/isolated /sys/devices/system/cpu/isolated && "
        f"exec taskset -c {first} {AGENT} {QUICK}"
    )
    words = ("--mount", "--propagation=private", "sh", "-c", script)
    answers = talk(["case 1 dk.periodic samples=10 cpus=all"], *words, agent=Path("unshare"))
    assert pick(answers, "end")[0]["evidence"]["cpus"] == [first, last]
