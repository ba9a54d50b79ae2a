"""Import cyclictest --json, as versions 2 write it.

Samples beyond the histogram count only in ``cycles``.  With -N all values are in ns, and
``resolution_in_ns`` is 1.
"""

from __future__ import annotations

import msgspec

from rtstone.documents.run import Value
from rtstone.formats import cyclictest, json_text
from rtstone.formats.reading import LOAD, Reading, Series, result
from rtstone.formats.rt_tests_document import CYCLICTEST, Document, read_document, span
from rtstone.formats.source import Source
from rtstone.printable import line

OF_RTSTONE = "(rtstone"  # marks the version in files that rtstone wrote from its own samples


OWN = "rtstone"  # what such a file has of each thread, which cyclictest does not write


class _Own(msgspec.Struct):
    interval_ns: int | None
    load: str


class _Thread(msgspec.Struct):
    histogram: dict[str, int]
    cycles: int
    min: int
    max: int
    avg: float | None
    cpu: int | None = None
    node: int | None = None
    rtstone: _Own | None = None


class _File(Document, kw_only=True):
    resolution_in_ns: int
    thread: dict[str, _Thread]


def read(source: Source) -> Reading:
    """Return the histograms of the threads.  Raises UsageError."""
    file, notes = read_document(source, _File, CYCLICTEST)
    unit_ns = file.unit_ns(source)
    options = cyclictest.options(file.command) if cyclictest.is_own(file.command) else None
    results = []
    for number in range(file.num_threads):
        name, thread = f"thread {number}", file.thread[str(number)]
        counts = json_text.buckets(source, thread.histogram, name)
        within = sum(counts.values())
        if thread.cycles < within:
            source.refuse(f"{name}: {thread.cycles} cycles, but {within} samples in the histogram")
        if thread.cycles and thread.avg is None:
            source.refuse(f"{name}: {thread.cycles} cycles without a mean")
        counted = bool(counts) or (options is not None and options.histogram)
        evidence: dict[str, Value] = {} if options is None else options.evidence()
        if thread.cpu is not None and thread.cpu >= 0:
            evidence["cpus"] = [thread.cpu]
        series = Series(
            name=name, n=thread.cycles, counts=counts,
            overflow=thread.cycles - within if counted else 0, unit_ns=unit_ns,
            min=thread.min, max=thread.max, mean=thread.avg,
            approximate=OF_RTSTONE in (file.tests or ""),
        )  # fmt: skip
        period_ns = options.period_ns(number) if options else None
        own = thread.rtstone if OF_RTSTONE in (file.tests or "") else None
        if own and own.interval_ns and own.interval_ns > 0:
            period_ns = own.interval_ns
        results.append(
            result(
                source, cyclictest.BENCH.id, series, flags=cyclictest.flags(options),
                params={} if period_ns is None else {"interval": period_ns},
                evidence=evidence | cyclictest.timing(options, number, thread.cycles),
                load=line(own.load) if own and own.load else LOAD,
                period_ns=period_ns if options is None or options.periodic else None,
            )
        )  # fmt: skip
    duration_s = span(file.start_time, file.end_time)
    return file.reading(cyclictest.BENCH, cyclictest.lasting(results), notes, duration_s)
