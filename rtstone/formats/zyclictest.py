"""Import what Zephyr's shell command zyclictest prints, from its start to its histogram.

Buckets are whole us; those from 1000 us are counted as overflow.  The mean that it prints counts
such a sample as 0, and so is left out.  After Zephyr's source of 2025.
"""

from __future__ import annotations

import re

from rtstone.documents.run import Result, Value
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.source import Source
from rtstone.wire.records import Bench, Param

_INTERVAL = Param("interval", "duration", "ns", help="Period of the timer.")
_BENCHES = [
    Bench("zyclictest.irq", "Timer interrupt latency as zyclictest measures it", "zyclictest",
          "From the time that a timer was set for to its interrupt handler.", params=[_INTERVAL]),
    Bench("zyclictest.thread", "Thread latency as zyclictest measures it", "zyclictest",
          "From the time that a timer was set for to the thread that waits for it.",
          params=[_INTERVAL]),
]  # fmt: skip
_CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")  # of Zephyr's shell
_TWO = r"\s+([0-9]{1,15})\s+([0-9]{1,15})"
_ROW = re.compile(rf"\s*([0-9]{{1,4}}){_TWO}\s*")
_MEMBERS = {
    "interval": re.compile(r".*Cycle interval: ([0-9]{1,15}) us\s*"),
    "priority": re.compile(r".*Priority: (-?[0-9]{1,5})\s*"),
    "count": re.compile(r".*Finished thread with count: ([0-9]{1,15})\s*"),
    "minimum": re.compile(rf".*Min-Latency:{_TWO} us\s*"),
    "mean": re.compile(rf".*Avg-Latency:{_TWO} us\s*"),
    "maximum": re.compile(rf".*Max-Latency:{_TWO} us\s*"),
    "overflow": re.compile(rf".*Overflow:{_TWO}\s*"),
    "histogram": re.compile(r".*(Histogram):\s*"),
}  # fmt: skip
_LIKE = re.compile(r".*(Latency|Overflow):|\s*[0-9]+\s+[0-9]+\s*")


def read(source: Source) -> Reading:
    """Return the histograms of interrupt and thread.  Raises UsageError."""
    members: dict[str, tuple[str, ...]] = {}
    rows: list[tuple[int, int, int]] = []
    for number, text in source.lines():
        line = _CODES.sub("", text)
        match = None
        for name, pattern in _MEMBERS.items():
            if match := pattern.fullmatch(line):
                if name in members:
                    source.refuse("a second run begins here", number, "import one run at a time")
                members[name] = match.groups()
                break
        if match is None and "histogram" in members and (row := _ROW.fullmatch(line)):
            value, irq, thread = map(int, row.groups())
            if value != len(rows):
                source.refuse(f"bucket {value} in place of {len(rows)}", number)
            rows.append((value, irq, thread))
        elif match is None and _LIKE.match(line):
            source.refuse_line(line, number, "line of zyclictest")
    source.check_end()
    for name in ("minimum", "mean", "maximum", "overflow"):
        if name not in members:
            source.cut(f"no {name}")
    if "histogram" not in members and "count" not in members:
        source.cut("neither a histogram nor 'Finished thread with count'")
    prio = members.get("priority")
    return Reading(
        tool="zyclictest", benches=_BENCHES,
        results=[_result(source, members, rows, number) for number in (0, 1)],
        notes=[] if "histogram" in members else ["no histogram (-q of stop, or cut)"],
        conditions={"kernel.name": "Zephyr"} | ({"zephyr.priority": int(prio[0])} if prio else {}),
    )  # fmt: skip


def _result(
    source: Source,
    members: dict[str, tuple[str, ...]],
    rows: list[tuple[int, int, int]],
    place: int,
) -> Result:
    """Return the result of the interrupt (0) or the thread (1)."""
    low, mean, high, over = (
        int(members[name][place]) for name in ("minimum", "mean", "maximum", "overflow")
    )
    counts = {row[0]: row[1 + place] for row in rows if row[1 + place]}
    drawn = "histogram" in members
    n = int(members["count"][0]) if "count" in members else sum(counts.values()) + over
    evidence: dict[str, Value] = {} if drawn else {"overflow": over}
    if drawn and n != sum(counts.values()) + over:
        source.refuse(
            f"{_BENCHES[place].id}: {sum(counts.values())} samples in the histogram and {over} "
            f"beyond it are not the {n} that were counted"
        )  # fmt: skip
    params: dict[str, Value] = {}
    if "interval" in members:
        params["interval"] = int(members["interval"][0]) * 1000
        evidence["section_ns"] = n * int(members["interval"][0]) * 1000
    series = Series(
        name="", n=n, counts=counts, overflow=over if drawn else 0,
        min=low if n > over else None, max=high,
        mean=None if over else mean, mean_within=(0.5, 0.5),
    )  # fmt: skip
    return result(source, _BENCHES[place].id, series, params=params, evidence=evidence)
