"""Examples of papers and textbooks, with their answers.

What stands here is known from the work that is cited, or from a public program that took it from
there, which is then named.  Joseph and Pandya 1986 have no example here: its numbers could not be
had.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import pytest

from rtstone.documents.tasks import Costs, Task, TaskCheck
from rtstone.tasks.analysis import edf, fixed
from rtstone.tasks.analysis.check import at
from rtstone.tasks.analysis.streams import Stream, busy_period
from tests.tasks.sets import task, task_set


class Row(NamedTuple):
    """A task: work, period, deadline (0: the period), response (None: not given, or too long)."""

    work: int
    period: int
    deadline: int = 0
    response: int | None = None


class Example(NamedTuple):
    """An example; the tasks from the most urgent on.  ``late``: those that may miss."""

    source: str
    rows: list[Row]
    late: tuple[int, ...] = ()
    policy: str = "fifo"


EXAMPLES = {
    "a second task of up to 2": Example(
        "Liu and Layland 1973, section 4, figure 2 (a) and (b)",
        [Row(1, 2, 0, 1), Row(2, 5, 0, 4)],
    ),
    "a second task of more": Example(
        "Liu and Layland 1973, section 4: not further", [Row(10, 20, 0, 10), Row(21, 50)], late=(1,)
    ),
    "the order reversed": Example(
        "Liu and Layland 1973, section 4, figure 2 (c)", [Row(1, 5, 0, 1), Row(1, 2, 0, 2)]
    ),
    "the order reversed, one of more": Example(
        "Liu and Layland 1973, section 4: neither can be increased",
        [Row(10, 50, 0, 10), Row(11, 20)], late=(1,),
    ),
    "three tasks at 78.3%": Example(
        "Liu and Layland 1973, section 8", [Row(1, 3), Row(1, 4), Row(1, 5)]
    ),
    "three tasks at 98.3%": Example(
        "Liu and Layland 1973, section 8", [Row(1, 3), Row(1, 4), Row(2, 5)], late=(2,)
    ),
    "three tasks at 98.3%, by deadlines": Example(
        "Liu and Layland 1973, section 8", [Row(1, 3), Row(1, 4), Row(2, 5)], policy="deadline"
    ),
    "a deadline above the period": Example(
        "Lehoczky 1990, example 3: the fifth job is the worst; also in RealTimeScheduling.jl",
        [Row(26, 70, 0, 26), Row(62, 100, 118, 118)],
    ),
    "a deadline above the period, too short": Example(
        "Lehoczky 1990, example 3, as RealTimeScheduling.jl has it",
        [Row(26, 70, 0, 26), Row(62, 100, 116, 118)], late=(1,),
    ),
    "task set A": Example(
        "Burns and Wellings, Real-Time Systems and Programming Languages, scheduling",
        [Row(10, 30, 0, 10), Row(10, 40, 0, 20), Row(12, 50)], late=(2,),
    ),
    "task set B": Example(
        "Burns and Wellings, as task set A", [Row(4, 16), Row(5, 40), Row(32, 80)]
    ),
    "task set C": Example(
        "Burns and Wellings, as task set A: responses 5, 15 and 80",
        [Row(5, 20, 0, 5), Row(10, 40, 0, 15), Row(40, 80, 0, 80)],
    ),
    "task set D": Example(
        "Burns and Wellings, as task set A: responses 3, 6 and 20",
        [Row(3, 7, 0, 3), Row(3, 12, 0, 6), Row(5, 20, 0, 20)],
    ),
    "deadlines below periods": Example(
        "Burns and Wellings, deadline monotonic ordering: responses 3, 6, 10 and 20",
        [Row(3, 20, 5, 3), Row(3, 15, 7, 6), Row(4, 10, 10, 10), Row(3, 20, 20, 20)],
    ),
    "deadline monotonic": Example(
        "Buttazzo, Hard Real-Time Computing Systems, 3rd edition, section 4.5: response 10",
        [Row(1, 4, 3), Row(1, 5, 4), Row(2, 6, 5), Row(1, 11, 10, 10)],
    ),
    "two tasks at 97%": Example(
        "Buttazzo, section 4.4: rate monotonic misses", [Row(2, 5), Row(4, 7)], late=(1,)
    ),
    "two tasks at 97%, by deadlines": Example(
        "Buttazzo, section 4.4: earliest deadline first does not", [Row(2, 5), Row(4, 7)],
        policy="deadline",
    ),
    "processor demand": Example(
        "Buttazzo, section 4.6, table 4.4", [Row(2, 6, 4), Row(2, 8, 5), Row(3, 9, 7)],
        policy="deadline",
    ),
    "three tasks at 95.3%": Example(
        "Sha and Goodenough 1990: the third task ends at 300",
        [Row(40, 100, 0, 40), Row(40, 150, 0, 80), Row(100, 350, 0, 300)],
    ),
    "three tasks at 95.8%": Example(
        "Lipari, lecture on earliest deadline first: rate monotonic misses",
        [Row(1, 4), Row(2, 6), Row(3, 8)], late=(2,),
    ),
    "three tasks at 95.8%, by deadlines": Example(
        "Lipari, lecture on earliest deadline first", [Row(1, 4), Row(2, 6), Row(3, 8)],
        policy="deadline",
    ),
}  # fmt: skip


def checks(example: Example) -> list[TaskCheck]:
    tasks: list[Task] = [
        task(
            f"t{number}", row.work, row.period,
            None if example.policy == "deadline" else len(example.rows) - number,
            deadline_ns=row.deadline or row.period, policy=example.policy,
        )
        for number, row in enumerate(example.rows)
    ]  # fmt: skip
    # What the kernel admits is no matter of these works.
    return at(task_set(*tasks), Costs(admitted=1.0), Fraction(1))[0]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_has_its_answer(name: str) -> None:
    example = EXAMPLES[name]
    for number, (row, check) in enumerate(zip(example.rows, checks(example), strict=True)):
        assert check.verdict == ("fails" if number in example.late else "holds"), check
        if row.response is not None:
            assert check.response_ns == row.response
            assert check.exact


def test_twenty_of_them() -> None:
    assert len(EXAMPLES) >= 20


def test_every_job_of_a_busy_period() -> None:
    """Lehoczky 1990, example 3: the responses of the second task, whose busy period is 694."""
    higher, own = Stream(26, 70), Stream(62, 100)
    assert busy_period([higher, own]) == 694
    ends = []
    for number in range(7):
        work = (number + 1) * own.work
        end = work
        while end != work + higher.requested(end):
            end = work + higher.requested(end)
        ends.append(end - number * own.period)
    assert ends == [114, 102, 116, 104, 118, 106, 94]
    assert fixed.response(own, [higher]).from_arrival == max(ends)


def test_a_longest_interval_of_demand() -> None:
    """Buttazzo, section 4.6: of table 4.4, L* is 25 and the hyperperiod 72; no demand exceeds."""
    rows = [Stream(2, 6, 0, 4), Stream(2, 8, 0, 5), Stream(3, 9, 0, 7)]
    share = sum(Fraction(s.work, s.period) for s in rows)
    weighted = sum((s.period - s.deadline) * Fraction(s.work, s.period) for s in rows)
    assert weighted / (1 - share) == 25
    assert all(edf.demand(rows, time) <= time for time in range(1, 73))
    assert edf.missed(rows) is None
    tighter = [rows[0], rows[1], rows[2]._replace(deadline=6)]
    assert edf.missed(tighter) == 6


# Audsley, Burns, Richardson, Tindell and Wellings 1993, the case study, as the tests of SchedCAT
# have it: work, period, deadline, blocking, jitter, and the response from the release.
AUDSLEY = [
    (51, 1000, 1000, 0, 0, 51), (3000, 2000000, 5000, 300, 0, 3504),
    (2000, 25000, 25000, 600, 0, 5906), (5000, 25000, 25000, 900, 0, 11512),
    (1000, 40000, 40000, 1350, 0, 13064), (3000, 50000, 50000, 1350, 0, 16217),
    (5000, 50000, 50000, 750, 0, 20821), (8000, 59000, 59000, 750, 0, 36637),
    (9000, 80000, 80000, 1350, 0, 47798), (2000, 80000, 80000, 450, 0, 48949),
    (5000, 100000, 100000, 1050, 0, 99150), (1000, 200000, 200000, 450, 1000, 99550),
    (3000, 200000, 200000, 450, 0, 140641), (1000, 200000, 200000, 450, 0, 141692),
    (1000, 200000, 200000, 1350, 0, 143694), (3000, 1000000, 1000000, 0, 0, 145446),
    (1000, 1000000, 1000000, 0, 0, 146497), (1000, 1000000, 1000000, 0, 0, 147548),
]  # fmt: skip


def test_a_case_study_with_blocking_and_jitter() -> None:
    streams = [Stream(work, period, jitter) for work, period, _, _, jitter, _ in AUDSLEY]
    for number, (_, _, deadline, blocking, jitter, answer) in enumerate(AUDSLEY):
        response = fixed.response(streams[number], streams[:number], blocking)
        assert response == (answer + jitter, answer)
        assert response.from_arrival <= deadline


def test_blocking_by_a_ceiling() -> None:
    """Sha, Rajkumar and Lehoczky 1990, the schedulability of three tasks with blocking."""
    rows = [(40, 100, 20, 60), (40, 150, 30, 150), (100, 350, 0, 300)]
    streams = [Stream(work, period) for work, period, *_ in rows]
    for number, (_, period, blocking, answer) in enumerate(rows):
        response = fixed.response(streams[number], streams[:number], blocking)
        assert response.from_arrival == answer <= period


def test_many_cpus_do_not_help_a_long_task() -> None:
    """Dhall and Liu 1978: light tasks that are more urgent make a heavy one miss on any number."""
    for policy in ("fifo", "deadline"):
        priority = 2 if policy == "fifo" else None
        light = [
            task(f"l{n}", 2, 100, priority, policy=policy, cpus=[0, 1, 2, 3]) for n in range(4)
        ]
        heavy = task("h", 100, 101, priority and 1, policy=policy, cpus=[0, 1, 2, 3])
        states = at(task_set(*light, heavy), Costs(admitted=1.0), Fraction(1))
        assert states[0][-1].verdict == "unknown"
        assert all(load.verdict == "holds" for load in states[2])
