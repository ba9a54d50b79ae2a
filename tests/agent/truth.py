"""What a case on the simulated system must report, computed from the costs in its model.

A check runs cases on an agent and asserts that the results are, to the tick, what the procedure of
the bench implies.  @truth("bench", ...) registers it for these benches; every family has a file
truth_NAME.py.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agent import speak
from tests.agent.speak import BUILD, Json, ask_living, bucket, in_ns, pick, talk


class Agent(NamedTuple):
    """A simulated agent; `plant` names its planted error (agent/tests/planted.h)."""

    path: Path = speak.SIM
    plant: str = ""


SIM = Agent()
PLANTED = BUILD / "tests" / "planted-agent"

Check = Callable[[Agent], None]
CHECKS: dict[str, list[Check]] = {}


def truth(*benches: str) -> Callable[[Check], Check]:
    """Register a check for these benches."""

    def enter(check: Check) -> Check:
        for bench in benches:
            CHECKS.setdefault(bench, []).append(check)
        return check

    return enter


class Costs(NamedTuple):
    """Cost of every operation in ns: primes, so that no two paths cost the same by accident."""

    read: int = 13
    time: int = 17
    time_syscall: int = 29
    switch: int = 1009
    space: int = 5003
    interrupt: int = 2003
    raise_: int = 307
    yield_: int = 211
    sleep: int = 401
    task_create: int = 3001
    task_priority: int = 503
    suspend: int = 607
    resume: int = 701
    sem_create: int = 809
    sem_delete: int = 907
    sem_give: int = 101
    sem_wake: int = 1103
    sem_take: int = 127
    sem_block: int = 1301
    sem_try: int = 139
    mutex_create: int = 1409
    mutex_delete: int = 1511
    mutex_lock: int = 151
    mutex_block: int = 1601
    mutex_unlock: int = 163
    mutex_wake: int = 1709
    rwlock_read: int = 167
    rwlock_write: int = 173
    rwlock_unlock: int = 179
    rwlock_block: int = 1607
    rwlock_wake: int = 1613
    barrier_wait: int = 181
    barrier_block: int = 1619
    barrier_wake: int = 1621
    spin_lock: int = 191
    spin_unlock: int = 193
    queue_create: int = 1801
    queue_delete: int = 1901
    queue_send: int = 2111
    queue_receive: int = 2203
    queue_block: int = 2309
    queue_wake: int = 2411
    pointer_send: int = 2503
    pointer_receive: int = 2609
    malloc: int = 2707
    free: int = 2801
    child_create: int = 2903
    child_kill: int = 3109
    child_reap: int = 3203
    device: int = 3301

    def words(self) -> list[str]:
        return [f"cost.{name.rstrip('_')}.fixed={1000 * ns}" for name, ns in self._asdict().items()]


C = Costs()
WAKE_UP = C.interrupt + C.switch  # from the expiry of a timer to the task, whatever ran before


def ns(ps: int) -> int:
    """Round a cost from ps to ns, as the simulated kernel does."""
    return (ps + 500) // 1000


def per(part: str, ps: int, unit: str = "amount") -> str:
    """Return the setting of a model that charges an operation so many ps per unit."""
    return f"cost.{part}.{unit}=0:0,1:{ps}"


def case_of(agent: Agent, command: str, *words: str) -> list[Json]:
    """Return the records of one case on a system with this model.

    Planted errors count on from case to case, so an agent with them runs no other.
    """
    if agent.path in speak.LIVE_ON:
        return ask_living(command, *words, agent=agent.path)
    env = os.environ | {"PLANT": agent.plant}
    return talk([f"case 1 {command}"], *words, agent=agent.path, env=env)


def answers(agent: Agent, *commands: str, model: list[str] | None = None) -> list[Json]:
    """Return the answers to commands of an agent of its own."""
    words = C.words() + (model or [])
    env = os.environ | {"PLANT": agent.plant}
    return in_ns(talk(commands, *words, agent=agent.path, env=env))


def series(agent: Agent, command: str, *model: str) -> dict[str, Json]:
    """Return the results of a case, which must be ok, by the names of their series."""
    records = in_ns(case_of(agent, command, *C.words(), *model))
    end = pick(records, "end")[0]
    assert end["status"] == "ok", end["reason"]
    return {r["series"]: r for r in pick(records, "result")}


def result(agent: Agent, command: str, *model: str) -> Json:
    """Return the only result of a case, which must be ok."""
    return series(agent, command, *model)[""]


def raw(agent: Agent, command: str, *model: str) -> tuple[Json, list[int]]:
    """Return the result of a case, and all its samples in order."""
    records = in_ns(case_of(agent, f"{command} raw=1", *C.words(), *model))
    values = [v for r in pick(records, "raw") for v in r["v"]]
    return pick(records, "result")[0], values


def about(value: float) -> Any:
    """Return a matcher for a figure, which is reported with three decimals."""
    return pytest.approx(value, rel=1e-12, abs=5.1e-4)


def always(record: Json, value: int, overhead: int = C.read) -> None:
    """Check that every sample has this value, less the clock; `overhead` is what is subtracted."""
    raw_value = value + overhead
    assert [record["min"], record["max"]] == [raw_value, raw_value], (
        f"{record['min']} to {record['max']}, where the model implies {raw_value}"
    )
    assert record["sum"] == record["n"] * raw_value
    assert (record["overhead"], record["negative"]) == (overhead, 0)
    buckets = [(bucket(record, i), count) for i, count in record["hist"]]
    assert [count for _, count in buckets] == [record["n"]]
    (low, width), _ = buckets[0]
    assert low <= raw_value < low + width


def holds(record: Json, values: list[int]) -> None:
    """Check count, sum, extremes, worst and histogram of a result against these values."""
    assert record["n"] == len(values)
    assert (record["sum"], record["min"], record["max"]) == (sum(values), min(values), max(values))
    by_size = sorted(range(len(values)), key=lambda i: (-values[i], i))
    assert [w[0] for w in record["worst"]] == [values[i] for i in by_size[:16]]
    left = sorted(values)
    for index, count in record["hist"]:
        low, width = bucket(record, index)
        assert all(low <= v < low + width for v in left[:count])
        del left[:count]
    assert not left


class Random:
    """The random numbers of the simulated system, and its tables (agent/ports/sim/model.c)."""

    MASK = (1 << 64) - 1

    def __init__(self, seed: int) -> None:
        self.state = seed

    def draw(self) -> int:
        """Return 10^9 times a random number in [0, 1)."""
        z = self.state = (self.state + 0x9E3779B97F4A7C15) & self.MASK
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & self.MASK
        z = (z ^ z >> 27) * 0x94D049BB133111EB & self.MASK
        return ((z ^ z >> 31) >> 32) * 1_000_000_000 >> 32

    @staticmethod
    def at(points: list[tuple[int, int]], x: int) -> int:
        """Return a table's value in ps, interpolated linearly."""
        (x0, y0), (x1, y1) = next((a, b) for a, b in itertools.pairwise(points) if x <= b[0])
        return y0 + (y1 - y0) * (x - x0) // (x1 - x0)  # for rising tables

    def costs(self, fixed: int, points: list[tuple[int, int]]) -> Iterator[int]:
        """Yield the costs of an operation with this random part."""
        while True:
            yield ns(1000 * fixed + self.at(points, self.draw()))


class Time:
    """The time of the simulated system; nothing happens during a stall."""

    def __init__(self, *stalls: tuple[int, int]) -> None:
        self.now = 0
        self.stalls = sorted(stalls)

    def work(self, length: int) -> None:
        """Advance by so much work, and by the stalls during it."""
        while self.stalls and self.stalls[0][0] < self.now + length:
            start, stall = self.stalls.pop(0)
            length -= max(start - self.now, 0)
            self.now = max(self.now, start + stall)
        self.now += length

    def idle(self, until: int) -> None:
        while self.stalls and self.stalls[0][0] <= until and self.now < until:
            start, stall = self.stalls.pop(0)
            self.now = max(self.now, start + stall)
        self.now = max(self.now, until)

    def words(self) -> list[str]:
        return [f"stall={start}:{length}:0" for start, length in self.stalls]
