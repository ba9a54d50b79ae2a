"""Read the JSON documents of rt-tests' tools: what they share, and the defects they share.

Two keys end in a colon, and the command line is not escaped.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import PurePath
from typing import Any, TypeVar

import msgspec

from rtstone.documents.run import Result, Value
from rtstone.errors import UsageError
from rtstone.formats import json_text
from rtstone.formats.reading import NS, US, Reading
from rtstone.formats.source import Source
from rtstone.wire.records import Bench

# Cyclictest writes its command line between these two, without escaping quotes.
_BEFORE = re.compile(r'"cmdline:?": "')
_AFTER = re.compile(r'",\s*"rt_test_version')
_NO_MEAN = re.compile(r'(?<="avg": )-?nan\b')  # what C prints for a mean of no samples

CYCLICTEST, SMALLER = "cyclictest-json", "rt-tests-json"  # readers
# The tools of rt-tests with documents of their own forms, and the reader of each, if there is one.
_READER_OF = {
    "cyclictest": CYCLICTEST, "oslat": "oslat", "cyclicdeadline": SMALLER, "pmqtest": SMALLER,
    "ptsematest": SMALLER, "signaltest": SMALLER, "sigwaittest": SMALLER, "svsematest": SMALLER,
    "pi_stress": None, "queuelat": None, "rt-migrate-test": None, "ssdd": None,
}  # fmt: skip


class System(json_text.Uname):
    """What the tools of rt-tests write about the system."""

    realtime: int | None = None

    def conditions(self) -> dict[str, Value]:
        """Return what is known, as conditions of a run."""
        rt = self.realtime
        return super().conditions() | ({} if rt is None else {"kernel.realtime": bool(rt)})


class Document(msgspec.Struct, kw_only=True):
    """What the documents of all these tools have; ``thread``: the threads by their number."""

    file_version: int
    num_threads: int
    thread: dict[str, Any]
    command: str | None = msgspec.field(default=None, name="cmdline")
    tests: str | None = msgspec.field(default=None, name="rt_test_version")
    start_time: str | None = None
    end_time: str | None = None
    return_code: int | None = None
    resolution_in_ns: int = 0
    sysinfo: System = msgspec.field(default_factory=System)

    def unit_ns(self, source: Source) -> int:
        """Return the unit of times in ns.  Raises UsageError."""
        if self.resolution_in_ns not in (0, 1):
            source.refuse(f"resolution_in_ns {self.resolution_in_ns} is neither 0 nor 1")
        return NS if self.resolution_in_ns else US

    def reading(
        self, bench: Bench, results: list[Result], notes: list[str], duration_s: float | None
    ) -> Reading:
        """Return the results of the tool that has the name of this bench."""
        if self.return_code:
            notes = [*notes, f"{bench.id} ended with status {self.return_code}"]
        return Reading(
            tool=f"{bench.id} {self.tests}" if self.tests else bench.id,
            command=self.command or None, measured=iso_time(self.start_time), notes=notes,
            results=results, benches=[bench], conditions=self.sysinfo.conditions(),
            duration_s=duration_s,
        )  # fmt: skip


_D = TypeVar("_D", bound=Document)


def read_document(source: Source, kind: type[_D], form: str) -> tuple[_D, list[str]]:
    """Return the document of a tool of rt-tests as that type, and notes.

    Raises UsageError, also for the document of a tool that reader ``form`` does not read, of
    another version, or without all of its threads.
    """
    text = _NO_MEAN.sub("null", "\n".join(line for _, line in source.lines()))
    mended = text
    before = _BEFORE.search(text)
    after = _AFTER.search(text, before.end()) if before else None
    if before is not None and after is not None:
        quoted = text[before.end() : after.start()]
        try:
            json.loads(f'"{quoted}"')
        except ValueError:  # not escaped
            escaped = json.dumps(quoted)[1:-1]
            mended = text[: before.end()] + escaped + text[after.start() :]
    value = json_text.parse(source, mended)
    if not isinstance(value, dict):
        source.refuse("no document of rt-tests")
    members = {key.rstrip(":"): member for key, member in value.items()}
    command = members.get("cmdline")
    name = tool(command) if isinstance(command, str) else ""
    reader = _READER_OF.get(name, form)
    if reader is None:
        source.refuse(
            f"a file of {name}, which rtstone does not read",
            do="`rtstone import --help` names what it reads",
        )
    if reader != form:
        source.refuse(f"a file of {name}", do=f"import it with --format {reader}")
    try:
        file = json_text.convert(source, members, kind)
    except UsageError as error:
        if not name or name in _READER_OF:
            raise
        raise UsageError(f"perhaps of {name}, which rtstone does not read: {error}") from None
    if file.file_version != 1:
        source.refuse(
            f"file_version {file.file_version}", do="this version of rtstone knows file_version 1"
        )
    threads = len(file.thread)
    if threads != file.num_threads or set(file.thread) != {str(n) for n in range(threads)}:
        source.refuse(f"{threads} threads, but num_threads {file.num_threads}")
    if not threads:
        source.refuse("no threads")
    note = "the command line in the file was not valid JSON; it was escaped"
    return file, [note] if mended != text else []


def tool(command: str) -> str:
    """Return the name of the tool in a command line."""
    return PurePath(command.partition(" ")[0]).name


def iso_time(text: str | None) -> str | None:
    """Convert a time from the tool's form to ISO 8601; any other text stays as it is."""
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
