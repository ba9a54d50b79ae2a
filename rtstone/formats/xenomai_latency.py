"""Import what Xenomai's latency and EVL's latmus print, and the histogram of latency -h.

An RTD line is of a second's samples; its last two columns are of all so far.  Cells are taken to be
1 us wide (-B 1000).  After the sources of Xenomai 3 and of libevl of January 2024.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rtstone.documents.run import Value
from rtstone.formats.reading import NS, Reading, Series, clock_s
from rtstone.formats.source import Source
from rtstone.formats.timer_latency import (
    CELL_NS,
    EARLY,
    XENOMAI,
    timer_bench,
    timer_result,
    us_as_ns,
)
from rtstone.units import NS_PER_S

_T, _N = r" *(-?[0-9]{1,12}\.[0-9]{3})", r" *([0-9]{1,12})"
_HMS = r"([0-9]{2,6}):([0-9]{2}):([0-9]{2})"
_RTT = re.compile(
    rf"RTT\|  {_HMS}  \(([\w -]+), ([0-9]{{1,9}}) us period,(?: priority ([0-9]{{1,3}}),?)?"
    r"(?: CPU([0-9]{1,6})(?:-noisol)?)?\)\s*"
)
_RTD = re.compile(rf"RTD\|{_T}\|{_T}\|{_T}\|{_N}\|{_N}\|{_T}\|{_T}\s*")
_RTS = re.compile(rf"RTS\|{_T}\|{_T}\|{_T}\|{_N}\|{_N}\| *{_HMS}/.*")
_HSD = re.compile(r"HSD\| *avg\| *([0-9]{1,6}) *- *[0-9]+ *\| *([0-9]{1,12})\s*")
_LIKE = re.compile(r"(RT[TDS]|HSD\| *avg)\|")
_SIZES = (100, 200, 300)  # of histograms by default, in versions
_ONE_RUN = "import one run's output"


class _Total(NamedTuple):
    """Of all samples up to a line; times in ns."""

    min: int
    mean: int
    max: int
    overruns: int
    switches: int

    def follows(self, last: _Total) -> bool:
        return self.min <= last.min and self.max >= last.max and self.overruns >= last.overruns


def read(source: Source) -> Reading:
    """Return the latencies.  Raises UsageError."""
    head: re.Match[str] | None = None
    seconds: list[_Total] = []
    end: tuple[_Total, int] | None = None
    cells: dict[int, int] = {}
    for number, line in source.lines():
        if end is not None and _LIKE.match(line):
            source.refuse("a second run begins here", number, _ONE_RUN)
        if match := _RTT.fullmatch(line):
            if head is not None and match.groups()[3:] != head.groups()[3:]:
                source.refuse("a second run begins here", number, _ONE_RUN)
            head = match
        elif match := _RTD.fullmatch(line):
            low, mean, high, best, worst = (us_as_ns(match[n]) for n in (1, 2, 3, 6, 7))
            total = _Total(best, mean, worst, int(match[4]), int(match[5]))
            if not best <= low <= mean <= high <= worst:
                source.refuse("minimum, mean and maximum are not in this order", number)
            if seconds and not total.follows(seconds[-1]):
                source.refuse("a second run begins here", number, _ONE_RUN)
            seconds.append(total)
        elif match := _RTS.fullmatch(line):
            low, mean, high = (us_as_ns(match[n]) for n in (1, 2, 3))
            span = clock_s(*match.groups()[5:])
            end = _Total(low, mean, high, int(match[4]), int(match[5])), span
            if seconds and not end[0].follows(seconds[-1]):
                source.refuse("the total is not that of the lines before it", number, _ONE_RUN)
        elif match := _HSD.fullmatch(line):
            cells[int(match[1]) * CELL_NS] = int(match[2])
        elif _LIKE.match(line):
            source.refuse_line(line, number, "line of latency or latmus")
    source.check_end()
    if head is None or not seconds:
        source.cut("no RTT or RTD line; run it without -q and -l 0")
    return _reading(source, head, seconds, end, cells)


def _reading(
    source: Source, head: re.Match[str], seconds: list[_Total], end: tuple[_Total, int] | None,
    cells: dict[int, int],
) -> Reading:  # fmt: skip
    *_, context, period, priority, cpu = head.groups()
    period_ns = int(period) * 1000
    if not 0 < period_ns <= NS_PER_S:
        source.refuse(f"a period of {period} us")
    total, span = end or (seconds[-1], len(seconds))
    mean = total.mean if end else sum(second.mean for second in seconds) / len(seconds)
    notes = [] if end else ["no RTS line: it was ended, or cut"]
    lost = len(seconds) < span - 2
    if lost:
        notes.append(f"{len(seconds)} RTD lines of {span} seconds: their samples are not in n")
    n, over = len(seconds) * (NS_PER_S // period_ns), 0
    if cells and not lost and not n <= sum(cells.values()) < n + 2 * (NS_PER_S // period_ns):
        source.refuse(f"{sum(cells.values())} samples in the histogram, but {n} in RTD lines")
    if cells and total.min >= 0:
        n, last = sum(cells.values()), max(cells)
        if total.max >= last + CELL_NS and last // CELL_NS + 1 in _SIZES:
            over = cells.pop(last)
    if total.min < 0 and cells:
        notes.append(EARLY)
    if total.switches:
        notes.append(f"{total.switches} switches to in-band mode: not reliable")
    tool = "xenomai.latency" if context in XENOMAI else "latmus"
    bench = timer_bench(XENOMAI.get(context, context), tool)
    evidence: dict[str, Value] = {"section_ns": span * NS_PER_S or None}
    evidence |= {"prio": int(priority), "sched": "fifo"} if priority else {}
    evidence |= {"cpus": [int(cpu)]} if cpu else {}
    series = Series(name="", n=n, counts=cells, overflow=over, unit_ns=NS, width=CELL_NS,
                    min=total.min, mean=mean, max=total.max, mean_within=(2, 2))  # fmt: skip
    row = timer_result(source, bench, series, evidence=evidence, period_ns=period_ns,
                       overruns=total.overruns, lost=lost)  # fmt: skip
    return Reading(tool=tool, benches=[bench], results=[row], notes=notes, duration_s=span or None)
