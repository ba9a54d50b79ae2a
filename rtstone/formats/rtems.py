"""Import measurements of RTEMS' test framework (T_measure_runtime): the run time of a function.

Times are rounded to ns; their sum (M:D) is not.  After cpukit/libtest of RTEMS from 2019 to 2026,
which prints single samples (M:S) on demand only.
"""

from __future__ import annotations

import re

from rtstone.documents.run import Result, Value
from rtstone.formats.reading import Reading
from rtstone.formats.rtems_samples import BENCH, STATISTICS, Measurement, measured
from rtstone.formats.source import ONE_OUTPUT, Source
from rtstone.units import NS_PER_S

_FIELD = re.compile(r"M:(B|V|L|N|S|MI|P1|Q1|Q2|Q3|P99|MX|MAD|D|E):(.{1,400})")
_LIKE = re.compile(r"M:[A-Z0-9]{1,3}(?::|$)")
_TIME = re.compile(r"([0-9]{1,10})\.([0-9]{9})")
_END = re.compile(r"(.+):D:([0-9.]+)")
_COUNT = re.compile(r"([0-9]{1,18}):([0-9.]+)")
_SUITE = re.compile(r"A:(\S.*)|Z:(\S.*?):C:[0-9]+:N:[0-9]+:F:[0-9]+:D:[0-9.]+")
_CASE = re.compile(r"B:(\S.*)|E:(\S.*?):N:[0-9]+:F:([0-9]+):D:[0-9.]+")
_SYSTEM = re.compile(r"S:(Version|BSP):(.{1,200})")
_NAMES = {"Version": "kernel.release", "BSP": "rtems.bsp"}
_SINGLE = ONE_OUTPUT


def read(source: Source) -> Reading:
    """Return a result for each measurement.  Raises UsageError."""
    log = _Log(source)
    for number, line in source.lines():
        log.add(line.strip(), number)
    source.check_end()
    for letter, name in (("Z", log.suite), ("E", log.case)):
        if name is not None:
            source.cut(f"no '{letter}:{name[:40]}:' line")
    if log.fields or not log.results:
        source.cut("no end of the measurement" if log.fields else "no measurement")
    release = log.system.get("kernel.release")
    return Reading(
        tool=f"RTEMS {release}" if release else "RTEMS", benches=[BENCH], notes=log.notes,
        results=list(log.results.values()), conditions={"kernel.name": "RTEMS", **log.system},
    )  # fmt: skip


class _Log:
    """The lines of a log as far as they were read."""

    def __init__(self, source: Source) -> None:
        """Begin with no line."""
        self._source = source
        self.results: dict[tuple[Value, ...], Result] = {}
        self.system: dict[str, Value] = {}
        self.notes: list[str] = []
        self.suite: str | None = None
        self.case: str | None = None
        self.fields: dict[str, str] = {}  # of the measurement whose end is not yet read
        self._samples: list[tuple[int, int]] = []

    def add(self, line: str, number: int) -> None:
        """Read a line; those of other programs are ignored."""
        if match := _FIELD.fullmatch(line):
            key, text = match.groups()
            if (key == "B") == bool(self.fields):
                reason = "a measurement begins in another"
                reason = reason if self.fields else "no M:B line before this"
                self._source.refuse(reason, number)
            if key == "S":
                count = self._match(_COUNT, text, number)
                self._samples.append((int(count[1]), self._ns(count[2], number)))
            elif key in self.fields:
                self._source.refuse(f"a second M:{key} line of {self.fields['B'][:40]}", number)
            else:
                self.fields[key] = text
            if key == "E":
                self._close(self._match(_END, text, number), number)
        elif _LIKE.match(line):
            self._source.refuse_line(line, number, "line of a measurement")
        elif match := _SUITE.fullmatch(line):
            self.suite = match[1]
        elif match := _CASE.fullmatch(line):
            self.case = match[1]
            if match[3] and int(match[3][:18]):
                self.notes.append(f"test case {match[2]}: {match[3][:18]} failures")
        elif match := _SYSTEM.fullmatch(line):
            self.system[_NAMES[match[1]]] = match[2]

    def _close(self, end: re.Match[str], number: int) -> None:
        """Add the result of a measurement that is whole."""
        fields, source, name = self.fields, self._source, self.fields["B"]
        if missing := {"V", "N", "D", *STATISTICS} - {"P1", "P99"} - fields.keys():
            source.refuse(f"{name[:40]}: no M:{min(missing)} line", number)
        if end[1] != name:
            source.refuse(f"the end of {end[1][:40]} in {name[:40]}", number)
        variant = fields["V"] + (f"/{fields['L']}" if "L" in fields else "")  # L: before 2020-11
        if (name, variant) in self.results:
            source.refuse(f"{name[:40]}, {variant[:40]} for the second time", number, _SINGLE)
        times = {key: self._ns(fields[key], number) for key in (*STATISTICS, "D") if key in fields}
        whole = Measurement(
            line=number, name=name, variant=variant, times=times, samples=self._samples,
            n=source.number(fields["N"], number), length_ns=self._ns(end[2], number),
        )  # fmt: skip
        self.results[name, variant], note = measured(source, whole)
        self.notes += [note] if note else []
        self.fields, self._samples = {}, []

    def _match(self, pattern: re.Pattern[str], text: str, number: int) -> re.Match[str]:
        match = pattern.fullmatch(text)
        if match is None:
            self._source.refuse(f"'{text[:40]}' is not what a measurement prints", number)
        return match

    def _ns(self, text: str, number: int) -> int:
        match = self._match(_TIME, text, number)
        return int(match[1]) * NS_PER_S + int(match[2])
