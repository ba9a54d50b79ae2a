"""What a search for a breakdown demands of a system, and what its tests say."""

from __future__ import annotations

from fractions import Fraction

import pytest
from msgspec.structs import replace

from rtstone.documents.breakdown_curve import BreakTest
from rtstone.documents.tasks import Chain, Need, Task, TaskSet, Use, Work
from rtstone.documents.tasks_run import Spread, TaskRun, TasksRun
from rtstone.errors import Inconclusive, UsageError
from rtstone.stats.breakdown_curve import Design
from rtstone.tasks.breakdown import (
    duration,
    level_design,
    outcome,
    random,
    utilisation,
    what_counts,
)
from rtstone.tasks.breakdown_search import Subject, document, search
from rtstone.tasks.scaling import times

MS = 1_000_000


def task(name: str, period: int, work: int, cpu: int = 0) -> Task:
    """Return a task of times in ms."""
    return Task(name=name, arrival="periodic", period_ns=period * MS, cpus=[cpu],
                work=Work(least_ns=work * MS, most_ns=work * MS), priority=9)  # fmt: skip


SET = TaskSet(
    title="", quantum_ns=MS, tasks=[task("a", 10, 2), task("b", 20, 2), task("c", 10, 1, 1)]
)


def with_task(**members: object) -> TaskSet:
    """Return the set, whose first task has other members."""
    return replace(SET, tasks=[replace(SET.tasks[0], **members), *SET.tasks[1:]])


# ---- what is demanded ---------------------------------------------------------------------------


def test_work_is_scaled_with_sections_and_histogram() -> None:
    work = Work(least_ns=MS, most_ns=3 * MS, histogram=[(MS, 2), (3 * MS, 1)])
    tasks = with_task(work=work, uses=[Use(resource="r", after_ns=100, for_ns=101)])
    (a, b, c) = times(tasks, "work", Fraction(3, 2)).tasks
    assert a.work == Work(least_ns=MS * 3 // 2, most_ns=MS * 9 // 2,
                          histogram=[(MS * 3 // 2, 2), (MS * 9 // 2, 1)])  # fmt: skip
    assert a.uses == [Use(resource="r", after_ns=150, for_ns=152)]  # ends at 301.5, so at 302
    assert (a.period_ns, b.work.most_ns, c.work.most_ns) == (10 * MS, 3 * MS, 3 * MS // 2)


def test_rates_are_scaled_with_offsets_and_deadlines() -> None:
    tasks = with_task(offset_ns=3 * MS, deadline_ns=6 * MS, jitter_ns=7)
    a = times(tasks, "rates", Fraction(3, 2)).tasks[0]
    assert (a.period_ns, a.offset_ns, a.deadline_ns) == (6_666_667, 2 * MS, 4 * MS)
    assert (a.jitter_ns, a.work) == (7, SET.tasks[0].work)


def test_the_work_of_a_task_is_scaled_alone() -> None:
    a, b, c = times(SET, "b", Fraction(2)).tasks
    assert (a, c) == (SET.tasks[0], SET.tasks[2])
    assert b.work.most_ns == 4 * MS


def test_utilisation_is_the_mean_of_the_fullest_cpus() -> None:
    assert utilisation(SET, "work") == pytest.approx(0.3)
    assert utilisation(SET, "c") == pytest.approx(0.1)  # its CPU
    assert utilisation(with_task(arrival="sporadic"), "work") == pytest.approx(0.1 + 0.1)
    assert utilisation(with_task(work=Work(least_ns=0, most_ns=2 * MS)), "work") == pytest.approx(
        0.2
    )
    drawn = Work(least_ns=MS, most_ns=4 * MS, histogram=[(MS, 3), (4 * MS, 1)])
    assert utilisation(with_task(work=drawn), "work") == pytest.approx(0.175 + 0.1)


def test_levels_end_at_one_and_a_half_cpus() -> None:
    assert level_design(SET, "work", "jobs", exact=True) == Design(0, 50_000, 1, 0.0, True)
    assert level_design(SET, "work", "jobs", exact=False) == Design(0, 50_000, 167, 0.01)
    assert level_design(SET, "work", "tests", exact=False).limit == 0.5
    assert level_design(SET, "a", "jobs", exact=True).high == 70_000  # 0.1 is b's


def test_a_task_beside_others_that_no_cpu_bears_is_refused() -> None:
    full = replace(SET, tasks=[*SET.tasks, task("d", 10, 14)])
    with pytest.raises(UsageError, match="--scale a: the other tasks of its CPU demand more"):
        level_design(full, "a", "jobs", exact=True)


def test_a_test_has_500_jobs_and_10_of_the_rarest_task() -> None:
    assert duration(SET) == 2_000 * MS  # 250 jobs per second
    assert duration(with_task(period_ns=1_000 * MS)) == 10_000 * MS
    assert duration(with_task(period_ns=MS)) == 1_000 * MS  # not less
    assert duration(with_task(period_ns=100_000 * MS)) == 60_000 * MS  # not more


@pytest.mark.parametrize(
    ("members", "drawn"),
    [
        ({}, False), ({"arrival": "sporadic"}, True), ({"arrival": "poisson"}, True),
        ({"jitter_ns": 1}, True), ({"work": Work(least_ns=1, most_ns=2)}, True),
        ({"offset_ns": 5}, False),
    ],
)  # fmt: skip
def test_what_is_drawn_differs_from_test_to_test(members: dict[str, object], drawn: bool) -> None:
    assert random(with_task(**members)) is drawn


# ---- what tests say -----------------------------------------------------------------------------


def test_jobs_count_if_needs_are_deadlines_alone() -> None:
    missed = with_task(needs=[Need(measure="missed", text="1%", limit=0.01)])
    response = with_task(needs=[Need(measure="response.max", text="1ms", limit=1e6)])
    chained = replace(SET, chains=[Chain(name="x", path=["a", "b"], deadline_ns=MS)])
    assert [what_counts(each, exact=True) for each in (SET, missed, response, chained)] == [
        "jobs", "tests", "tests", "tests",
    ]  # fmt: skip
    assert [what_counts(each, exact=False) for each in (SET, missed, response, chained)] == [
        "jobs", "jobs", "tests", "tests",
    ]  # fmt: skip
    nothing = replace(SET, tasks=[replace(each, policy="other") for each in SET.tasks])
    with pytest.raises(UsageError, match="nothing needs anything"):
        what_counts(nothing, exact=True)


def ran(outcome: str, missed: int = 0) -> TasksRun:
    spread = Spread(n=9)
    tasks = [
        TaskRun(task=name, jobs=10, missed=late, lost=0, outcome="holds", start=spread,
                response=spread)
        for name, late in (("a", missed), ("b", 0), ("c", 0))
    ]  # fmt: skip
    return TasksRun(
        version="", file="", run_id="r", target="", load="", set=SET, duration_ns=MS, seed=1,
        outcome=outcome, sentence="too few", tasks=tasks,  # type: ignore[arg-type]
    )  # fmt: skip


def test_a_test_says_how_many_jobs_missed_or_whether_it_failed() -> None:
    test = outcome(ran("fails", 3), "jobs", "work", 7)
    assert test.utilisation == pytest.approx(0.3)
    assert (test.seed, test.missed, test.due, test.names, test.run) == (7, 3, 30, ["a"], "r")
    failed = outcome(ran("fails", 3), "tests", "work", 1)
    held = outcome(ran("holds"), "tests", "work", 1)
    assert (failed.missed, failed.due, held.missed, held.due) == (1, 1, 0, 1)
    with pytest.raises(Inconclusive, match="does not say whether the needs hold: too few"):
        outcome(ran("inconclusive"), "tests", "work", 1)


# ---- the search ---------------------------------------------------------------------------------

SUBJECT = Subject(file="f", title="t", target="sim", load="none", scale="work", counted="jobs",
                  duration_ns=MS, parts=100)  # fmt: skip


def test_a_search_says_where_it_is_and_which_tasks_miss_first() -> None:
    def test(level: int, seed: int) -> BreakTest:
        late = level >= 123
        return BreakTest(seed=seed, missed=9 * late, due=100, utilisation=level / 400,
                         names=["c"] if late else [])  # fmt: skip

    *_, last = search(SUBJECT, Design(0, 600, 1, 0.0, exact=True), test)
    assert last.low is not None and last.high is not None
    assert (last.low.factor, last.low.utilisation) == (1.22, 0.305)
    assert (last.high.factor, last.high.utilisation) == (1.23, 0.3075)
    assert last.first == ["c"] and last.linear_tests == 123
    assert sum(len(point.tests) for point in last.points) == last.tests


def test_a_place_between_levels_is_straight_between_them() -> None:
    tests = {
        level: [BreakTest(seed=1, missed=missed, due=10_000, utilisation=share)] * 3
        for level, missed, share in ((100, 0, 0.2), (200, 200, 0.6))
    }
    curve = document(SUBJECT, Design(0, 600, 1, 0.01), tests)
    assert curve.at is not None
    assert (curve.at.factor, curve.at.utilisation) == pytest.approx((1.5, 0.4))
