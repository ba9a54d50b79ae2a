"""Import cyclictest --json, as versions 2 write it.

Samples beyond the histogram count only in ``cycles``.  With -N all values are in ns, and
``resolution_in_ns`` is 1.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rtstone.documents.run import Value
from rtstone.formats import cyclictest, json_text
from rtstone.formats.reading import LOAD, Corrected, Reading, Series, result
from rtstone.formats.rt_tests_document import CYCLICTEST, Document, read_document, span
from rtstone.formats.source import Source
from rtstone.printable import line
from rtstone.results.flags import FLAGS

OF_RTSTONE = "(rtstone"  # marks the version in files that rtstone wrote from its own samples


OWN = "rtstone"  # what such a file has of each thread, which cyclictest does not write


class _WithOmitted(msgspec.Struct):
    """All activations, those too that never happened because the one before was too late."""

    histogram: dict[str, int]
    avg: float


class _Own(msgspec.Struct):
    """What rtstone measured of a thread; ``flags``: those that void a judgement of it."""

    interval_ns: int | None
    load: str
    series: str = ""
    missed: int | msgspec.UnsetType | None = msgspec.UNSET  # None: not counted
    corrected: _WithOmitted | None = None
    flags: list[str] = []


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
    owns = _owns(file)
    for number in range(file.num_threads):
        name, thread, own = f"thread {number}", file.thread[str(number)], owns[number]
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
            name=_series(own, owns) or name, n=thread.cycles, counts=counts,
            overflow=thread.cycles - within if counted else 0, unit_ns=unit_ns,
            min=thread.min, max=thread.max, mean=thread.avg,
            approximate=OF_RTSTONE in (file.tests or ""),
        )  # fmt: skip
        period_ns = options.period_ns(number) if options else None
        if own and own.interval_ns and own.interval_ns > 0:
            period_ns = own.interval_ns
        results.append(
            result(
                source, cyclictest.BENCH.id, series,
                flags=[*cyclictest.flags(options), *_voiding(own.flags if own else [])],
                params={} if period_ns is None else {"interval": period_ns},
                evidence=evidence | cyclictest.timing(options, number, thread.cycles),
                load=line(own.load) if own and own.load else LOAD,
                period_ns=period_ns if _follows(own, options) else None,
                corrected=_corrected(source, own, thread, unit_ns) if own else None,
            )
        )  # fmt: skip
    duration_s = span(file.start_time, file.end_time)
    return file.reading(cyclictest.BENCH, cyclictest.lasting(results), notes, duration_s)


def _owns(file: _File) -> list[_Own | None]:
    """Return what rtstone wrote of each thread, None where another tool wrote the file."""
    if OF_RTSTONE not in (file.tests or ""):
        return [None] * file.num_threads
    return [file.thread[str(number)].rtstone for number in range(file.num_threads)]


def _follows(own: _Own | None, options: cyclictest.Options | None) -> bool:
    """Return whether the samples say what was missed: of absolute times, unless it is unknown."""
    return (own is None or own.missed is not None) and (options is None or options.periodic)


def _series(own: _Own | None, owns: Sequence[_Own | None]) -> str:
    """Return the name of a thread's series, "" where it would not distinguish the thread."""
    if own is None:
        return ""
    alike = [o for o in owns if o and (o.series, o.load, o.interval_ns) ==
             (own.series, own.load, own.interval_ns)]  # fmt: skip
    return line(own.series) if len(alike) == 1 else ""


def _voiding(flags: Sequence[str]) -> list[str]:
    return [flag.name for flag in FLAGS if flag.voids and flag.name in flags]


def _corrected(source: Source, own: _Own, thread: _Thread, unit_ns: int) -> Corrected | None:
    """Return the activations that rtstone counted as missed, None if it did not count them."""
    if not isinstance(own.missed, int):
        return None
    if own.missed < 0:
        source.refuse(f"{own.missed} missed activations")
    if own.corrected is None or not own.missed:
        return Corrected(own.missed)
    counts = json_text.buckets(source, own.corrected.histogram, "corrected")
    beyond = thread.cycles - sum(thread.histogram.values())
    n = sum(counts.values()) + beyond
    if n != thread.cycles + own.missed:
        source.refuse(f"{n} corrected samples, of {thread.cycles} and {own.missed} missed")
    if not 0 <= own.corrected.avg <= thread.max or max(counts, default=0) > thread.max:
        source.refuse(f"corrected samples beyond the maximum {thread.max}")
    in_ns = {value * unit_ns: count for value, count in counts.items()}
    return Corrected(own.missed, in_ns, own.corrected.avg * unit_ns)
