"""The checks of results detect the errors that a bench can have (agent/tests/planted.h)."""

from __future__ import annotations

from functools import cache

import pytest

from tests.agent import test_truth
from tests.agent.truth import CHECKS, PLANTED, Agent, Check

# The planted errors, and benches whose checks have to detect them.
PLANTS = {
    "stamp late": [
        "hw.latency",
        "null",
        "sem.wait.free",
        "sem.post.lower",
        "mem.memset",
        "det.response",
    ],
    "stamp early": ["null", "sem.wait.free", "sem.post.lower", "mem.memset", "det.response"],
    "a call too many": ["sem.post.nowait", "sem.post.lower", "sem.post.higher", "sync.test2"],
    "no inheritance": ["sync.test3"],
    "sample dropped": ["hw.latency", "dk.periodic", "mem.malloc.small", "sem.post.nowait"],
    "long sample dropped": [
        "det.bintime",
        "hw.latency",
        "dk.irqsoff",
        "sem.post.nowait",
        "dk.periodic",
    ],
    "missed not counted": ["dk.periodic"],
    "no priorities": ["sem.post.higher", "sync.test3", "mq.latency", "ipc.srsr", "sync.test2"],
    "half the work": ["dk.nanosleep", "mem.memcpy.fwd", "det.response"],
    "load asleep": ["dk.nanosleep", "dk.irqsoff"],
}
CASES = [(plant, bench) for plant, benches in PLANTS.items() for bench in benches]


def fails(check: Check, agent: Agent) -> bool:
    try:
        check(agent)
    except (AssertionError, IndexError):  # no such record
        return True
    return False


@cache
def fails_without(check: Check) -> bool:
    """Without a planted error, the agent with planted errors is the simulated one."""
    return fails(check, Agent(PLANTED))


@pytest.mark.parametrize(("plant", "bench"), CASES, ids=lambda v: v.replace(" ", "-"))
def test_a_planted_mistake_is_noticed(plant: str, bench: str) -> None:
    noticed = next((check for check in CHECKS[bench] if fails(check, Agent(PLANTED, plant))), None)
    assert noticed
    assert noticed in test_truth.ALL
    assert not fails_without(noticed)
