"""From the command on: a set that ran on simulated systems whose costs are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Cli

SET = """
[[task]]
name = "control"
period = "970us"
work = "200us"
priority = 90

[[task]]
name = "log"
period = "5030us"
work = "500us"
priority = 10
"""
MODEL = """
title = "planted"
label = "of a test"
seed = 1
{top}

[cost]
read = "1ns"
add = {{ amount = "1ns" }}
kwi = {{ amount = "1us" }}
{cost}
"""
TIMER, SWITCH = "dk.periodic", "sched.yield.pair"


def explained(cli: Cli, path: Path, *benches: str, top: str = "", cost: str = "") -> dict[str, Any]:
    """Return what is said of each task of a run on a system with these costs, measured there."""
    (path / "set.toml").write_text(SET)
    (path / "model.toml").write_text(MODEL.format(top=top, cost=cost))
    target = f"sim:{path}/model.toml"
    done = cli("tasks", "run", path / "set.toml", "--target", target, "--time", "1s",
               "--name", "ran")  # fmt: skip
    assert done.status in {0, 1}, done.err
    done = cli("run", *benches, "--target", target, "--name", "costs", "-p", "samples=200")
    assert done.status == 0, done.err
    document = cli("tasks", "explain", "ran", "--costs-from", "costs", "--json").document
    assert document["schema"] == "rtstone.tasks-explanation/1"
    return {task["task"]: task for task in document["tasks"]}


def shares(task: dict[str, Any]) -> dict[str, int]:
    return {share["part"]: share["ns"] for share in task["shares"]}


@pytest.mark.simulation
def test_on_a_system_without_costs_there_is_nothing_to_explain(cli: Cli, tmp_path: Path) -> None:
    tasks = explained(cli, tmp_path, TIMER, SWITCH)
    for name, worst in {"control": 200_000, "log": 700_000}.items():
        task = tasks[name]
        assert task["bound_ns"] == task["free_ns"] == task["measured_ns"] == worst
        assert (task["shares"], task["unexplained_ns"]) == ([], 0)


@pytest.mark.simulation
def test_a_switch_is_named_and_sized(cli: Cli, tmp_path: Path) -> None:
    """To control one, to log three: to it, away from it and back."""
    tasks = explained(cli, tmp_path, TIMER, SWITCH, cost='switch = "7us"')
    assert shares(tasks["control"]) == {"switches": 7000}
    assert shares(tasks["log"]) == {"switches": 21_000}
    assert [task["unexplained_ns"] for task in tasks.values()] == [0, 0]
    done = cli("tasks", "explain", "ran", "--costs-from", "costs")
    assert done.out.splitlines()[0] == (
        "log's worst response is 21 µs above the analysis': 21 µs switches, nothing unexplained"
    )
    assert "unexplained: ticks, stalls, cache." in done.out


@pytest.mark.simulation
def test_a_late_timer_is_named_and_the_interrupt_of_another_task_is_not(
    cli: Cli, tmp_path: Path
) -> None:
    """The interrupt of log's timer takes the CPU from control, too, which is none of the parts."""
    tasks = explained(cli, tmp_path, TIMER, SWITCH, cost='interrupt = "30us"')
    for task in tasks.values():
        assert shares(task) == {"late timers": 30_000}
        assert (task["unexplained_ns"], task["sure"]) == (30_000, True)


@pytest.mark.simulation
def test_a_stall_that_nothing_measured_is_unexplained(cli: Cli, tmp_path: Path) -> None:
    top = 'stalls = [{ first = "1ms", length = "50us", period = "10ms" }]'
    tasks = explained(cli, tmp_path, SWITCH, top=top)
    for task in tasks.values():
        assert (task["shares"], task["sure"]) == ([], True)
        assert task["unexplained_ns"] == 50_000


@pytest.mark.simulation
def test_a_run_of_something_else_is_refused(cli: Cli, tmp_path: Path) -> None:
    done = cli("run", SWITCH, "--target", "sim", "--name", "other", "-p", "samples=20")
    assert done.status == 0
    done = cli("tasks", "explain", "other")
    assert done.status == 2
    assert "name a run of `rtstone tasks run`" in done.says
