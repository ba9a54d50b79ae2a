"""Rounds of one case as one result, which contains everything that was in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from msgspec import structs

from rtstone.documents.plan import Until
from rtstone.documents.run import (
    Batches,
    Blocks,
    Distribution,
    Figure,
    Grid,
    Misses,
    Result,
    Trace,
    Value,
    Worst,
)
from rtstone.results.estimates import estimate
from rtstone.results.pool import closest, pooled
from rtstone.results.rounds import MOST, following, merged, standing, width
from rtstone.summary import PERCENTILES, is_supported
from rtstone.wire.records import Rate, TextTable

S = 10**9
LOOSE = Until(share=0.5)
TIGHT = Until(share=0.005, time_ns=100 * S)


def a_round(values: list[float], seconds: float = 1.0, **members: Any) -> Result:
    """Return a round with these samples, as the agent and the model would report it."""
    counts = sorted(Counter(values).items())
    plain = Result(case=1, bench="b", params={"samples": len(values)}, load="none", status="ok")
    n = len(values)
    mean = sum(values) / n
    statistics: dict[str, Any] = {
        "n": n, "min": min(values), "max": max(values), "mean": mean, "histogram": counts,
        "sd": (sum((v - mean) ** 2 for v in values) / max(n - 1, 1)) ** 0.5, "warmup": 2,
        "evidence": {"section_ns": int(seconds * S)}, "ended": "samples",
        "ci95": {"p50": None, "p99": None},
    }  # fmt: skip
    part = structs.replace(plain, **statistics | members)
    whole = pooled([part, plain])  # sets the percentiles
    return structs.replace(part, p50=whole.p50, p90=whole.p90, p99=whole.p99)


def ramp(n: int, low: float = 100.0) -> list[float]:
    return [low + k % 100 for k in range(n)]


def merge(*parts: Result, until: Until = LOOSE) -> Result:
    (result,) = merged(until, [[part] for part in parts])
    return result


def test_it_is_the_pool_of_the_rounds() -> None:
    parts = [a_round(ramp(1000)), a_round(ramp(3000, 101)), a_round([7.0] * 50)]
    result, whole = merge(*parts), pooled(parts)
    for name in Distribution.__struct_fields__:
        assert getattr(result, name) == getattr(whole, name)
    assert (result.n, result.warmup, result.until and len(result.until.rounds)) == (4050, 6, 3)
    interval = estimate(parts, "p50")
    assert interval
    assert result.ci95["p50"] == (interval.low, interval.high)


def test_time_goes_on_from_round_to_round() -> None:
    first = a_round(
        [1.0, 9.0], 2.5, worst=[Worst(value=9.0, index=1, at_s=2.0)],
        trace=Trace(width_s=1.0, rows=[(0.0, 1, 1.0, 1.0, 1.0), (2.0, 1, 9.0, 9.0, 9.0)]),
    )  # fmt: skip
    rows = [(0.0, 2, 1.0, 2.0, 3.0), (1.0, 1, 5.0, 5.0, 5.0), (2.0, 1, 8.0, 8.0, 8.0)]
    second = a_round(
        [1.0, 3.0, 5.0, 8.0], 3.0, worst=[Worst(value=8.0, index=3, at_s=2.5, steal_ns=7)],
        trace=Trace(width_s=1.0, rows=rows),
    )  # fmt: skip
    result = merge(first, second)
    assert [(w.value, w.index, w.at_s) for w in result.worst] == [(9.0, 1, 2.0), (8.0, 5, 5.0)]
    assert [w.steal_ns for w in result.worst] == [None, 7]
    assert result.trace
    assert [row[0] for row in result.trace.rows] == [0.0, 2.0, 2.5, 3.5, 4.5]
    assert sum(row[1] for row in result.trace.rows) == result.n


def test_windows_become_equally_wide() -> None:
    rows = [(float(k), 2, 1.0 + k, 2.0 + k, 3.0 + k) for k in range(5)]
    narrow = a_round([2.0] * 10, 5, trace=Trace(width_s=1.0, rows=rows))
    wide = a_round([2.0], 4, trace=Trace(width_s=4.0, rows=[(0.0, 1, 2.0, 2.0, 2.0)]))
    trace = merge(narrow, wide).trace
    assert trace == Trace(
        width_s=4.0,
        rows=[(0.0, 8, 1.0, 3.5, 6.0), (4.0, 2, 5.0, 6.0, 7.0), (5.0, 1, 2.0, 2.0, 2.0)],
    )


def test_a_trace_and_blocks_stay_as_short_as_the_agents() -> None:
    rows = [(float(k), 1, 1.0, 1.0, 1.0) for k in range(4096)]
    part = a_round(
        [1.0] * 4096, 4096, trace=Trace(width_s=1.0, rows=rows),
        blocks=Blocks(samples=64, max=[float(k) for k in range(2048)]),
    )  # fmt: skip
    result = merge(part, part, part)
    assert result.trace
    assert result.blocks
    assert (result.trace.width_s, len(result.trace.rows)) == (4.0, 3072)
    assert sum(row[1] for row in result.trace.rows) == result.n
    assert (result.blocks.samples, len(result.blocks.max)) == (256, 1536)
    assert max(result.blocks.max) == 2047


def test_blocks_are_joined_to_the_largest_and_none_is_half_full() -> None:
    small = a_round([1.0] * 7, blocks=Blocks(samples=1, max=[3.0, 1.0, 4.0, 1.0, 5.0, 9.0, 2.0]))
    large = a_round([1.0] * 8, blocks=Blocks(samples=4, max=[6.0, 5.0]))
    assert merge(small, large).blocks == Blocks(samples=4, max=[4.0, 6.0, 5.0])


def batched(values: list[float], size: int, line: float) -> Result:
    """Return a round with counts, by batch, of the samples above a line of its own."""
    parts = [values[k : k + size] for k in range(0, len(values), size)]
    return a_round(
        values,
        batches=Batches(
            n=[len(part) for part in parts],
            mean=[sum(part) / len(part) for part in parts],
            above={"p50": [sum(v > line for v in part) for part in parts]},
        ),
    )


def test_batches_are_joined_to_the_longest() -> None:
    short = batched([float(k) for k in range(10)], 2, 4.5)
    long = batched([float(k) for k in range(20)], 5, 9.5)
    batches = merge(short, long).batches
    assert batches
    assert (batches.n, batches.mean) == ([4, 6, 5, 5, 5, 5], [1.5, 6.5, 2.0, 7.0, 12.0, 17.0])
    assert merge(short, a_round(ramp(10))).batches is None


def test_batches_count_against_a_line_of_all_rounds() -> None:
    chance = np.random.default_rng(3)
    parts = []
    for shift in (0, 40, 0, -40, 300):
        values = [float(round(v)) + shift for v in chance.normal(1000, 50, 640)]
        parts.append(batched(values, 20, 1000.0 + shift))
    result = merge(*parts)
    assert result.batches
    assert result.p50 is not None
    above = [sum(c for v, c in part.histogram if v > result.p50) for part in parts]
    counted = result.batches.above["p50"]
    assert [sum(counted[k : k + 32]) for k in range(0, 160, 32)] == above
    assert all(0 <= k <= n for k, n in zip(counted, result.batches.n, strict=True))
    total = sum(n * m for n, m in zip(result.batches.n, result.batches.mean, strict=True))
    assert total / result.n == pytest.approx(result.mean, abs=1e-3)
    assert set(result.batches.above) == {
        name for name, q in PERCENTILES.items() if is_supported(q, result.n)
    }


def test_the_sixteen_worst_of_all() -> None:
    def with_worst(low: int) -> Result:
        worst = [Worst(value=float(low - k), index=k, at_s=0.0) for k in range(16)]
        return a_round([1.0] * 100, worst=worst)

    values = [w.value for w in merge(with_worst(100), with_worst(105)).worst]
    assert values == sorted([*range(85, 101), *range(90, 106)], reverse=True)[:16]


def test_what_is_counted_is_added_and_what_is_told_is_kept() -> None:
    def part(cpu: int, **members: Any) -> Result:
        evidence: dict[str, Value] = {
            "section_ns": S, "cpu_ns": cpu, "minflt": 3, "smi": None, "tasks": 2, "sched": "fifo",
            "heap_bytes": cpu, "suspended_ns": cpu, "stops": 1, "steal_near_ns": cpu,
            "steal_watched_ns": 10 * cpu,
        }  # fmt: skip
        return a_round(ramp(100), evidence=evidence, **members)

    rate = Rate("disk", "ms", 90.0, 1.0, wanted=100.0, missed=1)
    first = part(
        5, negative=1, overflow=2, missed=3, raw_min=7.0, raw_max=70.0, flags=["missed", "smi"],
        figures={"same": Figure(value=1, unit="ns"), "lost": Figure(value=2, unit="calls")},
        tables=[TextTable("t", ["a"], [["x"]])], load_rates=[rate],
    )  # fmt: skip
    second = part(
        7, negative=10, overflow=20, missed=30, raw_min=6.0, raw_max=60.0,
        flags=["cut_short", "no_rt"],
        figures={"same": Figure(value=1, unit="ns"), "lost": Figure(value=4, unit="calls")},
        tables=[TextTable("t", ["a"], [["y"]])],
        load_rates=[
            Rate("disk", "ms", 110.0, 3.0, wanted=100.0, missed=2, counted=80.0, counted_s=2.0)
        ],
    )  # fmt: skip
    result = merge(first, second)
    assert (result.negative, result.overflow, result.missed) == (11, 22, 33)
    assert (result.raw_min, result.raw_max) == (6.0, 70.0)
    assert result.evidence == {
        "section_ns": 2 * S, "cpu_ns": 12, "minflt": 6, "smi": None, "tasks": 2, "sched": "fifo",
        "heap_bytes": 7, "suspended_ns": 12, "stops": 2, "steal_near_ns": 12,
        "steal_watched_ns": 120,
    }  # fmt: skip
    assert result.flags == ["no_rt", "smi", "interrupted", "missed"]
    assert result.figures == {"same": Figure(value=1, unit="ns")}
    assert [table.title for table in result.tables][:2] == ["t", "t, round 2"]
    assert result.tables[2].rows == [["lost", "2 calls", "4 calls"]]
    (load,) = result.load_rates
    assert (load.achieved, load.window_s, load.missed) == (105.0, 4.0, 3)
    assert (load.counted, load.counted_s) == (80.0, 2.0)
    third = structs.replace(second, load_rates=[structs.replace(load, counted=90.0, counted_s=6.0)])
    (load,) = merge(second, third).load_rates
    assert (load.counted, load.counted_s) == (87.5, 8.0)


def test_no_member_of_a_result_is_lost() -> None:
    """A new member is set here, and merged in rounds.py: what is not merged is not there."""
    values = ramp(100_000)  # enough for every percentile
    part = a_round(
        values, series="cpu 0", unit="instructions", raw_min=1.0, raw_max=2.0, missed=1,
        negative=1, flags=["missed"], worst=[Worst(value=9.0, index=1, at_s=2.0)],
        load_rates=[Rate("disk", "ms", 90.0, 1.0)], figures={"rate": Figure(value=1, unit="")},
        tables=[TextTable("t", ["a"], [["x"]])], grid=Grid(bits=7, per_tick=1.0, overhead=0),
        trace=Trace(width_s=1.0, rows=[(0.0, 1, 1.0, 1.0, 1.0)]),
        corrected=pooled([a_round(values)]), blocks=Blocks(samples=1, max=[3.0]),
        batches=Batches(n=[100_000], mean=[1.0], above={}), p999=1.0, p9999=1.0,
        single=a_round(values), misses=misses(1, [1]),
    )  # fmt: skip
    plain, result = Result(case=1, bench="", params={}, load="", status="ok"), merge(part, part)
    # Those of every result; the reason of one that is not ok; what needs another kind of part.
    identities = {
        "case",
        "bench",
        "params",
        "load",
        "status",
        "reason",
        "batch",
        "overflow",
        "until",
    }
    for name in set(Result.__struct_fields__) - identities:
        assert getattr(part, name) != getattr(plain, name), f"set {name} above"
        assert getattr(result, name) != getattr(plain, name), f"merge {name} in rounds.py"


def misses(n: int, windows: list[int], room: int = 4) -> Misses:
    return Misses(n=n, late=0, squares=n, room=room, windows=windows)


def test_misses_of_two_rounds_do_not_succeed_each_other() -> None:
    a, b = misses(3, [1, 9, 20]), misses(2, [1, 4])
    both = closest([a, b])
    assert both is not None
    assert both == misses(5, [1, 4, 20])
    assert [both.holds(most, 10) for most in range(6)] == [False, False, True, True, True, True]
    assert closest([a, None]) is None
    # One that has more misses than room says nothing of the fourth: nor do both.
    full = closest([misses(9, [1, 2, 3], room=3), misses(4, [1, 7, 8, 9])])
    assert full is not None
    assert full == Misses(n=13, late=0, squares=13, room=3, windows=[1, 2, 3])
    assert [full.holds(most, 2) for most in range(4)] == [False, False, True, None]
    assert full.most_in(2) == 2
    assert closest([a, structs.replace(b, limit=5)]) is None


def test_omitted_activations_are_counted_in_the_rounds_that_had_them() -> None:
    whole = pooled([a_round([*ramp(100), 500.0, 501.0])])
    late = a_round(ramp(100), corrected=whole, missed=2)
    clean = a_round(ramp(50), missed=0)
    result = merge(late, clean)
    assert result.corrected == pooled([a_round([*ramp(100), 500.0, 501.0]), clean])
    assert merge(clean, clean).corrected is None


def test_series_stay_apart() -> None:
    rounds = [
        [a_round(ramp(100 * k), series="call"), a_round(ramp(200 * k), series="complete")]
        for k in (1, 2)
    ]
    results = merged(LOOSE, rounds)
    assert [(r.series, r.n) for r in results] == [("call", 300), ("complete", 600)]


# ---- when to stop -------------------------------------------------------------------------------


def test_the_widest_series_decides() -> None:
    narrow, broad = a_round([100.0] * 100, series="a"), a_round(ramp(100), series="b")
    alone = width(estimate([broad], "p50"))
    assert alone
    assert alone > TIGHT.share
    assert standing(TIGHT, [[narrow]]).ended == "ci"
    assert standing(TIGHT, [[narrow, broad]]) == (alone, None)


def test_a_width_is_that_of_the_farther_end() -> None:
    part = a_round(ramp(1000))
    interval = estimate([part], "p50")
    assert interval
    farther = max(interval.high - interval.value, interval.value - interval.low)
    assert standing(TIGHT, [[part]]).width == farther / interval.value
    assert width(interval._replace(value=-1.0)) is None
    assert width(interval._replace(value=0.0, low=0.0, high=0.0)) == 0
    assert width(None) is None


@pytest.mark.parametrize(
    ("seconds", "rounds", "ended"),
    [(30.0, 3, None), (33.2, 3, "time"), (50.0, 2, "time"), (0.1, MOST - 1, None),
     (0.1, MOST, "rounds")],
)  # fmt: skip
def test_time_and_rounds_have_an_end(seconds: float, rounds: int, ended: str | None) -> None:
    parts = [[a_round([1.0, 1000.0] * 8, seconds)] for _ in range(rounds)]
    assert standing(TIGHT, parts).ended == ended
    (result,) = merged(TIGHT, parts)
    assert result.ended == (ended or "stopped")
    assert ("wide" in result.flags) == (ended is not None)


def test_the_next_round_is_as_large_as_is_missing() -> None:
    part = a_round(ramp(1000), 10.0)
    reached = standing(TIGHT, [[part]]).width
    assert reached

    def next_round(share: float) -> dict[str, Value]:
        limit = Until(share=share, time_ns=100 * S)
        return following(limit, [[part]], lambda name: name != "batch")

    assert next_round(reached / 1.2) == {"samples": 585, "time": 90 * S}
    assert next_round(reached / 10)["samples"] == 1000  # no more than remain
    assert next_round(reached / 1.01)["samples"] == 250  # and no less than a quarter
    raw = a_round(ramp(1000), params={"raw": True})
    assert following(TIGHT, [[raw]], lambda _: True) == {}


def test_intervals_that_ended_a_case_hold_what_is_true() -> None:
    """Stopping at a narrow interval favours those narrow by chance, but only slightly."""
    chance = np.random.default_rng(1)
    limit = Until(share=0.01)
    held, cases = 0, 300

    def drawn(n: int) -> list[Result]:
        return [a_round(np.round(2000 + 1000 * np.exp(chance.normal(0, 0.5, n))).tolist())]

    for _ in range(cases):
        rounds = [drawn(200)]
        while standing(limit, rounds).ended is None:
            next_parameters = following(limit, rounds, lambda _: True)["samples"]
            assert isinstance(next_parameters, int)
            rounds.append(drawn(next_parameters))
        interval = estimate([part for (part,) in rounds], "p50")
        assert interval
        held += interval.low <= 3000 <= interval.high
    assert 0.92 < held / cases < 0.98


# ---- rounds that are not valid ------------------------------------------------------------------


def test_what_came_before_an_invalid_round_stays() -> None:
    good, bad = a_round(ramp(100)), a_round(ramp(900), status="incomplete", reason="stopped")
    result = merge(good, good, bad, until=TIGHT)
    assert (result.status, result.reason) == ("incomplete", "round 3: stopped")
    assert (result.n, result.ended) == (200, "stopped")
    assert merge(bad, until=TIGHT) == bad
    result = merge(good, until=TIGHT)
    assert (result.status, result.n, result.ended) == ("ok", 100, "stopped")
    assert result.flags == ["interrupted"]


def test_without_samples_there_is_one_round() -> None:
    blank = Result(case=1, bench="b", params={}, load="none", status="ok", ended="samples")
    assert merge(blank) == blank
