"""Read-write locks, barriers and spin locks on this machine: the order of the tasks."""

from __future__ import annotations

import os

import pytest

from tests.agent.rights import may_realtime, realtime
from tests.agent.speak import AGENT, STUB, case, figures, result

pytestmark = pytest.mark.machine

two_cpus = pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs a second CPU")


@pytest.mark.parametrize("bench", ["sync.rwlock op=read", "sync.rwlock op=write", "sync.spin"])
@pytest.mark.parametrize("batch", [1, 64])
def test_a_lock_that_is_free_is_had(bench: str, batch: int) -> None:
    # the bench fails if one call does
    assert result(f"{bench} samples=100 batch={batch}")["batch"] == batch


@realtime
def test_both_writers_wait_and_both_get_it_at_once() -> None:
    results, end = case("sync.rwlock.handover samples=200")
    counted = figures(results[0])
    assert counted["writers were not waiting"] == counted["writers did not preempt"] == 0
    # per sample: M and H are started and block, and get the lock one after the other
    evidence = end["evidence"]
    assert evidence["nvcsw"] + evidence["nivcsw"] >= 4 * 200
    time = results[0]["tables"][0]["rows"][0][0]
    ahead = counted["less urgent writer came first"]
    words = {0.0: "the more urgent", 210.0: "who asked first"}
    assert time == words.get(ahead, "in turn")


@realtime
@pytest.mark.parametrize("until", ["urgent", "last"])
@pytest.mark.parametrize("tasks", [2, 3, 64])
def test_all_wait_until_the_last_one_comes(tasks: int, until: str) -> None:
    # the bench fails unless exactly one task per meeting is the serial one
    results, end = case(f"sync.barrier tasks={tasks} until={until} samples=100")
    assert end["status"] == "ok", end["reason"]
    assert set(figures(results[0]).values()) == {0}
    assert end["evidence"]["tasks"] == tasks + 1  # and the one that reports when they wait
    assert end["evidence"]["nvcsw"] >= 100 * (tasks - 1)


@realtime
@pytest.mark.parametrize("bench", ["sync.barrier", "sync.rwlock.handover"])
def test_it_ends_when_its_time_is_up(bench: str) -> None:
    results, end = case(f"{bench} samples=0 time=200000000")
    assert (end["status"], results[0]["ended"]) == ("ok", "time")


@two_cpus
def test_a_spin_lock_goes_to_the_other_cpu() -> None:
    record = result("sync.spin.contended samples=200")
    assert record["n"] == 200
    assert figures(record) == {"had it before it was unlocked": 0}


def test_on_one_cpu_nobody_contends() -> None:
    cpu = {min(os.sched_getaffinity(0))}
    _, end = case(
        "sync.spin.contended", agent=AGENT, preexec_fn=lambda: os.sched_setaffinity(0, cpu)
    )
    assert end["status"] == "unsupported"
    assert "no second CPU" in end["reason"]


@pytest.mark.parametrize(
    ("bench", "cap"),
    [("sync.rwlock", "rwlock"), ("sync.barrier", "priorities"), ("sync.spin", "spin")],
)
def test_a_system_without_them_says_so(bench: str, cap: str) -> None:
    _, end = case(bench, agent=STUB)
    assert end["status"] == "unsupported"
    assert end["reason"] == f"needs {cap}: the stub has one task"


# ---- interrupts for a lower-priority task ---------------------------------------------------


@realtime
@pytest.mark.parametrize("rate", [1000, 4096])
def test_the_server_of_interrupts_runs_only_between_the_blocks(rate: int) -> None:
    results, end = case(f"sync.irqthread samples=10 block=5000000 rate={rate} source=timerfd")
    assert end["status"] == "ok", end["reason"]
    counted = figures(results[0])
    assert counted["served within H's block"] == 0
    # every request of the stage with interrupts was served, those of H's blocks after them; a
    # block is too short if its calibration was disturbed
    median = counted["median without interrupts"]
    assert median > 0
    assert counted["interrupts served"] >= 10 * (median * rate // 10**9 - 1)
    assert results[0]["tables"][0]["rows"][0][1] == "timerfd"


def test_too_few_interrupts_in_a_block_tell_nothing() -> None:
    _, end = case("sync.irqthread rate=64 block=10000000")
    assert end["status"] == "unsupported"
    if may_realtime():
        assert "fewer than 4 requests" in end["reason"]
