"""Import latmus -g: EVL's latencies as a histogram for gnuplot, in cells of 1 us.

A last cell with a ``+`` also holds all that is longer.  After libevl's source of January 2024.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime

from rtstone.documents.run import Value
from rtstone.formats.reading import NS, Reading, Series, clock_s
from rtstone.formats.source import ONE_FILE, Source
from rtstone.formats.timer_latency import CELL_NS, EARLY, timer_bench, timer_result, us_as_ns
from rtstone.units import NS_PER_S

_MICROSECONDS = r"(-?[0-9]{1,12}\.[0-9]{3})"
_MEMBERS = {
    "date": re.compile(r"# test started on: (.+)"),
    "kernel": re.compile(r"# Linux version (\S+).*"),
    "version": re.compile(r"# libevl version: (.+)"),
    "period": re.compile(r"# sampling period: ([0-9]{1,12}) microseconds"),
    "context": re.compile(r"# context: ([\w-]+)"),
    "priority": re.compile(r"# thread priority: ([0-9]{1,3})"),
    "cpu": re.compile(r"# thread affinity: CPU([0-9]{1,6})"),
    "duration": re.compile(r"# duration \(hhmmss\): ([0-9]{2,6}):([0-9]{2}):([0-9]{2})"),
    "overruns": re.compile(r"# OVERRUNS: ([0-9]{1,12})"),
    "switches": re.compile(r"# IN-BAND SWITCHES: ([0-9]{1,12})"),
    "minimum": re.compile(rf"# min latency: {_MICROSECONDS}"),
    "mean": re.compile(rf"# avg latency: {_MICROSECONDS}"),
    "maximum": re.compile(rf"# max latency: {_MICROSECONDS}"),
    "sample count": re.compile(r"# sample count: ([0-9]{1,18})"),
}
_NEEDED = ("period", "context", "duration", "minimum", "mean", "maximum", "sample count")
_CELL = re.compile(r"([0-9]{1,6})(\+?) ([0-9]{1,12})\s*")


def read(source: Source) -> Reading:
    """Return the histogram.  Raises UsageError."""
    members: dict[str, tuple[str, ...]] = {}
    cells: list[tuple[int, int]] = []
    beyond = False
    for number, line in source.lines():
        name = next((name for name, p in _MEMBERS.items() if p.fullmatch(line.rstrip())), None)
        if name in members:
            source.refuse(f"a second {name}", number, ONE_FILE)
        if name is not None and (match := _MEMBERS[name].fullmatch(line.rstrip())):
            members[name] = match.groups()
        elif match := _CELL.fullmatch(line):
            if beyond or (cells and int(match[1]) != cells[-1][0] + 1):
                source.refuse(f"cell {match[1]} is not the one after the last", number)
            cells.append((int(match[1]), int(match[3])))
            beyond = bool(match[2])
        elif line.strip() and not line.startswith(("#", "RT", "---|")):  # -g to standard output
            source.refuse(f"'{line[:40]}' is not a line of latmus", number)
    source.check_end()
    for name in _NEEDED:
        if name not in members:
            source.cut(f"no {name}")
    return _reading(source, members, cells, beyond)


def _reading(
    source: Source, members: dict[str, tuple[str, ...]], cells: list[tuple[int, int]], beyond: bool
) -> Reading:
    low, mean, high = (us_as_ns(members[name][0]) for name in ("minimum", "mean", "maximum"))
    counts = {cell * CELL_NS: count for cell, count in cells if count}
    n, numbers = int(members["sample count"][0]), {k: m[0] for k, m in members.items()}
    if sum(counts.values()) != n:
        source.refuse(f"{sum(counts.values())} samples in the cells, but {n} were counted")
    if beyond and high < (cells[-1][0] + 1) * CELL_NS:
        source.refuse(f"the maximum {high} ns is not beyond the last cell, {cells[-1][0]}+")
    over = counts.pop(max(counts), 0) if beyond and counts else 0
    evidence: dict[str, Value] = {}
    if span := clock_s(*members["duration"]):
        evidence["section_ns"] = span * NS_PER_S
    if "cpu" in numbers:
        evidence |= {"cpus": [int(numbers["cpu"])]}
    if "priority" in numbers:
        evidence |= {"prio": int(numbers["priority"]), "sched": "fifo"}
    bench = timer_bench(numbers["context"], "latmus")
    series = Series(name="", n=n, counts=counts, overflow=over, unit_ns=NS, width=CELL_NS,
                    min=low, mean=mean, max=high, mean_within=(1, 1))  # fmt: skip
    period_ns = int(numbers["period"]) * 1000
    measured = numbers.get("date")
    with suppress(ValueError):  # else it stays as it is
        measured = datetime.strptime(measured or "", "%a %b %d %H:%M:%S %Y").isoformat()
    switches = numbers.get("switches")
    return Reading(
        tool=f"latmus {numbers.get('version', '')}".strip(), benches=[bench],
        measured=measured, duration_s=span or None,
        conditions={"kernel.release": numbers["kernel"]} if "kernel" in numbers else {},
        results=[
            timer_result(source, bench, series, evidence=evidence, period_ns=period_ns,
                         overruns=int(numbers.get("overruns", 0)))
        ],
        notes=[EARLY] * (low < 0)
        + ([f"{switches} switches to in-band mode: not reliable"] if switches else []),
    )  # fmt: skip
