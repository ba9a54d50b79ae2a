"""Import of cyclictest --json, as versions 2 write it.

Two keys end in a colon, and the command line is not escaped.  Samples beyond the histogram count
only in ``cycles``.  With -N all values are in ns, and ``resolution_in_ns`` is 1.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePath
from typing import Protocol, TypeVar

import msgspec

from rtstone.documents.run import Result, Value
from rtstone.errors import UsageError
from rtstone.formats import cyclictest, json_text
from rtstone.formats.reading import NS, US, Reading, Series, result
from rtstone.formats.source import Source

OF_RTSTONE = "(rtstone"  # marks the version in files that rtstone wrote from its own samples

# Cyclictest writes its command line between these two, without escaping quotes.
_BEFORE = re.compile(r'"cmdline:?": "')
_AFTER = re.compile(r'",\s*"rt_test_version')


_NO_MEAN = re.compile(r'(?<="avg": )-?nan\b')  # what C prints for a mean of no samples

FORM = "cyclictest-json"
# The tools of rt-tests with documents of their own forms, and the reader of each, if there is one.
_READER_OF = {
    "cyclictest": FORM, "oslat": "oslat", "cyclicdeadline": "rt-tests-json",
    "pmqtest": "rt-tests-json", "ptsematest": "rt-tests-json", "signaltest": "rt-tests-json",
    "sigwaittest": "rt-tests-json", "svsematest": "rt-tests-json",
    "pi_stress": None, "queuelat": None, "rt-migrate-test": None, "ssdd": None,
}  # fmt: skip

_T = TypeVar("_T")


class System(json_text.Uname):
    """What the tools of rt-tests write about the system."""

    realtime: int | None = None

    def conditions(self) -> dict[str, Value]:
        """Return what is known, as conditions of a run."""
        rt = self.realtime
        return super().conditions() | ({} if rt is None else {"kernel.realtime": bool(rt)})


class _Thread(msgspec.Struct):
    histogram: dict[str, int]
    cycles: int
    min: int
    max: int
    avg: float | None
    cpu: int | None = None
    node: int | None = None


class Document(Protocol):
    """What the documents of all these tools have."""

    file_version: int
    num_threads: int

    @property
    def thread(self) -> Mapping[str, object]:
        """The threads by their number."""


class _File(msgspec.Struct):
    file_version: int
    num_threads: int
    resolution_in_ns: int
    thread: dict[str, _Thread]
    command: str | None = msgspec.field(default=None, name="cmdline")
    tests: str | None = msgspec.field(default=None, name="rt_test_version")
    start_time: str | None = None
    end_time: str | None = None
    return_code: int | None = None
    sysinfo: System = msgspec.field(default_factory=System)


def read(source: Source) -> Reading:
    """Return the histograms of the threads.  Raises UsageError."""
    file, notes = convert(source, _File, FORM)
    check(source, file)
    if file.resolution_in_ns not in (0, 1):
        source.refuse(f"resolution_in_ns {file.resolution_in_ns} is neither 0 nor 1")
    options = cyclictest.options(file.command) if cyclictest.is_own(file.command) else None
    if file.return_code:
        notes.append(f"cyclictest ended with status {file.return_code}")
    return Reading(
        tool=f"cyclictest {file.tests}" if file.tests else "cyclictest",
        command=file.command, measured=iso_time(file.start_time), notes=notes,
        results=cyclictest.lasting(
            [_result(source, file, number, options) for number in range(file.num_threads)]
        ),
        benches=[cyclictest.BENCH],
        conditions=file.sysinfo.conditions(),
        duration_s=span(file.start_time, file.end_time),
    )  # fmt: skip


def convert(source: Source, kind: type[_T], form: str) -> tuple[_T, list[str]]:
    """Return the document of a tool of rt-tests as that type, and notes.

    Raises UsageError, also for the document of a tool that reader ``form`` does not read.
    """
    text = _NO_MEAN.sub("null", "\n".join(line for _, line in source.lines()))
    mended = _escaped(text)
    notes = ["the command line in the file was not valid JSON; it was escaped"]
    value = json_text.parse(source, mended)
    if not isinstance(value, dict):
        source.refuse("no document of rt-tests")
    members = {key.rstrip(":"): member for key, member in value.items()}
    command = members.get("cmdline")
    name = tool(command) if isinstance(command, str) else ""
    reader = _READER_OF.get(name, form)
    if reader is None:
        source.refuse(f"a file of {name}, which rtstone does not read", do="see docs/formats.md")
    if reader != form:
        source.refuse(f"a file of {name}", do=f"import it with --format {reader}")
    try:
        return json_text.convert(source, members, kind), notes if mended != text else []
    except UsageError as error:
        if not name or name in _READER_OF:
            raise
        raise UsageError(f"perhaps of {name}, which rtstone does not read: {error}") from None


def tool(command: str) -> str:
    """Return the name of the tool in a command line."""
    return PurePath(command.partition(" ")[0]).name


def _escaped(text: str) -> str:
    """Return the text with the command line escaped as JSON, unless it is valid already."""
    before = _BEFORE.search(text)
    after = _AFTER.search(text, before.end()) if before else None
    if before is None or after is None:
        return text
    command = text[before.end() : after.start()]
    try:
        json.loads(f'"{command}"')
    except ValueError:
        return text[: before.end()] + json.dumps(command)[1:-1] + text[after.start() :]
    return text


def check(source: Source, file: Document) -> None:
    """Refuse a document of another version, or without all of its threads."""
    if file.file_version != 1:
        source.refuse(
            f"file_version {file.file_version}", do="this version of rtstone knows file_version 1"
        )
    threads = len(file.thread)
    if threads != file.num_threads or set(file.thread) != {str(n) for n in range(threads)}:
        source.refuse(f"{threads} threads, but num_threads {file.num_threads}")
    if not threads:
        source.refuse("no threads")


def _result(source: Source, file: _File, number: int, options: cyclictest.Options | None) -> Result:
    thread = file.thread[str(number)]
    name = f"thread {number}"
    counts = json_text.buckets(source, thread.histogram, name)
    within = sum(counts.values())
    if thread.cycles < within:
        source.refuse(f"{name}: {thread.cycles} cycles, but {within} samples in the histogram")
    counted = bool(counts) or (options is not None and options.histogram)
    sampled = thread.cycles > 0
    if sampled and thread.avg is None:
        source.refuse(f"{name}: {thread.cycles} cycles without a mean")
    evidence: dict[str, Value] = {} if options is None else options.evidence()
    if thread.cpu is not None and thread.cpu >= 0:
        evidence["cpus"] = [thread.cpu]
    series = Series(
        name=name, n=thread.cycles, counts=counts,
        overflow=thread.cycles - within if counted else 0,
        unit_ns=NS if file.resolution_in_ns else US,
        min=thread.min if sampled else None, max=thread.max if sampled else None,
        mean=thread.avg if sampled else None, approximate=OF_RTSTONE in (file.tests or ""),
    )  # fmt: skip
    return result(
        source, cyclictest.BENCH.id, series, flags=cyclictest.flags(options),
        params={} if options is None else {"interval": options.period_ns(number)},
        evidence=evidence | cyclictest.timing(options, number, thread.cycles),
        period_ns=options.period_ns(number) if options and options.periodic else None,
    )  # fmt: skip


def iso_time(text: str | None) -> str | None:
    """Convert a time from the tool's form to ISO 8601; text that is no time stays as it is."""
    moment = _parsed(text)
    return text if moment is None else moment.isoformat(timespec="seconds")


def span(start: str | None, end: str | None) -> float | None:
    """Return the time in s between two times in the tool's form, None if unknown."""
    first, last = _parsed(start), _parsed(end)
    if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
        return None
    return max((last - first).total_seconds(), 0.0) or None


def _parsed(text: str | None) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text or "")
        moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment


def moment(time: datetime) -> str:
    """Convert a time to the tool's form."""
    return time.strftime("%a, %d %b %Y %H:%M:%S %z")
