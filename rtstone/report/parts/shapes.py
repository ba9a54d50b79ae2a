"""The shapes of distributions: the data of charts, and the small pictures in tables.

This data is only drawn: numbers have four significant digits, rows are flattened.  Figures shown as
text never come from here.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from rtstone.documents.comparison import Cell
from rtstone.documents.run import Blocks, Distribution, Result, Trace
from rtstone.report.parts import hartstone
from rtstone.report.parts.typeset import NARROW, split
from rtstone.summary import COLUMNS

# Limits that keep a page small; extremes survive any thinning.
HISTOGRAM_COLUMNS = 160  # of a histogram
CURVE_STEPS = 20  # points of a percentile curve per decade
TRACE_ROWS = 5000  # of all traces of a page together
TRACE_LEAST, TRACE_MOST = 50, 400  # of one trace
HEAT_LEAST = 100  # least number of block maxima for a map
HEAT_COLUMNS, HEAT_ROWS = 48, 20  # largest size of a map
HEAT_SHARE = 8  # least number of blocks per column of a map
SPARK_HEIGHT, SPARK_BINS = 26, 66
_EDGE, _STEP = 4, 3  # of a small picture: margin at each side, width of a column
SPARK_WIDTH = SPARK_BINS * _STEP + 2 * _EDGE
FINEST = math.log10(1 + 1 / 64)  # width of a column, in decades: twice the recorder's own
WIDEST_DECADES = 9.0
_DECADE = 10  # an axis over time is logarithmic for values further apart


def short(value: float) -> float | int:
    """Return four significant digits: more than a screen can show, and half the bytes."""
    number = float(f"{value:.4g}")
    return int(number) if number == int(number) else number


def far_apart(values: Sequence[float]) -> bool:
    """Return whether values are positive, and lie so far apart that their axis is logarithmic."""
    return bool(values) and 0 < _DECADE * min(values) < max(values)


# ---------------------------------------------------------------------------- ranges


def range_row(distribution: Result | Cell, **facts: Any) -> dict[str, Any] | None:
    """Return a row of a chart of ranges with marks and tooltip, None without marks."""
    marks = [getattr(distribution, member) for member in COLUMNS]
    if not distribution.n or all(value is None for value in marks):
        return None
    at = [None if value is None else short(value) for value in marks]
    return {"n": distribution.n, **facts, "at": at}


def range_chart(unit: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a chart of ranges: minimum to maximum of each row, all in one unit."""
    floor = floor_of(value for row in rows for value in row["at"] if value is not None)
    marks = list(COLUMNS.values())
    return {"kind": "ranges", "unit": unit, "floor": floor, "marks": marks, "rows": rows}


# ---------------------------------------------------------------------------- distributions


def floor_of(values: Iterable[float]) -> float:
    """Return the lower end of a logarithmic axis, where values at or below zero are drawn."""
    numbers = list(values)
    positive = [v for v in numbers if v > 0]
    if not positive:
        return 0.1
    least = min(positive) / 2
    if len(positive) < len(numbers):
        least = min(least, 0.5)
    return max(least, max(positive) / 10**WIDEST_DECADES)


def exponent(value: float, floor: float) -> float:
    """Return the logarithm of a value, at least that of ``floor``."""
    return math.log10(max(value, floor))


def samples(distribution: Result | Distribution) -> list[tuple[float, int]]:
    """Return the histogram in ascending order, with the maximum, if it lies beyond, as one sample.

    Of others beyond the histogram no place is known; ``undrawn`` counts them.
    """
    pairs = sorted((v, c) for v, c in distribution.histogram if c > 0)
    rest = distribution.n - sum(c for _, c in pairs)
    top, overflow = distribution.max, 0
    if isinstance(distribution, Result):
        r, overflow = distribution, distribution.overflow
        if r.max is None:  # of a batched result: a mean, no maximum
            if r.raw_max is None or r.raw_min is None or r.min is None:
                top = max((v for v, _ in r.histogram), default=None)
            else:
                top = r.min + (r.raw_max - r.raw_min) / r.batch
    if rest > 0 and top is not None and (pairs or overflow):
        pairs.append((top, 1))
    return pairs


def undrawn(distribution: Result | Distribution) -> int:
    """Return how many samples have no place in a picture: those beyond the histogram but one."""
    return distribution.n - sum(n for _, n in samples(distribution))


def correction(result: Result) -> Distribution | None:
    """Return the corrected distribution if activations were omitted, else None."""
    corrected = result.corrected
    return corrected if corrected and corrected.n != result.n and corrected.histogram else None


def columns(
    pairs: list[tuple[float, int]], start: float, width: float, floor: float
) -> list[tuple[int, int]]:
    """Return (index, count) for the columns of a logarithmic grid."""
    counts: dict[int, int] = defaultdict(int)
    for value, n in pairs:
        counts[math.floor((exponent(value, floor) - start) / width + 1e-9)] += n
    return sorted(counts.items())


def flat(rows: Iterable[Iterable[Any]]) -> list[Any]:
    """Return rows concatenated, to save brackets."""
    return [item for row in rows for item in row]


def curve(pairs: list[tuple[float, int]], total: int) -> list[float | None]:
    """Return percentiles of that many samples from the minimum to the maximum, None if unknown.

    At entry i, one sample in 10 ** (i / CURVE_STEPS) is larger; the last entry is the maximum.
    Samples without a place, beyond the histogram, lie just below the maximum.
    """
    drawn = sum(c for _, c in pairs)
    ranked = total if drawn == total else drawn - pairs[-1][1]
    steps = [i / CURVE_STEPS for i in range(math.ceil(math.log10(total) * CURVE_STEPS))]
    values: list[float | None] = []
    running, at = 0, iter(pairs)
    value = pairs[0][0]
    for step in steps:
        below = total * (1 - 10**-step)
        while running <= below and (following := next(at, None)):  # rounding may miss the end
            value, n = following
            running += n
        values.append(short(value) if below < ranked else None)
    return [*values, short(pairs[-1][0])]


def thin(trace: Trace, most: int) -> list[list[float]]:
    """Return at most ``most`` rows (window, min, mean, max), merged so that all samples count."""
    each = math.ceil(len(trace.rows) / most)
    merged = []
    for i in range(0, len(trace.rows), each):
        part = trace.rows[i : i + each]
        n = sum(r[1] for r in part)
        mean = sum(r[1] * r[3] for r in part) / n if n else part[0][3]
        values = min(r[2] for r in part), mean, max(r[4] for r in part)
        merged.append([round(part[0][0] / trace.width_s), *(short(v) for v in values)])
    return merged


def trace_budget(results: Iterable[Result]) -> int:
    """Return how many rows each trace may have so that all together have TRACE_ROWS at most."""
    lengths = [len(r.trace.rows) for r in results if r.trace]
    rows = TRACE_MOST
    while rows > TRACE_LEAST and sum(min(n, rows) for n in lengths) > TRACE_ROWS:
        rows //= 2
    return rows


@dataclass(frozen=True)
class Axis:
    """The logarithmic axis shared by the small pictures of a family."""

    low: float
    high: float
    floor: float
    unit: str

    def x(self, value: float) -> float:
        """Return the coordinate of a value in the small picture."""
        share = (exponent(value, self.floor) - self.low) / (self.high - self.low)
        return round(_EDGE + share * SPARK_BINS * _STEP, 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Position and text of whole decades."""
        decades = list(range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1))
        every = max(1, math.ceil((self.high - self.low) * 0.34))
        return [
            (round(self.x(10.0**d) / SPARK_WIDTH * 100, 1), tick_text(10.0**d, self.unit))
            for d in decades[::every]
        ]


def tick_text(value: float, unit: str) -> str:
    """Return a power of ten with its unit: ``10 µs``."""
    digits, name = split(value, unit)
    return f"{float(digits):g}{NARROW}{name.removesuffix('instr').strip()}".strip()


def axis_of(results: Iterable[Result], unit: str) -> Axis | None:
    """Return the axis for all distributions of one unit."""
    return axis_over([v for r in results if r.unit == unit for v, c in samples(r) if c], unit)


def axis_over(values: Sequence[float], unit: str) -> Axis | None:
    """Return the axis on which all of these values have room, None if there are none."""
    if not values:
        return None
    floor = floor_of(values)
    low, high = (exponent(v, floor) for v in (min(values), max(values)))
    short_by = max(0.0, 1.0 - (high - low)) / 2
    return Axis(low - short_by - 0.02, high + short_by + 0.02, floor, unit)


def spark_path(distribution: Result | Distribution, axis: Axis) -> str:
    """Return the outline of a distribution, counts logarithmic, as an SVG path."""
    pairs = samples(distribution)
    if not pairs:
        return ""
    width = (axis.high - axis.low) / SPARK_BINS
    bins = columns(pairs, axis.low, width, axis.floor)
    most = math.log1p(max(c for _, c in bins))
    ground = SPARK_HEIGHT - 1
    path, last = "", None
    for i, n in bins:
        if i - 1 != last:
            path += f"{'' if last is None else f'V{ground}z'}M{_EDGE + i * _STEP} {ground}"
        height = max(1, round((SPARK_HEIGHT - 3) * math.log1p(n) / most))
        path += f"V{ground - height}h{_STEP}"
        last = i
    return f"{path}V{ground}z"


def charts(r: Result, trace_rows: int) -> dict[str, dict[str, Any]]:
    """Return chart data of one result, by kind."""
    pairs = samples(r)
    drawn: dict[str, dict[str, Any]] = {}
    if pairs:
        both = [("observed", pairs)]
        if corrected := correction(r):
            both.insert(0, ("corrected", samples(corrected)))
        floor = floor_of(v for _, p in both for v, _ in p)
        drawn["histogram"] = gridded(both, floor) | {"marks": marks_of(r)}
        if r.n > 1:
            totals = [r.corrected.n] * (len(both) - 1) if r.corrected else []
            drawn["percentiles"] = percentiles(both, floor, [*totals, r.n])
    if r.trace and len(r.trace.rows) > 1:
        rows = thin(r.trace, trace_rows)
        floor = floor_of(v for row in rows for v in row[1:])
        width = r.trace.width_s
        drawn["trace"] = {"width": width, "floor": short(floor), "rows": flat(rows)}
        drawn["trace"]["worst"] = flat((short(w.at_s), short(w.value)) for w in r.worst)
    if r.blocks and len(r.blocks.max) >= HEAT_LEAST:
        drawn["heat"] = _heat(r.blocks)
    drawn |= hartstone.curves(r)
    return {kind: {"kind": kind, "unit": r.unit, **chart} for kind, chart in drawn.items()}


_Named = list[tuple[str, list[tuple[float, int]]]]


def gridded(named: _Named, floor: float, most: int = HISTOGRAM_COLUMNS) -> dict[str, Any]:
    """Return a logarithmic grid of at most that many columns, and distributions counted in it."""
    values = [v for _, pairs in named for v, _ in pairs]
    start = exponent(min(values), floor)
    width = max((exponent(max(values), floor) - start) / most, FINEST)
    start -= width / 2
    return {
        "grid": {"start": round(start, 5), "width": round(width, 6), "floor": short(floor)},
        "series": [[name, flat(columns(pairs, start, width, floor))] for name, pairs in named],
    }


def marks_of(distribution: Result | Distribution) -> list[list[Any]]:
    """Return name and value of the statistics that are marked in a distribution."""
    names = {member: name for member, name in COLUMNS.items() if member != "min"}
    values = ((name, getattr(distribution, member)) for member, name in names.items())
    return [[name, short(value)] for name, value in values if value is not None]


def _heat(blocks: Blocks) -> dict[str, Any]:
    """Return the map of block maxima: counts by stretch of samples and range of values.

    Samples themselves cannot be mapped, as documents have no distributions over time.
    """
    each = max(HEAT_SHARE, math.ceil(len(blocks.max) / HEAT_COLUMNS))
    floor = floor_of(blocks.max)
    start = exponent(min(blocks.max), floor)
    width = max((exponent(max(blocks.max), floor) - start) / HEAT_ROWS, FINEST)
    start -= width / 2
    cells = [
        (column, row, n)
        for column, at in enumerate(range(0, len(blocks.max), each))
        for row, n in columns([(v, 1) for v in blocks.max[at : at + each]], start, width, floor)
    ]
    return {
        "grid": {"start": round(start, 5), "width": round(width, 6), "floor": short(floor)},
        "block": blocks.samples,
        "each": each,
        "blocks": len(blocks.max),
        "cells": flat(cells),
    }


def percentiles(named: _Named, floor: float, totals: Sequence[int]) -> dict[str, Any]:
    """Return the percentile curves of distributions; ``totals``: the samples of each."""
    return {
        "floor": short(floor),
        "steps": CURVE_STEPS,
        "series": [
            [name, total, curve(pairs, total)]
            for (name, pairs), total in zip(named, totals, strict=True)
        ],
    }
