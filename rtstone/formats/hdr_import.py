"""Import HdrHistogram logs, versions 1.2 and 1.3: a series for each tag, its intervals added.

A log does not state the unit of its values, except rtstone's own.  After the sources of the
libraries for Java, C and Python.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

import msgspec

from rtstone.formats.hdr_decode import Decoder
from rtstone.formats.hdr_series import BENCH, SCALES, Tag, scales, tag_result
from rtstone.formats.reading import Reading
from rtstone.formats.source import Source

_VERSION = re.compile(r"#\[Histogram log format version (\S{1,20})\]")
_TIME = re.compile(r"#\[(StartTime|BaseTime): *([0-9]{1,10}(?:\.[0-9]{1,9})?) .*\]")
_UNIT = re.compile(r"#\[values in (.*)\]")  # rtstone's own
_LIKE = re.compile(r"#\[(Histogram log|StartTime|BaseTime|values in)")
_S, _MOST = r"([0-9]{1,10}(?:\.[0-9]{1,9})?)", r"([0-9]{1,20}(?:\.[0-9]{1,9})?)"
_LINE = re.compile(rf"(?:Tag=([^,\s]{{1,999}}),)?{_S},{_S},{_MOST},([A-Za-z0-9+/]+={{0,2}})")
_LEGEND = '"StartTimestamp"'
_VERSIONS = ("1.2", "1.3")
_SINGLE = "import one run's log at a time"


class _Head(msgspec.Struct):
    """What the comments of a log state."""

    unit_ns: int | None
    version: str = ""
    times: dict[str, float] = {}
    notes: list[str] = []

    def add(self, source: Source, line: str, number: int) -> None:
        """Take a comment.  Refuses one that contradicts another, or --unit."""
        if match := _VERSION.fullmatch(line):
            if self.version:
                source.refuse("a second log begins here", number, _SINGLE)
            if match[1] not in _VERSIONS:
                source.refuse(f"a log of version {match[1]}", number, "1.2 and 1.3 can be imported")
            self.version = match[1]
        elif match := _TIME.fullmatch(line):
            if match[1] in self.times:
                source.refuse(f"a second {match[1]}", number, _SINGLE)
            self.times[match[1]] = float(match[2])
        elif match := _UNIT.fullmatch(line):
            if match[1] != "ns" or self.unit_ns not in (None, 1):
                do = "leave --unit out, and export results that are times"
                source.refuse(f"values in {match[1]}", number, do)
            self.unit_ns = 1
        elif _LIKE.match(line):
            source.refuse_line(line, number, "comment of an HdrHistogram log")
        else:
            self.notes.append(line.strip("#[] "))


def read(source: Source) -> Reading:
    """Return the distributions of the tags.  Raises UsageError."""
    head, decoder = _Head(source.unit_ns), Decoder(source)
    tags: dict[str, Tag] = {}
    fitting = set(SCALES)
    for number, line in source.lines():
        if match := _LINE.fullmatch(line):
            tag = tags.setdefault(match[1] or "", Tag())
            own, before = decoder.histogram(match[5], number), len(tag.counts)
            fitting &= scales(match[4], own)
            if not fitting:
                reason = f"Interval_Max {match[4]} is not that of the histogram, {own.high}"
                source.refuse(reason, number)
            tag.add(own, float(match[2]), float(match[3]), float(match[4]))
            decoder.check(len(tag.counts) - before, number)
        elif line.startswith("#"):
            head.add(source, line, number)
        elif line.strip() and not line.startswith(_LEGEND):
            source.refuse_line(line, number, "line of an HdrHistogram log")
    source.check_end()
    if not tags:
        source.cut("no interval")
    if head.unit_ns is None:
        source.refuse("the log does not state the unit of its values", do="give --unit ns or us")
    exact = fitting == {1}
    begin_s = head.times.get("StartTime")
    if begin_s is None and "BaseTime" in head.times:
        begin_s = head.times["BaseTime"] + min(tag.spans[0][0] for tag in tags.values())
    # Without either, its times are not of a calendar.
    measured = datetime.fromtimestamp(begin_s, UTC).isoformat() if begin_s else None
    return Reading(
        tool=f"hdrhistogram {head.version}".strip(), benches=[BENCH],
        measured=measured, notes=[note for note in head.notes if note],
        results=[tag_result(source, name, tag, head.unit_ns, exact) for name, tag in tags.items()],
    )  # fmt: skip
