"""The Hartstone engine in C against a second implementation, and against the agent itself."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator

import pytest

from rtstone.documents.simulation import Cost
from rtstone.errors import UsageError
from rtstone.simulate.hartengine import HartRules, run, ticks_per_ns
from rtstone.simulate.hartsets import EXPERIMENTS, HartSet, Kind, Task, arrivals, is_served
from rtstone.simulate.hartstone import Ask, breakdown, play
from tests.agent import truth_hart
from tests.agent.truth import SIM
from tests.simulate.hart_oracle import Oracle

S = 10**9
SETS = 150  # per policy and form
HOW = [("rm", "monitor"), ("rm", "server"), ("edf", "monitor")]


def drawn(rng: random.Random) -> HartSet:
    """Draw tasks, a few with the same rate, whose times often coincide."""
    base = rng.choice([1, 3])
    rates = [rng.choice([20, 40, 80, 100, 160, 170, 320]) for _ in range(rng.randint(1, 7))]
    kinds = [rng.choice([Kind.PERIODIC] * 3 + [Kind.SPORADIC]) for _ in rates]
    calls = [rng.random() < 0.6 for _ in rates]
    heavy = rng.choice([1, 2, 4])
    tasks = [
        Task(rate, base * rng.randint(0, heavy) + (not call), kind, call,
             0 if kind is Kind.PERIODIC else rng.randint(1, S // 10))
        for rate, kind, call in zip(rates, kinds, calls, strict=True)
    ]  # fmt: skip
    if rng.random() < 0.5:
        tasks.append(Task(20, rng.randint(1, 20), Kind.BACKGROUND, gap=S // 4))
    return HartSet(tuple(tasks), rng.randint(1, 4))


def costs(rng: random.Random) -> dict[str, int]:
    if rng.random() < 0.4:
        return {}
    tick = rng.choice([0, 1_000_000, 12_500_000])
    return {"switch_ns": rng.choice([0, 1000, 62_500, 500_000]), "tick_ns": tick,
            "tick_cost_ns": tick and rng.choice([0, 999, tick // 10])}  # fmt: skip


def played(policy: str, form: str) -> Iterator[tuple[HartSet, int, int, HartRules, list[int]]]:
    rng = random.Random(f"{policy} {form}")
    for _ in range(SETS):
        tasks, rules = drawn(rng), HartRules(policy, form, **costs(rng))
        kwi = rng.choice([1_562_500, 3_125_000, 6_250_000, 8_000_000])  # a whole number of KWIPS
        duration = rng.choice([S, 7 * S // 10, S // 2 + 1])
        yield (
            tasks,
            S // kwi,
            duration,
            rules,
            rng.sample(range(len(tasks.tasks)), len(tasks.tasks)),
        )


@pytest.mark.parametrize(("policy", "form"), HOW)
def test_agrees_with_the_oracle(policy: str, form: str) -> None:
    """Met, missed, skipped, lateness and longest response of every task are equal."""
    blocked = shed = 0
    for tasks, raw, duration, rules, order in played(policy, form):
        schedule = run(tasks, raw, duration, rules, order)
        assert schedule.ticks_per_ns == 1
        expected = Oracle(tasks, S // raw, duration, rules).run(order)
        assert [tuple(row) for row in schedule.counts.tolist()] == expected
        shed += schedule.bad > 0
        blocked += sum(task.calls for task in tasks.tasks) > 1
    assert 20 < shed < SETS - 20
    assert blocked > 50


def test_two_tasks_by_hand() -> None:
    """2 of 4 ms and 7 of 10: the second completes at 15 and skips the release at 10."""
    tasks = HartSet((Task(2500, 2), Task(1000, 7)))
    schedule = run(tasks, 1000, 20_000_000, HartRules(), [0, 1])
    assert schedule.counts.tolist() == [(5, 0, 0, 0, 2_000_000), (0, 1, 1, 5_000_000, 15_000_000)]


@pytest.mark.parametrize("form", ["monitor", "server"])
def test_inversion_by_hand(form: str) -> None:
    """A task that executes the server is not delayed by tasks that do not use it.

    The server works 4 ms.  A, every 10 ms, works 1 and calls it; B, every 11.1, works 2; C calls
    at once.  A runs from 0 to 5, B to 7, then C.  A is released at 10 and served from 12 to 16,
    whether C is interrupted at 10 or not; B, released at 11.1, waits, and C continues at 18.
    """
    tasks = HartSet((Task(1000, 1, calls=True), Task(900, 2), Task(250, 0, calls=True)), 4)
    schedule = run(tasks, 1000, 40_000_000, HartRules(form=form), [0, 1, 2])
    assert [row["longest"] for row in schedule.counts] == [6_000_000, 7_000_000, 18_000_000]


def test_arrivals_are_exponential_and_repeat() -> None:
    task = Task(200, 1, Kind.SPORADIC, gap=S // 20)
    releases = arrivals(task, 5, 400 * S).tolist()
    gaps = [b - a for a, b in itertools.pairwise(releases)]
    assert releases[0] == 0
    assert min(gaps) >= S // 20
    beyond = [gap - S // 20 for gap in gaps]
    mean = sum(beyond) / len(beyond)
    assert mean == pytest.approx(S / 20, rel=0.05)
    share = sum(gap > S // 20 for gap in beyond) / len(beyond)
    assert share == pytest.approx(math.exp(-1), abs=0.03)
    first = arrivals(task, 5, 10 * S).tolist()
    assert first == [at for at in releases if at < 10 * S]
    assert arrivals(task, 6, 10 * S).tolist() != first


# ---- the agent ----------------------------------------------------------------------------------

KWI = 62_500  # ns: raw speed is 16 000 KWIPS, of which the baseline of PH is exactly 20%
DURATION = 1_500_000_000
AGENT = [(name, *how, "auto") for name in EXPERIMENTS for how in HOW if how[1] == "monitor"
         or is_served(name)]  # fmt: skip
AGENT += [(f"PH.{number}", "rm", "monitor", "golatowski-auto") for number in (1, 2, 3, 4)]


def alike(tasks: tuple[Task, ...], base: int) -> list[list[int]]:
    """Return the tasks of each row of the agent's table: one of the baseline, and those like it."""
    table_rows = [[i] for i in range(base)]
    for i in range(base, len(tasks)):
        table_rows[5 if tasks[i].kind is Kind.SPORADIC else 2].append(i)
    return table_rows


@pytest.mark.parametrize(("name", "policy", "form", "which"), AGENT)
def test_agrees_with_the_agent_test_for_test(name: str, policy: str, form: str, which: str) -> None:
    """Compare set, counts, lateness, longest response of every row of every test, and breakdown."""
    words = f"hart.{name} duration={DURATION} policy={policy} set={which}" + (
        f" form={form}" if is_served(name) else ""
    )
    agent = truth_hart.run(SIM, words, KWI)
    ask = Ask(name, which, policy, raw=S // KWI, form=form, duration_ns=DURATION)
    played = list(play(ask, Cost()))
    assert agent.figures["factor of all loads"] == ask.m
    base = len(played[0].task_set.tasks)
    for n, (rows, p) in enumerate(zip(agent.tests, played, strict=True), 1):
        for row, like in zip(rows, alike(p.task_set.tasks, base), strict=True):
            task, counts = p.task_set.tasks[like[0]], p.outcome.counts[like]
            sums = {name: int(counts[name].sum()) for name in ("met", "missed", "skipped", "late")}
            load = task.load + (p.task_set.service if task.calls else 0)
            late = sums["late"] / sums["missed"] / 1000 if sums["missed"] else 0
            printed = (f"{100 * p.utilisation:.2f}", str(len(like)), f"{task.hz:.3f}", str(load),
                    str(sums["met"]), str(sums["missed"]), str(sums["skipped"]), f"{late:.1f}",
                    f"{counts['longest'].max() / 1000:.1f}")  # fmt: skip
            names = ("utilisation %", "tasks", "Hz", "KWIPP", "met", "missed", "skipped",
                     "average late us", "longest response us")  # fmt: skip
            assert printed == tuple(row[name] for name in names), f"test {n}, task {row['task']}"
    clean, first = breakdown(played)
    missed = agent.figures.get("first miss at")
    highest = "no breakdown up to" if missed is None else "breakdown utilisation"
    assert agent.figures[highest] == pytest.approx(clean, abs=5.1e-4)
    assert missed == (None if first is None else pytest.approx(first, abs=5.1e-4))


def test_a_load_is_a_whole_number_of_ticks_at_any_raw_speed() -> None:
    for raw in (1, 1601, 4_713_210, 10**9):
        per_ns = ticks_per_ns(raw, 10 * S)
        assert per_ns * S % raw == 0
    with pytest.raises(UsageError, match="too fine"):
        ticks_per_ns(999_999_937, 10 * S)


def test_a_third_of_a_nanosecond_counts() -> None:
    """Three KWI of 1/3 ms exactly fill a period of 1 ms; more than fits is detected."""
    full = HartSet((Task(10_000, 3), Task(10_000, 0, calls=True)), 3)
    assert run(full, 6000, S, HartRules(), [0, 1]).bad == 0
    over = HartSet((Task(10, 6000), Task(10, 1)))
    assert run(over, 6000, S, HartRules(), [0, 1]).bad == 1
