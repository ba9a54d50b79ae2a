"""Misses and jitter against brute force on the same raw samples: recorder, result and gate."""

from __future__ import annotations

import ctypes
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from rtstone.documents.check import Gate
from rtstone.documents.run import Result, Run
from rtstone.results.series import series_result
from rtstone.results.ticks import Scale
from rtstone.stats.budget import stated
from rtstone.stats.gate import check
from rtstone.wire import records
from rtstone.wire.buckets import index_of
from rtstone.wire.totals import Missing, misses
from tests.agent.speak import BUILD, STUB, UNEQUAL_STUB, pick, talk
from tests.report.synthetic import run as some_run

LIBRARY = ctypes.CDLL(str(BUILD / "tests" / "librtsrecorder.so"))
LIBRARY.recorder_over.restype = ctypes.c_uint64
PERIOD = 1_000_000  # ns, which are ticks here
BY_SAMPLES, BY_LIMIT = 1, 4

Series = NDArray[np.uint64]


def pointer(array: NDArray[Any]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


def recorded(late: Series, limit: int, warmup: int = 0) -> tuple[records.Misses, int]:
    """Return the misses that the recorder has of wake-ups, and how many never happened."""
    counts, windows = np.zeros(4, np.uint64), np.zeros(256, np.uint64)
    room = LIBRARY.recorder_misses(
        pointer(late), ctypes.c_uint64(len(late) - warmup), ctypes.c_uint64(warmup),
        ctypes.c_uint64(limit), pointer(counts), pointer(windows),
    )  # fmt: skip
    n, lateness, squares, missed = map(int, counts)
    shortest = [int(window) for window in windows[: min(room, n)]]
    return (
        records.Misses(
            n=n, late=lateness, squares=squares, room=room, windows=shortest, limit_ns=limit or None
        ),
        missed,
    )


def activations(late: Series, limit: int) -> list[bool]:
    """Return of each activation whether it was missed: the definition, without a recorder."""
    missed = []
    for lateness in map(int, late):
        missed.append(bool(limit) and lateness > limit)
        missed += [True] * (max(lateness - 1, 0) // PERIOD)
    return missed


def most_in(missed: list[bool], length: int) -> int:
    """Return the most misses in so many successive activations, by counting each of them."""
    upto = np.concatenate([[0], np.cumsum(missed)])
    return int((upto[length:] - upto[:-length]).max()) if length <= len(missed) else sum(missed)


def run_of(late: Series, limit: int) -> Run:
    """Return the run of a periodic task with these samples."""
    missing, missed = recorded(late, limit)
    samples = [int(lateness) for lateness in late]
    indexes = [index_of(sample, 7) for sample in samples]
    raw = records.Result(
        id=1, series="", hz=10**9, n=len(samples), sum=sum(samples), bits=7, min=min(samples),
        max=max(samples), hist=[(i, indexes.count(i)) for i in sorted(set(indexes))],
        missed=missed, misses=missing,
    )  # fmt: skip
    blank = Result(
        case=1, bench="dk.periodic", params={"period": PERIOD}, load="none", status="ok",
        evidence={"sched": "fifo", "locked": True},
    )  # fmt: skip
    result = series_result(blank, raw, Scale(None, 0), {})
    return some_run(results=[result], slopes=[])


def gate(run: Run, *limits: str) -> Gate:
    return check(run, stated([f"dk.periodic {limit}" for limit in limits], "--limit "))


def lateness(random: np.random.Generator) -> Series:
    """Return wake-ups that are mostly early, in bursts late, and sometimes by several periods."""
    n = int(random.integers(50, 400))
    late = random.integers(100, 20_000, n)
    for _ in range(int(random.integers(0, 12))):
        start = int(random.integers(0, n))
        late[start : start + int(random.integers(1, 8))] += int(random.integers(1, 90_000))
    for place in random.integers(0, n, int(random.integers(0, 5))):
        late[place] += int(random.exponential(3 * PERIOD))
    if not random.integers(0, 20):
        late[int(random.integers(0, n))] += 70 * PERIOD  # more than there is room for
    exact = int(random.integers(0, n))
    late[exact] = PERIOD  # due exactly now, which is not missed
    return late.astype(np.uint64)


@pytest.mark.parametrize("part", range(10))
def test_gates_agree_with_brute_force_on_raw_samples(part: int) -> None:
    """100 random series each, 1000 in all."""
    random = np.random.default_rng(39 + part)
    verdicts = set()
    for _ in range(100):
        late = lateness(random)
        limit = int(random.choice([0, 15_000, 50_000, 2 * PERIOD]))
        run, missed = run_of(late, limit), activations(late, limit)
        missing = run.results[0].misses
        assert missing is not None
        assert missing.n == sum(missed)
        bursts = [len(list(group)) for is_miss, group in groupby(missed) if is_miss]
        assert missing.squares == sum(length**2 for length in bursts)
        for _ in range(8):
            length = int(random.integers(2, 150))
            most = int(random.integers(0, min(length, 12)))
            (judged,) = gate(run, f"missed<={most} in {length}").checks
            worst = most_in(missed, length)
            if worst > most:
                assert judged.verdict == "failed"
                assert judged.observed == min(worst, missing.room)
            else:
                expected = "passed" if length <= len(missed) else "inconclusive"
                assert (judged.verdict, judged.observed) == (expected, worst)
            verdicts.add(judged.verdict)
        jitter = int(late.max()) - int(late.min())
        for allowed, verdict in ((jitter, "passed"), (jitter - 1, "failed")):
            (judged,) = gate(run, f"jitter<={allowed}ns").checks
            assert (judged.verdict, judged.observed) == (verdict, jitter)
    assert verdicts == {"passed", "failed", "inconclusive"}


def test_misses_of_the_warm_up_do_not_count() -> None:
    late = np.array([5 * PERIOD, 90_000, 1_000, 80_000, 2 * PERIOD + 7, 500], np.uint64)
    missing, missed = recorded(late, 50_000, warmup=2)
    assert (missing.n, missing.late, missed) == (4, 2, 2)
    # late, then late and two that never happened
    assert missing.windows == [1, 2, 3, 4]


def test_windows_beyond_the_room_are_not_known() -> None:
    late = np.array([1_000, 40 * PERIOD + 1, *[1_000] * 200], np.uint64)
    run = run_of(late, 0)
    misses_of_run = run.results[0].misses
    assert misses_of_run is not None
    room = misses_of_run.room
    assert (misses_of_run.n, len(misses_of_run.windows)) == (40, room)
    (judged,) = gate(run, f"missed<={room - 1} in 100").checks
    assert (judged.verdict, judged.observed) == ("failed", room)
    (judged,) = gate(run, f"missed<={room} in 100").checks
    assert judged.verdict == "not measured"
    assert judged.reason == (
        f"unsupported: the agent knows the windows of {room} misses at most, not {room + 1}"
    )


def test_a_miss_at_the_limit_is_none_and_one_above_it_is() -> None:
    for limit in (1, 999, 12_345):
        late = np.array([limit - 1, limit, limit + 1, limit], np.uint64)
        assert recorded(late, limit)[0].late == 1


def test_the_first_sample_above_the_limit_ends_the_series() -> None:
    ended = ctypes.c_uint()

    def samples(late: Series) -> int:
        return int(
            LIBRARY.recorder_over(
                pointer(late), ctypes.c_uint64(len(late)), ctypes.c_uint64(200_000),
                ctypes.byref(ended),
            )
        )  # fmt: skip

    late = np.full(5000, 1_000, np.uint64)
    assert (samples(late), ended.value) == (5000, BY_SAMPLES)
    for place in (0, 1, 63, 64, 999, 4999):
        late = np.full(5000, 1_000, np.uint64)
        late[place] = 200_001
        late[place + 1 :] = 300_000
        assert (samples(late), ended.value) == (place + 1, BY_LIMIT)


@pytest.mark.parametrize(
    "wrong",
    [
        Missing(5, 1, 9, 32, [1, 2, 3, 4, 103]),  # three never happened, and one was late
        Missing(5, 2, 26, 32, [1, 2, 3, 4, 5]),
        Missing(5, 2, 4, 32, [1, 2, 3, 4, 5]),
        Missing(5, 2, 9, 32, [1, 2, 3, 4]),
        Missing(5, 2, 9, 32, [1, 2, 2, 4, 5]),
        Missing(5, 2, 9, 32, [1, 2, 3, 4, 104]),
    ],
)
def test_misses_that_cannot_be_are_no_result(wrong: Missing) -> None:
    assert misses(Missing(5, 2, 9, 32, [1, 2, 3, 4, 103]), 100, 3)
    assert not misses(wrong, 100, 3)


@pytest.mark.parametrize("agent", [STUB, UNEQUAL_STUB], ids=lambda a: a.name)
@pytest.mark.parametrize("bench", ["dk.periodic", "sem.wait.free batch=1"])
def test_an_agent_counts_what_its_raw_samples_show(agent: Path, bench: str) -> None:
    """The limit is a time, whatever the unit of the clock, and net of what is subtracted."""
    case = f"case 1 {bench} samples=200 raw=1"
    (raw,) = pick(talk([case], agent=agent), "raw")
    (plain,) = pick(talk([case], agent=agent), "result")
    net = [Fraction((v - plain["overhead"]) * 10**9, plain["hz"]) for v in raw["v"]]
    exact = int(max(net))
    for limit in {exact - 1, exact, exact + 1, int(min(net)), 10**9} - {0, -1}:
        (record,) = pick(talk([f"limit {limit} 0", case], agent=agent), "result")
        late = sum(value > limit for value in net)
        assert record["misses"]["limit_ns"] == limit
        assert (record["misses"]["late"], record["n"], record["ended"]) == (late, 200, "samples")
        (record,) = pick(talk([f"limit {limit} {limit}", case], agent=agent), "result")
        first = next((n for n, value in enumerate(net, 1) if value > limit), None)
        assert (record["n"], record["ended"]) == (
            (first, "limit") if first else (200, "samples")
        )  # fmt: skip


def test_a_limit_holds_for_the_following_cases_of_this_host() -> None:
    case = "case {} dk.periodic samples=5"
    commands = ["limit 5 0", case.format(1), case.format(2), "limit 0 0", case.format(3)]
    limits = [r["misses"].get("limit_ns") for r in pick(talk(commands, agent=STUB), "result")]
    assert limits == [5, 5, None]
    for words in ("limit", "limit 5", "limit x 5", "limit -1 0", "limit 5 4", "limit 0 4"):
        (warning,) = pick(talk([words], agent=STUB), "log")
        assert warning["text"].startswith("cannot be carried out: limit")
