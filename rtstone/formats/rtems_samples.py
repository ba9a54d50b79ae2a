"""Check a measurement of RTEMS' test framework, and turn it into a result."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate, pairwise

import msgspec

from rtstone.documents.run import Figure, Result, Value
from rtstone.formats.reading import Series, result
from rtstone.formats.source import Source
from rtstone.wire.records import Bench, Param

BENCH = Bench(
    "rtems.measure", "Run time of a function as RTEMS' test framework measures it",
    "RTEMS T_measure_runtime", "Time of one call, by the CPU counter, overhead included.",
    params=[
        Param("name", "text", help="What the test calls it."),
        Param("variant", "text", help="State of the caches, or how many processors have a load."),
    ],
)  # fmt: skip
_RANKS = {"MI": 0, "P1": 1, "Q1": 25, "Q2": 50, "Q3": 75, "P99": 99, "MX": 100}  # in %
_FIGURES = {"P1": "1 %", "Q1": "25 %", "Q2": "50 %", "Q3": "75 %", "P99": "99 %"}
STATISTICS = (*_RANKS, "MAD")
_CLOSE_NS = 2  # a deviation is rounded, and so are its times
_BINS = (
    "{}: samples as RTEMS prints them since November 2021; before, its bins were shifted, which "
    "the other numbers do not rule out"
)

Points = list[tuple[int, int]]  # (ns, count), in order


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What is printed of a measurement: times in ns by key; samples as (count, ns), if any."""

    line: int
    name: str
    variant: str
    n: int
    times: dict[str, int]
    samples: list[tuple[int, int]]
    length_ns: int


def measured(source: Source, own: Measurement) -> tuple[Result, str | None]:
    """Return the result, and a note if the samples allow two readings.  Raises UsageError."""
    times, n, line, total = own.times, own.n, own.line, own.times["D"]
    ranked = [times[key] for key in _RANKS if key in times]
    if not n or any(a > b for a, b in pairwise(ranked)):
        source.refuse(f"{own.name[:40]}: no samples, or M:MI to M:MX do not rise", line)
    if not _is_sum(total, n * ranked[0], n * ranked[-1], n):
        source.refuse(f"{own.name[:40]}: the sum {total} ns is not that of {n} samples", line)
    readings = [points for points in _readings(own) if _fits(own, points)]
    if own.samples and not readings:
        source.refuse(f"{own.name[:40]}: the samples contradict M:N, M:MI to M:MX or M:D", line)
    points = readings[0] if readings else []
    figures = {"median absolute deviation": Figure(value=times["MAD"], unit="ns")}
    if not points:
        quantiles = {name: times[key] for key, name in _FIGURES.items() if key in times}
        figures |= {name: Figure(value=ns, unit="ns") for name, ns in quantiles.items()}
    # The extremes are rounded, the sum is not.
    mean = None if points else max(ranked[0], min(round(total / n, 4), ranked[-1]))
    evidence: dict[str, Value] = {"section_ns": own.length_ns} if own.length_ns >= total else {}
    series = Series(name="", n=n, counts=dict(points), unit_ns=1, min=ranked[0], max=ranked[-1],
                    mean=mean, line=line)  # fmt: skip
    params: dict[str, Value] = {"name": own.name, "variant": own.variant}
    whole = result(source, BENCH.id, series, params=params, evidence=evidence, figures=figures)
    return whole, _BINS.format(own.name) if len(readings) > 1 else None


def _is_sum(total: int, least: int, most: int, n: int) -> bool:
    """Return whether a sum fits those of times that were rounded, by less than 1 ns each."""
    return least - n - 1 <= total <= most + n + 1


def _readings(own: Measurement) -> list[Points]:
    """Return what the samples may mean: since RTEMS' fix of November 2021, and before it.

    Before, a bin was printed with the value of the next sample, which it included; what remained
    at the end of the last value followed.
    """
    samples = own.samples
    again = len(samples) > 1 and samples[-2][1] == samples[-1][1]
    rest = samples[-1][0] if again else 0
    shifted = samples[:-1] if rest else samples
    counts = [count for count, _ in shifted[1:]] + [1 + rest]
    now = [(ns, count) for count, ns in samples]
    before = [(ns, count) for (_, ns), count in zip(shifted, counts, strict=False)]
    shiftable = samples and samples[0][0] == 1 and before != now
    return [
        points for points in ([now, before] if shiftable else [now])
        if points and all(a < b for (a, _), (b, _) in pairwise(points))
    ]  # fmt: skip


def _fits(own: Measurement, points: Points) -> bool:
    """Return whether the samples have the count, the quantiles and the sum that are printed."""
    n, times = own.n, own.times
    if sum(count for _, count in points) != n or any(not count for _, count in points):
        return False
    at = {key: min(share * n // 100, n - 1) for key, share in _RANKS.items() if key in times}
    if any(_ranked(points, rank) != times[key] for key, rank in at.items()):
        return False
    median = times["Q2"]
    apart = sorted((abs(ns - median), count) for ns, count in points)
    if abs(_ranked(apart, n // 2) - times["MAD"]) > _CLOSE_NS:
        return False
    total = sum(ns * count for ns, count in points)
    return _is_sum(times["D"], total, total, n)


def _ranked(points: Points, rank: int) -> int:
    """Return the sample of a rank from 0."""
    upto = list(accumulate(count for _, count in points))
    return points[bisect_right(upto, rank)][0]
