"""Import cyclictest without a histogram: the last status of each thread, or each sample (-v).

In both no total says how many threads there were: whole lines missing at the end go unnoticed.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from rtstone.documents.run import Result, Value
from rtstone.formats import cyclictest
from rtstone.formats.reading import NS, US, Reading, Series, result
from rtstone.formats.source import Source

_N = r" *([0-9]{1,18})"
# Act and Avg with the blanks before them: the width that they are padded to shows the unit.
_STATUS = re.compile(
    rf"T:{_N} \({_N}\) P:{_N} I:{_N} C:{_N} Min:{_N} Act:( *[0-9]{{1,18}}) Avg:( *[0-9]{{1,18}}) "
    rf"Max:{_N}(?: SMI:{_N})?\s*"
)
_SAMPLE = re.compile(r" *([0-9]{1,18}): *([0-9]{1,18}): *(-?[0-9]{1,18})\s*")
_PADDED = {5: US, 8: NS}  # with -N both are padded to 8 places, else to 5


class _Status(NamedTuple):
    """What was printed last of a thread, in the tool's unit."""

    line: int
    task: int
    prio: int
    interval_us: int
    cycles: int
    min: int
    mean: int
    max: int
    smi: int | None


class _Thread:
    """The samples of a thread, and those that are missing between them."""

    def __init__(self) -> None:
        self.counts: Counter[int] = Counter()
        self.next = 0
        self.n = 0

    @property
    def lost(self) -> int:
        return self.next - self.n


class _Lines:
    """The lines of the file, in their order."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.status: dict[int, _Status] = {}
        self.threads: dict[int, _Thread] = {}
        self.units: set[int] = set()
        self.preamble = cyclictest.Preamble()
        self.notes: list[str] = []
        for number, line in source.lines():
            if match := _SAMPLE.fullmatch(line):
                own = self.threads.setdefault(self._thread(number, match[1]), _Thread())
                at = source.number(match[2], number, "cycle")
                if at < own.next:
                    source.refuse(f"cycle {at} is not after the one before", number)
                own.counts[source.number(match[3], number, "sample")] += 1
                own.next = at + 1
                own.n += 1
            elif match := _STATUS.search(line):
                self._status(number, match)
            elif line.startswith("# Break "):
                self.notes.append(line.removeprefix("# "))
            elif not self.preamble.take(line) and re.match(r" *[0-9]+:|.*\bT: *[0-9]", line):
                source.refuse_line(line, number, "line of cyclictest")
        source.check_end()
        if len(self.units) > 1:
            source.refuse("some lines are in µs and some in ns", do="import one run's file")

    def _status(self, number: int, match: re.Match[str]) -> None:
        thread, task, prio, interval, cycles, low, act, mean, high, smi = match.groups()
        widths = {len(text) for text in (act, mean)}
        if unit := next((u for width, u in _PADDED.items() if widths == {width}), None):
            self.units.add(unit)

        def whole(text: str) -> int:
            return self.source.number(text.strip(), number)

        status = _Status(
            number, whole(task), whole(prio), whole(interval), whole(cycles), whole(low),
            whole(mean), whole(high), whole(smi) if smi else None,
        )  # fmt: skip
        before = self.status.get(self._thread(number, thread), status)
        cyclictest.check_same_run(self.source, number, before, status)
        self.status[int(thread)] = status

    def _thread(self, number: int, text: str) -> int:
        thread = self.source.number(text, number, "thread")
        if thread >= cyclictest.MOST_THREADS:
            self.source.refuse(f"thread {thread} is one too many", number)
        return thread

    @property
    def unit(self) -> int:
        return next(iter(self.units), US)

    def flags(self) -> list[str]:
        return cyclictest.flags(None, *([] if self.units else ["unit_assumed"]))

    def parameters(self, thread: int) -> tuple[dict[str, Value], dict[str, Value]]:
        """Return the parameters of a thread and its evidence, as its status has them."""
        status = self.status.get(thread)
        if status is None:
            return {}, {}
        period_ns = status.interval_us * 1000
        evidence = self.preamble.evidence(status.prio, status.cycles * period_ns, status.smi)
        return {"interval": period_ns}, evidence

    def reading(self, results: list[Result]) -> Reading:
        return Reading(
            tool="cyclictest", results=cyclictest.lasting(results), benches=[cyclictest.BENCH],
            notes=self.notes, conditions=self.preamble.conditions,
        )  # fmt: skip


def read_statistics(source: Source) -> Reading:
    """Return the last status of each thread: no samples, only statistics.  Raises UsageError."""
    lines = _Lines(source)
    if sorted(lines.status) != list(range(len(lines.status))) or not lines.status:
        source.cut(f"the status of threads {', '.join(map(str, sorted(lines.status)))} only")
    results = []
    for thread, status in sorted(lines.status.items()):
        series = Series(
            name=f"thread {thread}", n=status.cycles, counts={}, unit_ns=lines.unit,
            min=status.min, max=status.max, mean=status.mean, mean_within=(1, 0), line=status.line,
        )  # fmt: skip
        params, evidence = lines.parameters(thread)
        results.append(
            result(source, cyclictest.BENCH.id, series, flags=lines.flags(),
                   params=params, evidence=evidence, period_ns=status.interval_us * 1000)
        )  # fmt: skip
    return lines.reading(results)


def read_samples(source: Source) -> Reading:
    """Return the samples of each thread.  Raises UsageError."""
    lines = _Lines(source)
    if not lines.threads:
        source.cut("no sample")
    results = []
    for thread, own in sorted(lines.threads.items()):
        lost, status = _lost(source, lines, thread, own), lines.status.get(thread)
        name = f"thread {thread}"
        if lost:
            lines.notes.append(f"{name}: {lost} of {own.n + lost} samples are not in the file")
        series = Series(
            name=name, n=own.n, counts=own.counts, unit_ns=lines.unit,
            min=min(own.counts), max=max(own.counts),
        )  # fmt: skip
        params, evidence = lines.parameters(thread)
        flags = [*lines.flags(), *(["samples_lost"] if lost else [])]
        results.append(
            result(source, cyclictest.BENCH.id, series, flags=flags, params=params,
                   evidence=evidence,
                   period_ns=status.interval_us * 1000 if status and not lost else None)
        )  # fmt: skip
    return lines.reading(results)


def _lost(source: Source, lines: _Lines, thread: int, own: _Thread) -> int:
    """Return how many samples are missing.  Refuses those that the thread's status contradicts."""
    status = lines.status.get(thread)
    if status is None:
        return own.lost
    lost = max(status.cycles, own.next) - own.n
    low, high = min(own.counts), max(own.counts)
    if status.cycles < own.next:
        source.refuse(f"thread {thread}: cycle {own.next - 1} of {status.cycles}", status.line)
    if (
        low < status.min
        or high > status.max
        or (not lost and (low, high) != (status.min, status.max))
    ):
        source.refuse(
            f"thread {thread}: samples from {low} to {high}, but it says {status.min} to "
            f"{status.max}", status.line,
        )  # fmt: skip
    return lost
