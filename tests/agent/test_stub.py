"""Benches on a port whose times are all known: the results must be exactly these.

The stub charges 20 ns for a clock read, 1000 ns for any other call and 5000 ns for a wake-up, and
stalls when told to (agent/tests/stub).
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from tests.agent import speak
from tests.agent.speak import (
    STUB,
    UNEQUAL_STUB,
    Json,
    bucket,
    figures,
    in_ns,
    pick,
    spread,
    without_single,
)

MS = 1_000_000


@pytest.fixture(params=[STUB, UNEQUAL_STUB], ids=["ns", "unequal"], autouse=True)
def agent(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the stub, or one with 3 counter ticks per ns and a clock in units of 10 ns."""
    path: Path = request.param
    monkeypatch.setitem(PLAYED, "agent", path)
    return path


PLAYED: dict[str, Path] = {}


def talk(commands: list[str], *stalls: str) -> list[Json]:
    """Return the records, with all values in ns."""
    return in_ns(speak.talk(commands, *stalls, agent=PLAYED["agent"]))


def case(command: str, *stalls: str) -> tuple[list[Json], Json]:
    records = talk([f"case 1 {command}"], *stalls)
    return pick(records, "result"), pick(records, "end")[0]


def result(command: str, *stalls: str) -> Json:
    results, end = case(command, *stalls)
    assert end["status"] == "ok", end["reason"]
    return without_single(results)


def test_null_is_the_overhead_and_nothing_else() -> None:
    record = result("null")
    assert spread(record) == (record["overhead"], record["overhead"]) == (20, 20)
    assert record["negative"] == 0


@pytest.mark.parametrize(
    "command",
    ["sem.post.nowait", "sem.wait.free", "sem.try.free", "sem.try.busy", "sem.create",
     "sem.delete", "sched.yield", "mem.malloc.small", "mem.malloc.large", "mem.free"],
)  # fmt: skip
def test_one_call_and_one_read_of_the_clock_lie_between_the_stamps(command: str) -> None:
    assert spread(result(command)) == (1020, 1020)


@pytest.mark.parametrize("batch", [2, 7, 64])
def test_a_batch_is_so_many_calls(batch: int) -> None:
    record = result(f"sem.wait.free batch={batch}")
    assert spread(record) == (batch * 1000 + 20, batch * 1000 + 20)
    assert record["batch"] == batch


def test_an_interval_too_short_for_the_clock_is_batched() -> None:
    # The stub's memset does not advance its clock: no batch is ever long enough.
    assert result("mem.memset size=64")["batch"] == 4096
    # 1000 ns are more than 10 granules of 20 ns.
    assert result("sched.yield")["batch"] == 1


def test_bintime_sees_every_stall_between_two_readings() -> None:
    stalls = ["100000000", "3000000", "700000000", "5000000"]
    record = result("det.bintime clock=counter time=900000000", *stalls)
    worst = [value for value, _, _ in record["worst"][:3]]
    assert worst == [5 * MS + 20, 3 * MS + 20, 20]
    assert record["min"] == 20
    assert figures(record)["blocking (max - mean)"] == pytest.approx(
        5 * MS + 20 - record["sum"] / record["n"], abs=0.001
    )


def test_looking_for_gaps_stays_within_the_throttling_limit() -> None:
    # The stub's is 1000 of 1050 ms.  No gap is as good a result as any.
    for words, status, says in [
        ("window=1100000000 width=1090000000", "unsupported",
         "for more than 1000 of 1050 ms; use a shorter width"),
        ("window=100000000 width=96000000", "unsupported", "RT throttling"),
        ("width=1000000001", "failed", "width=1000000001 ns is longer than window=1000000000 ns"),
        ("window=100000000 width=95000000 time=50000000", "ok", ""),
        ("window=100000000 width=100000000 time=50000000", "ok", ""),  # to see what takes the CPU
    ]:  # fmt: skip
        (*results,), end = case(f"hw.latency {words}")
        assert (end["status"], says in (end["reason"] or "")) == (status, True), end["reason"]
        assert [r["n"] for r in results] == ([0] if status == "ok" else [])


@pytest.mark.parametrize("command", ["det.bintime clock=counter", "clk.resolution"])
def test_the_start_of_a_section_is_in_no_sample(command: str) -> None:
    """The stub takes 70 us to record the system's conditions, here without a warm-up before it."""
    assert spread(result(f"{command} samples=100 warmup=0")) == (20, 20)


@pytest.mark.parametrize(
    ("command", "value"),
    [("det.bintime clock=counter", 20), ("null", 20), ("clk.overhead", 20), ("clk.resolution", 20),
     ("sched.yield", 1020), ("sem.wait.free", 1020), ("mem.malloc.small", 1020)],
)  # fmt: skip
def test_a_rest_lies_between_samples_not_in_them(command: str, value: int) -> None:
    # The stub's RT throttling limit requires a pause of 50 ms after 500 ms; series take half of it.
    results, end = case(f"{command} samples=0 time=1300000000")
    assert end["evidence"]["rests"] == 5
    assert spread(results[0]) == (value, value)


def test_raw_with_few_samples_keeps_just_them() -> None:
    answers = talk(["case 1 sched.yield samples=5 raw=1"])
    assert [r["v"] for r in pick(answers, "raw")] == [[1020] * 5]


def test_periodic_without_stall_is_late_by_the_wake_up() -> None:
    record = result("dk.periodic samples=1000 time=0 warmup=5")
    assert spread(record) == (5000, 5000)
    assert (record["n"], record["warmup"], record["missed"]) == (1000, 5, 0)


@pytest.mark.parametrize(
    ("length", "lateness", "missed"),
    # the first release is at 10 ms; the stall begins with the one at 30 ms
    [
        (8 * MS, 8 * MS, 7),
        (8 * MS + 10, 8 * MS + 10, 8),
        (999_990, 999_990, 0),
        (MS + 10, MS + 10, 1),
    ],
)
def test_a_stall_is_one_late_wake_up_and_so_many_missed(
    length: int, lateness: int, missed: int
) -> None:
    record = result("dk.periodic samples=100 time=0 warmup=0", str(30 * MS), str(length))
    assert record["max"] == lateness
    assert [value for value, _, _ in record["worst"][:2]] == [lateness, 5000]
    assert record["worst"][0][1] == 20  # the 21st activation
    assert record["missed"] == missed == record["omitted"]["n"]
    # the lateness that the missed ones would have had: a period less for each
    series = [lateness - k * MS for k in range(missed, 0, -1)]
    assert record["omitted"]["sum"] == sum(series)
    got = [bucket(record, i) for i, count in record["omitted"]["hist"] for _ in range(count)]
    assert all(low <= v < low + width for v, (low, width) in zip(series, got, strict=True))


def test_activations_add_up() -> None:
    """Met, late and missed activations add up to all that were due."""
    stalls = ["30000000", "8000000", "55500000", "2250000", "70000000", "12345678"]
    results, end = case("dk.periodic samples=200 time=0 warmup=0", *stalls)
    # the section begins 10 ms before the first release
    due = end["evidence"]["section_ns"] // MS - 10 + 1
    assert results[0]["n"] + results[0]["missed"] == due


def test_releases_can_be_aligned() -> None:
    # a stall over 100 ns after a release that lies 250 us after a multiple of the period
    record = result("dk.periodic align=250000 samples=50 time=0 warmup=0", "30250000", "100000")
    assert record["worst"][0][0] == 100_000
    assert record["worst"][1][0] == 5000
    record = result("dk.periodic align=150000 samples=50 time=0 warmup=0", "30250000", "100000")
    assert record["worst"][0][0] == 5000  # the stall lies between two releases


def test_raw_keeps_every_sample_in_order() -> None:
    answers = talk(
        ["case 1 dk.periodic samples=1000 time=0 warmup=3 raw=1"],
        str(30 * MS), str(3 * MS),
    )  # fmt: skip
    raw = [v for r in pick(answers, "raw") for v in r["v"]]
    assert len(raw) == 1000
    assert raw[17] == 3 * MS  # the release at 30 ms, after 3 of warm-up
    # the release that is due exactly when the stall ends is met, late by one clock reading
    assert (set(raw), raw[18]) == ({20, 5000, 3 * MS}, 20)


@pytest.mark.parametrize(
    "command", ["sem.post.nowait", "sem.wait.free", "sched.yield", "sync.test1"]
)
def test_what_fills_the_caches_lies_between_samples_not_in_them(command: str) -> None:
    warm, cold = (result(f"{command} batch=1 samples=50 cache={c}")
                  for c in ("warm", "cold"))  # fmt: skip
    assert spread(cold) == spread(warm)
    assert figures(warm) == {}
    assert figures(cold) == {"read before each sample": 12345}
    # of equal values, the first are the worst: each is this much later than the one before
    distances = [
        {b[2] - a[2] for a, b in itertools.pairwise(record["worst"])} for record in (warm, cold)
    ]
    assert {d + 7000 for d in distances[0]} == distances[1]


@pytest.mark.parametrize(
    ("command", "reason"),
    [("sem.wait.free cache=cold batch=2", "cache=cold needs batch=1"),
     ("dk.periodic cache=cold", "dk.periodic has no parameter 'cache': its samples are more")],
)  # fmt: skip
def test_what_cannot_be_cold_is_refused(command: str, reason: str) -> None:
    _, end = case(command)
    assert end["status"] == "failed"
    assert reason in end["reason"]


def test_a_cold_sample_is_one_call() -> None:
    assert result("mem.memset size=64 samples=20 cache=cold")["batch"] == 1


def test_every_bench_that_can_be_cold_fills_the_caches_once_a_sample() -> None:
    benches = pick(talk(["list"]), "bench")
    able = [b["id"] for b in benches if any(p["name"] == "cache" for p in b["params"])]
    assert len(able) > 10
    for bench in able:
        ends = {}
        for cache in ("warm", "cold"):
            _, end = case(f"{bench} batch=1 samples=20 warmup=0 cache={cache}")
            if end["status"] == "unsupported":
                break
            ends[cache] = end["evidence"]["section_ns"]
        else:
            assert ends["cold"] - ends["warm"] == 20 * 7000, bench
