"""Import of --json of pmqtest, ptsematest, svsematest, sigwaittest, signaltest, cyclicdeadline.

``samples`` of a pair counts what was sent, of which the last may not have been received.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rtstone.formats import cyclictest_json, json_text
from rtstone.formats.reading import NS, US, Reading
from rtstone.formats.rt_tests import BENCHES, MINIMUM, PAIRS, Status, results
from rtstone.formats.source import Source

FORM = "rt-tests-json"
# What cyclicdeadline takes without these options, in us.
_INTERVAL, _STEP = ("i", "interval", 1000), ("s", "step", 500)


class _Sender(msgspec.Struct):
    samples: int
    interval: int


class _Receiver(msgspec.Struct):
    cpu: int
    priority: int
    min: int
    avg: float | None
    max: int


class _Pair(msgspec.Struct):
    sender: _Sender
    receiver: _Receiver

    def status(self) -> Status:
        own, sent = self.receiver, self.sender
        # Without a mean none was received: what was sent, if anything, was the first.
        n = 0 if own.avg is None and sent.samples <= 1 else sent.samples
        return Status(n, own.min, own.avg, own.max, sent.interval, own.cpu, own.priority)


class _Task(msgspec.Struct):
    cycles: int
    min: int
    max: int
    avg: float | None
    cpu: int | None = None

    def status(self) -> Status:
        return Status(self.cycles, self.min, self.avg, self.max, cpu=self.cpu)


class _File(msgspec.Struct):
    file_version: int
    num_threads: int
    thread: dict[str, dict[str, Any]]
    command: str = msgspec.field(name="cmdline")
    tests: str | None = msgspec.field(default=None, name="rt_test_version")
    start_time: str | None = None
    end_time: str | None = None
    return_code: int | None = None
    resolution_in_ns: int = 0
    sysinfo: cyclictest_json.System = msgspec.field(default_factory=cyclictest_json.System)


def read(source: Source) -> Reading:
    """Return the statistics of the threads.  Raises UsageError."""
    file, notes = cyclictest_json.convert(source, _File, FORM)
    cyclictest_json.check(source, file)
    if file.resolution_in_ns not in (0, 1):
        source.refuse(f"resolution_in_ns {file.resolution_in_ns} is neither 0 nor 1")
    tool = cyclictest_json.tool(file.command)
    if tool not in BENCHES:
        source.refuse(f"a file of {tool}, which rtstone does not read", do="see docs/formats.md")
    kind: type[_Pair] | type[_Task] = _Pair if tool in PAIRS else _Task
    threads = [
        json_text.convert(source, file.thread[str(number)], kind).status()
        for number in range(file.num_threads)
    ]
    if tool == "cyclicdeadline":
        notes.append(MINIMUM)
        first, step = (_option(file.command, *option) for option in (_INTERVAL, _STEP))
        if first is not None and step is not None:
            threads = [
                thread._replace(interval_us=first + number * step)
                for number, thread in enumerate(threads)
            ]
    notes += [f"{tool} ended with status {file.return_code}"] if file.return_code else []
    return Reading(
        tool=f"{tool} {file.tests}" if file.tests else tool, command=file.command, notes=notes,
        measured=cyclictest_json.iso_time(file.start_time), benches=[BENCHES[tool]],
        results=results(source, tool, threads, within=(0.005, 0.005),
                        unit_ns=NS if file.resolution_in_ns else US),
        conditions=file.sysinfo.conditions(),
        duration_s=cyclictest_json.span(file.start_time, file.end_time),
    )  # fmt: skip


def _option(command: str, letter: str, name: str, default: int) -> int | None:
    """Return the number of an option, its default without it, None if it is not clear."""
    uses = re.findall(rf" (?:-[a-zA-Z]*{letter} ?|--{name}[ =])(\S*)", command)
    if not uses:
        return default
    digits = uses[-1].isascii() and uses[-1].isdigit() and len(uses[-1]) < 10
    return int(uses[-1]) if digits else None
