"""The analysis against schedules of every phase, tick by tick, and against the simulator.

No bound is below what happens, and what is called exact happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import pytest
from msgspec.structs import replace

from rtstone.documents.tasks import Chain, Costs, Resource, Server, TaskCheck, TaskSet, Use
from rtstone.simulate.engine import simulate
from rtstone.simulate.taskset import Rules, Section
from rtstone.simulate.taskset import TaskSet as Simulated
from rtstone.tasks.analysis.check import at
from tests.tasks.brute import Job, Plan, Schedule, hyperperiod, longest, releases, worst
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
def test_a_server_takes_no_more_than_the_analysis_gives_it(
    kind: Literal["polling", "deferrable"],
) -> None:
    """Requests at random times; the server is above all tasks."""
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
    section = [Use(resource="r", after_ns=0, for_ns=4)]
    tasks = task_set(
        task("high", 4, 100, 3, uses=section), task("medium", 20, 200, 2),
        task("low", 6, 300, 1, uses=section), resources=[Resource(name="r", protocol="none")],
    )  # fmt: skip
    jobs = [[(1, 1, 4)], [(2, 2, 20)], [(0, 0, 6)]]
    ends = {}
    for protocol in ("none", "inherit", "protect"):
        own = replace(tasks, resources=[Resource(name="r", protocol=protocol)])
        done = Schedule(own, Plan(jobs)).run(60)
        ends[protocol] = next(job.end for job in done if job.task == 0)
    assert ends == {"none": 4 + 20 + 4, "inherit": 8, "protect": 8}


@pytest.mark.simulation
def test_a_task_that_wakes_a_more_urgent_one_waits_for_it_from_job_to_job() -> None:
    """The second job of the waker comes after what the first one woke, the first does not."""
    first = task("first", 5, 11, 1, deadline_ns=30)
    woken = replace(task("woken", 1, 11, 3), arrival="woken", period_ns=None)
    rest = task("rest", 7, 16, 2)
    chains = [Chain(name="c", path=["first", "woken"])]
    tasks = task_set(first, woken, rest, chains=chains)
    happened = 0
    for offset in range(16):
        jobs = [list(releases(first, 0, 176)), [], list(releases(rest, offset, 176))]
        happened = max(happened, longest(Schedule(tasks, Plan(jobs)).run(400), 0) or 0)
    assert happened == checked(tasks)[0].response_ns


# ---- chains -------------------------------------------------------------------------------------


def propagated(tasks: TaskSet, jobs: list[Job]) -> tuple[int, int, int]:
    """Return the longest latency, reaction and age of the only chain in a schedule.

    A job reads when it begins, the last output of the task before, and writes when it ends.
    """
    names = [each.name for each in tasks.tasks]
    path = [names.index(name) for name in tasks.chains[0].path]
    by_task = [[job for job in jobs if job.task == number] for number in path]
    latest: dict[int, Job] = {}  # of each last job: the job of the source that its output is of

    def source(job: Job, place: int) -> Job | None:
        if place == 0:
            return job
        before = [b for b in by_task[place - 1] if b.end is not None and b.end <= (job.begin or 0)]
        return source(max(before, key=lambda b: b.end or 0), place - 1) if before else None

    for job in by_task[-1]:
        if job.end is not None and (read := source(job, len(path) - 1)):
            latest[job.end] = read
    sources = by_task[0]
    latency = reaction = 0
    age = max((end - read.arrival for end, read in latest.items()), default=0)
    for before, after in pairwise(sources):
        # A change just after one reads is seen by the next, or by a later one.
        ends = [end for end, read in latest.items() if read.arrival >= after.arrival]
        if ends and before.begin is not None:
            reaction = max(reaction, min(ends) - before.begin)
            latency = max(latency, min(ends) - after.arrival)
    return latency, reaction, age


@pytest.mark.simulation
def test_no_bound_of_a_chain_is_below_what_happens() -> None:
    rng = np.random.default_rng(13)
    ratios = []
    for _ in range(SETS):
        tasks = drawn(rng, 3, float(rng.uniform(0.4, 0.9)), PERIODS)
        each = [
            replace(t, priority=int(p), jitter_ns=0)
            for t, p in zip(tasks.tasks, rng.permutation(3) + 1, strict=True)
        ]
        names = [each[number].name for number in rng.permutation(3)]
        tasks = replace(tasks, tasks=each, chains=[Chain(name="c", path=names)])
        (chain,) = at(tasks, FREE, Fraction(1))[1]
        if chain.latency_ns is None or chain.reaction_ns is None or chain.age_ns is None:
            continue
        span = hyperperiod(tasks)
        for _ in range(20):
            offsets = [int(rng.integers(0, t.period_ns or 1)) for t in each]
            plan = Plan(
                [list(releases(t, o, 3 * span)) for t, o in zip(each, offsets, strict=True)]
            )
            latency, reaction, age = propagated(tasks, Schedule(tasks, plan).run(5 * span))
            assert latency <= chain.latency_ns
            assert reaction <= chain.reaction_ns
            assert age <= chain.age_ns
            if reaction:
                ratios.append(chain.reaction_ns / reaction)
    assert len(ratios) > 300
    assert 1 <= float(np.mean(ratios)) < 2.5
