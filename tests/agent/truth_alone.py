"""A single task: one call and one clock reading lie between the time stamps."""

from __future__ import annotations

import pytest

from tests.agent.speak import figures, pick
from tests.agent.truth import (
    Agent,
    C,
    Random,
    Time,
    about,
    always,
    case_of,
    holds,
    ns,
    per,
    raw,
    result,
    series,
    truth,
)


@truth("null")
def null(agent: Agent) -> None:
    always(result(agent, "null samples=5000"), 0)


@truth("clk.overhead", "clk.resolution")
def clocks(agent: Agent) -> None:
    for clock, cost in (("counter", C.read), ("time", C.time)):
        always(result(agent, f"clk.overhead clock={clock} samples=3000"), cost, overhead=0)
        steps = result(agent, f"clk.resolution clock={clock} samples=3000")
        always(steps, cost, overhead=0)
        assert figures(steps) == {
            "nominal resolution": about(float(steps["tick"]) if clock == "counter" else 1),
            "smallest step": cost,
            "granule": cost,
            "equal readings": 0,
            "backward steps": 0,
        }


@truth("det.bintime")
def bintime(agent: Agent) -> None:
    readings = {"library": C.time, "syscall": C.time_syscall, "counter": C.read}
    for clock, cost in readings.items():
        record = result(
            agent, f"det.bintime clock={clock} time=5000000", "stall=1000003:40009:1100009"
        )
        stalls = [1000003 + i * 1100009 for i in range(4)]  # of 5 ms; the next is at 5.4 ms
        assert [w[0] for w in record["worst"][:5]] == [cost + 40009] * len(stalls) + [cost]
        assert record["sum"] == record["n"] * cost + len(stalls) * 40009
        assert record["min"] == cost
        blocking = record["max"] - record["sum"] / record["n"]
        assert figures(record)["blocking (max - mean)"] == pytest.approx(blocking, abs=1e-3)


@truth("hw.latency")
def gaps(agent: Agent) -> None:
    begins = C.task_create + C.switch + 1000 * C.read + C.time  # behind what primes the loop
    window, width, over = 1_000_000, 400_000, 5_000
    seen = [(begins + 100_003, 20_011), (begins + 300_007, over + 1), (begins + 2_150_009, 70_001)]
    unseen = [
        (begins + 200_003, over),  # not above the threshold
        (begins + 700_001, 90_001),  # while the task sleeps
        (begins + 1_500_007, 90_001),
    ]
    words = f"hw.latency threshold={over} window={window} width={width} time=3000000"
    record = result(agent, words, *(f"stall={at}:{length}:0" for at, length in seen + unseen))
    lengths = [length for _, length in seen]
    holds(record, [C.read + length for length in lengths])
    assert (record["overhead"], record["ended"]) == (C.read, "time")
    (table,) = record["tables"]
    assert table["columns"] == ["began (s)", "length (us)"]
    assert [length for _, length in table["rows"]] == [f"{n / 1000:.3f}" for n in lengths]
    for (at, _), (began, _) in zip(seen, table["rows"], strict=True):
        assert 0 <= at - begins - round(float(began) * 1e9) < 2 * C.read
    values = figures(record)
    assert (values["gaps"], values["longest time between two readings"]) == (3, 70_001)
    assert width * 3 <= values["looked at"] <= (width + 2 * C.read) * 3
    assert values["taken away"] == about(100 * sum(lengths) / values["looked at"])


@truth("hw.latency")
def no_gap(agent: Agent) -> None:
    """Nothing but what is at most as long as the threshold: no sample, and the longest is told."""
    record = result(
        agent, "hw.latency window=1000000 width=1000000 time=3000000", "stall=1100003:9999:0"
    )
    assert (record["n"], record["tables"]) == (0, [])
    values = figures(record)
    assert (values["gaps"], values["longest time between two readings"]) == (0, 9999)


@truth("hw.latency")
def more_gaps_than_are_listed(agent: Agent) -> None:
    """They are counted, and so many samples end it."""
    words = "hw.latency threshold=100 samples=5000 time=0 window=1000000 width=900000"
    record = result(agent, words, "stall=20000:500:1000")
    assert (record["n"], record["ended"]) == (5000, "samples")
    values = figures(record)
    assert values["gaps"] == 5000
    assert len(record["tables"][0]["rows"]) == 5000 - values["gaps that are not listed"] == 4096


SINGLE = {
    "sem.post.nowait": C.sem_give,
    "sem.wait.free": C.sem_take,
    "sem.try.free": C.sem_try,
    "sem.try.busy": C.sem_try,
    "sem.create": C.sem_create,
    "sem.delete": C.sem_delete,
    "sched.yield": C.yield_,
    "sync.test1": C.sem_give + C.sem_take,
    "sync.test1 type=named": C.sem_give + C.sem_take,
    "sync.test1 type=mutex": C.mutex_lock + C.mutex_unlock,
    "sync.rwlock": C.rwlock_read + C.rwlock_unlock,
    "sync.rwlock op=write": C.rwlock_write + C.rwlock_unlock,
    "sync.spin": C.spin_lock + C.spin_unlock,
    "posix.mutex.lock": C.mutex_lock,
    "posix.mutex.unlock": C.mutex_unlock,
    "posix.mutex.lock protocol=inherit": C.mutex_lock,
    "posix.mutex.unlock protocol=inherit": C.mutex_unlock,
    "posix.mutex.lock protocol=protect": C.mutex_lock,
    "posix.mutex.unlock protocol=protect": C.mutex_unlock,
}


@truth(*{command.split()[0] for command in SINGLE})
def single_calls(agent: Agent) -> None:
    for command, cost in SINGLE.items():
        record = result(agent, f"{command} samples=300 batch=1")
        always(record, cost)
        assert (record["n"], record["warmup"], record["ended"]) == (300, 10, "samples")


@truth("sem.wait.free", "sched.yield", "mem.memset")
def batches(agent: Agent) -> None:
    always(result(agent, "sem.wait.free batch=7 samples=100"), 7 * C.sem_take)
    # A yield is longer than 10 granules, which here are clock readings, and so are two waits.
    assert result(agent, "sched.yield samples=100")["batch"] == 1
    assert result(agent, "sem.wait.free samples=100")["batch"] == 2
    always(
        result(agent, "mem.memset size=64 batch=5 samples=100", per("set", 700)), 5 * ns(64 * 700)
    )


@truth("sem.wait.free")
def one_slow_call(agent: Agent) -> None:
    """It is the maximum of the calls taken one by one, and drowns in the batch that has it."""
    slow, batch, n = 90_001, 64, 2000
    command = f"sem.wait.free batch={batch} samples={n}"
    # In the middle of the first series, and once more in the middle of the second.
    undisturbed = series(agent, command)
    assert set(undisturbed) == {"", "single"}
    alone, batched = undisturbed["single"], undisturbed[""]
    always(alone, C.sem_take)
    always(batched, batch * C.sem_take)
    assert (alone["batch"], batched["batch"], alone["n"], batched["n"]) == (1, batch, n, n)
    # A stall begins within a call, at one of these instants of a loop, or beside it.
    loop = C.sem_give + C.sem_take + 2 * C.read
    hits = 0
    for begins in range(n * loop // 2, n * loop // 2 + loop, C.sem_take // 2):
        both = series(agent, command, f"stall={begins}:{slow}:0")
        always(both[""], batch * C.sem_take)
        if both["single"]["max"] == C.read + C.sem_take + slow:
            hits += 1
            assert [w[0] for w in both["single"]["worst"][1:]] == [C.read + C.sem_take] * 15
    assert hits
    hits = 0
    for begins in range(n * batch * loop // 2, n * batch * loop // 2 + 3 * batch * loop, 4001):
        both = series(agent, command, f"stall={begins}:{slow}:0")
        always(both["single"], C.sem_take)
        hits += both[""]["max"] == C.read + batch * C.sem_take + slow
        assert both[""]["max"] / batch < C.read + C.sem_take + slow / 60
    assert hits


@truth("sem.wait.free", "posix.mutex.lock")
def time_is_divided(agent: Agent) -> None:
    """Batches and single calls together take the time of the case, and each about half of it."""
    for bench in ("sem.wait.free", "posix.mutex.lock"):
        records = case_of(agent, f"{bench} batch=16 samples=0 time=4000000", *C.words())
        both = {r["series"]: r for r in pick(records, "result")}
        assert {record["ended"] for record in both.values()} == {"time"}
        section = pick(records, "end")[0]["evidence"]["section_ns"]
        assert 3_900_000 < section < 4_100_000
        ends = {name: r["worst"][0][2] / r["hz"] * 1e9 for name, r in both.items()}
        assert all(0 < end < 2_100_000 for end in ends.values()), ends


def sizes(low: int, high: int, n: int) -> list[int]:
    """Yield the sizes that every system is asked for: Park-Miller from seed 123."""
    x, numbers = 123, []
    for _ in range(n):
        x = x * 16807 % 2147483647
        numbers.append(low + x % (high - low + 1))
    return numbers


@truth("mem.malloc.small", "mem.malloc.large", "mem.free")
def heap(agent: Agent) -> None:
    cost = per("malloc", 1103)  # for each byte, so that every single size matters
    for command, low, high in (("small", 1, 19584), ("large", 19584, 1000000)):
        records, values = raw(agent, f"mem.malloc.{command} samples=500", cost)
        large = sizes(low, high, 510)[10:]
        expected = [C.read + ns(1000 * C.malloc + 1103 * size) for size in large]
        assert values == expected
        holds(records, expected)
        assert figures(records)["failed allocations"] == 0
    for order in ("fifo", "lifo", "random"):
        always(result(agent, f"mem.free order={order} samples=300", cost), C.free)


@truth("mem.memcpy.fwd", "mem.memcpy.rev", "mem.memmove.up", "mem.memmove.down", "mem.memset")
def blocks(agent: Agent) -> None:
    for size in (64, 1024, 5120, 16384):
        for bench in ("memcpy.fwd", "memcpy.rev", "memmove.up", "memmove.down"):
            record = result(agent, f"mem.{bench} size={size} batch=1 samples=50", per("copy", 307))
            always(record, ns(307 * size))
        record = result(agent, f"mem.memset size={size} batch=1 samples=50", per("set", 211))
        always(record, ns(211 * size))


@truth("proc.create", "proc.kill")
def children(agent: Agent) -> None:
    for kind in ("thread", "process"):
        created = result(agent, f"proc.create kind={kind} samples=200")
        always(created, C.child_create)
        assert figures(created) == {
            "children that ran before the call returned": 0,
            "priority of the parent": 61,
            "priority of a child": 60,
        }
        killed = series(agent, f"proc.kill kind={kind} samples=200")
        always(killed["call"], C.child_kill)
        # The reading that ends `call` lies within `complete`, and is subtracted with the other.
        always(killed["complete"], C.child_kill + C.child_reap, overhead=2 * C.read)
        assert figures(killed["call"])["victims that ran before they were terminated"] == 0


@truth("sem.post.nowait")
def random_costs(agent: Agent) -> None:
    """The samples are, one by one, those of the seeded distribution."""
    points = [(0, 0), (500_000_000, 90_000), (990_000_000, 400_000), (1_000_000_000, 80_000_000)]
    table = ",".join(f"{x}:{y}" for x, y in points)
    for seed in (0, 20260101):
        records, values = raw(
            agent,
            "sem.post.nowait batch=1 samples=4000",
            f"seed={seed}",
            f"cost.sem_give.random={table}",
        )
        costs = Random(seed).costs(C.sem_give, points)
        expected = [C.read + next(costs) for _ in range(4010)][10:]
        assert values == expected
        holds(records, expected)


@truth("null", "sem.wait.free")
def stalls_lie_where_they_fall(agent: Agent) -> None:
    """Samples that a stall interrupts are longer by it, and no others."""
    time = Time((100_003, 7001), (200_017, 13_007), (300_007, 101))
    words = time.words()
    records, values = raw(agent, "sem.wait.free batch=1 samples=1000 warmup=0", *words)
    long = sorted(v - C.read - C.sem_take for v in values if v != C.read + C.sem_take)
    assert set(long) <= {101, 7001, 13_007}
    inside = records["sum"] - records["n"] * (C.read + C.sem_take)
    assert inside == sum(long)
