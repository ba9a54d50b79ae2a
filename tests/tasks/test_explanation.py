"""Parts of responses, on schedules tick by tick in which a cost was planted.

A tick of these schedules is 10 us.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from rtstone.documents.tasks import Chain, TaskSet
from rtstone.documents.tasks_explanation import TaskExplanation
from rtstone.simulate.taskset import Ints
from rtstone.tasks.explanation import NOTHING, Distribution, PartCosts, Ran, constant, explain
from tests.tasks.brute import Plan, Schedule
from tests.tasks.sets import task, task_set

UNIT = 10_000  # ns
END = 4000  # ticks
TASKS = task_set(
    task("control", 20, 97, 3, deadline_ns=80), task("sense", 37, 211, 2), task("log", 50, 503, 1)
)


def scaled(tasks: TaskSet) -> TaskSet:
    """Return the set in ns."""
    each = [
        replace(t, period_ns=t.period_ns and t.period_ns * UNIT,
                deadline_ns=t.deadline_ns and t.deadline_ns * UNIT,
                work=replace(t.work, least_ns=(t.work.least_ns or 0) * UNIT,
                             most_ns=(t.work.most_ns or 0) * UNIT))
        for t in tasks.tasks
    ]  # fmt: skip
    return replace(tasks, tasks=each, quantum_ns=tasks.quantum_ns * UNIT)


def ran(tasks: TaskSet = TASKS, late: int = 0, **members: Any) -> dict[str, Ran]:
    """Return the jobs of a schedule tick by tick, whose releases are so many ticks late, in ns."""
    jobs = []
    for each in tasks.tasks:
        times = [] if each.arrival == "woken" else range(0, END, each.period_ns or 1)
        jobs.append([(at, at + late, each.work.most_ns or 1) for at in times])
    done = Schedule(tasks, Plan(jobs, -1), **members).run(2 * END)
    columns = {}
    for number, each in enumerate(tasks.tasks):
        mine = [job for job in done if job.task == number]
        woken = each.arrival == "woken"
        arrival = np.array([job.release if woken else job.arrival for job in mine], np.int64)
        work = np.array([job.work for job in mine], np.int64)
        end = np.array([-1 if job.end is None else job.end for job in mine], np.int64)
        columns[each.name] = Ran(arrival * UNIT, arrival * UNIT, work * UNIT, end * UNIT)
    return columns


def stolen(at: Ints, length: int) -> set[int]:
    return {int(first) + place for first in at for place in range(length)}


def explained(
    jobs: dict[str, Ran], costs: PartCosts, tasks: TaskSet = TASKS, **members: Any
) -> dict[str, TaskExplanation]:
    answers = explain(scaled(tasks), jobs, costs, end=2 * END * UNIT, **members)
    for answer in answers:  # the parts are the whole
        if answer.free_ns is not None and answer.unexplained_ns is not None:
            total = answer.free_ns + sum(share.ns for share in answer.shares)
            assert total + answer.unexplained_ns == answer.measured_ns
    return {answer.task: answer for answer in answers}


def shares(answer: TaskExplanation) -> dict[str, int]:
    return {share.part: share.ns // UNIT for share in answer.shares}


@pytest.mark.simulation
def test_without_costs_there_is_nothing_to_explain() -> None:
    answers = explained(ran(), PartCosts())
    for name, worst in {"control": 20, "sense": 57, "log": 127}.items():
        answer = answers[name]
        assert answer.measured_ns == answer.free_ns == answer.bound_ns == worst * UNIT
        assert (answer.shares, answer.unexplained_ns, answer.sure) == ([], 0, False)


@pytest.mark.simulation
def test_a_tick_of_20_us_is_named_and_sized() -> None:
    """Its phase is not known: it comes anywhere in some job of each task."""
    jobs = ran(stolen=stolen(np.arange(13, 2 * END, 100), 2))
    answers = explained(jobs, PartCosts(tick=constant(20_000), tick_ns=1_000_000))
    assert shares(answers["control"]) == {"ticks": 2}
    assert shares(answers["sense"]) == {"ticks": 2}
    assert shares(answers["log"])["ticks"] in {2, 4}
    assert [answers[name].unexplained_ns for name in ("control", "sense")] == [0, 0]
    assert not answers["log"].sure


@pytest.mark.simulation
def test_a_late_timer_is_named_and_sized() -> None:
    answers = explained(ran(late=3), PartCosts(timer=constant(30_000)))
    for name in ("control", "sense", "log"):
        assert shares(answers[name]) == {"late timers": 3}
        assert (answers[name].unexplained_ns, answers[name].sure) == (0, False)
        assert answers[name].above_ns == 30_000


@pytest.mark.simulation
def test_stalls_come_as_often_as_they_were_measured() -> None:
    """Where they hit is random: what is measured lies within the drawings."""
    rng = np.random.default_rng(22)
    at = np.unique(rng.integers(0, END, 60))
    jobs = ran(stolen=stolen(at[np.diff(at, prepend=-9) > 5], 5))
    answers = explained(jobs, PartCosts(stall=constant(50_000), stalls=1500.0))
    for name, worst in {"control": 20, "sense": 57}.items():
        answer = answers[name]
        assert answer.free_ns == worst * UNIT
        assert 40_000 <= answer.shares[0].ns <= 150_000
        assert not answer.sure
    seldom = explained(jobs, PartCosts(stall=constant(50_000), stalls=1.0))["control"]
    assert seldom.shares[0].ns < 40_000


@pytest.mark.simulation
def test_throttling_is_named_and_sized() -> None:
    jobs = ran(limit=(60, 100))
    answers = explained(jobs, PartCosts(runtime=60 * UNIT, period=100 * UNIT))
    hurt = {name: shares(answer)["throttling"] for name, answer in answers.items()}
    assert hurt["control"] > 0 and hurt["log"] > 0
    for answer in answers.values():
        assert (answer.unexplained_ns, answer.sure) == (0, False)
        assert answer.measured_ns == (answer.free_ns or 0) + answer.shares[0].ns


@pytest.mark.simulation
def test_what_no_part_accounts_for_stays_unexplained() -> None:
    """A block of 50 us at random, which nothing measured: no part takes it for its own."""
    rng = np.random.default_rng(20)
    at = np.unique(rng.integers(0, END // 150, 20)) * 150 + 1
    jobs = ran(stolen=stolen(at, 5))
    none = explained(jobs, PartCosts())
    costs = PartCosts(tick=constant(10), tick_ns=1_000_000, timer=constant(20), stall=NOTHING,
                      stalls=100.0)  # fmt: skip
    small = explained(jobs, costs)
    for name, worst in {"control": 20, "sense": 57}.items():
        block = (none[name].measured_ns or 0) - worst * UNIT
        assert 0 < block <= 50_000
        assert (none[name].unexplained_ns, none[name].sure) == (block, True)
        # Parts that cost 30 ns explain no more than these.
        assert block - 60 <= (small[name].unexplained_ns or 0) <= block
        assert small[name].sure


@pytest.mark.simulation
def test_what_several_parts_do_together_is_shared_and_the_rest_is_not() -> None:
    """A late timer, ticks, and blocks of which nothing is known; each part by itself is there."""
    at = np.arange(31, END, 401)
    jobs = ran(late=3, stolen=stolen(np.arange(13, 2 * END, 100), 2) | stolen(at, 5))
    both = PartCosts(tick=constant(20_000), tick_ns=1_000_000, timer=constant(30_000))
    answer = explained(jobs, both)["control"]
    assert shares(answer) == {"ticks": 2, "late timers": 3}
    assert {share.part: share.alone_ns for share in answer.shares} == {
        "ticks": 20_000, "late timers": 30_000
    }  # fmt: skip
    assert answer.unexplained_ns in {50_000, 30_000, 40_000} and answer.sure
    # What it does not know of the ticks it leaves unexplained.
    less = explained(jobs, PartCosts(timer=constant(30_000)))["control"]
    assert shares(less) == {"late timers": 3}
    assert less.unexplained_ns == (answer.unexplained_ns or 0) + 20_000


@pytest.mark.simulation
def test_the_order_of_parts_does_not_matter() -> None:
    """Throttling turns the time of the ticks into a wait of its own: both have their share."""
    costs = PartCosts(tick=constant(50_000), tick_ns=1_000_000, runtime=60 * UNIT,
                      period=100 * UNIT, timer=constant(40_000))  # fmt: skip
    answer = explained(ran(), costs)["control"]
    assert (answer.least_ns, answer.most_ns) != (answer.measured_ns,) * 2
    alone = sum(share.alone_ns for share in answer.shares)
    together = sum(share.ns for share in answer.shares)
    assert together != alone
    assert together == (answer.measured_ns or 0) - (answer.free_ns or 0) - (
        answer.unexplained_ns or 0
    )


@pytest.mark.simulation
def test_a_woken_task_counts_from_when_it_is_woken() -> None:
    first, second, rest = TASKS.tasks
    woken = replace(second, arrival="woken", period_ns=None, work=replace(second.work,
                    least_ns=9, most_ns=9))  # fmt: skip
    chain = Chain(name="c", path=["control", "sense"])
    tasks = replace(TASKS, tasks=[first, woken, rest], chains=[chain])
    answers = explained(ran(tasks, late=3), PartCosts(timer=constant(30_000)), tasks)
    assert answers["sense"].measured_ns == 9 * UNIT
    assert shares(answers["sense"]) == {"late timers": 0}
    assert shares(answers["control"]) == {"late timers": 3}


def test_jobs_that_never_end_are_said_to() -> None:
    jobs = ran()
    log = jobs["log"]
    jobs["log"] = log._replace(end=np.where(np.arange(len(log.end)) == 2, -1, log.end))
    answer = explained(jobs, PartCosts())["log"]
    assert (answer.measured_ns, answer.unexplained_ns) == (None, None)
    assert answer.reason == "1 of its 8 jobs never ended"
    # And those that do not in the simulation.
    stuck = explained(ran(), PartCosts(runtime=1, period=1000 * UNIT), drawings=1)["log"]
    assert stuck.reason == "in the simulation not all of its jobs end"


def test_a_drawing_takes_costs_as_often_as_they_were_measured() -> None:
    rng = np.random.default_rng(21)
    costs = Distribution(np.array([10, 1000]), np.array([3, 1]))
    drawn = costs.draw(rng, 4000)
    assert costs.mean == 257.5
    assert set(drawn.tolist()) == {10, 1000}
    assert 900 < int((drawn == 1000).sum()) < 1100
