"""The analysis against schedules of every phase, tick by tick, and against the simulator.

No bound is below what happens, and what is called exact happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rtstone.documents.tasks import Costs, TaskCheck, TaskSet
from rtstone.simulate.engine import simulate
from rtstone.simulate.taskset import Rules, Section
from rtstone.simulate.taskset import TaskSet as Simulated
from rtstone.tasks.analysis.check import at
from tests.tasks.brute import Plan, Schedule, hyperperiod, longest, releases, worst
from tests.tasks.sets import drawn, task, task_set, with_resources

PERIODS = (4, 5, 6, 8, 10, 12)
SETS = 40  # of each kind: 320 in all
FREE = Costs()


def checked(tasks: TaskSet, costs: Costs = FREE) -> list[TaskCheck]:
    return at(tasks, costs, Fraction(1))[0]


def sets(kind: str) -> Iterator[TaskSet]:
    """Yield random sets of two or three tasks of a kind."""
    rng = np.random.default_rng([7, len(kind), *kind.encode()])
    for _ in range(SETS):
        tasks = drawn(rng, int(rng.integers(2, 4)), float(rng.uniform(0.4, 0.95)), PERIODS)
        yield changed(rng, tasks, kind)


def changed(rng: np.random.Generator, tasks: TaskSet, kind: str) -> TaskSet:
    if kind in {"inherit", "protect", "ceiling", "none"}:
        few = [replace(t, jitter_ns=t.jitter_ns if rng.random() < 0.3 else 0) for t in tasks.tasks]
        return with_resources(rng, replace(tasks, tasks=few), kind)
    if kind == "rr":
        turns = [
            replace(t, policy="rr" if rng.random() < 0.8 else "fifo", jitter_ns=0,
                    priority=int(rng.integers(1, 3)))
            for t in tasks.tasks
        ]  # fmt: skip
        return replace(tasks, tasks=turns, quantum_ns=int(rng.integers(1, 4)))
    if kind == "fixed":
        return tasks
    share = {"edf": 1.0, "edf inherit": 1.0, "mixed": 0.4}[kind]
    reserved: list[Any] = [
        replace(t, jitter_ns=0, policy="deadline", priority=None) if rng.random() < share
        else replace(t, jitter_ns=0)
        for t in tasks.tasks
    ]  # fmt: skip
    tasks = replace(tasks, tasks=reserved)
    return with_resources(rng, tasks, "inherit") if kind == "edf inherit" else tasks


# The largest mean of bound by truth, and the least number of exact bounds, of SETS sets.
EXPECTED = {
    "fixed": (1.06, 50),
    "edf": (1.0, 80),
    "mixed": (1.02, 70),
    "rr": (1.15, 30),
    "inherit": (1.35, 10),
    "protect": (1.35, 10),
    "none": (2.0, 3),
    "edf inherit": (1.4, 5),
}


@pytest.mark.simulation
@pytest.mark.parametrize("kind", EXPECTED)
def test_no_bound_is_below_what_happens(kind: str) -> None:
    exact, ratios = 0, []
    for tasks in sets(kind):
        for number, check in enumerate(checked(tasks)):
            if check.response_ns is None:
                assert check.verdict != "holds"
                continue
            happened = worst(tasks, number)
            assert happened is not None and happened <= check.response_ns, (tasks, check)
            if check.exact:
                assert happened == check.response_ns, (tasks, check)
                exact += 1
            missed = happened > (check.deadline_ns or 0)
            assert (
                check.verdict in {True: ("fails", "unknown"), False: ("holds", "unknown")}[missed]
            )
            if check.verdict == "fails":
                assert missed, (tasks, check)
            ratios.append(check.response_ns / happened)
    most, least = EXPECTED[kind]
    assert float(np.mean(ratios)) <= most
    assert exact >= least


@pytest.mark.simulation
@pytest.mark.parametrize("policy", ["fifo", "deadline"])
def test_known_phases_are_exact(policy: str) -> None:
    """With offsets, the responses are those of the only schedule there is."""
    rng = np.random.default_rng([8, len(policy)])
    rescued = 0
    for _ in range(SETS):
        tasks = drawn(rng, 3, float(rng.uniform(0.5, 0.95)), PERIODS)
        priorities = rng.permutation(3) + 1
        phased = [
            replace(t, offset_ns=int(rng.integers(0, t.period_ns)), jitter_ns=0, policy=policy,
                    priority=int(priority) if policy == "fifo" else None)
            for t, priority in zip(tasks.tasks, priorities, strict=True)
        ]  # fmt: skip
        tasks = replace(tasks, tasks=phased)
        if not any(t.offset_ns for t in tasks.tasks):
            continue
        span = hyperperiod(tasks)
        jobs = [list(releases(t, t.offset_ns or 0, 3 * span)) for t in tasks.tasks]
        done = Schedule(tasks, Plan(jobs, -1)).run(5 * span)
        free = checked(replace(tasks, tasks=[replace(t, offset_ns=None) for t in tasks.tasks]))
        for number, (check, without) in enumerate(zip(checked(tasks), free, strict=True)):
            if check.response_ns is None:
                assert without.response_ns is None
                continue
            happened = longest(done, number)
            late = happened is not None and happened > (check.deadline_ns or 0)
            assert (check.verdict == "holds") == (not late)
            if policy == "fifo":  # of equal deadlines, either may go first
                assert happened == check.response_ns
            rescued += check.verdict == "holds" and without.verdict != "holds"
    assert rescued > 3


@pytest.mark.simulation
@pytest.mark.parametrize("policy", ["fifo", "deadline"])
def test_no_verdict_on_several_cpus_is_optimistic(policy: str) -> None:
    rng = np.random.default_rng([9, len(policy)])
    held = 0
    for _ in range(3 * SETS):
        tasks = drawn(rng, int(rng.integers(3, 6)), float(rng.uniform(0.6, 1.8)), PERIODS)
        several = [
            replace(t, cpus=[0, 1], jitter_ns=0, policy=policy, deadline_ns=None,
                    priority=t.priority if policy == "fifo" else None)
            for t in tasks.tasks if (t.work.most_ns or 0) <= (t.period_ns or 0)
        ]  # fmt: skip
        tasks = replace(tasks, tasks=several)
        checks = checked(tasks)
        span = hyperperiod(tasks)
        for _ in range(20):
            offsets = [int(rng.integers(0, t.period_ns or 1)) for t in tasks.tasks]
            jobs = [
                list(releases(t, o, 2 * span)) for t, o in zip(tasks.tasks, offsets, strict=True)
            ]
            last = int(rng.integers(len(jobs)))
            done = Schedule(tasks, Plan(jobs, last), cpus=2).run(4 * span)
            for number, check in enumerate(checks):
                happened = longest(done, number)
                if check.response_ns is not None:
                    assert happened is not None and happened <= check.response_ns, (tasks, check)
        held += all(check.verdict == "holds" for check in checks)
    assert held > 20


@pytest.mark.simulation
@pytest.mark.parametrize("waker", ["more urgent", "less urgent"])
def test_what_a_task_wakes_is_within_its_bounds(waker: str) -> None:
    """The response of the woken task from its release, and that from the arrival at the source."""
    from rtstone.documents.tasks import Chain

    rng = np.random.default_rng([10, len(waker)])
    ratios = []
    for _ in range(SETS):
        tasks = drawn(rng, 3, float(rng.uniform(0.4, 0.9)), PERIODS)
        first, woken, rest = tasks.tasks
        order = (3, 1) if waker == "more urgent" else (1, 3)
        first = replace(first, priority=order[0], jitter_ns=0)
        woken = replace(
            woken, arrival="woken", period_ns=None, priority=order[1], jitter_ns=0, deadline_ns=None
        )
        work = max(1, (woken.work.most_ns or 1) * (first.period_ns or 1) // 12)
        woken = replace(woken, work=replace(woken.work, least_ns=work, most_ns=work))
        tasks = replace(
            tasks, tasks=[first, woken, replace(rest, priority=2)],
            chains=[Chain(name="c", path=[first.name, woken.name])],
        )  # fmt: skip
        checks = checked(tasks)
        if any(check.from_source_ns is None for check in checks):
            continue
        span = np.lcm(first.period_ns or 1, rest.period_ns or 1)
        for offset in range(rest.period_ns or 1):
            begin = rest.jitter_ns
            jobs = [
                list(releases(first, begin, 2 * int(span) + begin)), [],
                list(releases(rest, begin + offset, 2 * int(span) + begin)),
            ]  # fmt: skip
            done = Schedule(tasks, Plan(jobs, 1)).run(6 * int(span) + begin)
            whole, local = longest(done, 1), longest(done, 1, from_release=True)
            assert whole is not None and local is not None
            assert whole <= (checks[1].from_source_ns or 0)
            assert local <= (checks[1].response_ns or 0)
            ratios.append((checks[1].from_source_ns or 0) / whole)
    assert len(ratios) > 50
    assert float(np.mean(ratios)) < 2.5


# ---- the simulator ------------------------------------------------------------------------------


def simulated(tasks: TaskSet, end: int, **members: Any) -> Simulated:
    """Return the set as the simulator takes it."""
    ints = {
        name: np.array([getattr(t, f"{name}_ns") or 0 for t in tasks.tasks], np.int64)
        for name in ("period", "deadline")
    }
    names = [resource.name for resource in tasks.resources]
    return Simulated(
        end=end, **ints, nominal=np.array([t.work.most_ns for t in tasks.tasks], np.int64),
        rank=np.array([-(t.priority if isinstance(t.priority, int) else 0) for t in tasks.tasks],
                      np.int64),
        sections=tuple(
            tuple(Section(u.after_ns, u.for_ns, names.index(u.resource)) for u in t.uses)
            for t in tasks.tasks
        ), **members,
    )  # fmt: skip


@pytest.mark.simulation
@pytest.mark.parametrize("protocol", ["inherit", "ceiling"])
@pytest.mark.parametrize("policy", ["fixed", "edf"])
def test_no_bound_is_below_the_simulator(policy: str, protocol: str) -> None:
    """With resources, costs of switches and ticks, of 300 sets each."""
    rng = np.random.default_rng([11, len(policy), len(protocol)])
    ratios = []
    for _ in range(300):
        tasks = drawn(rng, int(rng.integers(2, 6)), float(rng.uniform(0.3, 0.8)),
                      (40, 50, 60, 80, 100, 120))  # fmt: skip
        priorities = rng.permutation(len(tasks.tasks)) + 1
        each = [
            replace(t, jitter_ns=0, policy="fifo" if policy == "fixed" else "deadline",
                    priority=int(priority) if policy == "fixed" else None)
            for t, priority in zip(tasks.tasks, priorities, strict=True)
        ]  # fmt: skip
        tasks = with_resources(rng, replace(tasks, tasks=each), protocol)
        costs = Costs(switch_ns=int(rng.integers(0, 2)), tick_ns=37, tick_cost_ns=1)
        end = 6 * 1200
        offset = rng.integers(0, 60, len(tasks.tasks))
        rules = Rules(policy, protocol, switch_cost=costs.switch_ns, tick=37, tick_cost=1)
        outcome = simulate(simulated(tasks, end, offset=offset), rules)
        for check, counts in zip(checked(tasks, costs), outcome.counts, strict=True):
            if check.response_ns is None or not counts["due"]:
                continue
            happened = int(counts["worst"]) + (check.deadline_ns or 0)
            assert happened <= check.response_ns, (tasks, costs, check)
            if check.verdict == "holds":
                assert counts["missed"] == 0
            ratios.append(check.response_ns / happened)
    assert len(ratios) > 500


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["polling", "deferrable"])
def test_a_server_takes_no_more_than_the_analysis_gives_it(kind: str) -> None:
    """Requests at random times; the server is above all tasks."""
    from rtstone.documents.tasks import Server

    rng = np.random.default_rng([12, len(kind)])
    close = 0
    for _ in range(300):
        tasks = drawn(rng, int(rng.integers(1, 4)), float(rng.uniform(0.3, 0.6)), (40, 60, 120))
        each = [
            replace(t, jitter_ns=0, priority=number + 1) for number, t in enumerate(tasks.tasks)
        ]
        period = int(rng.integers(10, 30))
        budget = int(rng.integers(1, period // 3 + 1))
        tasks = replace(
            tasks, tasks=each,
            servers=[Server(name="s", kind=kind, budget_ns=budget, period_ns=period, priority=99)],
        )  # fmt: skip
        arrival = np.sort(rng.integers(0, 2000, 60))
        outcome = simulate(
            simulated(tasks, 2400, arrival=arrival, request_work=rng.integers(1, 9, 60)),
            Rules("fixed", server=kind, server_budget=budget, server_period=period),
        )
        for check, counts in zip(checked(tasks), outcome.counts, strict=True):
            if check.response_ns is None or not counts["due"]:
                continue
            happened = int(counts["worst"]) + (check.deadline_ns or 0)
            assert happened <= check.response_ns, (tasks, check)
            close += happened == check.response_ns
    assert close > 30


def test_the_oracle_knows_priority_inversion() -> None:
    """It shows what the protocols are for, so that it may judge them."""
    from rtstone.documents.tasks import Resource, Use

    section = [Use(resource="r", after_ns=0, for_ns=4)]
    tasks = task_set(
        task("high", 4, 100, 3, uses=section), task("medium", 20, 200, 2),
        task("low", 6, 300, 1, uses=section), resources=[Resource(name="r", protocol="none")],
    )  # fmt: skip
    jobs = [[(1, 1, 4)], [(2, 2, 20)], [(0, 0, 6)]]
    ends = {}
    for protocol in ("none", "inherit", "protect"):
        own = replace(tasks, resources=[Resource(name="r", protocol=protocol)])  # type: ignore[arg-type]
        done = Schedule(own, Plan(jobs)).run(60)
        ends[protocol] = next(job.end for job in done if job.task == 0)
    assert ends == {"none": 4 + 20 + 4, "inherit": 8, "protect": 8}
