"""Special cases of the simulated system's costs, each a shortcut for a general one."""

from __future__ import annotations

import pytest

from tests.agent.speak import BUILD, figures, pick, result, talk

AGENT = BUILD / "rtstone-agent-sim"
TIMER = "dk.nanosleep request=1000000 samples=10"
TRIP = "sync.test2 samples=10 entity="
MESSAGE = "mq.latency samples=10 entity="


def took(command: str, *model: str) -> int:
    """Return the constant time of a case, in ns, on a system where nothing else takes any time."""
    record = result(command, "cost.read.fixed=1000", *model, agent=AGENT)
    assert record["min"] == record["max"]
    return int(record["max"]) - int(record["overhead"])


@pytest.mark.parametrize(
    ("command", "general", "special", "times"),
    [
        (TIMER, "interrupt", "timer", 1),
        (TRIP + "process", "sem_wake", "sem_wake_space", 2),
        (MESSAGE + "process", "queue_wake", "queue_wake_space", 1),
    ],
)
def test_a_special_case_costs_what_is_said_of_it_or_else_what_the_general_one_does(
    command: str, general: str, special: str, times: int
) -> None:
    free = took(command)
    as_general = f"cost.{general}.fixed=5000000"
    assert took(command, as_general) == free + times * 5000
    assert took(command, as_general, f"cost.{special}.fixed=7000000") == free + times * 7000
    assert took(command, as_general, f"cost.{special}.fixed=0") == free


@pytest.mark.parametrize(("command", "op"), [(TRIP, "sem_wake"), (MESSAGE, "queue_wake")])
def test_within_a_process_another_address_space_plays_no_part(command: str, op: str) -> None:
    assert took(command + "thread", f"cost.{op}_space.fixed=7000000") == took(command + "thread")


def test_a_yield_costs_more_if_another_task_is_as_urgent() -> None:
    passes = "cost.yield_pass.fixed=3000000"
    alone, pair = "sched.yield samples=10", "sched.yield.pair samples=10"
    assert took(alone, passes) == took(alone)
    assert took(pair, passes) == took(pair) + 3000


def test_an_activation_that_is_not_taken_before_the_next_one_keeps_its_stamp() -> None:
    late = result(
        "int.latency.phase samples=5000 span=1024",
        "cost.read.fixed=1000",
        "cost.switch.random=0:0,500000000:0,500000001:130000000,1000000000:130000000",
        agent=AGENT,
    )
    assert figures(late)["requests lost or merged"] > 0  # one came during most of the switches
    assert late["max"] - late["min"] < 122070  # none seems to have waited for the next request


@pytest.mark.parametrize(
    ("bench", "cap", "cost"),
    [("sync.rwlock", "rwlock", "rwlock_read"), ("sync.rwlock.handover", "rwlock", "rwlock_read"),
     ("sync.barrier", "barrier", "barrier_wait"), ("sync.spin", "spin", "spin_lock")],
)  # fmt: skip
def test_a_lock_that_the_model_has_no_cost_of_is_not_there(bench: str, cap: str, cost: str) -> None:
    clock = ["cost.read.fixed=1000", "cost.time.fixed=1000"]
    ends = [
        next(r for r in talk([f"case 1 {bench} samples=5"], *words, agent=AGENT)
             if r["t"] == "end")
        for words in (clock, [*clock, f"cost.{cost}.fixed=1000"])
    ]  # fmt: skip
    assert ends[0]["reason"] == f"needs {cap}: the model does not say what it costs"
    assert [end["status"] for end in ends] == ["unsupported", "ok"]


def test_a_simulated_system_has_no_caches() -> None:
    records = talk(["case 1 sched.yield samples=5 cache=cold"], "cost.read.fixed=1000",
                 "cost.time.fixed=1000", agent=AGENT)  # fmt: skip
    end = pick(records, "end")[0]
    assert end["status"] == "unsupported"
    assert end["reason"] == "needs cold_cache: the simulated system has no caches"
