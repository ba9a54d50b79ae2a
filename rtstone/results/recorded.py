"""Record samples of other tools as the agent records its own, so that both are processed alike.

Ticks are ps.  Buckets, batches, blocks and the trace are those of docs/reference/wire.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rtstone.documents.run import Result
from rtstone.results.series import series_result
from rtstone.results.ticks import Scale
from rtstone.summary import LINES, PERCENTILES, WHOLE, is_supported
from rtstone.units import NS_PER_S
from rtstone.wire import records as wire

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ticks = NDArray[np.int64]

HZ = 10**12
LARGEST = 1 << 61  # ticks, 26 days: what is longer is no latency
BITS = 7
_WORST = 16
_ROOM = 32  # misses, of whose windows it is known how short they are
_WINDOWS = 4096
_BLOCKS = 2048
_BLOCK_SAMPLES = 64
_EVEN = 16_384  # samples, up to which batches are 32 of nearly one length
_BATCHES = 32
MOST_OMITTED = 10_000_000  # activations; more is no task that was late, but one that was not there


class Times(NamedTuple):
    """When samples ended, in ticks since the first activation was due, or the measurement began.

    ``hidden``: how many activations each late sample hid.  ``period``: ticks between activations;
    None if the samples are of no periodic task, and ``hidden`` empty.
    """

    at: Ticks
    hidden: Ticks
    period: int | None = None


def recorded(
    blank: Result, values: Ticks, times: Times | None = None, limit_ns: int | None = None
) -> Result:
    """Return the result of samples in the order in which they were taken.

    ``blank``: what the result has otherwise.  ``values``: from 0, below LARGEST; not empty.
    ``limit_ns``: what is later is a miss.
    """
    buckets = _buckets(values)
    omitted, missed = None, None
    late = np.zeros(len(values), bool) if limit_ns is None else values > limit_ns * (HZ // NS_PER_S)
    hidden = np.zeros(len(values), np.int64)
    if times and times.period:
        hidden = times.hidden
        behind = (values >= times.period) & (hidden == 0)
        missed = int(hidden.sum()) + int(behind.sum())
        omitted = _omitted(values, hidden, times.period)
        late |= behind
    raw = wire.Result(
        id=1, series=blank.series, hz=HZ, n=len(values), sum=_sum(values), bits=BITS,
        min=int(values.min()), max=int(values.max()), hist=_counts(buckets),
        worst=_worst(values, times.at) if times else [], trace=times and _trace(values, times.at),
        blocks=_blocks(values), batches=_batches(values, buckets),
        missed=missed, omitted=omitted, ended="samples",
        misses=None if missed is None and limit_ns is None else _misses(late, hidden, limit_ns),
    )  # fmt: skip
    return series_result(blank, raw, Scale(None, 0), {})


def _sum(values: Ticks) -> int:
    """Return the exact sum, which may be beyond 64 bits."""
    return int((values >> 32).sum()) * (1 << 32) + int((values & 0xFFFFFFFF).sum())


def _buckets(values: Ticks) -> Ticks:
    """Return the bucket of each value, as ``histogram.index_of`` does of one."""
    length = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    length -= (values >> np.maximum(length - 1, 0)) == 0  # rounded up to the next power of two
    shift = np.maximum(length - 1 - BITS, 0)
    return (shift << BITS) + (values >> shift)


def _counts(buckets: Ticks) -> list[tuple[int, int]]:
    index, counts = np.unique(buckets, return_counts=True)
    return list(zip(index.tolist(), counts.tolist(), strict=True))


def _worst(values: Ticks, at: Ticks) -> list[tuple[int, int, int]]:
    largest = np.argsort(-values, kind="stable")[:_WORST]
    return [(int(values[i]), int(i), int(at[i])) for i in largest]


def _trace(values: Ticks, at: Ticks) -> wire.Trace:
    """Return minimum, sum and maximum in windows of a second, or as many as keep them few."""
    width = HZ
    while int(at.max()) // width >= _WINDOWS:
        width *= 2
    windows = at // width
    order = np.argsort(windows, kind="stable")
    numbers, begins, counts = np.unique(windows[order], return_index=True, return_counts=True)
    own = values[order]
    low, high = np.minimum.reduceat(own, begins), np.maximum.reduceat(own, begins)
    ends = [*begins[1:].tolist(), len(own)]
    sums = [_sum(own[begin:end]) for begin, end in zip(begins.tolist(), ends, strict=True)]
    rows = zip(numbers.tolist(), counts.tolist(), low.tolist(), sums, high.tolist(), strict=True)
    return wire.Trace(ticks=width, rows=list(rows))


def _blocks(values: Ticks) -> wire.Blocks:
    """Return the maxima of complete blocks."""
    samples = _BLOCK_SAMPLES
    while len(values) // samples > _BLOCKS:
        samples *= 2
    whole = values[: len(values) // samples * samples]
    return wire.Blocks(samples=samples, max=whole.reshape(-1, samples).max(axis=1).tolist())


def _batches(values: Ticks, buckets: Ticks) -> wire.Batches:
    """Return batches of about equal length, and in each how many samples are above each line.

    A line is as close to its percentile as the buckets allow.
    """
    index, counts = np.unique(buckets, return_counts=True)
    n, upto = len(values), np.cumsum(counts)
    lines = []  # the first bucket above each
    for q in (PERCENTILES[name] for name in LINES):
        if not is_supported(q, n):
            break
        wanted = n * q
        place = int(np.searchsorted(upto * WHOLE, wanted))  # the bucket that holds the percentile
        below = int(upto[place - 1]) if place else 0
        nearer = int(upto[place]) * WHOLE - wanted < wanted - below * WHOLE
        lines.append(int(index[place]) + nearer)
    if n <= _EVEN:
        parts = min(_BATCHES, n)
        cuts = [i * n // parts for i in range(1, parts)]
    else:
        length = 512
        while n > length * _BATCHES:
            length *= 2
        cuts = list(range(length, n, length))
    rows = [
        [len(own), _sum(own), *(int((buckets_ >= line).sum()) for line in lines)]
        for own, buckets_ in zip(np.split(values, cuts), np.split(buckets, cuts), strict=True)
    ]
    return wire.Batches(lines=lines, rows=rows)


def _misses(late: NDArray[np.bool_], hidden: Ticks, limit_ns: int | None) -> wire.Misses:
    """Return how misses lie among activations: samples that are late, and what each one hid."""
    before = np.cumsum(hidden) - hidden
    number = np.arange(len(late)) + before  # of each sample's activation
    within = np.arange(int(hidden.sum())) - np.repeat(before, hidden)  # what the same sample hid
    at = np.sort(np.concatenate([number[late], np.repeat(number + 1, hidden) + within]))
    ends = np.flatnonzero(np.diff(at) > 1) + 1
    lengths = np.diff([0, *ends.tolist(), len(at)])  # of misses that succeed each other
    return wire.Misses(
        n=len(at), late=int(late.sum()), squares=int((lengths**2).sum()), room=_ROOM,
        windows=[
            int((at[k - 1 :] - at[: len(at) - k + 1]).min()) + 1
            for k in range(1, min(_ROOM, len(at)) + 1)
        ],
        limit_ns=limit_ns,
    )  # fmt: skip


def _omitted(values: Ticks, hidden: Ticks, period: int) -> wire.Omitted | None:
    """Return the lateness of hidden activations: each a period less than the one before it."""
    late = np.flatnonzero(hidden)
    if not len(late):
        return None
    times = hidden[late]
    first = np.repeat(np.cumsum(times) - times, times)
    steps = np.arange(int(times.sum())) - first + 1
    lateness = np.maximum(np.repeat(values[late], times) - steps * period, 0)
    return wire.Omitted(
        n=len(lateness), sum=_sum(lateness), min=int(lateness.min()), max=int(lateness.max()),
        hist=_counts(_buckets(lateness)),
    )  # fmt: skip


def evidence(times: Times | None) -> dict[str, Any]:
    """Return how long the measurement took, in ns, if that is known."""
    span = int(times.at.max()) if times else 0
    return {"section_ns": round(span * 1e9 / HZ)} if span else {}
