"""The event loop against theorems about the policies, in integers."""

from __future__ import annotations

from collections.abc import Iterator
from math import lcm, prod

import numpy as np
import pytest

from rtstone.simulate.engine import simulate
from rtstone.simulate.taskset import Rules, Section, TaskSet

SETS = 3_000
# Small periods with small common multiples, so that a hyperperiod can be simulated.
PERIODS = np.array([4, 5, 6, 8, 10, 12, 15, 16, 20, 24, 30, 40, 48, 60])


def ints(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def random_sets(
    number: int, low: float, high: float, constrained: bool = False
) -> Iterator[TaskSet]:
    """Draw synchronous sets over a hyperperiod, with utilisations uniform from low to high."""
    rng = np.random.default_rng([11, number, int(constrained)])
    for _ in range(number):
        n = int(rng.integers(2, 7))
        period = np.sort(rng.choice(PERIODS, n))
        share = rng.dirichlet(np.ones(n)) * rng.uniform(low, high)
        nominal = np.maximum(1, np.round(share * period)).astype(np.int64)
        deadline = np.minimum(nominal + rng.integers(0, 40, n), period) if constrained else period
        yield TaskSet(
            end=2 * lcm(*period.tolist()), period=period, deadline=deadline, nominal=nominal
        )


def utilisation(ts: TaskSet) -> tuple[int, int]:
    """Return the work due in a hyperperiod, and the length of that."""
    pairs = zip(ts.nominal.tolist(), ts.period.tolist(), strict=True)
    length = lcm(*ts.period.tolist())
    return sum(c * (length // t) for c, t in pairs), length


def misses(ts: TaskSet, policy: str) -> int:
    return int(simulate(ts, Rules(policy)).counts["missed"].sum())


def response_times(ts: TaskSet) -> list[int | None]:
    """Return exact response times under deadline-monotonic priorities (Joseph, Pandya 1986);
    None: above the deadline."""
    order = sorted(range(len(ts.period)), key=lambda i: (ts.deadline[i], i))
    period, nominal = ts.period.tolist(), ts.nominal.tolist()
    schedule: list[int | None] = [None] * len(order)
    for place, i in enumerate(order):
        response = 0
        wanted: int = nominal[i]
        while response != wanted and wanted <= ts.deadline[i]:
            response = wanted
            wanted = nominal[i] + sum(-(-response // period[j]) * nominal[j] for j in order[:place])
        schedule[i] = response if response == wanted else None
    return schedule


def test_edf_schedules_every_set_up_to_100_percent_and_none_above() -> None:
    up_to, full = 0, 0
    for ts in random_sets(SETS, 0.6, 1.15):
        work, length = utilisation(ts)
        assert (misses(ts, "edf") == 0) == (work <= length), ts
        up_to += work <= length
        full += work == length
    assert 300 < up_to < SETS - 300
    assert full > 15


def test_rate_monotonic_holds_the_bounds() -> None:
    below, hyperbolic = 0, 0
    for ts in random_sets(SETS, 0.4, 1.05):
        n, (work, length) = len(ts.period), utilisation(ts)
        good = misses(ts, "rm") == 0
        if work / length <= n * (2 ** (1 / n) - 1):  # Liu, Layland 1973
            assert good
            below += 1
        if prod((ts.period + ts.nominal).tolist()) <= 2 * prod(
            ts.period.tolist()
        ):  # Bini, Buttazzo, Buttazzo 2003
            assert good
            hyperbolic += 1
    assert 300 < below < hyperbolic


@pytest.mark.parametrize("constrained", [False, True])
def test_response_time_analysis_agrees_with_the_simulation(constrained: bool) -> None:
    """A synchronous release is the worst case: compare all first responses, and every verdict."""
    late = 0
    for ts in random_sets(SETS // 2, 0.5, 1.1, constrained):
        analysed = response_times(ts)
        schedule = simulate(ts, Rules("dm"), completions=True)
        assert schedule.completed is not None
        for task, (response, counts) in enumerate(zip(analysed, schedule.counts, strict=True)):
            assert (counts["missed"] == 0) == (response is not None)
            if response is not None:
                assert schedule.completed[ts.first[task]] == response
                assert counts["worst"] == response - ts.deadline[task]
            late += response is None
    assert late > 150


def test_least_laxity_is_optimal_if_it_looks_at_every_tick() -> None:
    for ts in random_sets(SETS // 3, 0.8, 1.0):
        how = Rules("llf", quantum=1)
        work, length = utilisation(ts)
        assert (simulate(ts, how).counts["missed"].sum() == 0) == (work <= length)


def test_deadline_monotonic_is_the_best_of_fixed_priorities() -> None:
    """Leung, Whitehead 1982: what is schedulable under rm is so under dm."""
    won = 0
    for ts in random_sets(SETS // 2, 0.4, 0.9, constrained=True):
        by_rm, by_dm = misses(ts, "rm"), misses(ts, "dm")
        assert by_rm or not by_dm
        won += by_rm > 0 and not by_dm
    assert won > 15


@pytest.mark.parametrize("policy", ["rr", "edf", "rm"])
def test_costs_are_what_is_lost(policy: str) -> None:
    for number, ts in enumerate(random_sets(200, 0.3, 0.9)):
        big = TaskSet(end=ts.end * 100, period=ts.period * 100, deadline=ts.period * 100,
                      nominal=ts.nominal * 100)  # fmt: skip
        rules = Rules(policy, quantum=150, switch_cost=1 + number % 5, tick=97, tick_cost=2)
        free = simulate(big, Rules(policy, quantum=150)).totals
        t = simulate(big, rules).totals
        assert t.idle + t.executed + t.overhead == big.end
        assert free.overhead == 0
        lost = t.switches * rules.switch_cost + t.ticks * rules.tick_cost
        # The end of the simulation cuts at most one switch and one tick.
        assert 0 <= lost - t.overhead <= rules.switch_cost + rules.tick_cost
        assert t.ticks == (big.end - 1) // rules.tick


# ---- a server ------------------------------------------------------------------------------------


def test_a_server_answers_sooner_than_the_background_and_no_task_pays() -> None:
    """To other tasks a polling server is a periodic task (Lehoczky, Sha, Strosnider 1987)."""
    ts = TaskSet(end=1200, period=ints(10, 20, 40), deadline=ints(10, 20, 40),
                 nominal=ints(3, 6, 8), arrival=np.arange(3, 1200, 31),
                 request_work=np.full(39, 2))  # fmt: skip
    schedule = {
        server: simulate(ts, Rules("rm", server=server, server_period=10, server_budget=2))
        for server in ("background", "polling", "deferrable", "sporadic")
    }
    assert all(outcome.counts["missed"].sum() == 0 for outcome in schedule.values())
    response = {server: o.totals.response / o.totals.served for server, o in schedule.items()}
    assert response["deferrable"] == response["sporadic"] == 2
    assert response["deferrable"] < response["polling"] < response["background"]


# ---- resources -----------------------------------------------------------------------------------


def inversion(medium: int) -> TaskSet:
    """Return a set in which high needs what low holds, and medium is of any length.

    Low takes the resource at 0 for 4; high comes at 1 and wants it at once, medium at 2.
    """
    section = (Section(0, 4, 0),)
    return TaskSet(
        end=10_000, period=ints(5_000, 6_000, 7_000), deadline=ints(5_000, 6_000, 7_000),
        offset=ints(1, 2, 0), nominal=ints(4, medium, 6), sections=(section, (), section),
    )  # fmt: skip


@pytest.mark.parametrize("policy", ["rm", "dm", "edf"])
@pytest.mark.parametrize("medium", [10, 100, 1000])
def test_inversion_is_bounded_by_inherit_and_ceiling_alone(policy: str, medium: int) -> None:
    ends = {}
    for protocol in ("none", "inherit", "ceiling"):
        schedule = simulate(inversion(medium), Rules(policy, protocol), completions=True)
        assert schedule.completed is not None
        ends[protocol] = int(schedule.completed[0])
    assert ends["none"] == 4 + medium + 4
    assert ends["inherit"] == ends["ceiling"] == 4 + 4


def test_a_ceiling_prevents_the_deadlock_that_inheritance_does_not() -> None:
    """Two tasks take two resources in opposite orders (Sha, Rajkumar, Lehoczky 1990, example)."""
    ts = TaskSet(
        end=100, period=ints(50, 60), deadline=ints(50, 60), offset=ints(2, 0),
        nominal=ints(6, 8),
        sections=((Section(0, 6, 0), Section(1, 3, 1)), (Section(1, 6, 1), Section(3, 2, 0))),
    )  # fmt: skip
    done = {p: simulate(ts, Rules("rm", p)).counts["completed"].tolist()
            for p in ("none", "inherit", "ceiling")}  # fmt: skip
    assert done == {"none": [0, 0], "inherit": [0, 0], "ceiling": [2, 2]}


@pytest.mark.parametrize("policy", ["rm", "edf"])
def test_under_ceilings_a_task_waits_for_one_section_at_most(policy: str) -> None:
    """Baker 1991: blocked at most once, for the longest section of a task that preempts less."""
    rng = np.random.default_rng(5)
    for _ in range(500):
        n = 4
        period = np.sort(rng.integers(40, 200, n))
        nominal = rng.integers(4, 10, n)
        sections = tuple((Section(1, int(c) - 2, int(rng.integers(2))),) for c in nominal)
        offset = rng.integers(0, 12, n)
        ts = TaskSet(end=40, period=period, deadline=period, nominal=nominal, offset=offset,
                     sections=sections)  # fmt: skip
        schedule = simulate(ts, Rules(policy, "ceiling"), completions=True)
        assert schedule.completed is not None
        key = offset + period if policy == "edf" else period
        for i in range(n):
            blockers = sum(int(nominal[j]) for j in range(n) if j != i and key[j] <= key[i])
            longest = max((s[0].length for s in sections), default=0)
            end = int(schedule.completed[ts.first[i]])
            if end >= 0:
                assert end - offset[i] <= nominal[i] + blockers + longest
