"""The numbers that a figure draws, from run documents; nothing here draws.

Counts are exact: a column holds whole buckets of the recorder, never part of one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import floor, isinf, log10
from typing import NamedTuple

from rtstone.documents.breakdown import Breakdown, breakdown
from rtstone.documents.case_name import CaseName
from rtstone.documents.run import HARTSTONE, Result
from rtstone.errors import Inconclusive, UsageError
from rtstone.results.edges import Bucket, edged
from rtstone.results.omitted import whole
from rtstone.summary import ENOUGH, SINGLE, WHOLE
from rtstone.units import counted

COLUMNS = 60  # of a millimetre each in a paper's column
FINEST = 60  # columns of a decade: of fewer than 5 buckets one more or less would show


class Steps(NamedTuple):
    """Values, and the edges between which they hold, of which there is one more."""

    values: list[float]
    edges: list[float]


class Columns(NamedTuple):
    """A histogram: the samples of each column, and how many of them were observed.

    The others are computed: activations that were omitted.
    """

    values: list[float]
    edges: list[float]
    observed: list[float]


def check_distributions(results: Sequence[Result]) -> None:
    """Raise UsageError if a result has statistics only, as some tools write no more."""
    for result in results:
        if not whole(result).histogram:
            raise UsageError(
                f"statistics only, of {result.bench} {result.series}".rstrip()
                + ": it has no distribution to draw; have the tool write its "
                "histogram, if it can, or read both side by side in `rtstone compare`"
            )


def lowest(results: Sequence[Result]) -> float:
    """Return the lowest positive edge of all buckets: what lies below is drawn beside it."""
    return min((edge for edge in _edges(results) if edge > 0), default=1.0)


def grid(results: Sequence[Result]) -> float:
    """Return the columns of a decade, so that about COLUMNS of them hold all samples."""
    positive = [edge for edge in _edges(results) if edge > 0]
    decades = log10(max(positive) / min(positive)) if positive else 0.0
    return min(COLUMNS / decades, FINEST) if decades else FINEST


def _edges(results: Sequence[Result]) -> Iterator[float]:
    for result in results:
        for bucket in _buckets(result):
            yield from bucket[:2]


def _buckets(result: Result, samples: Result | None = None) -> list[Bucket]:
    """Return the buckets with omitted activations counted in; without edges, the bare values.

    What lies beyond them has no place; ``beyond`` counts it.  ``samples``: those of the observed
    samples alone, if it is the result.
    """
    distribution = samples or whole(result)
    buckets = edged(result, distribution)
    if buckets is None:
        buckets = [Bucket(value, value, count) for value, count in distribution.histogram]
    return [bucket for bucket in buckets if not isinf(bucket.high)]


def beyond(result: Result) -> int:
    """Return how many samples lie beyond the histogram."""
    distribution = whole(result)
    return distribution.n - sum(count for _, count in distribution.histogram)


def histogram(result: Result, least: float, per_decade: float) -> Columns:
    """Return the samples in columns, as wide on a logarithmic axis as their buckets allow.

    A column ends at the line of the grid, or at the end of a bucket that lies across it.  What is
    below ``least``, the lowest edge that can be drawn, is in a column of its own.
    """
    values: list[float] = []
    edges: list[float] = []
    observed: list[float] = []
    seen = {bucket.low: bucket.n for bucket in _buckets(result, result)}
    last = None

    def line(place: int) -> float:
        return float(10 ** (place / per_decade))

    for low, high, n in _buckets(result):
        place = floor(log10(max(low, least)) * per_decade + 1e-9) - (low < least)
        right = max(line(place + 1), high)
        if place == last:
            values[-1] += n
            observed[-1] += min(seen.get(low, 0), n)
            edges[-1] = max(edges[-1], right)
            continue
        left = max(line(place), edges[-1]) if edges else line(place)
        if edges and edges[-1] < left:
            values.append(0)
            observed.append(0)
            edges.append(left)
        values.append(n)
        observed.append(min(seen.get(low, 0), n))
        edges += [right] if edges else [left, right]
        last = place
    return Columns(values, edges, observed)


def percentiles(distribution: Result, least: float) -> Steps:
    """Return values over 1/(1 - q), for every q that n supports; q rises with each bucket.

    ``distribution``: a result, or ``whole`` of it.  Of samples that are means of several operations
    those up to SINGLE.  Raises Inconclusive if n supports none.
    """
    most = distribution.n / ENOUGH
    if distribution.batch > 1:
        most = min(most, WHOLE / (WHOLE - SINGLE))
    if most <= 1:
        samples = counted(distribution.n, "sample")
        raise Inconclusive(
            f"{samples} of {distribution.bench}, too few for a percentile; measure longer"
        )
    edges, values = [1.0], []
    for (value, _), upto in zip(
        distribution.histogram, accumulate(c for _, c in distribution.histogram), strict=True
    ):
        values.append(max(value, least))
        edges.append(
            min(distribution.n / (distribution.n - upto), most) if upto < distribution.n else most
        )
        if edges[-1] >= most:
            break
    return Steps(values, edges)


class Windows(NamedTuple):
    """Extremes over time: windows of ``width`` s, and in each of them min, mean, max."""

    width: float
    starts: list[float]
    low: list[float]
    mean: list[float]
    high: list[float]


def timeline(result: Result) -> Windows:
    """Return the trace of a result.  Raises UsageError if it has none."""
    trace = result.trace
    if trace is None or not trace.rows:
        raise UsageError(
            f"no trace of {result.bench}, for a figure of kind timeline; rtstone's own runs have it"
        )
    starts, _, low, mean, high = (list(column) for column in zip(*trace.rows, strict=True))
    return Windows(trace.width_s, starts, low, mean, high)


class Reached(NamedTuple):
    """A Hartstone experiment, and how far it came; None if it is not known."""

    label: str
    at: Breakdown | None


def breakdowns(results: Sequence[tuple[Result, CaseName]]) -> list[Reached]:
    """Return how far each experiment came, in the order of the run."""
    return [
        Reached(
            str(name).removeprefix(HARTSTONE), breakdown(result) if result.status == "ok" else None
        )
        for result, name in results
    ]
