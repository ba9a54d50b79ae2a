"""Compute the result of one series: percentiles, intervals, histogram, flags."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import repeat
from typing import Any

from msgspec import structs

from rtstone.documents.run import (
    SINGLE_CALLS,
    Batches,
    Blocks,
    Distribution,
    Grid,
    Misses,
    Result,
    Trace,
    Worst,
)
from rtstone.results.flags import LASTING, Seen, flags
from rtstone.results.histogram import Histogram, spread
from rtstone.results.interval import STATISTICS, confidence_interval, lasting
from rtstone.results.pool import percentiles
from rtstone.results.ticks import Net, Scale
from rtstone.summary import EXTREME, LINES, MEDIAN
from rtstone.wire import records as wire


def series_result(
    blank: Result, raw: wire.Result, scale: Scale, conditions: dict[str, Any]
) -> Result:
    """Return the result of a series: ``blank``, which its case has in common, with its statistics.

    ``conditions`` of the run, which some flags depend on.
    """
    net = scale.net(raw.hz, raw.overhead, raw.batch)
    histogram = _histogram(raw)
    measured = _distribution(histogram, net)
    source, granule = (scale.clock.source, scale.clock.granule) if scale.clock else ("", 1)
    median = _percentiles(histogram)[MEDIAN]
    seen = Seen(
        raw,
        blank.evidence,
        conditions,
        source,
        raw.granule or granule,
        median,
        blank.params,
        blank.load_rates,
    )
    members = {name: getattr(measured, name) for name in Distribution.__struct_fields__}
    result = structs.replace(
        blank,
        **members,
        series=raw.series,
        warmup=raw.warmup,
        batch=raw.batch,
        raw_min=_raw(raw.min, net),
        raw_max=_raw(raw.max, net),
        grid=Grid(bits=raw.bits, per_tick=net.per_tick, overhead=net.overhead),
        batches=raw.batches
        and Batches(
            n=[row[0] for row in raw.batches.rows],
            mean=[net.mean(row[1], row[0]) for row in raw.batches.rows],
            above={
                name: [row[place] for row in raw.batches.rows]
                for place, name in enumerate(LINES[: len(raw.batches.lines)], 2)
            },
        ),
        negative=raw.negative,
        overflow=raw.overflow,
        missed=raw.missed,
        misses=raw.misses
        and Misses(
            limit=scale.latency(raw.misses.limit_ns),
            n=raw.misses.n,
            late=raw.misses.late,
            squares=raw.misses.squares,
            room=raw.misses.room,
            windows=raw.misses.windows,
        ),
        figures={name: scale.figure(value, unit) for name, value, unit in raw.figures},
        tables=raw.tables,
        ended=raw.ended,
        flags=flags(seen),
    )
    ci95 = {name: confidence_interval(name, measured, [result], 0.95) for name in STATISTICS}
    measured_names = [name for name in STATISTICS if getattr(measured, name) is not None]
    names = [LASTING] if any(lasting(name, [result]) for name in measured_names) else []
    singly = {} if raw.batch > 1 else _singly(raw, net)
    return structs.replace(result, ci95=ci95, flags=[*result.flags, *names], **singly)


def with_single(results: Sequence[Result]) -> list[Result]:
    """Return the results of a case: its single operations as the member of those in batches."""
    batched = next((result for result in results if result.batch > 1), None)
    single = next((result for result in results if result.series == SINGLE_CALLS), None)
    if batched is None or single is None:
        return list(results)
    alone = structs.replace(single, evidence={}, load_rates=[])
    return [
        structs.replace(result, single=alone) if result is batched else result
        for result in results
        if result is not single
    ]


def _histogram(raw: wire.Result) -> Histogram:
    return Histogram(raw.n, raw.sum, raw.min, raw.max, raw.bits, raw.hist, raw.overflow)


def _percentiles(histogram: Histogram) -> dict[str, float | None]:
    """Return percentiles in ticks."""
    return percentiles(histogram.points(), histogram.n, histogram.overflow)


def _distribution(histogram: Histogram, net: Net) -> Distribution:
    statistics = {name: net.value(ticks) for name, ticks in _percentiles(histogram).items()}
    if net.batch > 1:  # the extremes of means are not those of operations
        statistics |= dict.fromkeys(EXTREME)
    sd = spread(histogram)
    counts: dict[float, int] = defaultdict(int)
    for value, count in histogram.points():
        counts[net.exactly(value)] += count
    return Distribution(
        n=histogram.n,
        min=net.value(histogram.min),
        mean=net.mean(histogram.sum, histogram.n) if histogram.n else None,
        sd=None if sd is None else round(sd * net.per_tick / net.batch, 4),
        max=net.value(histogram.max) if net.batch == 1 else None,
        histogram=list(counts.items()),
        **statistics,
    )


def _raw(ticks: int | None, net: Net) -> float | None:
    """Return the raw value of the clock: overhead and batch included."""
    return None if ticks is None else round(net.gross(ticks), 4)


def _singly(raw: wire.Result, net: Net) -> dict[str, Any]:
    """Return the members that make sense only where a sample is a single operation."""
    per_tick_s = 1 / raw.hz
    trace, blocks, omitted = raw.trace, raw.blocks, raw.omitted
    return {
        "worst": [
            Worst(value=net.exactly(value), index=index, at_s=round(at * per_tick_s, 9),
                  steal_ns=steal)
            for (value, index, at), steal in zip(
                raw.worst, raw.worst_steal or repeat(None, len(raw.worst)), strict=True
            )
        ],
        "trace": trace and Trace(
            width_s=round(trace.ticks * per_tick_s, 9),
            rows=[
                (round(window * trace.ticks * per_tick_s, 9), n,
                 net.exactly(low), net.mean(total, n), net.exactly(high))
                for window, n, low, total, high in trace.rows if n
            ],
        ),
        "blocks": blocks and Blocks(
            samples=blocks.samples, max=[net.exactly(value) for value in blocks.max]
        ),
        "corrected": omitted and _distribution(
            _histogram(raw).plus(
                Histogram(omitted.n, omitted.sum, omitted.min, omitted.max, raw.bits,
                          omitted.hist, omitted.overflow)
            ), net,
        ),
    }  # fmt: skip
