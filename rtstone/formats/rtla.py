"""Import rtla timerlat hist and rtla osnoise hist: a column per CPU (timerlat: and context).

A row begins with the index of its bucket.  The file does not state the bucket size (-b): it is
assumed to be the largest that the indexes allow.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rtstone.documents.run import Result, Value
from rtstone.formats.reading import NS, US, Reading, Series, clock_s, result, step
from rtstone.formats.source import ONE_FILE, Source
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench

_TITLE = re.compile(r"# RTLA (timerlat|osnoise) histogram")
_UNIT = re.compile(r"# Time unit is \w+ \((ns|us)\)")
_DURATION = re.compile(r"# Duration: +([0-9]{1,6}) +([0-9]{1,2}):([0-9]{2}):([0-9]{2})")
_COLUMN = re.compile(r"(IRQ|Thr|Usr|CPU)-([0-9]{3,6})")
MISSED = "events missed"
_SUMMARY = ("over", "count", "min", "avg", "max")
_OPTIONAL = ("min", "avg", "max")  # a CPU without samples has none
_ALL = "ALL:"
_UNSET = str((1 << 64) - 1)  # the minimum of none, as older versions print it
# What newer versions print for osnoise without a sample within the histogram, whatever the columns.
_NONE_WITHIN = ["over: 0", "count: 0", "min: 0", "avg: 0", "max: 0"]
MOST = 400  # other lines, rtla's analysis of what stopped it among them

KINDS = {
    "IRQ": Bench(
        "timerlat.irq", "Timer interrupt latency as rtla timerlat measures it", "rtla timerlat",
        "From the time that a timer was set for to its interrupt handler.",
    ),
    "Thr": Bench(
        "timerlat.thread", "Thread latency as rtla timerlat measures it", "rtla timerlat",
        "From the time that a timer was set for to the kernel thread that waits for it.",
    ),
    "Usr": Bench(
        "timerlat.user", "Return to user space as rtla timerlat measures it", "rtla timerlat",
        "From the time that a timer was set for to user space again.",
    ),
    "CPU": Bench(
        "osnoise", "Noise as rtla osnoise measures it", "rtla osnoise",
        "A thread reads the clock without pause; each gap above a threshold is a sample.",
    ),
}  # fmt: skip


_OF_TOOL = {"timerlat": "IRQ", "osnoise": "CPU"}  # the kind of a file that names no CPU


class _Column(NamedTuple):
    """The column of a distribution."""

    kind: str
    cpu: int


class _Text:
    """The parts of the file, parsed in the order in which rtla writes them."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = [(number, line.strip()) for number, line in source.lines() if line.strip()]
        self._at = 0
        while self._at < len(self.lines) and not _TITLE.match(self.lines[self._at][1]):
            self._at += 1
        if self._at == len(self.lines):
            source.refuse("no '# RTLA timerlat histogram' or '# RTLA osnoise histogram'")
        self.tool = self._match(_TITLE, "more than the title of a histogram")[1]
        self.unit_ns = {"ns": NS, "us": US}[self._match(_UNIT, "no '# Time unit'")[1]]
        self.duration_s = clock_s(*self._match(_DURATION, "no '# Duration'").groups())
        self.columns = self._columns()
        self.rows: list[tuple[int, int, list[int]]] = []  # line, value, counts
        while (row := self._peek())[1][:1].isdigit():
            number, line = row
            value, *counts = [source.number(word, number) for word in line.split()]
            if len(counts) != len(self.columns):
                source.refuse(f"{len(counts)} counts for {len(self.columns)} columns", number)
            if self.rows and value <= self.rows[-1][1]:
                source.refuse(f"bucket {value} is not above the one before", number)
            self.rows.append((number, value, counts))
            self._at += 1
        self._none_within()
        self.summary = {"over": self._summary("over", len(self.columns))}
        self.summed = self._at < len(self.lines) and self.lines[self._at][1].startswith("count:")
        if self.summed:
            for name in _SUMMARY[1:]:
                self.summary[name] = self._summary(name, len(self.columns))
        self.rest = [line for _, line in self._all()]

    def _peek(self) -> tuple[int, str]:
        if self._at >= len(self.lines):
            self.source.cut("no line follows", self.lines[-1][0] if self.lines else 1)
        return self.lines[self._at]

    def _match(self, pattern: re.Pattern[str], lack: str) -> re.Match[str]:
        number, line = self._peek()
        match = pattern.fullmatch(line)
        if not match:
            self.source.refuse(lack, number)
        self._at += 1
        return match

    def _columns(self) -> list[_Column]:
        number, line = self._peek()
        head, *names = line.split()
        if head != "Index":
            self.source.refuse("no 'Index'", number, "import a file written without --no-index")
        matches = [_COLUMN.fullmatch(name) for name in names]
        columns = [_Column(m[1], self.source.number(m[2], number)) for m in matches if m]
        if len(columns) != len(names) or len(set(columns)) != len(columns):
            self.source.refuse("the names of the columns are not those of rtla", number)
        self._at += 1
        return columns

    def _none_within(self) -> None:
        """Bring zeros that stand for no sample into the form of a summary without columns."""
        number = self._peek()[0]
        ours = self.lines[self._at : self._at + len(_NONE_WITHIN)]
        if self.tool != "osnoise" or self.rows or [line for _, line in ours] != _NONE_WITHIN:
            return
        if self.columns:  # of CPUs with samples
            reason = "samples only beyond the histogram, which rtla does not count"
            self.source.refuse(reason, number, "measure with more or wider buckets: -E, -b")
        self.lines[self._at : self._at + len(ours)] = [
            (line, text.partition(" ")[0]) for line, text in ours
        ]

    def _summary(self, name: str, width: int) -> tuple[int, list[float | None]]:
        """Parse a line of the summary; CPUs without samples have a dash."""
        number, line = self._peek()
        head, colon, rest = line.partition(":")  # the first number may follow without a blank
        words = rest.split()
        if head != name or not colon:
            self.source.refuse(f"'{line[:20]}' in place of '{name}:'", number)
        if len(words) != width:
            self.source.refuse(f"{len(words)} numbers for {width} columns", number)
        self._at += 1
        values: list[float | None] = []
        for word in words:
            whole, point, part = word.partition(".")
            if (word == "-" and name in _OPTIONAL) or (word == _UNSET and name == "min"):
                values.append(None)
            elif name != "avg" or not point:
                values.append(self.source.number(word, number, name))
            else:
                self.source.number(part, number, name)
                values.append(float(f"{self.source.number(whole, number, name)}.{part}"))
        return number, values

    def _all(self) -> list[tuple[int, str]]:
        """Check the summary of all CPUs, if there is one, and return the lines that follow."""
        if self._at < len(self.lines) and self.lines[self._at][1].startswith(_ALL):
            _, line = self._peek()
            self._at += 1
            kinds = line.removeprefix(_ALL).split()
            for name in ("count", "min", "avg", "max"):
                number, values = self._summary(name, len(kinds))
                for kind, value in zip(kinds, values, strict=True):
                    cells = zip(self.columns, self.summary[name][1], strict=True)
                    own = [
                        cell for column, cell in cells if column.kind == kind and cell is not None
                    ]
                    folded = {"count": sum(own), "min": min(own), "max": max(own)} if own else {}
                    if value != folded.get(name, value):  # not of an average
                        reason = f"{name} {value} of {kind} is not that of the CPUs"
                        self.source.refuse(reason, number)
        rest = self.lines[self._at :]
        for number, line in rest:
            if _TITLE.match(line):
                self.source.refuse("a second histogram", number, ONE_FILE)
        return rest


def read(source: Source) -> Reading:
    """Return the histograms of the CPUs.  Raises UsageError."""
    text = _Text(source)
    source.check_end()
    kinds = dict.fromkeys(column.kind for column in text.columns)
    order = sorted(
        range(len(text.columns)), key=lambda i: (list(kinds).index(text.columns[i].kind), i)
    )
    lost = any(MISSED in line for line in text.rest)
    results = [_result(source, text, place, lost) for place in order]
    if not results:
        # rtla leaves out CPUs without samples.
        kind = _OF_TOOL[text.tool]
        evidence: dict[str, Value] = {"section_ns": text.duration_s * NS_PER_S or None}
        series = Series(name="", n=0, counts={}, line=text.lines[-1][0])
        results = [result(source, KINDS[kind].id, series, evidence=evidence, gaps=kind == "CPU")]
        kinds = {kind: None}
    notes = [] if text.summed or not text.columns else [
        "no summary (rtla's --no-summary, or cut after the histogram): minimum, mean and maximum "
        "are not in the file"
    ]  # fmt: skip
    return Reading(
        tool=f"rtla {text.tool}", results=results, benches=[KINDS[kind] for kind in kinds],
        notes=[*notes, *text.rest[:MOST]], duration_s=text.duration_s,
    )  # fmt: skip


def _result(source: Source, text: _Text, place: int, lost: bool) -> Result:
    kind, cpu = text.columns[place]
    counts = {value: own[place] for _, value, own in text.rows if own[place]}
    over = int(text.summary["over"][1][place] or 0)

    def statistic(name: str) -> float | None:
        return text.summary[name][1][place] if text.summed else None

    n = int(statistic("count") or 0) if text.summed else sum(counts.values()) + over
    low, high = statistic("min"), statistic("max")
    if n and text.summed and None in (low, high):
        source.refuse(f"cpu {cpu}: {n} samples without minimum or maximum",
                      text.summary["count"][0])  # fmt: skip
    noise = kind == "CPU"
    series = Series(
        name=f"cpu {cpu}", n=n, overflow=over, counts=counts, unit_ns=text.unit_ns,
        width=step([value for _, value, _ in text.rows]) if text.rows else 1,
        min=None if low is None else int(low), max=None if high is None else int(high),
        mean=statistic("avg"), mean_within=(0.005 if noise else 1, 0.005),
        line=text.summary["count" if text.summed else "over"][0],
    )  # fmt: skip
    evidence: dict[str, Value] = {"cpus": [cpu]}
    if text.duration_s:
        evidence["section_ns"] = text.duration_s * NS_PER_S
    flags = ([] if noise else ["omission"]) + (["samples_lost"] if lost else [])
    return result(source, KINDS[kind].id, series, flags=flags, evidence=evidence, gaps=noise)
