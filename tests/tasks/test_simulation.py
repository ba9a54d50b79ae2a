"""The simulator of task sets against schedules tick by tick, and against the engine of the study.

Every job begins and ends at the same time.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rtstone.documents.tasks import Chain, Resource, Server, TaskSet, Use
from rtstone.errors import UsageError
from rtstone.simulate.engine import simulate as engine
from rtstone.simulate.taskset import Rules
from rtstone.simulate.taskset import TaskSet as Simulated
from rtstone.tasks.simulation import Load, Steals, System, Times, simulate
from tests.tasks.brute import Plan, Schedule
from tests.tasks.sets import drawn, task, task_set, with_resources

PERIODS = (4, 5, 6, 8, 10, 12)
SETS = 300  # of each kind
FEWER = 60  # of those that never end
END = 240  # releases come before
LAST = 3 * END


def loads(rng: np.random.Generator, tasks: TaskSet) -> list[Load]:
    """Return jobs of each task, from a random offset on, with random jitters and works."""
    own = []
    for each in tasks.tasks:
        most = each.work.most_ns or 1
        if each.arrival == "woken":
            own.append(Load(np.empty(0, np.int64), np.empty(0, np.int64)))
            continue
        period = each.period_ns or 1
        arrival = np.arange(int(rng.integers(0, period)), END, period)
        if each.arrival == "sporadic":
            arrival = arrival[0] + np.cumsum(period + rng.integers(0, period, len(arrival)))
        late = rng.integers(0, each.jitter_ns + 1, len(arrival))
        release = np.maximum.accumulate(arrival + late)
        work = rng.integers(1, most + 1, len(arrival)) if rng.random() < 0.5 else None
        own.append(Load(release, np.full(len(arrival), most) if work is None else work))
    for number, each in enumerate(tasks.tasks):  # as many as the source's, of the longest work
        if each.arrival == "woken":
            names = [t.name for t in tasks.tasks]
            jobs = len(own[names.index(tasks.source(each.name).name)].work)
            own[number] = Load(np.zeros(jobs, np.int64), np.full(jobs, each.work.most_ns or 1))
    return own


def by_tick(tasks: TaskSet, jobs: list[Load], **members: Any) -> list[Times]:
    """Return the same from the schedule that goes tick by tick."""
    plan = Plan(
        [
            [] if each.arrival == "woken"
            else [(int(r), int(r), int(w)) for r, w in zip(load.release, load.work, strict=True)]
            for each, load in zip(tasks.tasks, jobs, strict=True)
        ],
        -1,
    )  # fmt: skip
    done = Schedule(tasks, plan, members.pop("cpus", None), **members).run(LAST)
    times = []
    for number, load in enumerate(jobs):
        mine = [job for job in done if job.task == number]
        columns = (
            [job.release for job in mine],
            [-1 if job.begin is None else job.begin for job in mine],
            [-1 if job.end is None else job.end for job in mine],
        )
        rest = [-1] * (len(load.work) - len(mine))
        times.append(Times(*(np.array([*column, *rest]) for column in columns)))
    return times


def changed(rng: np.random.Generator, tasks: TaskSet, kind: str) -> TaskSet:
    """Return a set of a kind."""
    each = list(tasks.tasks)
    if "rr" in kind:
        each = [replace(t, policy="rr" if rng.random() < 0.8 else "fifo",
                        priority=int(rng.integers(1, 3))) for t in each]  # fmt: skip
    if "deadline" in kind:
        share = 0.5 if "mixed" in kind else 1.0
        each = [replace(t, policy="deadline", priority=None) if rng.random() < share else t
                for t in each]  # fmt: skip
    if "other" in kind:
        each = [replace(t, policy="other", priority=None) if rng.random() < 0.4 else t
                for t in each]  # fmt: skip
    if "sporadic" in kind:
        each = [replace(t, arrival="sporadic") if rng.random() < 0.7 else t for t in each]
    if "partitioned" in kind:
        each = [replace(t, cpus=[int(rng.choice([1, 4]))]) for t in each]
    if "global" in kind:
        each = [replace(t, cpus=[0, 1]) for t in each]
    tasks = replace(tasks, tasks=each, quantum_ns=int(rng.integers(1, 4)))
    for protocol in ("none", "inherit", "protect", "ceiling"):
        if protocol in kind.split():
            tasks = with_resources(rng, tasks, protocol)
    if "each" in kind.split():
        tasks = with_resources(rng, tasks, "none")
        protocols = rng.choice(["none", "inherit", "protect", "ceiling"], 2)
        resources = [replace(r, protocol=str(p))
                     for r, p in zip(tasks.resources, protocols, strict=True)]  # fmt: skip
        tasks = replace(tasks, resources=resources)
    if "chain" in kind:
        order = [tasks.tasks[number].name for number in rng.permutation(len(each))]
        woken = [
            replace(t, arrival="woken", period_ns=None, jitter_ns=0)
            if t.name in order[1:3] else t for t in tasks.tasks
        ]  # fmt: skip
        tasks = replace(tasks, tasks=woken, chains=[Chain(name="c", path=order[:3])])
    return tasks


def sets(kind: str) -> Iterator[tuple[np.random.Generator, TaskSet, list[Load]]]:
    """Yield random sets of two to five tasks of a kind, and their jobs."""
    rng = np.random.default_rng([17, len(kind), *kind.encode()])
    several = "global" in kind or "partitioned" in kind
    for _ in range(SETS):
        load = float(rng.uniform(0.5, 1.9 if several else 1.05))
        tasks = drawn(rng, int(rng.integers(3 if "chain" in kind else 2, 6)), load, PERIODS)
        tasks = changed(rng, tasks, kind)
        yield rng, tasks, loads(rng, tasks)


def same(got: list[Times], expected: list[Times]) -> bool:
    return all(
        np.array_equal(a, b)
        for mine, other in zip(got, expected, strict=True)
        for a, b in zip(mine, other, strict=True)
    )


KINDS = (
    "fixed", "sporadic", "rr", "deadline", "mixed deadline", "other", "none", "inherit", "protect",
    "ceiling", "each", "rr each", "mixed deadline each", "chain", "chain each", "chain rr",
    "global", "global rr each", "global deadline", "global mixed deadline inherit", "partitioned",
    "partitioned each", "partitioned chain", "global chain each other",
)  # fmt: skip


@pytest.mark.simulation
@pytest.mark.parametrize("kind", KINDS)
def test_every_job_runs_as_tick_by_tick(kind: str) -> None:
    ended = waited = 0
    for _, tasks, jobs in sets(kind):
        got = simulate(tasks, jobs, end=LAST)
        assert same(got, by_tick(tasks, jobs)), (tasks, jobs)
        ended += sum(int((times.ended >= 0).sum()) for times in got)
        waited += sum(int((times.begun > times.released).sum()) for times in got)
    assert ended > 10_000
    assert waited > 1_000


# ---- what the system costs ----------------------------------------------------------------------


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["fixed", "inherit", "mixed deadline", "other", "rr"])
def test_stolen_time_and_limits_are_as_tick_by_tick(kind: str) -> None:
    hurt = 0
    for rng, tasks, jobs in islice(sets(kind), FEWER):
        at = np.sort(rng.integers(0, LAST, 60))
        length = rng.integers(0, 7, 60)
        stolen: set[int] = set()
        for first, span in zip(at.tolist(), length.tolist(), strict=True):
            # What comes while another has the CPU comes after it.
            begin = next(t for t in range(first, 2 * LAST) if t not in stolen)
            stolen |= set(range(begin, begin + span))
        period = int(rng.integers(2, 12))
        runtime = int(rng.integers(1, period))
        system = System(steals={0: Steals(at, length)}, runtime=runtime, period=period)
        got = simulate(tasks, jobs, system, end=LAST)
        assert same(got, by_tick(tasks, jobs, stolen=stolen, limit=(runtime, period)))
        hurt += not same(got, simulate(tasks, jobs, end=LAST))
    assert hurt > 0.9 * FEWER


@pytest.mark.simulation
@pytest.mark.parametrize("kind", ["partitioned", "global", "global each"])
def test_limits_are_those_of_each_cpu(kind: str) -> None:
    for rng, tasks, jobs in islice(sets(kind), FEWER):
        period = int(rng.integers(2, 12))
        runtime = int(rng.integers(1, period))
        got = simulate(tasks, jobs, System(runtime=runtime, period=period), end=LAST)
        assert same(got, by_tick(tasks, jobs, limit=(runtime, period)))


@pytest.mark.simulation
@pytest.mark.parametrize("server", ["", "polling", "deferrable", "sporadic"])
def test_switches_ticks_and_servers_are_as_in_the_engine(server: Any) -> None:
    """Two simulators of different design; priorities are unique, and the server is above all."""
    rng = np.random.default_rng([18, len(server)])
    for _ in range(SETS):
        tasks = drawn(rng, int(rng.integers(1, 5)), float(rng.uniform(0.3, 0.9)), (20, 30, 50))
        order = rng.permutation(len(tasks.tasks)) + 1
        each = [replace(t, jitter_ns=0, priority=int(priority))
                for t, priority in zip(tasks.tasks, order, strict=True)]  # fmt: skip
        offsets = rng.integers(0, 20, len(each))
        tick, cost, switch = int(rng.integers(5, 20)), int(rng.integers(0, 3)), rng.integers(0, 3)
        period = int(rng.integers(6, 20))
        budget = int(rng.integers(1, period // 2))
        arrival = np.sort(rng.integers(0, 400, 40 if server else 0))
        request = rng.integers(1, 9, len(arrival))
        end = 1000
        outcome = engine(
            Simulated(
                end=end, period=np.array([t.period_ns for t in each]), offset=offsets,
                deadline=np.array([t.period_ns for t in each]),
                nominal=np.array([t.work.most_ns for t in each]),
                rank=-order.astype(np.int64), arrival=arrival, request_work=request,
            ),
            Rules("fixed", server=server or "background", server_period=period if server else 0,
                  server_budget=budget if server else 0, switch_cost=int(switch), tick=tick,
                  tick_cost=cost),
            completions=True,
        )  # fmt: skip
        jobs = []
        for t, offset in zip(each, offsets.tolist(), strict=True):
            release = np.arange(offset, end, t.period_ns or 1)
            jobs.append(Load(release, np.full(len(release), t.work.most_ns)))
        servers = []
        if server:
            servers = [Server(name="s", kind=server, budget_ns=budget, period_ns=period,
                              priority=99)]  # fmt: skip
            each.append(task("served", 1, 10, 1, arrival="poisson", server="s"))
            jobs.append(Load(arrival, request))
        at = np.arange(tick, end, tick)
        system = System(switch=np.array([switch]), steals={0: Steals(at, np.full(len(at), cost))})
        got = simulate(replace(tasks, tasks=each, servers=servers), jobs, system, end=end)
        assert outcome.completed is not None and outcome.request_completed is not None
        expected = np.concatenate([outcome.completed, outcome.request_completed])
        # The engine counts what completes at the very end, which is after it here and there.
        assert np.array_equal(np.concatenate([times.ended for times in got]), expected)


def served_by_tick(
    tasks: list[tuple[int, int]], requests: list[tuple[int, int]], budget: int, period: int
) -> tuple[list[list[int]], list[int]]:
    """Return when jobs end of periodic tasks (period, work) by deadline, and requests of a constant
    bandwidth server, which throttles what exceeds it until its deadline."""
    queues: list[list[list[int]]] = [[] for _ in tasks]  # of [due, left, order]
    ends: list[list[int]] = [[] for _ in tasks]
    waiting: list[list[int]] = []
    served: list[int] = []
    due, left, order, turn, ready, had = 0, budget, 0, 0, False, False
    for now in range(LAST):
        for queue, (own, work) in zip(queues, tasks, strict=True):
            if now % own == 0 and now < END:
                turn += 1
                queue.append([now + own, work, turn])
        waiting += [[work] for at, work in requests if at == now]
        if left == 0 and now >= due:
            left, due = budget, due + period if due + period > now else now + period
        wakes = bool(waiting) and not had and left > 0
        if wakes and (due <= now or left * period > (due - now) * budget):
            left, due = budget, now + period
        had = bool(waiting)
        if had and left > 0 and not ready:
            turn += 1
            order = turn
        ready = had and left > 0
        heads = [(queue[0][0], queue[0][2], number) for number, queue in enumerate(queues) if queue]
        heads += [(due, order, -1)] if ready else []
        if not heads:
            continue
        number = min(heads)[2]
        if number >= 0:
            job = queues[number][0]
            job[1] -= 1
            if job[1] == 0:
                queues[number].pop(0)
                ends[number].append(now + 1)
                if queues[number]:  # it goes on from its place
                    queues[number][0][2] = job[2]
        else:
            left -= 1
            waiting[0][0] -= 1
            if waiting[0][0] == 0:
                waiting.pop(0)
                served.append(now + 1)
    return ends, served


@pytest.mark.simulation
def test_a_constant_bandwidth_server_is_as_tick_by_tick() -> None:
    rng = np.random.default_rng(19)
    for _ in range(SETS):
        shapes = [(p, int(rng.integers(1, p // 2 + 1))) for p in rng.choice((6, 8, 12), 2).tolist()]
        period = int(rng.integers(4, 16))
        budget = int(rng.integers(1, period // 2 + 1))
        arrival = np.sort(rng.integers(0, END, 25))
        work = rng.integers(1, 9, 25)
        tasks = task_set(
            *(task(f"t{i}", w, p, policy="deadline") for i, (p, w) in enumerate(shapes)),
            task("served", 8, 10, 1, arrival="poisson", server="s"),
            servers=[Server(name="s", kind="cbs", budget_ns=budget, period_ns=period)],
        )
        jobs = []
        for own, each in shapes:
            release = np.arange(0, END, own)
            jobs.append(Load(release, np.full(len(release), each)))
        got = simulate(tasks, [*jobs, Load(arrival, work)], end=LAST)
        requests = list(zip(arrival.tolist(), work.tolist(), strict=True))
        ends, served = served_by_tick(shapes, requests, budget, period)
        for times, expected in zip(got, [*ends, served], strict=True):
            assert times.ended[times.ended >= 0].tolist() == expected


def test_a_job_that_goes_on_after_another_does_some_work_again() -> None:
    """Whose preemption costs 2; alone on the CPU, also after idling, nothing costs anything."""
    tasks = task_set(task("high", 3, 20, 2), task("low", 10, 50, 1))
    jobs = [Load(np.array([4, 30]), np.array([3, 3])), Load(np.array([0]), np.array([10]))]
    got = simulate(tasks, jobs, System(resume=np.array([2])), end=100)
    assert got[0].ended.tolist() == [7, 33]
    assert got[1].ended.tolist() == [10 + 3 + 2]
    # It can itself be preempted, and then costs again, the next of the numbers.
    jobs[0] = Load(np.array([4, 8]), np.array([3, 3]))
    got = simulate(tasks, jobs, System(resume=np.array([2, 5])), end=100)
    assert got[0].ended.tolist() == [7, 11]
    assert got[1].ended.tolist() == [10 + 6 + 2 + 5]


def test_nothing_is_done_again_after_idling() -> None:
    """The only task is throttled from 5 to 10, and nobody else has the CPU."""
    tasks = task_set(task("low", 10, 50, 1))
    jobs = [Load(np.array([0]), np.array([10]))]
    got = simulate(tasks, jobs, System(resume=np.array([2]), runtime=5, period=10), end=100)
    assert got[0].ended.tolist() == [15]


def test_the_costs_of_switches_are_taken_in_turn() -> None:
    tasks = task_set(task("high", 3, 20, 2), task("low", 10, 50, 1))
    jobs = [Load(np.array([7]), np.array([3])), Load(np.array([0]), np.array([10]))]
    got = simulate(tasks, jobs, System(switch=np.array([1, 2, 4])), end=100)
    # To low from 0 to 1, to high from 7 to 9, back from 12 to 16.
    assert [times.begun.tolist() for times in got] == [[9], [1]]
    assert [times.ended.tolist() for times in got] == [[12], [20]]


def test_what_was_held_while_work_is_done_again_is_not_released_twice() -> None:
    uses = [Use(resource="r", after_ns=0, for_ns=4), Use(resource="r", after_ns=4, for_ns=4)]
    tasks = task_set(
        task("high", 1, 20, 3), task("low", 10, 50, 1, uses=uses),
        task("mid", 2, 50, 2, uses=[Use(resource="r", after_ns=0, for_ns=2)]),
        resources=[Resource(name="r", protocol="none")],
    )  # fmt: skip
    jobs = [
        Load(np.array([4]), np.array([1])), Load(np.array([0]), np.array([10])),
        Load(np.array([6]), np.array([2])),
    ]  # fmt: skip
    got = simulate(tasks, jobs, System(resume=np.array([3])), end=100)
    # low has it from 0 to 4, is preempted, takes it again at 5, and has 3 to do again; mid wants it
    # at 6, waits, and gets it when low has done 5 again and 4 more.
    assert [times.ended.tolist() for times in got] == [[5], [22], [17]]


def test_what_is_not_simulated_is_refused() -> None:
    jobs = [Load(np.array([0]), np.array([1]))]
    short = task_set(task("a", 5, 10, policy="deadline", runtime_ns=3))
    with pytest.raises(UsageError, match=r"'a' works for longer than its runtime"):
        simulate(short, jobs, end=10)
    wide = task_set(task("a", 1, 10, 1, cpus=list(range(63))))
    with pytest.raises(UsageError, match="more than 62 CPUs"):
        simulate(wide, jobs, end=10)
    fit = task_set(task("a", 1, 10, 1, cpus=list(range(62))))
    assert simulate(fit, jobs, end=10)[0].ended.tolist() == [1]
    with pytest.raises(ValueError, match="in order"):
        simulate(fit, [Load(np.array([3, 2]), np.array([1, 1]))], end=10)
