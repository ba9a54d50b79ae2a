"""Needs, chains and schedules of jobs that are written down here, with the truth beside them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rtstone.documents.tasks import Chain, Need, Resource, Task, Use, Work
from rtstone.documents.tasks_run import Job, Section
from rtstone.tasks.arrivals import NEVER, Jobs
from rtstone.tasks.evaluation import followed, misses, need_met, spread
from rtstone.tasks.schedule import Schedule
from tests.tasks.sets import task, task_set


def column(values: list[int]) -> Any:
    return np.array(values, np.int64)


def of_responses(responses: list[int], period: int = 100) -> Jobs:
    """Return jobs of a period; a response of NEVER is of one that never ended."""
    arrival = column([period * k for k in range(len(responses))])
    ends = [NEVER if r == NEVER else period * k + r for k, r in enumerate(responses)]
    return Jobs(arrival, arrival, column([1] * len(responses)), arrival, column(ends))


def judged(measure: str, limit: float, responses: list[int], deadline: int = 50,
           within: int | None = None) -> tuple[str, float | None]:  # fmt: skip
    jobs = of_responses(responses)
    need = Need(measure=measure, text="", limit=limit, within=within)
    ran = need_met(need, jobs, misses(jobs, deadline))
    return ran.outcome, ran.value


def test_one_late_job_fails_a_deadline() -> None:
    assert judged("deadline", 50, [10] * 99) == ("holds", 0)
    assert judged("deadline", 50, [10] * 99 + [50]) == ("holds", 0)
    assert judged("deadline", 50, [10] * 99 + [51]) == ("fails", 1)
    assert judged("deadline", 50, [10] * 99 + [NEVER]) == ("fails", 1)
    assert judged("missed", 0, [10] * 99 + [51]) == ("fails", 0.01)
    assert judged("deadline", 50, []) == ("inconclusive", None)


@pytest.mark.parametrize(
    ("n", "late", "outcome"),
    [(1000, 10, "holds"), (1000, 11, "fails"), (999, 10, "inconclusive"), (999, 0, "inconclusive"),
     (50, 11, "fails"), (50, 10, "inconclusive"), (3000, 30, "holds"), (3000, 31, "fails")],
)  # fmt: skip
def test_a_share_takes_ten_jobs_beyond_it(n: int, late: int, outcome: str) -> None:
    """Of 1%: 1000 jobs, or more than ten that are late."""
    responses = [51] * late + [10] * (n - late)
    assert judged("missed", 0.01, responses)[0] == outcome
    assert judged("response.p99", 50, responses)[0] == outcome


def test_statistics_of_responses() -> None:
    assert judged("response.max", 60, [10, 60]) == ("holds", 60)
    assert judged("response.max", 59, [10, 60]) == ("fails", 60)
    assert judged("response.mean", 35, [10, 60]) == ("holds", 35)
    assert judged("response.mean", 34, [10, 60]) == ("fails", 35)
    assert judged("response.max", 60, [10, NEVER])[0] == "fails"
    assert judged("response.p50", 10, [10] * 10 + [NEVER] * 10) == ("holds", 10)
    assert judged("response.p50", 10, [10] * 9 + [NEVER] * 11) == ("fails", None)
    assert judged("jitter", 50, [10, 60]) == ("holds", 50)
    assert judged("jitter", 49, [10, 60]) == ("fails", 50)
    assert judged("jitter", 49, [10, 10, NEVER])[0] == "fails"


def test_misses_in_succession() -> None:
    late = [51, 10, 10, 51]
    assert judged("weakly_hard", 1, late, within=3) == ("holds", 1)
    assert judged("weakly_hard", 1, late, within=4) == ("fails", 2)
    assert judged("weakly_hard", 2, late, within=5)[0] == "inconclusive"
    assert judged("weakly_hard", 1, late, within=5) == ("fails", 2)


def test_percentiles_are_by_nearest_rank_where_n_supports_them() -> None:
    values = spread(column(list(range(1, 1001))))
    assert (values.n, values.min_ns, values.p50_ns, values.p99_ns) == (1000, 1, 500, 990)
    assert (values.p999_ns, values.max_ns, values.mean_ns) == (None, 1000, 500.5)
    assert spread(column(list(range(19)))).p50_ns is None
    assert spread(column([])).max_ns is None


# ---- chains -------------------------------------------------------------------------------------


def at_once(arrivals: list[int], work: int) -> Jobs:
    """Return jobs that start when they arrive, and end when their work is done."""
    at = column(arrivals)
    return Jobs(at, at, column([work] * len(arrivals)), at, at + work)


def test_a_chain_of_two_periods() -> None:
    """First: each 10, ends 2 later.  Second: each 25 from 5, ends 3 later.

    It starts at 5, 30, 55, and reads what was written at 2, 22, 52: of the arrivals 0, 20, 50.
    The outputs at 8, 33, 58 show them.  So 0 is shown after 8, 10 and 20 by the output at 33, 30
    to 50 by that at 58; a change just after an arrival waits a period more.
    """
    first = at_once([10 * k for k in range(6)], 2)
    second = at_once([5, 30, 55], 3)
    tasks = task_set(task("a", 2, 10, 2), task("b", 3, 25, 1))
    chain = Chain(name="c", path=["a", "b"], deadline_ns=38)
    ran = followed(tasks, chain, {"a": first, "b": second})
    assert (ran.age.n, ran.age.min_ns, ran.age.max_ns) == (3, 8, 13)
    assert (ran.latency.n, ran.latency.min_ns, ran.latency.max_ns) == (6, 8, 28)
    assert (ran.reaction.n, ran.reaction.min_ns, ran.reaction.max_ns) == (5, 18, 38)
    assert ran.outcome == "holds"
    late = followed(tasks, Chain(name="c", path=["a", "b"], deadline_ns=37),
                    {"a": first, "b": second})  # fmt: skip
    assert (late.outcome, late.reason) == ("fails", "1 of 5 reactions came after the deadline")


def test_a_woken_task_shows_the_job_that_woke_it() -> None:
    arrival = column([0, 10, 20])
    first = Jobs(arrival, arrival, column([2] * 3), arrival, arrival + 2)
    woken = Jobs(arrival + 2, arrival + 2, column([3] * 3), arrival + 2, column([5, 27, NEVER]))
    tasks = task_set(
        task("a", 2, 10, 2), Task(name="b", arrival="woken", work=Work(least_ns=3, most_ns=3),
                                  priority=1),
        chains=[Chain(name="c", path=["a", "b"])],
    )  # fmt: skip
    ran = followed(tasks, tasks.chains[0], {"a": first, "b": woken})
    assert (ran.age.n, ran.age.min_ns, ran.age.max_ns) == (2, 5, 17)
    assert (ran.reaction.n, ran.reaction.max_ns) == (1, 27)


# ---- schedules ----------------------------------------------------------------------------------


def shares(schedule: Schedule, job: Job, end: int) -> dict[tuple[str, str], int]:
    return {(s.owner, s.name): s.ns for s in schedule.shares(job, job.arrival_ns, end)}


def test_what_nobody_accounts_for_is_the_systems() -> None:
    """High works for 10, and had the CPU for 14; low was ready for 5 before that."""
    tasks = task_set(task("high", 10, 100, 2), task("low", 20, 100, 1))
    high = Job(task="high", number=0, arrival_ns=5, work_ns=10, start_ns=6, end_ns=20)
    low = Job(task="low", number=0, arrival_ns=0, work_ns=20, start_ns=2, end_ns=38)
    schedule = Schedule(tasks, [high, low])
    assert shares(schedule, high, 20) == {("own", ""): 10, ("system", ""): 5}
    # 2 until it started, 4 of high's 14, and 22 - 20 of its own.
    assert shares(schedule, low, 38) == {("own", ""): 20, ("task", "high"): 10, ("system", ""): 8}
    assert [(i.task, i.from_ns, i.to_ns) for i in schedule.intervals(0, 38)] == [
        ("", 0, 2), ("low", 2, 6), ("high", 6, 20), ("low", 20, 38),
    ]  # fmt: skip


def test_a_drawn_jitter_is_no_fault_of_the_system() -> None:
    tasks = task_set(task("a", 10, 100, 2, jitter_ns=30))
    job = Job(task="a", number=0, arrival_ns=0, work_ns=10, start_ns=21, end_ns=31)
    every = Schedule(tasks, [job]).shares(job, 20, 31)
    assert [(s.owner, s.ns) for s in every] == [("release", 20), ("own", 10), ("system", 1)]


def test_a_section_takes_no_more_than_its_work() -> None:
    """Low holds r for 4 of work, and the job waits 9 for it: 5 are the system's."""
    use = [Use(resource="r", after_ns=0, for_ns=4)]
    tasks = task_set(task("high", 5, 100, 2, uses=use), task("low", 20, 100, 1, uses=use),
                     resources=[Resource(name="r")])  # fmt: skip
    held = Section(resource="r", requested_ns=0, taken_ns=0, released_ns=12)
    waits = Section(resource="r", requested_ns=3, taken_ns=12, released_ns=16)
    low = Job(
        task="low", number=0, arrival_ns=0, work_ns=20, start_ns=0, end_ns=40, sections=[held]
    )
    high = Job(
        task="high", number=0, arrival_ns=2, work_ns=5, start_ns=3, end_ns=17, sections=[waits]
    )
    assert shares(Schedule(tasks, [low, high]), high, 17) == {
        ("own", ""): 5, ("resource", "low"): 4, ("system", ""): 6,
    }  # fmt: skip
