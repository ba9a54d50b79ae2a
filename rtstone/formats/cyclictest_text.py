"""Import the text of cyclictest -h and -H.

Version 2.4 writes empty buckets and totals, 2.7 and later do not.
"""

from __future__ import annotations

import re
from typing import NamedTuple, Never

from rtstone.documents.run import Value
from rtstone.formats import cyclictest
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.source import ONE_FILE, Source

_START = "# Histogram"
_OVERFLOW_AT = "# Histogram Overflow at cycle number:"
_IDS = "# Thread Ids:"  # before what -b broke at, which counts threads by these
_SUMMARY = {
    "total": "# Total:", "min": "# Min Latencies:", "avg": "# Avg Latencies:",
    "max": "# Max Latencies:", "over": "# Histogram Overflows:",
}  # fmt: skip
_LIVE = re.compile(r"T: *(\d+) \( *(\d+)\) P: *(\d+) I: *(\d+) C: *(\d+) ")
_OTHERS = re.compile(r"# (\d+) others")


class _Live(NamedTuple):
    """The last line that a thread printed while it ran."""

    task: int
    interval_us: int
    prio: int
    cycles: int


class _Text:
    """The parts of the file, in their order."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.rows: list[tuple[int, int, list[int]]] = []  # line, value, counts
        self.summary: dict[str, tuple[int, list[int]]] = {}  # line, values
        self.listed: dict[int, int] = {}  # thread: length of its overflow list
        self.live: dict[int, _Live] = {}
        self.preamble = cyclictest.Preamble()
        self.smi: list[int] = []
        self.notes: list[str] = []
        begun = False
        for number, line in source.lines():
            if line.strip() == _START:
                if begun:
                    source.refuse("a second histogram", number, ONE_FILE)
                begun = True
            elif begun:
                self._take(number, line)
            elif not self.preamble.take(line) and (match := _LIVE.search(line)):
                thread, task, prio, interval, cycles = (
                    source.number(text, number) for text in match.groups()
                )
                status = _Live(task, interval, prio, cycles)
                cyclictest.check_same_run(source, number, self.live.get(thread, status), status)
                self.live[thread] = status

    def _take(self, number: int, line: str) -> None:
        if line.startswith((_OVERFLOW_AT, _IDS)) or not line.strip():
            return
        if line.startswith("# Thread "):
            head, _, rest = line.removeprefix("# Thread ").partition(":")
            further = _OTHERS.search(rest)
            unlisted = self.source.number(further[1], number) if further else 0
            listed = self._numbers(number, _OTHERS.sub("", rest))
            self.listed[self.source.number(head.strip(), number)] = len(listed) + unlisted
        elif line.startswith("# SMIs:"):
            self.smi = self._numbers(number, line.partition(":")[2])
        elif name := next((n for n, head in _SUMMARY.items() if line.startswith(head)), None):
            if name in self.summary:
                self.source.refuse(f"a second '{_SUMMARY[name]}'", number)
            self.summary[name] = number, self._numbers(number, line.partition(":")[2])
        elif line.startswith("# Break "):
            self.notes.append(line.removeprefix("# "))
        elif line.startswith("#"):
            self.source.refuse(f"unknown line '{line[:40]}'", number)
        else:
            value, *counts = self._numbers(number, line)
            if self.summary:
                self.source.refuse("a bucket below the summary", number)
            if self.rows and value <= self.rows[-1][1]:
                self.source.refuse(f"bucket {value} is not above the one before", number)
            if not counts or len(counts) != len(self.rows[0][2] if self.rows else counts):
                self.source.refuse(
                    f"{len(counts)} counts, not as many as the bucket before", number
                )
            self.rows.append((number, value, counts))

    def _numbers(self, number: int, text: str) -> list[int]:
        return [self.source.number(word, number) for word in text.split()]


def read(source: Source) -> Reading:
    """Return the histograms of the threads.  Raises UsageError."""
    text = _Text(source)
    source.check_end()
    threads = _threads(source, text)
    results = []
    for thread in range(threads):
        series = _series(source, text, thread)
        live = text.live.get(thread)
        smi = text.smi[thread] if thread < len(text.smi) else None
        period_ns = live.interval_us * 1000 if live else source.meaning.period_ns
        if live and source.meaning.period_ns not in {None, period_ns}:
            says = f"thread {thread} has a period of {live.interval_us} us, not that of --period"
            source.refuse(says, do="leave out --period")
        evidence: dict[str, Value] = {} if smi is None else {"smi": smi}
        if live and period_ns is not None:
            evidence = text.preamble.evidence(live.prio, series.n * period_ns, smi)
        results.append(
            result(
                source, cyclictest.BENCH.id, series, evidence=evidence, period_ns=period_ns,
                flags=cyclictest.flags(None, "unit_assumed"),
                params={} if period_ns is None else {"interval": period_ns},
            )
        )  # fmt: skip
    return Reading(
        tool="cyclictest", results=cyclictest.lasting(results), benches=[cyclictest.BENCH],
        notes=text.notes, conditions=text.preamble.conditions,
    )  # fmt: skip


def _threads(source: Source, text: _Text) -> int:
    """Return the number of threads.  Refuses a file that lacks a line of any of them."""
    for name in ("min", "avg", "max", "over"):
        if name not in text.summary:
            source.cut(f"no '{_SUMMARY[name]}'")
    line, lows = text.summary["min"]
    threads = len(lows)
    if not 0 < threads <= cyclictest.MOST_THREADS:
        source.refuse(f"{threads} threads", line)
    sums = len(text.rows[0][2]) == threads + 1 if text.rows else False
    width = threads + sums
    for number, value, counts in text.rows:
        if len(counts) != width:
            source.refuse(f"{len(counts)} counts, but {threads} threads", number)
        if sums and sum(counts[:-1]) != counts[-1]:
            source.refuse(f"bucket {value}: the threads do not add up to {counts[-1]}", number)
    # With -H some lines have another column: the sum or the maximum.
    for name, (number, values) in text.summary.items():
        several = name in {"total", "max", "over"} and len(values) == threads + 1
        if len(values) != threads and not several:
            source.refuse(f"{len(values)} numbers, but {threads} threads", number)
        own = values[:threads]
        if several and values[-1] != (max(own) if name == "max" else sum(own)):
            source.refuse(f"the threads do not make {values[-1]}", number)
    if sorted(text.listed) != list(range(threads)):
        source.cut(f"'# Thread' lines for {len(text.listed)} of {threads} threads")
    return threads


def _series(source: Source, text: _Text, thread: int) -> Series:
    def summary(name: str) -> int:
        return text.summary[name][1][thread]

    def contradict(name: str, reason: str) -> Never:
        says = f"thread {thread}: '{_SUMMARY[name]}' says {summary(name)}, but {reason}"
        source.refuse(says, text.summary[name][0])

    counts = {value: counts[thread] for _, value, counts in text.rows if counts[thread]}
    within, over = sum(counts.values()), summary("over")
    if "total" in text.summary and summary("total") != within:
        contradict("total", f"{within} samples in the buckets")
    if text.listed[thread] != over:
        contradict("over", f"{text.listed[thread]} in the list of cycles")
    return Series(
        name=f"thread {thread}", n=within + over, counts=counts, overflow=over,
        min=summary("min"), max=summary("max"), mean=summary("avg"), mean_within=(1, 0),
        line=text.summary["min"][0],
    )  # fmt: skip
