"""Import of oslat --json: how long a busy loop was interrupted, per CPU.

A pass of the loop that took at least k - 1 and less than k us counts as k.  The last of the buckets
holds all that is longer, too, and with -B the lowest all that is shorter.
"""

from __future__ import annotations

import re

import msgspec

from rtstone.documents.run import Result, Value
from rtstone.formats import cyclictest_json, json_text
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.source import Source
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


class _File(msgspec.Struct):
    file_version: int
    num_threads: int
    thread: dict[str, _Thread]
    command: str = msgspec.field(default="", name="cmdline")
    tests: str | None = msgspec.field(default=None, name="rt_test_version")
    start_time: str | None = None
    return_code: int | None = None
    sysinfo: cyclictest_json.System = msgspec.field(default_factory=cyclictest_json.System)


def read(source: Source) -> Reading:
    """Return the distributions of the CPUs.  Raises UsageError."""
    file, notes = cyclictest_json.convert(source, _File, "oslat")
    cyclictest_json.check(source, file)
    notes += [f"oslat ended with status {file.return_code}"] if file.return_code else []
    return Reading(
        tool=f"oslat {file.tests}" if file.tests else "oslat",
        command=file.command or None, measured=cyclictest_json.iso_time(file.start_time),
        results=[_result(source, file, str(number)) for number in range(file.num_threads)],
        benches=[_BENCH], conditions=file.sysinfo.conditions(),
        notes=notes,
        duration_s=max(thread.duration for thread in file.thread.values()),  # checked by _result
    )  # fmt: skip


def _result(source: Source, file: _File, number: str) -> Result:
    thread, prio = file.thread[number], _PRIO.search(file.command)
    name = f"cpu {thread.cpu}"
    if not 0 <= thread.duration < LONGEST_S:
        source.refuse(f"{name}: duration {thread.duration}")
    counts = json_text.buckets(source, thread.histogram, name)
    n, over = sum(counts.values()), 0
    least = thread.min if n and thread.min >= min(counts) else None
    if n and thread.max > max(counts):
        over = counts.pop(max(counts))
    evidence: dict[str, Value] = {
        "cpus": [thread.cpu], "section_ns": round(thread.duration * 1e9),
        "sched": "fifo" if prio else "other", "prio": int(prio[1]) if prio else None,
    }  # fmt: skip
    series = Series(
        name=name, n=n, counts=counts, overflow=over, min=least,
        max=thread.max if n else None, mean=thread.avg if n else None, mean_within=(1, 1),
    )  # fmt: skip
    return result(source, _BENCH.id, series, evidence=evidence, gaps=True)
