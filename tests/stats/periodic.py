"""Simulated runs of a periodic task with known truth, through the agent's own recorder."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cached_property

import numpy as np
from msgspec import structs

from rtstone.documents.run import Batches, Distribution, Result, Trace
from rtstone.results.histogram import Histogram, spread
from rtstone.results.pool import percentiles
from rtstone.summary import LINES
from rtstone.wire.buckets import bounds
from tests.agent.test_recorder import LIBRARY

PERIOD = 1_000_000  # ns; as in the recorder's test library
SECOND = 1000  # activations

Stalls = Callable[[np.random.Generator, float], np.ndarray]  # pairs of times, of so many seconds


def lasting(length_s: Callable[[np.random.Generator, int], np.ndarray], each_s: float) -> Stalls:
    """Draw separate stalls, one in ``each_s`` on average."""

    def draw(rng: np.random.Generator, section_s: float) -> np.ndarray:
        starts = np.sort(rng.uniform(0, section_s, rng.poisson(section_s / each_s)))
        return np.stack([starts, starts + length_s(rng, len(starts))], axis=1)

    return draw


def bursts(length_s: float, each_s: float, number: float = 4) -> Stalls:
    """Draw stalls of one length in bursts of a second, so many per burst on average."""

    def draw(rng: np.random.Generator, section_s: float) -> np.ndarray:
        begins = rng.uniform(0, section_s, rng.poisson(section_s / each_s))
        starts = np.sort(np.concatenate(
            [begin + rng.uniform(0, 1, rng.poisson(number)) for begin in begins] or [[]]
        ))  # fmt: skip
        return np.stack([starts, starts + length_s], axis=1)

    return draw


def _joined(stalls: np.ndarray) -> np.ndarray:
    """Merge stalls that overlap."""
    columns: list[list[float]] = []
    for start, end in stalls:
        if columns and start <= columns[-1][1]:
            columns[-1][1] = max(columns[-1][1], end)
        else:
            columns.append([start, end])
    return np.array(columns).reshape(-1, 2)


def measured(own: np.ndarray, stalls_s: np.ndarray) -> tuple[Result, np.ndarray]:
    """Return the result of a run, and how late each activation was or would have been (ns).

    ``own``: the lateness of each without stalls.
    """
    due = len(own)
    stalls = (_joined(stalls_s) * 1e9).round().astype(np.uint64)
    size = LIBRARY.recorder_buckets() + 1
    counts, moments = np.zeros(2 * size, np.uint64), np.zeros(8, np.uint64)
    ticks = own.astype(np.uint64, copy=False)
    LIBRARY.recorder_periodic(
        *(x.ctypes.data_as(ctypes.c_void_p) if isinstance(x, np.ndarray) else ctypes.c_uint64(x)
          for x in (ticks, due, np.ascontiguousarray(stalls), len(stalls), counts, moments))
    )  # fmt: skip
    seen = _histogram(counts[:size], moments[:4])
    hidden = _histogram(counts[size:], moments[4:])
    result = Result(
        case=1, bench="dk.periodic", params={"period": PERIOD}, load="none", status="ok",
        missed=hidden.n, batches=_batches(), trace=_trace(due // SECOND),
        evidence={"section_ns": due * PERIOD},
        corrected=_distribution(_Arrays(*seen.plus(hidden))), flags=["missed"] if hidden.n else [],
        **structs.asdict(_distribution(seen)),
    )  # fmt: skip
    return result, _late(ticks.astype(float), stalls.astype(float))


def _late(own: np.ndarray, stalls: np.ndarray) -> np.ndarray:
    late = own.copy()
    for start, end in stalls:
        first = max(int((start - PERIOD) // PERIOD), 0)  # if late, it may still fall into it
        place = np.arange(first, min(int(-(-end // PERIOD)), len(own)))
        release = place * float(PERIOD)
        caught = place[(start <= release + own[place]) & (release < end)]
        late[caught] = np.maximum(late[caught], end - caught * float(PERIOD))
    return late


class _Arrays(Histogram):
    """A histogram that is converted to lists once."""

    def points(self) -> list[tuple[float, int]]:
        return self._points

    @cached_property
    def _points(self) -> list[tuple[float, int]]:
        used = [index for index, _ in self.buckets]
        values = MIDDLES[used].clip(self.min or 0, self.max or 0).tolist()
        return list(zip(values, (count for _, count in self.buckets), strict=True))


def _middle(index: int) -> float:
    low, width = bounds(index, 7)
    return low + (width - 1) / 2


MIDDLES = np.array([_middle(index) for index in range(LIBRARY.recorder_buckets())])


def _histogram(counts: np.ndarray, moments: np.ndarray) -> Histogram:
    n, total, least, most = map(int, moments)
    (used,) = np.nonzero(counts[:-1])
    buckets = list(zip(used.tolist(), counts[used].tolist(), strict=True))
    return _Arrays(n, total, least if n else None, most if n else None, 7, buckets)


def _distribution(histogram: Histogram) -> Distribution:
    points = histogram.points()
    values = percentiles(points, histogram.n, histogram.overflow)
    return Distribution(
        n=histogram.n, min=histogram.min, mean=histogram.sum / histogram.n, sd=spread(histogram),
        max=histogram.max, histogram=points, **values,
    )  # fmt: skip


def _batches() -> Batches:
    lines, line, rows = ctypes.c_uint(), (ctypes.c_uint * 5)(), np.zeros((33, 7), np.uint64)
    batches = LIBRARY.recorder_batches(
        ctypes.byref(lines), line, rows.ctypes.data_as(ctypes.c_void_p)
    )
    table = rows[:batches].astype(int)
    names = LINES[: lines.value]
    return Batches(
        n=table[:, 0].tolist(), mean=(table[:, 1] / table[:, 0]).tolist(),
        above={name: table[:, 2 + place].tolist() for place, name in enumerate(names)},
    )  # fmt: skip


def _trace(windows: int) -> Trace:
    n = np.zeros(windows + 1, np.uint64)
    LIBRARY.recorder_windows(n.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint(len(n)))
    return Trace(
        width_s=1.0, rows=[(float(w), int(k), 0.0, 0.0, 0.0) for w, k in enumerate(n) if k]
    )
