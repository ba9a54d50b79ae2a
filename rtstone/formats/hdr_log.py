"""Export as an HdrHistogram log, version 1.3: one interval histogram per result, with a tag.

Histograms have the V2 encoding: a header of 40 bytes, then the counts as ZigZag LEB128, where a
negative number stands for a run of empty buckets; compressed by zlib, in base64.
"""

from __future__ import annotations

import base64
import re
import struct
import zlib
from collections import Counter
from datetime import datetime

from rtstone.documents.run import Result, Run
from rtstone.formats import rows
from rtstone.formats.registry import Written, refused

_DIGITS = 3
_HALF_BITS = 10  # 3 digits: 2048 values in the first bucket, 1024 in each further one
_COOKIE, _COMPRESSED = 0x1C849303 | 0x10, 0x1C849304 | 0x10
_HEAD = struct.Struct(">iiiiqqd")  # cookie, length, offset, digits, lowest, highest, ratio
_MOST = (1 << 63) - 1
_TAG = re.compile(r"[\s,]+")


def write(run: Run) -> Written:
    """Export the results with a histogram, in whole ns or instructions.  Raises UsageError."""
    results = [result for result in run.results if result.histogram]
    if not results:
        raise refused(run, "no histogram")
    lost = ["conditions, evidence, flags, traces, worst samples and exact extremes"]
    lost += [f"values beyond {_DIGITS} significant digits"]
    if left := len(run.results) - len(results):
        lost.append(f"{left} results without a histogram")
    try:
        start_s = datetime.fromisoformat(run.created).timestamp()
    except ValueError:
        start_s = 0.0
    lines = [
        "#[Histogram log format version 1.3]",
        f"#[StartTime: {start_s:.3f} (seconds since epoch), {run.created}]",
        f"#[rtstone run {run.run_id}]",
        f"#[values in {' and '.join(dict.fromkeys(r.unit for r in results))}]",
        '"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"',
    ]
    for result in results:
        name = tag(result)
        counts, below = rows.whole_counts(result.histogram, round)
        if below:
            lost.append(f"{name}: {below} negative samples")
        beyond = result.n - sum(count for _, count in result.histogram)
        if beyond:
            largest = f"the largest {result.max}"
            lost.append(f"{name}: {beyond} samples beyond the histogram, {largest}")
        length_s, most = result.section_s or 0.0, max(counts, default=0)
        text = base64.b64encode(encoded(counts)).decode()
        lines.append(f"Tag={name},0.000,{length_s:.3f},{most:.3f},{text}")
    return Written(("\n".join(lines) + "\n").encode(), lost)


def tag(result: Result) -> str:
    """Return a tag that identifies a result; blanks and commas become underscores."""
    parts = [result.bench, rows.params(result.params), result.load, result.series]
    return _TAG.sub("_", "/".join(part for part in parts if part))


def encoded(counts: Counter[int]) -> bytes:
    """Return a compressed V2 histogram of non-negative whole values."""
    places: Counter[int] = Counter()
    for value, count in counts.items():
        shift = max(value.bit_length() - _HALF_BITS - 1, 0)
        places[(shift << _HALF_BITS) + (value >> shift)] += count
    payload, last = b"", -1
    for place, count in sorted(places.items()):
        if empty := place - last - 1:
            payload += _zigzag(-empty)
        payload += _zigzag(count)
        last = place
    highest = max(2 << _HALF_BITS, *(counts or [0]))
    head = _HEAD.pack(_COOKIE, len(payload), 0, _DIGITS, 1, min(highest, _MOST), 1.0)
    packed = zlib.compress(head + payload)
    return struct.pack(">ii", _COMPRESSED, len(packed)) + packed


def _zigzag(number: int) -> bytes:
    """Encode a number as 64-bit ZigZag LEB128, whose ninth byte has eight bits."""
    rest = ((number << 1) ^ (number >> 63)) & 0xFFFFFFFFFFFFFFFF
    out = bytearray()
    while rest >= 0x80 and len(out) < 8:
        out.append(rest & 0x7F | 0x80)
        rest >>= 7
    out.append(rest)
    return bytes(out)
