"""Buckets with both edges, against samples that were counted by somebody else."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from math import inf

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtstone.documents.run import Grid, Result
from rtstone.results.edges import Bucket, edged, whole_line
from rtstone.results.series import series_result
from rtstone.results.ticks import Scale
from rtstone.wire import records as wire
from rtstone.wire.buckets import bounds, index_of

BITS = 7
BLANK = Result(case=1, bench="dk.periodic", params={}, load="none", status="ok")


def measured(
    ticks: list[int], hz: int, overhead: int = 0, *, batch: int = 1, per_s: int = 0, over: int = 0
) -> tuple[Result, Scale]:
    """The result of these samples; of ``over`` more there is no bucket."""
    clock = wire.Clock(source="tsc", hz=hz, granule=1, overhead=overhead)
    scale = Scale(clock, per_s)
    raw = wire.Result(
        id=1, series="", hz=hz, n=len(ticks) + over, sum=sum(ticks) + (over << 40), bits=BITS,
        overhead=overhead, batch=batch, min=min(ticks), max=(1 << 40) if over else max(ticks),
        hist=sorted(Counter(index_of(value, BITS) for value in ticks).items()), overflow=over,
    )  # fmt: skip
    blank = msgspec.structs.replace(BLANK, unit=scale.unit)
    return series_result(blank, raw, scale, {}), scale


@given(
    st.lists(st.integers(0, 1 << 36), min_size=1, max_size=60),
    st.sampled_from([10**9, 2_893_301_000, 62_500_000, 24_000_000, 999_999_937]),
    st.integers(0, 300),
    st.sampled_from([1, 1, 10, 1000]),
)
def test_every_sample_lies_in_the_bucket_that_counts_it(
    ticks: list[int], hz: int, overhead: int, batch: int
) -> None:
    result, scale = measured(ticks, hz, overhead, batch=batch)
    buckets = edged(result)
    assert buckets is not None
    net = scale.net(hz, overhead, batch)
    wanted = Counter(bounds(index_of(value, BITS), BITS) for value in ticks)
    assert [(b.low, b.high, b.n) for b in buckets] == [
        (net.exactly(first), net.exactly(first + width), count)
        for (first, width), count in sorted(wanted.items())
    ]


@given(
    st.lists(st.integers(0, 1 << 30), min_size=1, max_size=60),
    st.sampled_from(
        [(10**9, 62_500_000), (62_500_000, 10**9), (10**9, 10**9), (25_000_000, 10**9)]
    ),
    st.integers(0, 40),
)
def test_instructions_lie_in_the_bucket_that_counts_them(
    counted: list[int], clock: tuple[int, int], overhead: int
) -> None:
    """A tick of the target's clock is several instructions, or a part of one."""
    hz, per_s = clock
    each = max(hz // per_s, 1)  # ticks of an instruction
    ticks = [value * each for value in counted]
    result, scale = measured(ticks, hz, overhead * each, per_s=per_s)
    net = scale.net(hz, overhead * each)
    line = whole_line(edged(result) or [])
    edges = [line[0].low, *(bucket.high for bucket in line)]
    assert all(a < b for a, b in pairwise(edges))
    counts, _ = np.histogram([net.exactly(value) for value in ticks], edges)
    assert counts.tolist() == [bucket.n for bucket in line]
    assert edges[0] <= (result.min or 0) <= (result.max or 0) < edges[-1]


def test_numpy_counts_the_same_between_these_edges() -> None:
    draw = np.random.default_rng(1)
    ticks = [int(value) for value in draw.lognormal(9, 1.5, 5000)]
    result, scale = measured(ticks, 2_893_301_000, overhead=40)
    net = scale.net(2_893_301_000, 40)
    line = whole_line(edged(result) or [])
    edges = [line[0].low, *(bucket.high for bucket in line)]
    counts, _ = np.histogram([net.exactly(value) for value in ticks], edges)
    assert counts.tolist() == [bucket.n for bucket in line]
    assert all(a.high == b.low for a, b in pairwise(line))
    assert 0 in counts  # a stretch without samples


def test_what_lies_beyond_the_histogram_is_in_a_bucket_without_end() -> None:
    result, _ = measured([100, 1000], 10**9, over=3)
    buckets = edged(result) or []
    assert buckets[-1] == Bucket(1004, inf, 3)  # 1000 is in a bucket of 4
    assert sum(bucket.n for bucket in buckets) == result.n == 5


def test_buckets_of_a_tool_stand_at_their_lower_edge() -> None:
    points = [(3000.0, 5), (4000.0, 1), (9000.0, 2)]
    tool = msgspec.structs.replace(
        BLANK, n=9, histogram=points, overflow=1, evidence={"bucket_ns": 1000}
    )
    assert edged(tool) == [
        (3000, 4000, 5), (4000, 5000, 1), (9000, 10000, 2), (10000, inf, 1)
    ]  # fmt: skip
    assert edged(msgspec.structs.replace(tool, evidence={"bucket_ns": 2000})) is None
    assert edged(msgspec.structs.replace(tool, evidence={})) is None


@pytest.mark.parametrize("per_tick", [1e-300, 1e60])
def test_a_grid_that_cannot_be_is_none(per_tick: float) -> None:
    absurd = Grid(bits=7, per_tick=per_tick, overhead=-(1 << 62))
    given_one = msgspec.structs.replace(BLANK, n=1, histogram=[(-1e60, 1)], grid=absurd)
    edged(given_one)  # any answer, but soon, and no traceback
