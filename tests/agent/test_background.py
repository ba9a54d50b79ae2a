"""sched.bg50.*: fifty tasks share the CPU as specified, and all CPU time is accounted for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agent.rights import realtime
from tests.agent.speak import STUB, case, figures

pytestmark = pytest.mark.machine

SLICE = Path("/proc/sys/kernel/sched_rr_timeslice_ms")


@pytest.mark.parametrize("bench", ["sched.bg50.orig", "sched.bg50.half"])
def test_without_priorities_there_is_none(bench: str) -> None:
    _, end = case(bench, agent=STUB)
    assert end["status"] == "unsupported"
    assert "priorities" in end["reason"]


@realtime
def test_first_stamp_to_last_is_at_least_49_hand_overs() -> None:
    results, end = case("sched.bg50.orig samples=3 warmup=1")
    assert end["status"] == "ok", end["reason"]
    assert end["evidence"]["tasks"] == 51
    assert results[0]["n"] == 3
    values = figures(results[0])
    # a task only leaves the CPU when preempted; more switches if one had a second turn before
    assert values["hand-overs from first to last stamp"] >= 49
    assert 0 <= values["tasks that ran out of order"] <= 50


@realtime
def test_half_of_the_tasks_are_done_and_the_time_is_accounted_for() -> None:
    work = 23_000_000
    results, end = case(f"sched.bg50.half work={work} samples=2")
    assert end["status"] == "ok", end["reason"]
    assert end["evidence"]["tasks"] == 51
    (record,) = results
    values = figures(record)
    assert record["n"] == 2
    # more if the 25th lost the CPU before it could tell of its end
    assert 25 <= values["tasks that had ended at the half"] <= 50
    if "overhead share" not in values:
        pytest.skip("other tasks had more of the CPU than the overhead is")
    # one CPU cannot provide more time than has passed: a time stamp, clock or count taken too
    # late makes this negative
    assert 0 <= values["overhead share"] < 100
    assert values["involuntary switches"] > 0
    elapsed = record["sum"] * 1e9 / record["hz"]  # or longer, up to when the 25th told
    overhead = values["overhead per switch"] * values["involuntary switches"]
    share = values["overhead share"]  # reported to 1e-3 of a %
    assert overhead >= elapsed * (share - 1e-3) / 100
    assert overhead <= end["evidence"]["section_ns"] * (share + 1e-3) / 100
    # the 25 that have ended had done all their work by then
    received = elapsed * (1 - values["overhead share"] / 100)
    assert received >= 25 * 2 * 0.5 * values["CPU time of the work among the others"]


@realtime
def test_round_robin_needs_a_slice_shorter_than_the_work_and_stays_below_the_limit() -> None:
    """Whatever the machine's slice is, the work is either too short for it or within the limit."""
    slice_ns = int(SLICE.read_text()) * 1_000_000
    _, end = case(f"sched.bg50.half policy=rr work={slice_ns}")
    assert end["status"] == "unsupported"
    assert "sched_rr_timeslice_ms" in end["reason"]
    _, end = case("sched.bg50.half policy=rr work=900000000")
    assert end["status"] == "unsupported"
    assert "the RT throttling limit allows work of at most" in end["reason"]
