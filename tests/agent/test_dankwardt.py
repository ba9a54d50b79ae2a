"""dk.* and env.setup: sleeps and audio on the stub, whose times are known; others by counts."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.agent.processes import descendants
from tests.agent.rights import as_root, copied, limited, needs_strace, realtime, unprivileged
from tests.agent.speak import (
    AGENT,
    QUICK,
    STUB,
    Agent,
    case,
    command_lines,
    figures,
    pick,
    records,
    result,
    spread,
    talk,
)

pytestmark = pytest.mark.machine

MS = 1_000_000

# The first sleep on the stub begins after 10000 pairs of readings and one more, 20 ns each, and
# 70 us for the conditions recorded before a timed section.
FIRST, CYCLE = 470_020, 50_005_040


# ---- dk.nanosleep ---------------------------------------------------------------------------


@pytest.mark.parametrize(("mode", "overhead"), [("relative", 20), ("absolute", 0)])
def test_a_sleep_deviates_by_the_wake_up(mode: str, overhead: int) -> None:
    record = result(f"dk.nanosleep mode={mode}", agent=STUB)
    assert spread(record) == (5000 + overhead, 5000 + overhead)
    assert (record["overhead"], record["negative"]) == (overhead, 0)
    assert (record["n"], record["warmup"]) == (998, 2)  # of 1000, as in the source
    assert figures(record)["ended early"] == 0


def test_a_stall_at_the_end_of_a_sleep_is_one_large_deviation() -> None:
    start_of_third = FIRST + 2 * CYCLE
    record = result("dk.nanosleep samples=10 warmup=0", str(150 * MS), str(10 * MS), agent=STUB)
    value = 160 * MS - start_of_third - 50 * MS
    assert [(v, i) for v, i, _ in record["worst"][:2]] == [(value, 2), (5020, 0)]
    # the median is known to the width of its bucket
    assert figures(record)["above the median, most"] == pytest.approx(value - 5020, abs=32)


def test_the_sleeps_that_are_discarded_are_figures() -> None:
    """A stall that ends the first sleep is in no sample, but is not hidden."""
    record = result("dk.nanosleep samples=10", str(50 * MS), str(10 * MS), agent=STUB)
    assert spread(record) == (5020, 5020)
    values = figures(record)
    section = 70_000  # ns that its start takes: without a warm-up before the first sleep
    assert values["first sleep, discarded"] == 60 * MS - (FIRST - section) - 50 * MS
    assert values["second sleep, discarded"] == 5020
    without = figures(result("dk.nanosleep samples=10 warmup=0", agent=STUB))
    assert not any("discarded" in name for name in without)


def test_a_sleep_that_ends_early_is_negative_and_in_no_percentile() -> None:
    record = result("dk.nanosleep samples=10 warmup=0", str(120 * MS), "0", agent=STUB)
    took = 120 * MS + 5000 - (FIRST + 2 * CYCLE)
    assert (record["n"], record["negative"]) == (10, 1)
    assert spread(record) == (5020, 5020)
    assert figures(record)["ended early"] == 1
    assert figures(record)["ended early by, most"] == 50 * MS - took


def test_a_sleep_until_a_time_is_not_ended_by_a_signal() -> None:
    record = result(
        "dk.nanosleep mode=absolute samples=10 warmup=0", str(120 * MS), "0", agent=STUB
    )
    assert (record["negative"], spread(record)) == (0, (5000, 5000))


# ---- dk.latencytest -------------------------------------------------------------------------

PERIOD = 2_902_494
READS = PERIOD // 10 * 8 // 20  # of 20 ns each; they fill 80% of a period
# after the calibrations: 5 of 1000 readings, 10 of full length, a time stamp each; 10 ms ahead
RELEASE = 5 * 1001 * 20 + 10 * (READS + 1) * 20 + 10 * MS


def audio(*stalls: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, float]]:
    """Run 50 cycles and return the series period and loop, and the figures."""
    (period, loop), end = case("dk.latencytest samples=50 warmup=0", *map(str, stalls), agent=STUB)
    assert end["status"] == "ok", end["reason"]
    assert (period["series"], loop["series"]) == ("period", "loop")
    assert period["n"] == loop["n"] == 50
    return period, loop, figures(period)


def within(figures: dict[str, float]) -> list[float]:
    return [figures[name] for name in (
        "periods within 1 ms", "periods within 2 ms", "loops within 0.1 ms", "loops within 0.2 ms",
    )]  # fmt: skip


def test_audio_without_disturbance_keeps_its_times() -> None:
    period, loop, loop_figures = audio()
    assert spread(period) == (PERIOD, PERIOD)
    assert spread(loop) == (READS * 20 + 20, READS * 20 + 20)
    assert within(loop_figures) == [100, 100, 100, 100]
    assert period["missed"] == 0


def test_a_late_wake_up_is_a_long_period_and_no_long_loop() -> None:
    period, loop, loop_figures = audio(RELEASE + 20 * PERIOD, 1_500_000)
    assert period["max"] == PERIOD + 1_500_000 - 5000
    assert loop["max"] == READS * 20 + 20
    assert within(loop_figures) == [98, 100, 100, 100]


def test_a_stall_in_the_loop_is_a_long_loop_and_no_long_period() -> None:
    period, loop, loop_figures = audio(RELEASE + 20 * PERIOD + MS, 150_000)
    assert spread(period) == (PERIOD, PERIOD)
    assert READS * 20 + 150_000 <= loop["max"] <= READS * 20 + 150_020
    assert within(loop_figures) == [100, 100, 98, 100]


def test_audio_periods_that_never_were_are_counted() -> None:
    period, _, loop_figures = audio(RELEASE + 20 * PERIOD, 4 * MS)
    assert period["missed"] == loop_figures["requests lost or merged"] == 1
    assert within(loop_figures) == [98, 98, 100, 100]


def test_the_timer_of_an_audio_period_is_the_systems_own() -> None:
    period, loop, loop_figures = audio()
    (source,) = period["tables"]
    assert source["title"] == "source of interrupts"
    assert source["columns"] == ["source", "rate", "independence", "stamped by"]
    assert source["rows"] == [
        ["the timer of a sleep", "344.531 Hz", "dependent: the system's own timer", "a woken task"]
    ]
    assert loop_figures["requests lost or merged"] == 0
    assert not loop["tables"]


# ---- dk.periodic by policy ------------------------------------------------------------------


@realtime
@pytest.mark.parametrize(
    ("policy", "number"),
    [("fifo", os.SCHED_FIFO), ("rr", os.SCHED_RR), ("other", os.SCHED_OTHER)],
)
def test_the_tasks_have_their_policy(policy: str, number: int) -> None:
    agent = Agent()
    agent.send("progress 50")
    command = f"case 1 dk.periodic policy={policy} tasks=2 samples=0 time=500000000"
    begun = agent.ask(command, "progress")  # it measures
    (process,) = descendants(agent.pid)
    tasks = [int(path.name) for path in Path(f"/proc/{process}/task").iterdir()]
    policies = [os.sched_getscheduler(task) for task in tasks if task != process]
    assert policies == [number, number]
    (end,) = pick(begun + agent.rest("bye"), "end")
    assert end["status"] == "ok"
    assert (end["evidence"]["prio"] is None) == (policy == "other")


# ---- dk.periodic by deadline ----------------------------------------------------------------


def may_deadline() -> bool:
    return "deadline" in talk([])[0]["caps"]


deadline = pytest.mark.skipif(not may_deadline(), reason="needs SCHED_DEADLINE")


def test_deadlines_where_there_are_none() -> None:
    _, end = case("dk.periodic policy=deadline", agent=STUB)
    assert (end["status"], end["reason"]) == (
        "unsupported", "policy=deadline: the stub has one task",
    )  # fmt: skip


@deadline
def test_a_job_within_its_runtime() -> None:
    (record,), end = case(
        "dk.periodic policy=deadline config=2cpu period=20000000 runtime=10000000 samples=20"
    )
    assert end["status"] == "ok", end["reason"]
    assert end["evidence"]["sched"] == "deadline"
    assert figures(record)["runtime used up"] == 0


@deadline
def test_jobs_beyond_their_runtime_are_made_to_wait() -> None:
    # No system wakes up and sleeps again within 1.1 us: each job waits for at least a period.
    record = result(
        "dk.periodic policy=deadline config=2cpu period=1000000 runtime=1100 samples=20 warmup=0"
    )
    assert figures(record)["runtime used up"] == record["n"] == 20
    assert record["missed"] >= 19


@deadline
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all there is")
def test_a_bound_deadline_task_gets_a_partition_or_the_cause_is_named() -> None:
    refusal = (
        r"policy=(deadline|edf): admission control refuses a task bound to one of several CPUs "
        r"\(no partition of its own: .+\); use config=2cpu, or `rtstone tune apply --only "
        r"rt_throttling`"
    )
    for bench in ("dk.periodic policy=deadline samples=20",
                  "hart.PH.1 policy=edf duration=100000000 start=1000000 stop=first"):  # fmt: skip
        _, end = case(bench)
        assert end["status"] == "ok" or re.fullmatch(refusal, end["reason"])
        assert not list(Path("/sys/fs/cgroup").rglob("rtstone-case-*"))
    _, end = case("dk.periodic policy=deadline config=2cpu runtime=2000000 samples=20")
    assert end["status"] == "unsupported"
    assert "2000000 ns in every 1000000 ns: Invalid argument" in end["reason"]


@deadline
@needs_strace
def test_deadlines_that_others_have_reserved_are_there() -> None:
    """Else a target would be another one for as long, and no run on it could be resumed."""
    words = "dk.periodic policy=deadline config=2cpu period=20000000 runtime=10000000 samples=20"
    taken = ("-f", "-o", os.devnull, "-e", "inject=sched_setattr:error=EBUSY")
    records = talk([f"case 1 {words}"], *taken, str(AGENT), QUICK, agent=Path("strace"))
    assert "deadline" in records[0]["caps"]
    (end,) = pick(records, "end")
    assert end["status"] == "unsupported"
    assert "other tasks have reserved the CPU time" in end["reason"]


@deadline
@as_root
def test_without_a_right_to_deadlines_that_is_the_cause(tmp_path: Path) -> None:
    (end,) = unprivileged(copied(AGENT, tmp_path), ["case 1 dk.periodic policy=deadline"], [])
    assert end["reason"] == (
        "policy=deadline: no right to SCHED_DEADLINE: it takes CAP_SYS_NICE, and a limit of rtprio "
        "is not enough; measure as root"
    )


@deadline
@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one CPU is all there is")
def test_without_some_of_the_cpus_that_is_the_cause() -> None:
    words = ("-c", str(max(os.sched_getaffinity(0))), str(AGENT), QUICK)
    answers = talk(["case 1 dk.periodic policy=deadline"], *words, agent=Path("taskset"))
    assert pick(answers, "end")[0]["reason"] == (
        "policy=deadline: admission control refuses a task that may not use all CPUs of its root "
        "domain: measure without taskset and outside of cpusets"
    )


# ---- dk.setitimer ---------------------------------------------------------------------------


def without_a_signal(record: dict[str, Any], interval_ns: int) -> int:
    """Return how many expirations were due in the time that passed but had no signal."""
    interval = interval_ns * record["hz"] // 1_000_000_000
    return int((record["sum"] + interval // 2) // interval - record["n"])


def test_every_signal_of_the_timer_is_one_distance() -> None:
    record = result("dk.setitimer interval=2000000 samples=100 warmup=0")
    values = figures(record)
    assert record["n"] == 100
    assert values["signals"] == 101
    assert values["expirations without a signal"] == without_a_signal(record, 2_000_000)
    interval = 2e6
    tick = 1e9 / record["hz"]
    assert values["max - interval"] == pytest.approx(record["max"] * tick - interval, abs=2)
    assert values["mean - interval"] == pytest.approx(record["sum"] / 100 * tick - interval, abs=2)
    assert values["min - interval"] == pytest.approx(record["min"] * tick - interval, abs=2)
    assert figures(result("dk.setitimer interval=2000000 samples=10"))["signals"] == 13


def test_expirations_that_fall_together_are_missed() -> None:
    agent = Agent()
    begun = agent.begin("dk.setitimer interval=2000000 samples=0 time=60000000000 warmup=0")
    (measuring,) = descendants(agent.pid)
    os.kill(measuring, signal.SIGSTOP)
    time.sleep(0.1)  # 50 expirations
    os.kill(measuring, signal.SIGCONT)
    agent.send_signal(signal.SIGTERM)
    record = pick(begun + agent.rest(), "result")[0]
    assert figures(record)["expirations without a signal"] >= 40
    assert figures(record)["expirations without a signal"] == without_a_signal(record, 2_000_000)
    assert figures(record)["signals"] == record["n"] + 1


# ---- dk.lat_ctx -----------------------------------------------------------------------------


@pytest.mark.parametrize(("processes", "size"), [(2, 0), (8, 16384), (16, 65536)])
def test_the_token_visits_all_alike_and_the_method_is_lmbenchs(processes: int, size: int) -> None:
    runs, end = case(f"dk.lat_ctx processes={processes} size={size} samples=50 warmup=3")
    assert end["status"] == "ok", end["reason"]
    assert [r["series"] for r in runs] == ["run 1", "run 2", "run 3"]
    values = figures(runs[0])
    assert values["visits per process and run, fewest"] == 53
    assert values["visits per process and run, most"] == 53
    assert end["evidence"]["tasks"] == processes
    # The lowest mean of three runs is reported, less the least of what pipe and summing took.
    hops = [r["sum"] / r["n"] / r["hz"] * 1e9 / processes for r in runs]  # and a clock reading
    assert all(r["batch"] == processes for r in runs)
    beside = values["pipe and summing, least of 6"]
    assert values["lowest: hop as timed"] == pytest.approx(min(hops), abs=50)
    assert values["lowest of 3"] == pytest.approx(values["lowest: hop as timed"] - beside, abs=2)
    assert values["highest of 3"] - values["lowest of 3"] == pytest.approx(
        max(hops) - min(hops), abs=2
    )
    above = values["highest of 3"] / values["lowest of 3"] - 1
    assert values["highest above lowest"] == pytest.approx(100 * above, abs=0.1)
    assert 0 < beside * processes <= min(r["overhead"] / r["hz"] * 1e9 for r in runs) + 1


def test_a_run_without_samples_is_not_the_lowest_of_three() -> None:
    runs, end = case("dk.lat_ctx processes=16 size=0 samples=0 time=1000")
    assert end["status"] == "failed"
    assert end["reason"] == "run 1 ended before it had a sample: give it more time"
    assert not runs


@realtime
def test_the_measuring_process_waits_for_the_token_in_every_pass() -> None:
    _, end = case("dk.lat_ctx processes=4 samples=200 warmup=0")
    # it blocks once per pass; three runs
    assert end["evidence"]["nvcsw"] >= 600


@pytest.mark.parametrize("member", [1, 3])
def test_a_ring_that_breaks_is_no_result(member: int) -> None:
    agent = Agent()
    begun = agent.begin("dk.lat_ctx processes=4 samples=0 time=20000000000")
    members = descendants(agent.pid)
    assert len(members) == 4  # the measuring process and three others
    os.kill(sorted(members)[member], signal.SIGKILL)
    answers = begun + agent.rest("bye")
    end = pick(answers, "end")[0]
    assert (end["status"], end["reason"]) == ("failed", "a process of the ring is gone")
    assert not pick(answers, "result")


# ---- dk.schedlat ----------------------------------------------------------------------------


def processes_ever() -> int:
    """Return how many processes were created since this system started."""
    stat = Path("/proc/stat").read_text().splitlines()
    return int(next(line.split()[1] for line in stat if line.startswith("processes ")))


@realtime
def test_each_kind_of_call_is_made_while_its_series_is_taken() -> None:
    before = processes_ever()
    series, end = case("dk.schedlat samples=200 time=0")  # on a busy machine a call takes long
    assert end["status"] == "ok", end["reason"]
    assert [r["series"] for r in series] == ["read", "write", "fork", "mmap", "scan", "open"]
    assert all(r["n"] == 200 for r in series)
    calls = figures(series[0])
    assert len(calls) == 6
    assert min(calls.values()) > 0
    assert processes_ever() - before >= calls["calls of fork, exit and wait"]
    assert end["evidence"]["tasks"] == 2


@as_root
@realtime
def test_a_call_that_the_system_cannot_make_is_left_out_and_told(tmp_path: Path) -> None:
    """A kernel without terminals has no /dev/ptmx; here it is a file that cannot be opened."""
    with socket.socket(socket.AF_UNIX) as unopenable:
        unopenable.bind(str(tmp_path / "ptmx"))
        hide = f"mount --bind {tmp_path}/ptmx $(readlink -f /dev/ptmx) && exec {AGENT}"
        done = subprocess.run(
            ["unshare", "--mount", "--propagation=private", "sh", "-c", hide],
            input=command_lines("case 1 dk.schedlat samples=50 time=0", "bye"),
            stdout=subprocess.PIPE, timeout=60, check=True,
        )  # fmt: skip
    answer_records = records(done.stdout)
    series = pick(answer_records, "result")
    assert [r["series"] for r in series] == ["read", "write", "fork", "mmap", "scan"]
    assert [r["status"] for r in pick(answer_records, "end")] == ["ok"]
    assert [table["rows"] for table in series[0]["tables"] if table["title"] == "left out"] == [
        [["open", "calls of open and close (/dev/ptmx)", "No such device or address"]]
    ]


@realtime
def test_the_calls_are_made_by_a_less_urgent_process_on_the_same_cpu() -> None:
    agent = Agent()
    cpu = max(os.sched_getaffinity(0))
    agent.begin(f"dk.schedlat samples=0 time=60000000000 cpus={cpu}")
    caller = descendants(agent.pid)[1]
    assert os.sched_getscheduler(caller) == os.SCHED_OTHER
    assert os.sched_getaffinity(caller) == {cpu}
    agent.send_signal(signal.SIGTERM)
    agent.rest()


# ---- dk.pagefaults, env.setup ---------------------------------------------------------------


@as_root
def test_locked_memory_takes_no_fault() -> None:
    results, end = case("dk.pagefaults lock=1 samples=500")
    values = figures(results[0])
    assert end["evidence"]["locked"] is True
    assert values["minor faults in the section"] == values["major faults in the section"] == 0
    assert values["pages written to"] == results[0]["n"] == 500


def test_a_fresh_page_takes_a_fault_at_least() -> None:
    results, end = case("dk.pagefaults lock=0 samples=500")
    values = figures(results[0])
    assert end["evidence"]["locked"] is False
    assert values["pages written to"] == 500
    assert values["minor faults in the section"] + values["major faults in the section"] >= 500


def step(record: dict[str, Any], number: int) -> dict[str, str]:
    (table,) = record["tables"]
    row = next(row for row in table["rows"] if row[0].startswith(str(number)))
    return dict(zip(table["columns"], row, strict=True))


@as_root
@realtime
def test_the_set_up_step_by_step() -> None:
    record = result("env.setup samples=100")
    assert [row[0][0] for row in record["tables"][0]["rows"]] == list("123456d")
    assert step(record, 3)["result"] == "locked"
    assert not any(step(record, number)["error"] for number in range(1, 7))
    assert step(record, 4)["result"] == step(record, 6)["result"]  # no fault in between
    values = figures(record)
    assert values["minor faults in the section"] == 0
    limit = Path("/proc/sys/kernel/sched_rt_runtime_us").read_text()
    assert values["real-time limit (-1: none)"] == float(limit)


@as_root
def test_what_the_set_up_is_refused_is_told(copy: Path) -> None:
    answers = unprivileged(
        copy, ["case 1 env.setup samples=50", "case 2 dk.pagefaults samples=50"], [],
        preexec_fn=limited(resource.RLIMIT_MEMLOCK, 65536), kinds=("result", "end"),
    )  # fmt: skip
    record = pick(answers, "result")[0]
    assert (step(record, 2)["result"], step(record, 3)["result"]) == ("refused", "refused")
    assert "CAP_SYS_NICE" in step(record, 2)["missing"]
    assert "CAP_IPC_LOCK" in step(record, 3)["missing"]
    setup, faults = pick(answers, "end")
    assert (setup["status"], setup["evidence"]["locked"]) == ("ok", False)
    assert faults["status"] == "unsupported"
    assert faults["reason"].startswith("mlockall: ")
