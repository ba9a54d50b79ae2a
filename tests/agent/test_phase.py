"""The unknown-phase estimator on arrivals whose latency is known."""

from __future__ import annotations

import ctypes
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.speak import BUILD, STUB, case, figures, result

LIBRARY = ctypes.CDLL(str(BUILD / "tests" / "librtsphase.so"))
LIBRARY.phase_number.restype = ctypes.c_uint64
LIBRARY.phase_largest_step.restype = ctypes.c_double

HZ = 8192
TURN = 5 * HZ  # arrivals until the phase has wandered to another value
TICKS_US = 2600.0  # of a TSC
NOMINAL = 1e6 / HZ * TICKS_US  # ticks between two requests, if both clocks were exact
Counts = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]


def pointer(array: npt.NDArray[np.generic]) -> ctypes.c_void_p:
    return array.ctypes.data_as(ctypes.c_void_p)


class Arrivals(NamedTuple):
    k: Counts
    m: Counts
    latency_us: Floats  # the true one


def simulated(
    n: int, seed: int = 1, floor_us: Floats | None = None, base_us: float = 2
) -> Arrivals:
    """Simulate requests 37 ppm off, with a wandering phase, exponential latencies and spikes.

    The wander is a random walk that stays within about 0.05 µs and turns within about 5 s.
    """
    rng = np.random.default_rng(seed)
    k = np.arange(n)
    wander = np.zeros(n)
    steps = rng.normal(0, 0.05 * np.sqrt(2 / TURN), n)
    for i in range(1, n):
        wander[i] = wander[i - 1] * (1 - 1 / TURN) + steps[i]
    latency = base_us + rng.exponential(1.0, n)
    latency += np.where(rng.random(n) < 1e-3, rng.uniform(5, 30, n), 0)
    if floor_us is not None:
        latency += floor_us
    request_us = 12345.678 + k * (1e6 / HZ) * (1 + 37e-6) + wander
    stamps = np.round((request_us + latency) * TICKS_US) + 10**15
    return Arrivals(k.astype(np.uint64), stamps.astype(np.uint64), latency)


def excess_us(
    fitted: Counts, stamps: Counts, counts: Counts, other_stamps: Counts
) -> tuple[Floats, Floats]:
    """Return the others' excess (µs) over the line below those fitted, and the line (ticks)."""
    out, line = np.zeros(len(counts)), np.zeros(2)
    sum_of_excess = LIBRARY.phase_excess(
        pointer(fitted), pointer(stamps), ctypes.c_uint64(len(fitted)), ctypes.c_double(NOMINAL),
        pointer(counts), pointer(other_stamps), ctypes.c_uint64(len(counts)), pointer(out),
        pointer(line),
    )  # fmt: skip
    assert sum_of_excess
    return out / TICKS_US, line


def by_windows(a: Arrivals, width: int) -> Floats:
    """Fit a line of its own to every window."""
    parts = []
    for start in range(0, len(a.k) - width + 1, width):
        k, m = a.k[start : start + width].copy(), a.m[start : start + width].copy()
        parts.append(excess_us(k, m, k, m)[0])
    return np.concatenate(parts)


def true_excess(a: Arrivals, n: int) -> Floats:
    return a.latency_us[:n] - 2.0  # the minimum latency


# ---- accuracy -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "allowed"), [(1024, 0.02), (8192, 0.02), (40960, 0.09)])
def test_the_bias_of_windows_without_load(width: int, allowed: float) -> None:
    a = simulated(8 * 40960)
    excess = by_windows(a, width)
    error = excess - true_excess(a, len(excess))
    assert abs(error.mean()) < allowed
    assert abs(excess.max() - true_excess(a, len(excess)).max()) < 0.3


def lifted(n: int, quiet: int) -> Floats:
    """Simulate a load that raises the minimum latency by 3 µs, between two quiet intervals."""
    floor = np.full(n, 3.0)
    floor[:quiet] = floor[-quiet:] = 0
    return floor


def test_windows_within_a_load_absorb_the_floor_that_it_lifts() -> None:
    n, quiet = 40 * 1024, 1024
    a = simulated(n, floor_us=lifted(n, quiet))
    error = by_windows(a, 1024) - true_excess(a, n)
    assert error[quiet:-quiet].mean() == pytest.approx(-3, abs=0.1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_line_of_the_quiet_stretches_does_not(seed: int) -> None:
    n, quiet = 40960 + 2048, 1024
    a = simulated(n, seed, floor_us=lifted(n, quiet))
    ends = np.r_[0:quiet, n - quiet : n]
    excess, line = excess_us(a.k[ends].copy(), a.m[ends].copy(), a.k.copy(), a.m.copy())
    error = excess - true_excess(a, n)
    assert abs(error.mean()) < 0.1
    assert abs(excess.max() - true_excess(a, n).max()) < 0.2
    # the period: 37 ppm, found to 0.1 ppm
    assert line[1] / NOMINAL * 1e6 == pytest.approx(37, abs=0.1)


def test_the_largest_step_is_a_lower_bound_and_close() -> None:
    a = simulated(8 * 8192)
    _, line = excess_us(a.k.copy(), a.m.copy(), a.k[:1].copy(), a.m[:1].copy())
    step = LIBRARY.phase_largest_step(
        pointer(a.k), pointer(a.m), ctypes.c_uint64(len(a.k)), ctypes.c_double(NOMINAL),
        ctypes.c_double(line[1]),
    ) / TICKS_US  # fmt: skip
    largest = float(true_excess(a, len(a.k)).max())
    assert largest - 3 < step < largest + 0.1


# ---- numbering ----------------------------------------------------------------------------------


def numbered(m: Counts, counts: Counts | None = None) -> tuple[Counts, int]:
    k = np.zeros(len(m), np.uint64)
    missing = LIBRARY.phase_number(
        pointer(m), pointer(counts) if counts is not None else None, ctypes.c_uint64(len(m)),
        ctypes.c_double(NOMINAL), pointer(k),
    )  # fmt: skip
    return k, int(missing)


def test_lost_and_merged_requests_are_counted_and_nothing_is_renumbered() -> None:
    a = simulated(20000)
    rng = np.random.default_rng(5)
    indices = np.sort(np.r_[0, 19999, rng.choice(np.arange(1, 19999), 19000, replace=False)])
    m = a.m[indices].copy()
    k, missing = numbered(m)
    assert np.array_equal(k, a.k[indices])
    assert missing == 20000 - len(indices)


def test_an_activation_serves_the_first_of_those_that_merged() -> None:
    a = simulated(1000)
    # 500 to 503 come together, with the time stamp of the last
    indices = np.delete(np.arange(1000), [500, 501, 502])
    m, stamps = a.m[indices].copy(), np.diff(indices, prepend=indices[0]).astype(np.uint64)
    k, missing = numbered(m, stamps)
    assert missing == 3
    assert k[500] == 500
    assert np.array_equal(np.delete(k, 500), np.delete(a.k[indices], 500))
    excess, _ = excess_us(k, m, k, m)
    assert excess[500] == pytest.approx(3e6 / HZ + a.latency_us[503] - 2, abs=0.2)


def test_a_late_activation_does_not_shift_those_after_it() -> None:
    a = simulated(3000)
    m = a.m.copy()
    m[1000] += np.uint64(0.8 * NOMINAL)  # closer to the next request: it gets that number
    k, _ = numbered(m)
    assert k[1000] == 1001
    assert np.array_equal(np.delete(k, 1000), np.delete(a.k, 1000))


# ---- exactness ----------------------------------------------------------------------------------


def test_without_noise_it_is_exact() -> None:
    k = np.arange(5000, dtype=np.uint64)
    m = (np.uint64(1 << 62) + k * np.uint64(317400)).astype(np.uint64)
    m[::7] += np.uint64(1000)
    out, line = np.zeros(len(k)), np.zeros(2)
    assert LIBRARY.phase_excess(
        pointer(k), pointer(m), ctypes.c_uint64(len(k)), ctypes.c_double(317400.0), pointer(k),
        pointer(m), ctypes.c_uint64(len(k)), pointer(out), pointer(line),
    )  # fmt: skip
    assert line[1] == 0
    assert np.array_equal(out, np.where(np.arange(5000) % 7 == 0, 1000.0, 0.0))


def best_by_force(points: list[tuple[int, int]]) -> float:
    """Return the smallest sum of distances among lines through two points, below all."""
    best = np.inf
    for (k1, m1), (k2, m2) in combinations(sorted(set(points)), 2):
        if k1 == k2:
            continue
        rest = [(m - m1) - (m2 - m1) * (k - k1) / (k2 - k1) for k, m in points]
        if min(rest) > -1e-6:
            best = min(best, sum(rest))
    return float(best)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 3000)), min_size=2, max_size=25))
def test_it_is_the_best_line_there_is(points: list[tuple[int, int]]) -> None:
    points = sorted(points, key=lambda p: p[0])
    k = np.array([p[0] for p in points], np.uint64)
    m = np.array([p[1] + 10**6 for p in points], np.uint64)
    out, line = np.zeros(len(k)), np.zeros(2)
    excess = LIBRARY.phase_excess(
        pointer(k), pointer(m), ctypes.c_uint64(len(k)), ctypes.c_double(70.0), pointer(k),
        pointer(m), ctypes.c_uint64(len(k)), pointer(out), pointer(line),
    )  # fmt: skip
    assert bool(excess) == (len(set(k)) > 1)
    if excess:
        assert out.min() > -1e-6
        assert out.sum() == pytest.approx(best_by_force(points), abs=1e-3)


# ---- the bench ----------------------------------------------------------------------------------

MS = 1_000_000


def test_on_the_stub_every_activation_is_as_late_as_planted() -> None:
    # Requests every millisecond from 1 ms on, served after 5 µs; those from 200 ms on wait 3.5 ms.
    command = "int.latency.phase rate=1000 quiet=64 span=1024 samples=1000 warmup=0"
    record = result(command, str(200 * MS), str(3 * MS + MS // 2), agent=STUB)
    offset = record["overhead"]  # a sample on the line
    assert record["min"] == offset
    assert [value - offset for value, _, _ in record["worst"][:2]] == [3 * MS + MS // 2 - 5000, 0]
    values = figures(record)
    assert values["requests lost or merged"] == 3
    assert values["period against nominal"] == 0
    assert values["largest step, needs no phase"] == 3 * MS + MS // 2 - 5000
    assert record["tables"][0]["rows"][0][2:] == ["independent", "the handler"]


@pytest.mark.parametrize(
    ("limit", "n", "spans"),
    [("samples=500", 500, 1), ("samples=2500", 2500, 3), ("samples=0 time=300000000", 300, 1)],
)
def test_the_section_holds_the_samples_and_no_span_is_longer_than_they_need(
    limit: str, n: int, spans: int
) -> None:
    """Apart from them it contains the quiet intervals after the spans, of 32 + 64 requests each."""
    results, end = case(f"int.latency.phase rate=1000 quiet=64 span=1024 {limit}", agent=STUB)
    assert results[0]["n"] == n
    assert figures(results[0])["lines fitted"] == spans
    taken = n + 2 + spans * 96  # 2: the warm-up
    assert end["evidence"]["section_ns"] == pytest.approx(taken * MS, rel=0.03)


@pytest.mark.machine
@pytest.mark.parametrize(
    ("params", "device"), [("source=hpet", "/dev/hpet"), ("source=rtc", "/dev/rtc0")]
)
def test_a_source_that_is_not_there_says_so(params: str, device: str) -> None:
    if Path(device).exists():
        pytest.skip(f"{device} is there")
    _, end = case(f"int.latency.phase {params}")
    assert end["status"] == "unsupported"
    assert device in end["reason"]


@pytest.mark.machine
@pytest.mark.parametrize("bench", ["int.latency.phase", "dk.irqsoff", "dk.irq_latency"])
def test_a_timer_of_the_system_is_told_to_be_dependent(bench: str) -> None:
    record = result(f"{bench} source=timerfd rate=4096 span=1024 quiet=64 samples=900 warmup=0")
    assert record["n"] == 900
    assert record["tables"][0]["rows"][0][2].startswith("dependent")
    assert record["tables"][0]["rows"][0][3] == "a woken task"
    values = figures(record)
    assert values["lines fitted"] == 1
    if bench == "dk.irqsoff":
        span = (record["max"] - record["min"]) / record["hz"] * 1e9
        assert values["bound, with the wake-up in it"] == pytest.approx(span, rel=1e-3)
