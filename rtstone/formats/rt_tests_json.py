"""Import --json of pmqtest, ptsematest, svsematest, sigwaittest, signaltest, cyclicdeadline.

``samples`` of a pair counts what was sent, of which the last may not have been received.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from rtstone.formats import json_text
from rtstone.formats.reading import Reading
from rtstone.formats.rt_tests import BENCHES, MINIMUM, PAIRS, Status, results
from rtstone.formats.rt_tests_document import SMALLER, Document, read_document, span, tool
from rtstone.formats.source import Source

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


class _File(Document, kw_only=True):
    thread: dict[str, dict[str, Any]]
    command: str = msgspec.field(name="cmdline")


def read(source: Source) -> Reading:
    """Return the statistics of the threads.  Raises UsageError."""
    file, notes = read_document(source, _File, SMALLER)
    unit_ns, name = file.unit_ns(source), tool(file.command)
    if name not in BENCHES:
        source.refuse(
            f"a file of {name}, which rtstone does not read",
            do="`rtstone import --help` names what it reads",
        )
    kind: type[_Pair] | type[_Task] = _Pair if name in PAIRS else _Task
    threads = [
        json_text.convert(source, file.thread[str(number)], kind).status()
        for number in range(file.num_threads)
    ]
    if name == "cyclicdeadline":
        notes.append(MINIMUM)
        first, step = (_option(file.command, *option) for option in (_INTERVAL, _STEP))
        if first is not None and step is not None:
            threads = [
                thread._replace(interval_us=first + number * step)
                for number, thread in enumerate(threads)
            ]
    rows = results(source, name, threads, within=(0.005, 0.005), unit_ns=unit_ns)
    return file.reading(BENCHES[name], rows, notes, span(file.start_time, file.end_time))


def _option(command: str, letter: str, name: str, default: int) -> int | None:
    """Return the number of an option, its default without it, None if it is not clear."""
    uses = re.findall(rf" (?:-[a-zA-Z]*{letter} ?|--{name}[ =])(\S*)", command)
    if not uses:
        return default
    digits = uses[-1].isascii() and uses[-1].isdigit() and len(uses[-1]) < 10
    return int(uses[-1]) if digits else None
