"""Import rtla timerlat top: statistics of each CPU, no samples.

COUNT is of interrupts: a thread may have one sample less.  Newer versions add a row of all CPUs,
and a third context, user space.  After the sources from Linux 5.17 to 2026.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rtstone.documents.run import Result, Value
from rtstone.formats.reading import NS, US, Reading, Series, result
from rtstone.formats.rtla import KINDS, MISSED, MOST
from rtstone.formats.rtla_screen import SPAN, Screen, last_screen
from rtstone.formats.source import Source
from rtstone.units import NS_PER_S

_HEAD = re.compile(rf" *{SPAN} +\| +IRQ Timer Latency \((ns|us)\)")
_ROW = re.compile(r" *([0-9]{1,6}) #([0-9]{1,18}) *\|(.*)")
_LIKE_ROW = re.compile(r" *[0-9]+ #")
_ALL = re.compile(r"ALL #([0-9]{1,6}) *e([0-9]{1,2}) \|")
_CONTEXTS = ("IRQ", "Thr", "Usr")
_UNITS = {"ns": NS, "us": US}


class _Row(NamedTuple):
    """The statistics of a context on a CPU, in the unit of the file; none without a sample."""

    line: int
    cpu: int
    n: int
    kind: str
    statistics: tuple[int, int, int] | None  # min, mean, max


def read(source: Source) -> Reading:
    """Return the statistics of the CPUs.  Raises UsageError."""
    screen = last_screen(source, _HEAD)
    rows: list[_Row] = []
    total = False
    for number, line in screen.lines:
        if match := _ROW.fullmatch(line):
            rows += _contexts(source, number, match)
        elif match := _ALL.match(line):
            total = True
            n = sum({row.cpu: row.n for row in rows}.values())
            if n // 10 ** int(match[2]) != int(match[1]):
                source.refuse(f"the CPUs have {n} samples, all have {match[1]}e{match[2]}", number)
        elif _LIKE_ROW.match(line):
            source.refuse_line(line, number, "row")
    if not rows:
        source.cut("no CPU")
    if len({(row.cpu, row.kind) for row in rows}) != len(rows):
        source.refuse("a CPU appears twice")
    rest = screen.rest(_ROW, _ALL)
    notes = ["counts are of interrupts: a thread may have one sample less"]
    if not total:
        notes.append("no row of all CPUs (an older rtla, or cut): CPUs may be missing")
    rows.sort(key=lambda row: (_CONTEXTS.index(row.kind), row.cpu))
    lost = any(MISSED in line for line in rest)
    return Reading(
        tool="rtla timerlat", duration_s=screen.duration_s or None,
        benches=[KINDS[kind] for kind in dict.fromkeys(row.kind for row in rows)],
        results=[_result(source, screen, row, lost) for row in rows],
        notes=[*notes, *rest[:MOST]],
    )  # fmt: skip


def _contexts(source: Source, line: int, match: re.Match[str]) -> Iterator[_Row]:
    """Yield the contexts of a row: current value, minimum, mean and maximum of each, or dashes."""
    cpu, n = int(match[1]), int(match[2])
    cells = match[3].split("|")
    if not 2 <= len(cells) <= len(_CONTEXTS):
        source.refuse(f"{len(cells)} contexts of CPU {cpu}", line)
    for kind, cell in zip(_CONTEXTS, cells, strict=False):
        words = cell.split()
        if len(words) != 4:
            source.refuse(f"{len(words)} numbers in place of 4", line)
        if set(words) == {"-"}:
            yield _Row(line, cpu, n if kind == "IRQ" else 0, kind, None)
            continue
        _, low, mean, high = (source.number(word, line, "latency") for word in words)
        yield _Row(line, cpu, n, kind, (low, mean, high))


def _result(source: Source, screen: Screen, row: _Row, lost: bool) -> Result:
    low, mean, high = row.statistics or (None, None, None)
    if (row.n > 0) != (row.statistics is not None):
        source.refuse(f"CPU {row.cpu} has {row.n} samples, and statistics of {row.kind}", row.line)
    series = Series(
        name=f"cpu {row.cpu}", n=row.n, counts={}, unit_ns=_UNITS[screen.head[5]],
        min=low, mean=mean, max=high, mean_within=(1, 0), line=row.line,
    )  # fmt: skip
    evidence: dict[str, Value] = {"cpus": [row.cpu]}
    if screen.duration_s:
        evidence["section_ns"] = screen.duration_s * NS_PER_S
    flags = ["omission", *(["samples_lost"] if lost else [])]
    return result(source, KINDS[row.kind].id, series, flags=flags, evidence=evidence)
