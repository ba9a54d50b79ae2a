"""What is estimated of a trace, where the schedule that was traced is known."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rtstone import toml
from rtstone.documents.tasks import Chain, TaskSet
from rtstone.errors import Inconclusive
from rtstone.results.rhealstone import Component, Components
from rtstone.tasks import estimates, observed
from rtstone.tasks.estimates import Estimate, Observation, Range, observe, period
from rtstone.tasks.file import parse
from rtstone.tasks.trace import Gap
from tests.tasks.tape import (
    BLOCKED,
    FUTEX,
    MS,
    RUNS,
    SEND,
    SLEEP,
    US,
    YIELD,
    Simulated,
    Tape,
    schedule,
    thread,
)

GRID = [n * 10 * MS for n in range(1, 31)]


def by_tid(observation: Observation) -> dict[int, Estimate]:
    return {estimate.identity.tid: estimate for estimate in observation.estimates}


# ---- execution times ----------------------------------------------------------------------------


@pytest.mark.parametrize("cpus", [1, 2])
@pytest.mark.parametrize("seed", range(6))
def test_a_schedule_of_preemptions_and_migrations_is_what_was_scheduled(
    seed: int, cpus: int
) -> None:
    rng = random.Random(seed)
    tasks = []
    for number in range(4):
        length = rng.choice([5, 8, 10]) * MS
        works = [rng.randrange(MS // 2, 11 * MS // 10) for _ in range(40)]
        first = rng.randrange(MS, length)
        tasks.append(Simulated(100 + number, 10 + number, works, [first + n * length
                                                                  for n in range(40)]))  # fmt: skip
    tape = schedule(tasks, cpus)
    preempted = sum(e.name == "sched_switch" and e.values["prev_state"] == RUNS
                    and e.values["prev_pid"] != 0 for _, e in tape.events)  # fmt: skip
    assert preempted or cpus == 2
    moves = {task.tid: [cpu for cpu, e in tape.events if e.values.get("next_pid") == task.tid]
             for task in tasks}  # fmt: skip
    seen = by_tid(observe(tape.trace()))
    for task in tasks:
        estimate, grid = seen[task.tid], task.releases[1] - task.releases[0]
        assert (estimate.work.least, estimate.work.most) == (min(task.works), max(task.works))
        assert estimate.work.n == 40
        assert estimate.period and estimate.period.ns == pytest.approx(grid)
        assert (estimate.period.spread_ns, estimate.period.missing) == (0, 0)
        assert estimate.waker is None
        places = moves[task.tid]
        assert estimate.migrations == sum(a != b for a, b in pairwise(places))
        assert estimate.cpus == sorted(set(places))


def test_what_is_not_whole_in_the_trace_is_no_job() -> None:
    tape = Tape()
    tape.on[0] = 7  # in the midst of a job
    tape.switch(5 * MS, 0)
    for at in GRID[:6]:
        tape.job(at, 7, 2 * MS)
    tape.wake(GRID[6], 7)
    tape.switch(GRID[6] + 1, 7)  # and so it ends
    estimate = by_tid(observe(tape.trace()))[7]
    assert estimate.work == Range(2 * MS, 2 * MS, 2 * MS, 6)


def test_a_wait_for_a_lock_is_within_a_job() -> None:
    for wait in ("inherited", "glibc", "kernel"):
        tape = Tape()
        for at in GRID:
            tape.wake(at, 7)
            tape.switch(at, 7)
            if wait != "kernel":
                tape.call(at + MS, FUTEX, operation=6 | 128 if wait == "inherited" else 128)
            tape.switch(at + MS, 8, state=BLOCKED if wait == "kernel" else 1)
            tape.wake(at + 2 * MS, 7, interrupt=False)
            tape.switch(at + 2 * MS, 7, state=RUNS)
            if wait != "kernel":
                tape.back(at + 2 * MS, FUTEX)
            tape.call(at + 3 * MS, SLEEP)
            tape.switch(at + 3 * MS, 0)
        estimate = by_tid(observe(tape.trace()))[7]
        assert estimate.work[:3] == (2 * MS, 2 * MS, 2 * MS), wait
        assert estimate.period and estimate.period.ns == pytest.approx(10 * MS), wait
        assert estimate.within == 0


def test_a_task_that_waits_for_nothing_but_futexes_is_released_by_them() -> None:
    tape = Tape()
    for at in GRID:
        tape.wake(at, 7)
        tape.switch(at, 7)
        tape.call(at + MS, FUTEX, operation=128)
        tape.switch(at + MS, 0)
    assert by_tid(observe(tape.trace()))[7].work.n == len(GRID)


def test_a_task_may_wait_for_a_device_within_a_periodic_job() -> None:
    tape = Tape()
    rng = random.Random(3)
    for at in GRID:
        tape.wake(at, 7)
        tape.switch(at, 7)
        tape.back(at, SLEEP)
        tape.switch(at + MS, 0)  # it reads, and the device answers some time later
        answer = at + MS + rng.randrange(MS, 6 * MS)
        tape.wake(answer, 7)
        tape.switch(answer, 7)
        tape.call(answer + MS, SLEEP)
        tape.switch(answer + MS, 0)
    estimate = by_tid(observe(tape.trace()))[7]
    assert estimate.period and estimate.period.ns == pytest.approx(10 * MS)
    assert estimate.work.median == 2 * MS
    assert estimate.within == 1


def test_a_late_job_begins_without_a_wait() -> None:
    tape = Tape()
    for number, at in enumerate(GRID):
        if number == 11:  # its release has passed before the job before it ended
            continue
        work = 13 * MS if number == 10 else 2 * MS
        tape.wake(at, 7)
        tape.switch(at, 7)
        if number == 10:
            tape.call(at + work, SLEEP)
            tape.back(at + work, SLEEP)
            work += 2 * MS
        tape.call(at + work, SLEEP)
        tape.switch(at + work, 0)
        tape.add(at + work, 0, "sys_exit", id=230)  # of nobody
    estimate = by_tid(observe(tape.trace()))[7]
    assert estimate.work == Range(2 * MS, 2 * MS, 13 * MS, len(GRID))
    assert estimate.late == 1
    assert estimate.period and estimate.period.missing == 1


def test_a_task_may_be_woken_while_it_is_about_to_wait() -> None:
    tape = Tape()
    for at in GRID:
        tape.on[1] = 9
        tape.switch(at, 7) if at == GRID[0] else None
        tape.wake(at + 2 * MS - 1, 7, 1, interrupt=False)  # by another CPU
        tape.switch(at + 2 * MS, 0)
        tape.switch(at + 10 * MS, 7)
    estimate = by_tid(observe(tape.trace()))[7]
    assert estimate.work.n == len(GRID) - 1
    assert estimate.notes == ("woken by 9, which is not in the set",)


# ---- what is missing ----------------------------------------------------------------------------


def test_lost_events_make_no_jobs_and_no_distances() -> None:
    whole, lossy = Tape(), Tape()
    for at in [n * 10 * MS for n in range(1, 61)]:
        whole.job(at, 7, 2 * MS)
        lossy.job(at, 7, 2 * MS)
    # Of the 30th and the 31st job only the beginning and the end remain.
    start, end = 300 * MS + MS, 310 * MS + MS
    lossy.events = [(c, e) for c, e in lossy.events if not start < e.time < end]
    gap = Gap(start, end + 1, 4)
    aware, unaware = observe(lossy.trace(gaps=[gap])), observe(lossy.trace())
    assert by_tid(aware)[7].work == Range(2 * MS, 2 * MS, 2 * MS, 58)
    assert by_tid(aware)[7].distances == Range(10 * MS, 10 * MS, 10 * MS, 28 + 28)
    assert (aware.lost, aware.gaps) == (4, 1)
    assert aware.seconds == pytest.approx(observe(whole.trace()).seconds - 0.01, abs=1e-6)
    assert by_tid(unaware)[7].work.most > 2 * MS  # which is why


def test_gaps_of_several_cpus_are_one() -> None:
    tape = Tape()
    for at in GRID:
        tape.job(at, 7, MS)
    gaps = [Gap(40 * MS, 60 * MS, 2), Gap(50 * MS, 70 * MS, 3)]
    observation = observe(tape.trace(gaps=gaps))
    assert (observation.gaps, observation.lost) == (1, 5)


def test_a_change_that_is_missing_is_noticed() -> None:
    """As in a guest of which a twentieth of all changes was not recorded."""
    tape = Tape()
    for number, at in enumerate(GRID):
        tape.wake(at, 7)
        tape.switch(at + 10 * US, 7, record=number % 3 != 0)
        tape.call(at + 20 * US, SLEEP)
        tape.back(at + 30 * US, SLEEP)
        tape.call(at + 2 * MS, SLEEP)
        tape.switch(at + 2 * MS, 0, record=number % 5 != 0)
        tape.wake(at + 3 * MS, 8)
    observation = observe(tape.trace())
    estimate = by_tid(observation)[7]
    assert observation.missing == 10 + 6
    assert estimate.period and estimate.period.n == len(GRID)
    assert estimate.doubt_ns == 0


def test_execution_times_in_doubt_are_left_out() -> None:
    tape = Tape()
    for number, at in enumerate(GRID):
        tape.wake(at, 7)
        tape.switch(at, 7, record=number % 2 == 0)
        tape.call(at + MS, FUTEX, operation=9)
        tape.back(at + MS, FUTEX)
        tape.switch(at + 2 * MS, 0)
    estimate = by_tid(observe(tape.trace()))[7]
    assert estimate.work == Range(2 * MS, 2 * MS, 2 * MS, len(GRID) // 2)
    assert estimate.period and estimate.period.n == len(GRID)


# ---- who is who ---------------------------------------------------------------------------------


def test_a_number_may_be_of_several_tasks() -> None:
    tape = Tape()
    for at in GRID[:10]:
        tape.job(at, 7, MS)
    tape.wake(GRID[10], 7)
    tape.switch(GRID[10], 7)
    tape.add(GRID[10] + MS, 0, "sched_process_exit", pid=7)
    tape.switch(GRID[10] + 2 * MS, 0, state=0x20)
    tape.on[1] = 3
    tape.add(GRID[11], 1, "sched_process_fork", child_pid=7)
    for at in GRID[12:]:
        tape.job(at, 7, 3 * MS)
    first, second = observe(tape.trace(threads=[thread(7, name="a")], after=[
        thread(7, name="b", process=2, priority=12)])).estimates  # fmt: skip
    assert first.identity != second.identity
    assert (first.work.most, first.work.n, second.work.least) == (MS, 10, 3 * MS)
    assert first.thread and second.thread and first.thread.name == "a"
    assert (second.thread.name, second.thread.priority) == ("b", 12)
    # Nobody has looked at the first one while it lived.
    assert observe(tape.trace(after=[thread(7)])).estimates[0].thread is None


def test_who_records_is_nobody() -> None:
    tape = Tape()
    for at in GRID:
        tape.job(at, 7, MS)
        tape.job(at + 4 * MS, 99, MS)
        tape.add(at + 4 * MS + 500 * US, 0, "local_timer_entry")
    observation = observe(tape.trace(own=[99]))
    assert list(by_tid(observation)) == [7]
    assert (observation.counts.switches, observation.omissions) == (len(GRID), [])


def test_only_the_threads_of_a_process() -> None:
    tape = Tape()
    for at in GRID:
        tape.job(at, 7, MS)
        tape.job(at + 4 * MS, 8, MS)
        tape.on[0] = 8
        tape.add(at + 4 * MS, 0, "local_timer_entry")
        tape.on[0] = 0
    observation = observe(tape.trace(process=1, threads=[thread(7), thread(8, process=2)]))
    assert list(by_tid(observation)) == [7]
    assert observation.counts.switches == len(GRID)
    assert observation.counts.interrupts == len(GRID)  # those that woke it


# ---- who wakes whom -----------------------------------------------------------------------------


def test_a_chain() -> None:
    tasks = [
        Simulated(1, 10, [MS], GRID), Simulated(2, 20, [2 * MS], waker=1),
        Simulated(3, 30, [MS, 3 * MS], waker=2),
    ]  # fmt: skip
    observation = observe(schedule(tasks).trace())
    seen = by_tid(observation)
    assert [seen[n].waker for n in (1, 2, 3)] == [None, (1, 0), (2, 0)]
    assert seen[3].work[:3] == (MS, 2 * MS, 3 * MS)
    result = written(observation)
    assert result.set.chains == [Chain(name="t1 to t3", path=["t1", "t2", "t3"])]
    assert [task.arrival for task in result.set.tasks] == ["periodic", "woken", "woken"]


def pair(*, both: bool = False, sends: bool = False, times: int = 1, kernel: bool = False) -> Any:
    """Return what is seen of a periodic task 1 that wakes task 2."""
    tape = Tape()
    for at in GRID:
        if not both:
            tape.wake(at, 1)
        tape.switch(at, 1)
        if sends:
            tape.call(at + MS, SEND)
        tape.wake(at + MS, 2, interrupt=False)
        tape.switch(at + MS, 2)
        for _ in range(times - 1):
            tape.switch(at + 2 * MS, 0)
            tape.on[1] = 1
            tape.wake(at + 3 * MS, 2, 1, interrupt=False)
            tape.switch(at + 3 * MS, 2)
        if both:
            tape.wake(at + 4 * MS, 1, interrupt=False)
        tape.switch(at + 4 * MS, 0)
    return observe(tape.trace(threads=[thread(1, kernel=kernel), thread(2)]))


def test_a_queue_is_told_from_a_semaphore() -> None:
    assert [by_tid(pair(sends=sends))[2].by for sends in (False, True)] == ["semaphore", "queue"]


def test_tasks_that_wake_each_other_are_cut_once() -> None:
    first, second = pair(both=True).estimates
    assert (first.waker is None) != (second.waker is None)
    assert any("in a circle" in note for note in (*first.notes, *second.notes))


def test_a_task_that_is_woken_twice_a_job_arrives_by_itself() -> None:
    estimate = by_tid(pair(times=2))[2]
    assert estimate.waker is None
    assert estimate.notes == ("woken by t1 2.00 times a job",)


def test_a_thread_of_the_kernel_wakes_for_an_interrupt() -> None:
    estimate = by_tid(pair(kernel=True))[2]
    assert estimate.waker is None
    assert estimate.period and estimate.period.ns == pytest.approx(10 * MS)


# ---- periods ------------------------------------------------------------------------------------


def grid(n: int, jitter: float, rng: random.Random) -> list[int]:
    return [round(1e9 + 1e7 * (place + jitter * rng.random())) for place in range(n)]


def test_the_period_is_in_its_range() -> None:
    """Uniform jitter up to a tenth of the period; 3 of 1000 would be outside at most."""
    rng = random.Random(1)
    outside = wide = 0
    for _ in range(400):
        n = rng.randrange(10, 200)
        result = period(grid(n, 0.1, rng))
        assert result
        outside += not result.least <= 1e7 <= result.most
        wide += result.most - result.least > 2.3e7 * 0.1 / (n - 1)
    assert (outside, wide) == (0, 0)


def test_a_grid_with_jitter_is_a_grid() -> None:
    rng = random.Random(2)
    assert all(period(grid(60, 0.25, rng)) for _ in range(200))
    assert not any(period(grid(60, 0.6, rng)) for _ in range(200))


def test_places_may_be_missing_but_not_most() -> None:
    rng = random.Random(5)
    releases = grid(60, 0.01, rng)
    sparse = sorted(rng.sample(releases, 40))
    result = period(sparse)
    assert result and result.ns == pytest.approx(1e7, rel=1e-3)
    assert result.missing == (sparse[-1] - sparse[0] + 5 * MS) // (10 * MS) - 39
    assert period(releases[::1][:3]) is None  # too few
    assert period([0, 10 * MS, 50 * MS, 90 * MS, 130 * MS, 180 * MS]) is None


def walk(n: int, distance: Any) -> list[int]:
    times = [0]
    for _ in range(n - 1):
        times.append(times[-1] + round(distance()))
    return times


@pytest.mark.parametrize("n", [4, 6, 10, 30, 300])
def test_random_arrivals_have_no_period(n: int) -> None:
    """Poisson arrivals, and distances between one and two times the least: few are taken for it."""
    rng = random.Random(n)
    for distance in (lambda: rng.expovariate(1e-7), lambda: rng.uniform(1e7, 2e7)):
        wrong = sum(period(walk(n, distance)) is not None for _ in range(500))
        assert wrong <= (2 if n > 4 else 5)


def test_a_task_that_sleeps_between_its_jobs_drifts() -> None:
    rng = random.Random(7)
    results = [period(walk(300, lambda: 1e7 + rng.uniform(0, 2e5))) for _ in range(100)]
    assert sum(result is not None for result in results) <= 2


def test_the_period_is_written_with_few_digits() -> None:
    def value(least: float, most: float) -> int:
        middle = (least + most) / 2
        return observed.simplest(estimates.Period(middle, least, most, 0, 9, 0))

    assert value(9_999_812, 10_000_212) == 10_000_000
    assert value(3_333_320.4, 3_333_350.4) == 3_333_340
    assert value(16_666_660, 16_666_671) == 16_666_670
    assert value(1000.2, 1000.4) == 1000


# ---- as a file ----------------------------------------------------------------------------------


def read(text: str) -> TaskSet:
    path = Path("tasks.toml")
    return parse(toml.parse(text.encode(), path, "task set"), path)


def written(observation: Observation, **members: Any) -> observed.Observed:
    source = observed.Source("a test", members.pop("lacks", {}), members.pop("ended", None))
    return observed.observed(observation, source, members.pop("costs", None))


def jittered(seed: int = 0) -> Tape:
    rng = random.Random(seed)
    tape = Tape()
    for at in GRID:
        tape.job(at + rng.randrange(50 * US), 7, MS + rng.randrange(US))
        tape.job(at + 3 * MS + rng.randrange(6 * MS), 8, 10 * US)
    return tape


def test_the_text_is_the_set() -> None:
    result = written(observe(jittered().trace(threads=[thread(7), thread(8, policy="other")])))
    assert read(result.text) == result.set
    periodic, irregular = result.set.tasks
    assert (periodic.arrival, periodic.period_ns, periodic.priority) == ("periodic", 10 * MS, 49)
    assert 40 * US < periodic.jitter_ns <= 51 * US
    assert (irregular.arrival, irregular.policy) == ("sporadic", "other")
    lines = result.text.splitlines()
    assert lines[0] == f"# {result.answer}"
    assert result.answer == "2 tasks in 0.308 s of a test: 1 periodic, 1 irregular"
    assert all(len(line) <= 80 for line in lines)
    assert any(line.startswith("# period 9.99") and "30 releases" in line for line in lines)


def test_names_are_of_one_task_each_and_cannot_leave_their_comment() -> None:
    tape = Tape()
    for at in GRID:
        for place, tid in enumerate((7, 8)):
            tape.wake(at + place * 3 * MS, tid)
            tape.switch(at + place * 3 * MS, tid, name='a"\n[x]')
            tape.switch(at + place * 3 * MS + MS, 0)
    result = written(observe(tape.trace()))
    assert [task.name for task in result.set.tasks] == ['a" [x]-7', 'a" [x]-8']
    assert read(result.text) == result.set


def test_what_is_lost_is_in_the_answer() -> None:
    observation = observe(jittered().trace(gaps=[Gap(40 * MS, 45 * MS, 1200)]))
    result = written(observation, ended="you ended it", lacks={"calls": "no events of calls"})
    assert "; 1 200 events lost" in result.answer
    assert "The recording ended early: you ended it." in result.text
    assert "unsupported, no events of calls" in result.text


def test_a_trace_without_tasks_is_inconclusive() -> None:
    tape = Tape()
    tape.job(MS, 7, MS)
    with pytest.raises(Inconclusive, match="no task had 4 jobs"):
        written(observe(tape.trace()))


def reserved(reservation: Sequence[int] | None) -> Observation:
    own = thread(7, policy="deadline", priority=0, reservation=reservation)
    return observe(jittered().trace(threads=[own, thread(8)]))


def test_reservations() -> None:
    task = written(reserved((2 * MS, 5 * MS, 10 * MS))).set.task("t7")
    assert (task.runtime_ns, task.deadline_ns, task.period_ns) == (2 * MS, 5 * MS, 10 * MS)
    for reservation in (None, (2 * MS, 20 * MS, 20 * MS)):
        result = written(reserved(reservation))
        assert [task.name for task in result.set.tasks] == ["t8"]
        assert "reservation" in result.text


# ---- Rhealstone ---------------------------------------------------------------------------------


def test_what_rhealstone_measures_is_counted() -> None:
    tape = Tape()
    for at in GRID:
        tape.wake(at, 1)
        tape.switch(at, 1)  # of nobody
        tape.add(at + MS, 0, "irq_handler_entry")
        tape.wake(at + MS, 2)
        tape.switch(at + MS, 2, state=RUNS)  # preempted
        tape.call(at + 2 * MS, YIELD)
        tape.switch(at + 2 * MS, 1, state=RUNS)
        tape.call(at + 3 * MS, SEND)
        tape.back(at + 3 * MS, SEND)
        tape.call(at + 3 * MS, FUTEX, operation=1)
        tape.back(at + 3 * MS, FUTEX)
        tape.call(at + 3 * MS, FUTEX, operation=9)
        tape.switch(at + 4 * MS, 2)
        tape.add(at + 4 * MS, 0, "sched_pi_setprio", pid=2, oldprio=50, newprio=10)
        tape.add(at + 4 * MS, 0, "sched_pi_setprio", pid=2, oldprio=10, newprio=50)
        tape.back(at + 4 * MS, YIELD)
        tape.switch(at + 5 * MS, 0)
    counts = observe(tape.trace()).counts
    n = len(GRID)
    assert counts._asdict() == {
        "switches": 3 * n, "preemptions": n, "interrupts": n, "semaphore_calls": 2 * n,
        "semaphore_waits": n, "queue_calls": n, "messages": n, "inherited": n,
    }  # fmt: skip


def test_what_each_component_costs_the_application() -> None:
    times = {name: Component(2000.0) for name in ("ts", "pt", "im", "ss", "db")}
    costs = Components("none", "sampled", times | {"il": Component(None, "a signal stood in")})
    tape = jittered()
    observation = observe(tape.trace(end=300 * MS))
    rate = observation.counts.switches / observation.seconds
    text = " ".join(written(observation, costs=costs).text.replace("#", "").split())
    assert observation.counts.switches > 50
    assert f"task switch (rheal.ts): {rate:.1f} a second, 2 µs each: {rate * 2:.1f} us" in text
    assert f"Together {rate * 2:.1f} us a second, {rate * 2e-6:.4%} of a CPU" in text
    assert "interrupt latency (rheal.il): 0.0 a second; n.e.: a signal stood in" in text
    assert "without interrupt latency." in text
    assert f"-p weight_ts={round(rate)}" in text
