"""The event loop against a second implementation that steps tick by tick (oracle.py)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from rtstone.simulate.engine import Outcome, Simulator, simulate
from rtstone.simulate.taskset import (
    POLICIES,
    PROTOCOLS,
    SERVERS,
    Rules,
    Section,
    TaskSet,
    jobs,
    stacked,
)
from tests.simulate.oracle import Oracle

SETS = 12  # per combination of policy, protocol and server
END = 160


def sections(rng: np.random.Generator, nominal: int) -> tuple[Section, ...]:
    """Draw up to two sections, consecutive or nested, on different resources."""
    simulation: list[Section] = []
    resources = rng.permutation(3)
    at, end = 0, nominal
    for resource in resources[: rng.integers(0, 3)]:
        if end - at < 1:
            break
        begin = int(rng.integers(at, end))
        length = int(rng.integers(1, end - begin + 1))
        simulation.append(Section(begin, length, int(resource)))
        at, end = (begin, begin + length) if rng.random() < 0.5 else (begin + length, nominal)
    return tuple(simulation)


def tasks(rng: np.random.Generator, protocol: bool = True) -> TaskSet:
    n = int(rng.integers(1, 6))
    period = rng.integers(4, 40, n)
    nominal = 1 + (rng.random(n) * period * rng.choice([0.3, 0.6])).astype(np.int64)
    offset = rng.integers(0, 12, n) if rng.random() < 0.5 else np.zeros(n, np.int64)
    deadline = period if rng.random() < 0.5 else rng.integers(1, 2 * period)
    count = int(jobs(END, period, offset).sum())
    shares = 0.5 + 0.5 * rng.random(count)
    nominals = np.repeat(nominal, jobs(END, period, offset))
    requests = int(rng.integers(0, 12))
    return TaskSet(
        end=END,
        period=period,
        deadline=deadline,
        offset=offset,
        nominal=nominal,
        work=np.ceil(nominals * shares).astype(np.int64) if rng.random() < 0.7 else None,
        value=rng.integers(1, 9, n),
        sections=tuple(sections(rng, int(c)) for c in nominal) if protocol else (),
        arrival=np.sort(rng.integers(0, END, requests)),
        request_work=rng.integers(1, 9, requests),
    )


def rules(rng: np.random.Generator, policy: str, protocol: str, server: str) -> Rules:
    costs = rng.random() < 0.5
    period = int(rng.integers(4, 25))
    return Rules(
        policy,
        protocol,
        server,
        server_period=period,
        server_budget=int(rng.integers(1, period + 1)),
        quantum=int(rng.integers(1, 6)),
        switch_cost=int(rng.integers(0, 3)) if costs else 0,
        tick=int(rng.integers(3, 20)) if costs else 0,
        tick_cost=int(rng.integers(0, 3)) if costs else 0,
    )


def agree(simulation: Outcome, oracle: Oracle, ts: TaskSet) -> None:
    """Check that completion times and all counts are equal."""
    assert simulation.completed is not None
    assert simulation.request_completed is not None
    first = ts.first
    for t in oracle.tasks:
        counted = simulation.counts[t.index]
        counts = {"released": t.released, "completed": len(t.completed), "met": t.met,
                "missed": t.missed, "due": t.met + t.missed, "late": t.late,
                "lateness": sum(t.lateness), "preemptions": t.preemptions,
                "worst": max(t.lateness, default=np.iinfo(np.int64).min)}  # fmt: skip
        assert {name: counted[name] for name in counts} == counts
        numbers = simulation.completed[first[t.index] : first[t.index + 1]]
        assert {k: c for k, c in enumerate(numbers) if c >= 0} == t.completed
    assert {k: c for k, c in enumerate(simulation.request_completed) if c >= 0} == oracle.served
    totals = simulation.totals
    responses = [c - ts.arrival[k] for k, c in oracle.served.items()]
    assert totals.served == len(responses)
    assert totals.response == sum(responses)
    assert totals.worst_response == max(responses, default=0)
    assert totals.switches == oracle.switches
    assert totals.ticks == oracle.clock_ticks
    assert (totals.idle, totals.overhead) == (oracle.idle, oracle.overhead)
    assert totals.idle + totals.overhead + totals.executed == ts.end


WAYS = list(itertools.product(POLICIES, PROTOCOLS, SERVERS))


def drawn(policy: str, protocol: str, server: str) -> Iterator[tuple[TaskSet, Rules]]:
    rng = np.random.default_rng([7, WAYS.index((policy, protocol, server))])
    for _ in range(SETS):
        yield tasks(rng), rules(rng, policy, protocol, server)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_agrees_with_the_oracle(policy: str, protocol: str, server: str) -> None:
    for ts, how in drawn(policy, protocol, server):
        simulation = simulate(ts, how, completions=True)
        agree(simulation, Oracle(ts, how).run(), ts)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_together_as_alone(policy: str, protocol: str) -> None:
    """Sets with different jobs, requests and sections, and a choice of them."""
    rng = np.random.default_rng([8, WAYS.index((policy, protocol, "sporadic"))])
    drawn = [tasks(rng) for _ in range(150)]
    how = rules(rng, policy, protocol, "sporadic")
    sets = [replace(ts, work=None) for ts in drawn if len(ts.period) == 3]
    assert len(sets) > 10
    simulator = Simulator(stacked(sets))
    together = simulator.run(how, completions=True)
    alone = [simulate(ts, how, completions=True) for ts in sets]
    assert together.counts.tolist() == [task.counts.tolist() for task in alone]
    assert together.totals.tolist() == [tuple(task.totals) for task in alone]
    for times in ("completed", "request_completed"):
        of_each = [getattr(task, times) for task in alone]
        assert getattr(together, times).tolist() == np.concatenate(of_each).tolist()
    which = np.array([7, 2])
    simulation = simulator.run(how, which=which)
    assert simulation.counts.tolist() == together.counts[which].tolist()
    assert simulation.totals.tolist() == together.totals[which].tolist()


def test_work_of_sets_together() -> None:
    rng = np.random.default_rng(9)
    drawn = [tasks(rng) for _ in range(100)]
    sets = [ts for ts in drawn if ts.work is not None and len(ts.period) == 2]
    assert len(sets) > 5
    together = Simulator(stacked(sets)).run(Rules("edf"))
    assert together.counts.tolist() == [
        simulate(ts, Rules("edf")).counts.tolist() for ts in sets
    ]  # fmt: skip
    with pytest.raises(ValueError, match="work of a task set"):
        Simulator(stacked([*sets, replace(sets[0], work=None)]))


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("policy", POLICIES)
def test_the_first_miss_is_known_early(policy: str, protocol: str, server: str) -> None:
    spared = 0
    for ts, how in drawn(policy, protocol, server):
        whole = simulate(ts, how)
        early = simulate(ts, replace(how, first_miss=True))
        assert early.counts["missed"].any() == whole.counts["missed"].any()
        spared += whole.totals.events - early.totals.events
    assert spared > 0
