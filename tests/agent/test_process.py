"""proc.*: what lies between the time stamps, and that no child runs there unless it has to."""

from __future__ import annotations

import os
import signal
import time

import pytest

from tests.agent.processes import descendants, gone
from tests.agent.rights import realtime
from tests.agent.speak import STUB, Agent, case, figures, result, spread

pytestmark = pytest.mark.machine

EARLY = "children that ran before the call returned"
BEFORE = "victims that ran before they were terminated"


def test_one_call_lies_between_the_stamps() -> None:
    # on the stub a call takes 1000 ns, a clock reading 20; it aborts if a child is created twice,
    # killed before it exists, or not waited for
    assert spread(result("proc.create samples=123", agent=STUB)) == (1020, 1020)
    results, end = case("proc.kill samples=123", agent=STUB)
    assert end["status"] == "ok", end["reason"]
    call, complete = results
    assert [r["series"] for r in results] == ["call", "complete"]
    assert spread(call) == (1020, 1020)  # the kill
    assert spread(complete) == (2040, 2040)  # the kill, the time stamp after it, and the wait
    assert call["n"] == complete["n"] == 123


@realtime
@pytest.mark.parametrize(("kind", "prio"), [("thread", 49), ("clone", 50), ("fork", 50)])
def test_a_child_does_not_run_before_its_creation_has_been_timed(kind: str, prio: int) -> None:
    record = result(f"proc.create kind={kind} samples=200 prio=50")
    # of all, including those of the warm-up; a parent that sleeps in the call lets a child run
    assert figures(record)[EARLY] < 20
    assert figures(record)["priority of the parent"] == 50
    # unless the call sets the priority, it is the parent's: the child waits behind the parent
    assert figures(record)["priority of a child"] == prio


@realtime
@pytest.mark.parametrize("kind", ["spawn", "vfork"])
def test_where_the_parent_waits_for_the_child_every_one_of_them_ran(kind: str) -> None:
    record = result(f"proc.create kind={kind} samples=60 warmup=5")
    assert figures(record)[EARLY] == 65


@realtime
@pytest.mark.parametrize(("kind", "ran"), [("thread", 0), ("clone", 0), ("fork", 0), ("spawn", 65)])
def test_a_victim_has_not_run_and_is_gone_afterwards(kind: str, ran: int) -> None:
    results, end = case(f"proc.kill kind={kind} samples=60 warmup=5")
    assert end["status"] == "ok", end["reason"]
    call, complete = results
    assert call["n"] == complete["n"] == 60
    assert ran <= figures(call)[BEFORE] < ran + 10  # while a parent sleeps in a call, one may
    assert figures(call)["priority of the parent"] == 98
    assert figures(call)["priority of a child"] == 97
    # the victim ends by itself, so the parent blocks once for each
    assert end["evidence"]["nvcsw"] >= 60
    # a terminated victim is completely gone before the next one is created
    assert complete["sum"] > call["sum"]
    assert complete["min"] > call["min"]


@realtime
def test_nothing_is_left_to_kill_of_a_child_of_vfork() -> None:
    _, end = case("proc.kill kind=vfork")
    assert (end["status"], end["reason"]) == (
        "failed", "parameter kind: 'vfork' is none of its choices",
    )  # fmt: skip


@realtime
@pytest.mark.parametrize("kind", ["clone", "fork"])
def test_children_do_not_outlive_an_agent_that_is_killed(kind: str) -> None:
    agent = Agent()
    family: list[int] = []
    try:
        agent.begin(f"proc.create kind={kind} samples=0 time=30000000000")
        (measuring, *_) = descendants(agent.pid)
        for _ in range(100):  # until it is stopped while it has children
            os.kill(measuring, signal.SIGSTOP)
            time.sleep(0.02)
            family = descendants(agent.pid)
            if len(family) > 5:
                break
            os.kill(measuring, signal.SIGCONT)
            time.sleep(0.05)
    finally:
        agent.end_now()
    assert len(family) > 5
    assert gone(family)
