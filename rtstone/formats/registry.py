"""The tables of all formats that rtstone reads or writes.  Their modules are loaded when needed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from rtstone import plugins
from rtstone.documents.plan import Plan
from rtstone.documents.run import Result, Run
from rtstone.errors import UsageError, unknown
from rtstone.formats.reading import Reading, document
from rtstone.formats.source import Source
from rtstone.units import counted

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Samples = Callable[[Result], NDArray[np.float64]]  # the single samples of a result, net


class Written(NamedTuple):
    """A run in another format; ``lost``: what that format cannot represent, one line each."""

    data: bytes
    lost: list[str]


class Reader(NamedTuple):
    """A format to import: title, pattern that recognizes it, and the function that reads it."""

    title: str
    mark: re.Pattern[bytes]
    module: str
    function: str = "read"
    takes: frozenset[str] = frozenset()  # fields of Meaning that the user may state

    def read(self, source: Source) -> Reading:
        """Return the content of a file.  Raises UsageError."""
        module = _module(self.module)
        reader: Callable[[Source], Reading] = getattr(module, self.function)
        return reader(source)


class Writer(NamedTuple):
    """A format to export to."""

    title: str
    module: str
    function: str = "write"
    single: bool = False  # wants the single samples, which are in no document
    status: bool = False  # says of each result whether it is valid; others have valid ones alone

    def write(self, run: Run, samples: Samples | None = None) -> Written:
        """Return the run in this format.

        Raises UsageError if nothing of it fits, Inconclusive if single samples were lost.
        """
        writer: Callable[..., Written] = getattr(_module(self.module), self.function)
        invalid = [] if self.status else [r.status for r in run.results if r.status != "ok"]
        if not invalid:
            return writer(run, samples) if self.single else writer(run)
        why = ", ".join(f"{n} {status}" for status, n in Counter(invalid).items())
        left = f"{counted(len(invalid), 'result')} not valid ({why})"
        run = structs.replace(run, results=[r for r in run.results if r.status == "ok"])
        try:
            written = writer(run, samples) if self.single else writer(run)
        except UsageError as error:
            raise UsageError(f"{error}; left out: {left}") from None
        shown = f"{left}, see `rtstone show {run.run_id}`"
        return written._replace(lost=[shown, *written.lost])


def _module(name: str) -> ModuleType:
    """Import a module of this package, or of a plug-in by its full name."""
    return import_module(name if "." in name else f"rtstone.formats.{name}")


def _mark(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern, re.MULTILINE)


_OWN = frozenset({"unit_ns", "period_ns", "column", "due", "at", "bench"})

READERS: Mapping[str, Reader] = {
    "rtstone-samples": Reader(
        "rtstone export --format samples",
        re.compile(rb"\Arun_id,target,case,bench,load,series,status,[\w.,]*sample,value,unit,at_s\r?\n"),
        "samples_exported",
    ),
    "rteval": Reader("rteval's summary.xml", _mark(rb"<rteval[\s>]"), "rteval"),
    "rtla": Reader(
        "rtla timerlat hist, rtla osnoise hist",
        _mark(rb"^# RTLA (timerlat|osnoise) histogram"), "rtla",
    ),
    "rtla-top": Reader(
        "rtla timerlat top, its last screen",
        _mark(rb"\| +IRQ Timer Latency \((ns|us)\)|^rtla timer?lat hit stop tracing"), "rtla_top",
    ),
    "rtla-osnoise-top": Reader(
        "rtla osnoise top and rtla hwnoise, their last screen",
        _mark(rb"^duration: .*\| time is in us"), "rtla_osnoise_top",
    ),
    "cyclictest": Reader(
        "cyclictest -h and -H, its text", _mark(rb"^# Histogram\s*$"), "cyclictest_text",
        takes=frozenset({"period_ns"}),
    ),
    "cyclictest-samples": Reader(
        "cyclictest -v, every sample",
        _mark(rb"^ {0,7}\d+: {0,7}\d+: {0,7}-?\d+\s*$"), "cyclictest_lines", "read_samples",
    ),
    "cyclictest-statistics": Reader(
        "cyclictest -q, and what it prints while it runs",
        _mark(rb"^T: *\d+ \( *\d+\) P: *\d+ I:"), "cyclictest_lines", "read_statistics",
    ),
    "oslat": Reader("oslat --json", _mark(rb'"cmdline:?": "(\S*/)?oslat[ "]'), "oslat"),
    "rt-tests-json": Reader(
        "pmqtest, ptsematest, svsematest, sigwaittest, signaltest, cyclicdeadline --json",
        _mark(
            rb'"cmdline:?": "(\S*/)?'
            rb'(pmqtest|ptsematest|svsematest|sigwaittest|signaltest|cyclicdeadline)[ "]'
        ),
        "rt_tests_json",
    ),
    "rt-tests": Reader(
        "pmqtest, ptsematest, svsematest, sigwaittest, signaltest, cyclicdeadline, their text",
        _mark(
            rb"^(\x1b\[\d*[A-Z])*"
            rb"(#\d+: ID\d+, P\d+, CPU|T: *\d+ \( *\d+\) (P: *\d+ C|I:\d+ C):)"
        ),
        "rt_tests_text",
    ),
    "cyclictest-json": Reader(
        "cyclictest --json", _mark(rb'"rt_test_version:?"'), "cyclictest_json"
    ),
    "hwlatdetect": Reader(
        "hwlatdetect, its report and its --report file",
        _mark(rb"^(hwlatdetect: +test duration|ts: \d+\.\d+, inner:\d+, outer:\d+\s*$)"),
        "hwlatdetect",
    ),
    "jitterdebugger": Reader(
        "jitterdebugger's results.json", _mark(rb'"version"\s*:\s*\d+,\s*"(sysinfo|cpu)"'),
        "jitterdebugger",
    ),
    "stress-ng": Reader(
        "stress-ng --cyclic",
        _mark(rb"cyclic: sched SCHED_|dispatching hogs: (.*, )?\d+ cyclic\b"), "stress_ng",
    ),
    "stress-ng-yaml": Reader(
        "stress-ng --metrics --yaml", _mark(rb"^ +stress-ng-version:"), "stress_ng_yaml"
    ),
    "lmbench": Reader(
        "lmbench's lat_syscall and lat_ctx",
        _mark(rb'^(Simple [\w /]+: [\d.]+ microseconds|"size=\d+k ovr=)'), "lmbench",
    ),
    "zephyr-latency": Reader(
        "Zephyr's latency_measure, its output", _mark(rb": *\d+ cycles *, *\d+ ns"),
        "zephyr_latency",
    ),
    "zephyr-recording": Reader(
        "Zephyr's latency_measure, twister's recording.csv",
        re.compile(rb'\A(?=.*\bmetric\b)(?=.*\bcycles\b)(?=.*\bnanoseconds\b)["\w,]+\s*\n'),
        "zephyr_latency", "read_recording",
    ),
    "latmus": Reader("latmus -g of EVL", _mark(rb"^# sampling period: \d+ micro"), "latmus"),
    "xenomai-latency": Reader(
        "Xenomai's latency and EVL's latmus, their text", _mark(rb"^RT[TDS]\|"), "xenomai_latency"
    ),
    "zyclictest": Reader(
        "Zephyr's zyclictest", _mark(rb"Max-Latency:\s+\d+\s+\d+ us"), "zyclictest"
    ),
    "thread-metric": Reader(
        "Thread-Metric", _mark(rb"\*{4} Thread-Metric [^*\n]{1,99}\*{4} Relative"), "thread_metric"
    ),
    "hdrhistogram": Reader(
        "HdrHistogram's logs, with --unit where they do not state it",
        _mark(rb"^(#\[Histogram log format version |(Tag=[^,\s]+,)?[\d.]+,[\d.]+,[\d.]+,HIST)"),
        "hdr_import", takes=frozenset({"unit_ns"}),
    ),
    "rtems": Reader(
        "RTEMS' test framework, its measurements",
        _mark(rb"^M:(N:\d+|MI:\d+\.\d{9})\s*$"), "rtems",
    ),
    # Files of no tool, whose format the user has to name: the mark matches nothing.
    "samples": Reader(
        "single samples of one's own, by --unit: CSV, a value a line, Parquet, NumPy",
        re.compile(rb"(?!)"), "samples", takes=_OWN,
    ),
    "histogram": Reader(
        "a histogram of one's own, by --unit: value and count on each line",
        re.compile(rb"(?!)"), "samples", "read_histogram", frozenset({"unit_ns", "bench"}),
    ),
    # The high bytes of thread, seconds and nanoseconds are zero.
    "jitterdebugger-raw": Reader(
        "jitterdebugger's samples.raw",
        re.compile(rb"\A..\0\0.{6}\0\0.{4}\0{4}.{6}\0\0", re.DOTALL), "jitterdebugger", "read_raw",
    ),
}  # fmt: skip

WRITERS: Mapping[str, Writer] = {
    "csv": Writer("statistics, a row each", "table_files", "csv_statistics", status=True),
    "csv-histogram": Writer(
        "histograms, a row for each bucket", "table_files", "csv_histogram", status=True
    ),
    "samples": Writer(
        "single samples, a row each", "table_files", "csv_samples", single=True, status=True
    ),
    "parquet": Writer(
        "histograms as Parquet, which needs pyarrow", "table_files", "parquet", status=True
    ),
    "hdrhistogram": Writer("HdrHistogram log, version 1.3", "hdr_log"),
    "openmetrics": Writer("OpenMetrics text, for Prometheus", "open_metrics", status=True),
    "cyclictest-json": Writer("wake-up latencies as cyclictest --json", "cyclictest_out"),
    "cyclictest-histogram": Writer(
        "the same as text of cyclictest -h, for OSADL's plot script",
        "cyclictest_out",
        "write_histogram",
    ),
}


def reader(name: str | None, source: Source) -> tuple[str, Reader]:
    """Return the reader of that name, or without a name the one that recognizes the content.

    Raises UsageError.
    """
    if name is not None:
        plugin = READERS.get(name) or plugins.find("formats", name, Reader)
        if plugin is None:
            raise unknown("format", name, READERS, "in --format")
        return name, plugin
    form = recognized(source)
    if form is None:
        source.refuse(
            "no format that rtstone knows",
            do="for numbers of your own give --format samples and --unit; known: "
            + ", ".join(READERS),
        )
    return form, READERS[form]


def recognized(source: Source) -> str | None:
    """Return the name of the format that the content has, None if it has no known one."""
    return next(
        (name for name, candidate in READERS.items() if candidate.mark.search(source.data)),
        None,
    )


def writer(name: str) -> Writer:
    """Return the writer of that name.  Raises UsageError."""
    form = WRITERS.get(name) or plugins.find("formats", name, Writer)
    if form is None:
        raise unknown("format", name, WRITERS, "in --format")
    return form


def refused(run: Run, why: str) -> UsageError:
    """Return the error for a run with nothing that fits into a format."""
    return UsageError(f"{why}, in run {run.run_id}; see `rtstone show {run.run_id}`")


def imported(source: Source, form: str | None, command: list[str]) -> tuple[Plan, Run]:
    """Return the plan and the run document of a file to import.  Raises UsageError."""
    name, importer = reader(form, source)
    for field, value in source.meaning._asdict().items():
        if value is not None and field not in importer.takes:
            option = field.removesuffix("_ns")
            raise UsageError(
                f"--{option} does not apply to format {name}, in {source.name}; leave it out"
            )
    return document(importer.read(source), source, name, command)
