"""Import oslat --json: how long a busy loop was interrupted, per CPU.

A pass of the loop that took at least k - 1 and less than k us counts as k.  The last of the buckets
holds all that is longer, too, and with -B the lowest all that is shorter.
"""

from __future__ import annotations

import re

import msgspec

from rtstone.documents.run import Value
from rtstone.formats import json_text
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.rt_tests_document import Document, read_document
from rtstone.formats.source import Source
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench

_BENCH = Bench(
    "oslat", "Interruptions of a busy loop as oslat measures them", "oslat",
    "A thread reads the clock without pause; each pass of the loop is a sample, in whole us, "
    "rounded up.",
)  # fmt: skip
LONGEST_S = 1e9  # of a measurement
_PRIO = re.compile(r"(?:-f *|--rtprio[ =])(\d{1,2})\b")


class _Thread(msgspec.Struct):
    cpu: int
    min: int
    avg: float
    max: int
    duration: float
    histogram: dict[str, int]


class _File(Document, kw_only=True):
    thread: dict[str, _Thread]


def read(source: Source) -> Reading:
    """Return the distributions of the CPUs.  Raises UsageError."""
    file, notes = read_document(source, _File, _BENCH.id)
    prio = _PRIO.search(file.command or "")
    results = []
    for number in range(file.num_threads):
        thread = file.thread[str(number)]
        name = f"cpu {thread.cpu}"
        if not 0 <= thread.duration < LONGEST_S:
            source.refuse(f"{name}: duration {thread.duration}")
        counts = json_text.buckets(source, thread.histogram, name)
        n, over = sum(counts.values()), 0
        least = thread.min if n and thread.min >= min(counts) else None
        if n and thread.max > max(counts):
            over = counts.pop(max(counts))
        evidence: dict[str, Value] = {
            "cpus": [thread.cpu], "section_ns": round(thread.duration * NS_PER_S),
            "sched": "fifo" if prio else "other", "prio": int(prio[1]) if prio else None,
        }  # fmt: skip
        series = Series(
            name=name, n=n, counts=counts, overflow=over, min=least,
            max=thread.max, mean=thread.avg, mean_within=(1, 1),
        )  # fmt: skip
        results.append(result(source, _BENCH.id, series, evidence=evidence, gaps=True))
    duration_s = max(thread.duration for thread in file.thread.values())
    return file.reading(_BENCH, results, notes, duration_s)
