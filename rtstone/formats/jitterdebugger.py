"""Import jitterdebugger's results.json (version 3) and samples.raw.

The keys of ``cpu`` are thread numbers.  Samples beyond the histogram (from 1000 µs) count only in
``count``.
"""

from __future__ import annotations

import msgspec

from rtstone.documents.run import Worst
from rtstone.formats import json_text
from rtstone.formats.reading import NS, US, Reading, Series, result
from rtstone.formats.source import Source
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench

BENCH = Bench(
    "jitterdebugger",
    "Wake-up latency as jitterdebugger measures it",
    "jitterdebugger",
    "Threads sleep for an interval again and again; each wake-up's lateness is a sample.",
)
_STEPS = {1: NS, 1000: US}
_WORST = 16
_THREADS = 4096  # at most: one per CPU
_RECORD = 28  # bytes: <u32 thread, i64 s, i64 ns, u64 value>


class _System(json_text.Uname):
    cpus_online: int | None = None
    resolution_in_ns: int = 1000


class _Thread(msgspec.Struct):
    histogram: dict[str, int]
    count: int
    min: int
    max: int
    avg: float


class _File(msgspec.Struct):
    version: int
    cpu: dict[str, _Thread]
    sysinfo: _System = msgspec.field(default_factory=_System)


def read(source: Source) -> Reading:
    """Return the histograms of results.json.  Raises UsageError."""
    text = "\n".join(line for _, line in source.lines())
    file = json_text.convert(source, json_text.parse(source, text), _File)
    if file.version != 3:
        source.refuse(
            f"version {file.version}", do="rtstone knows version 3, of jitterdebugger 0.3"
        )
    unit_ns = _STEPS.get(file.sysinfo.resolution_in_ns)
    if unit_ns is None:
        source.refuse(f"resolution_in_ns {file.sysinfo.resolution_in_ns} is neither 1 nor 1000")
    if not file.cpu or set(file.cpu) != {str(n) for n in range(len(file.cpu))}:
        source.refuse("the threads are not numbered from 0")
    results = []
    for number in range(len(file.cpu)):
        name, thread = f"thread {number}", file.cpu[str(number)]
        counts = json_text.buckets(source, thread.histogram, name)
        within = sum(counts.values())
        if thread.count < within:
            source.refuse(f"{name}: count {thread.count}, but {within} samples in the histogram")
        series = Series(
            name=name, n=thread.count, counts=counts, overflow=thread.count - within,
            unit_ns=unit_ns, min=thread.min, max=thread.max, mean=thread.avg,
        )  # fmt: skip
        results.append(result(source, BENCH.id, series, flags=["omission"]))
    return Reading(
        tool="jitterdebugger 0.3", benches=[BENCH], conditions=file.sysinfo.conditions(),
        results=results,
    )  # fmt: skip


def read_raw(source: Source) -> Reading:
    """Return the samples of samples.raw, each with its time.  Raises UsageError.

    The file has no header and no total, so that a loss of whole records at its end goes unnoticed.
    """
    import numpy as np

    size = len(source.data)
    if size % _RECORD:
        source.cut(f"{size} bytes are not whole records of {_RECORD}")
    kind = np.dtype([("thread", "<u4"), ("s", "<i8"), ("ns", "<i8"), ("value", "<u8")])
    rows = np.frombuffer(source.data, kind)
    if np.any((rows["s"] < 0) | (rows["s"] > 1 << 33)) or np.any(rows["ns"] // NS_PER_S != 0):
        source.refuse("a sample has an impossible time", do="is it samples.raw of jitterdebugger?")
    if np.any(rows["value"] >= 1 << 50):
        source.refuse("a sample is too large to be true", do="is it samples.raw of jitterdebugger?")
    threads, begins = np.unique(np.sort(rows["thread"]), return_index=True)
    if len(threads) > _THREADS:
        source.refuse(f"{len(threads)} threads", do="is it samples.raw of jitterdebugger?")
    ordered = rows[np.argsort(rows["thread"], kind="stable")]
    results = []
    for thread, own in zip(threads, np.split(ordered, begins[1:]), strict=True):
        at = own["s"] * NS_PER_S + own["ns"]
        if np.any(np.diff(at) < 0):
            source.refuse(f"the samples of thread {thread} are not in the order of time")
        since, values = at - at[0], own["value"]  # times in ns since the first sample
        distinct, counts = np.unique(values, return_counts=True)
        largest = np.argsort(values, kind="stable")[::-1][:_WORST]
        series = Series(
            name=f"thread {thread}", n=len(values),
            counts=dict(zip(distinct.tolist(), counts.tolist(), strict=True)),
            min=int(distinct[0]), max=int(distinct[-1]),
        )  # fmt: skip
        worst = [
            Worst(value=float(values[i]) * US, index=int(i), at_s=round(int(ns) / NS_PER_S, 9))
            for i, ns in zip(largest, since[largest], strict=True)
        ]
        span = int(since[-1])
        results.append(
            result(
                source, BENCH.id, series, flags=["omission", "unit_assumed"], worst=worst,
                evidence={"section_ns": span} if span else {},
            )
        )  # fmt: skip
    return Reading(tool="jitterdebugger 0.3", benches=[BENCH], results=results)
