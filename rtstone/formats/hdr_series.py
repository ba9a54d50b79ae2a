"""Add the intervals of a tag of an HdrHistogram log, and turn them into a result."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import msgspec

from rtstone.documents.run import Result, Value
from rtstone.formats.hdr_decode import Histogram
from rtstone.formats.reading import Series, result
from rtstone.formats.source import HIGHEST, Source
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench

BENCH = Bench(
    "hdrhistogram", "Values of an HdrHistogram log", "HdrHistogram",
    "Whoever recorded them says what they are; a series is of a tag.",
)  # fmt: skip
SCALES = frozenset({1, 10**3, 10**6, 10**9})  # what a log may divide maxima by, without saying so

_APART_S = 0.002  # times are rounded to ms
_TINY = 1e-12  # of a value; the libraries calculate with doubles


class Tag(msgspec.Struct):
    """The intervals of a tag, added.

    ``counts``: by the lowest value of a bucket.  ``spans``: (begin, length) of each interval in s.
    ``twice``: twice the sum of the buckets' middles.  ``widest``: of the buckets.  ``high``: the
    upper edge of the highest.  ``printed``: the largest maximum, where maxima are not divided.
    """

    counts: Counter[int] = msgspec.field(default_factory=Counter)
    spans: list[tuple[float, float]] = []
    twice: int = 0
    widest: int = 1
    high: int = 0
    printed: int = 0

    def add(self, own: Histogram, begin_s: float, length_s: float, most: float) -> None:
        """Add an interval with this printed maximum."""
        for low, width, count in own.buckets:
            self.counts[low] += count
            self.twice += count * (2 * low + width - 1)
            self.widest = max(self.widest, width)
        self.spans.append((begin_s, length_s))
        self.high = max(self.high, own.high)
        # Beyond 2**53 a double lies beside the value that it was, and perhaps beside its bucket.
        self.printed = max(self.printed, min(max(int(most), own.low), own.high))


def scales(printed: str, own: Histogram) -> set[int]:
    """Return the divisors by which a printed maximum is in the highest bucket of its histogram.

    It is rounded, or by Python's library, which prints six digits, floored.
    """
    value, digits = float(printed), len(printed.partition(".")[2])
    below = 0.5 * 10**-digits
    above = 1.0 if digits == 6 and value.is_integer() else below
    low, high = own.low * (1 - _TINY), own.high * (1 + _TINY)
    return {s for s in SCALES if (value - below) * s <= high and (value + above) * s >= low}


def tag_result(source: Source, name: str, tag: Tag, unit_ns: int, exact: bool) -> Result:
    """Return the result of a tag.

    ``exact``: maxima are printed in the unit of the values; else the largest value is the upper
    edge of its bucket, as in the libraries.  The mean is that of the middles.  Raises UsageError.
    """
    n, high = tag.counts.total(), tag.printed if exact else tag.high
    if n >= HIGHEST or high * unit_ns >= HIGHEST:
        source.refuse(f"{name}: {n} values up to {high} cannot be times", do="check --unit")
    evidence: dict[str, Value] = {} if tag.widest == 1 else {"bucket_ns": None}
    apart = all(a + length <= b + _APART_S for (a, length), (b, _) in pairwise(tag.spans))
    if apart and all(length for _, length in tag.spans):  # else it is not known for how long
        evidence["section_ns"] = round(sum(length for _, length in tag.spans) * NS_PER_S)
    series = Series(name=name, n=n, counts=tag.counts, unit_ns=unit_ns)
    flags = ["buckets"] if tag.widest > 1 and unit_ns == 1 else []
    whole = result(source, BENCH.id, series, flags=flags, evidence=evidence)
    if not n:
        return whole
    return msgspec.structs.replace(
        whole, min=float(min(tag.counts) * unit_ns), max=float(high * unit_ns),
        mean=round(tag.twice * unit_ns / (2 * n), 4),
    )  # fmt: skip
