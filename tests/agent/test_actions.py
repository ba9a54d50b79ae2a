"""Load actions: a process for each step, once in every cycle, and what is refused."""

from __future__ import annotations

import pytest

from tests.agent.test_loads import LoadAgent

pytestmark = pytest.mark.machine


def test_each_step_is_a_process_that_comes_once_in_a_cycle(agent: LoadAgent) -> None:
    agent.load("actions every=50000000 steps=forks*2@0us,signals@20000us,spin@40000us")
    assert len(agent.workers()) == 3
    (part,) = agent.work().values()
    assert part["unit"] == "rounds"
    # 20 cycles a second of three steps; on a busy machine fewer, never more.
    assert 3 < part["achieved"] < 66


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ("forks", "no step: 'forks'; write ACTION*N@TIMEus"),
        ("fork@1us", "no step: 'fork@1us'"),
        ("forks*0@1us", "no step: 'forks*0@1us'"),
        ("forks*20001@1us", "no step: 'forks*20001@1us'"),
        ("forks@1ms", "no step: 'forks@1ms'"),
        ("forks@-1us", "no step: 'forks@-1us'"),
        ("forks@1us,", "no step: 'forks@1us,'"),
        ("forks@1us,,spin@2us", "no step: ',spin@2us'"),
        ("forks@4937us", "after the end of the cycle: 'forks@4937us'"),
        (",".join(f"spin@{n}us" for n in range(17)), "17 steps: 16 is the most"),
        ("sync@1us", "allow it with consent=shared"),
        ("spin@1us,settime@2us", "only a guest of the lab does it"),
    ],
)
def test_what_is_no_program_is_refused(agent: LoadAgent, steps: str, reason: str) -> None:
    record = agent.answer(f"load actions steps={steps}", "loaded")
    assert record["status"] == "unsupported"
    assert reason in record["reason"]


def test_the_step_that_the_system_refuses_is_in_the_reason(agent: LoadAgent) -> None:
    record = agent.answer("load actions steps=spin@1us,inotify*3000@20us,spin@30us", "loaded")
    assert record["status"] == "unsupported"
    assert record["reason"].startswith("component actions: inotify*3000@20us: inotify (")


def test_no_step_is_no_load(agent: LoadAgent) -> None:
    record = agent.answer("load actions", "loaded")
    assert record["status"] == "failed"
    assert "load none" in record["reason"]
