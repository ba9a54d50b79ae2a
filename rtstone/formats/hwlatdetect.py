"""Import hwlatdetect's report, and its --report file, which has the samples only.

The kernel's hwlat tracer reads the clock in a loop, interrupts masked, for ``width`` of each
``window``.  ``inner`` is a gap between the two readings of a pass, ``outer`` one between passes, in
whole us; a sample is the larger one.  After the source of version 0.8, in rt-tests 2.4.
"""

from __future__ import annotations

import re
from collections import Counter

from rtstone.cpus import cpu_set
from rtstone.documents.run import Value
from rtstone.errors import UsageError
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.source import ONE_FILE, Source
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench, Param

_BENCH = Bench(
    "hwlatdetect", "Gaps that hardware or firmware makes, as hwlatdetect measures them",
    "hwlatdetect", "Gaps in a loop that reads the clock with interrupts masked, above a threshold.",
    params=[
        Param("threshold", "duration", "ns", help="A longer gap is a sample."),
        Param("window", "duration", "ns", help="From one start of looking to the next."),
        Param("width", "duration", "ns", help="How long it looks in each window."),
    ],
)  # fmt: skip

_N = "([0-9]{1,15})"
_SAMPLE = re.compile(rf"ts: {_N}\.([0-9]{{9}}), inner:{_N}, outer:{_N}\s*")
_MEMBERS = {
    "duration": re.compile(rf"hwlatdetect: +test duration {_N} seconds\s*"),
    "CPU list": re.compile(r" +CPU list: +(\S+)\s*"),
    "threshold": re.compile(rf" +Latency threshold: {_N}us\s*"),
    "window": re.compile(rf" +Sample window: +{_N}us\s*"),
    "width": re.compile(rf" +Sample width: +{_N}us\s*"),
    "maximum": re.compile(r"Max Latency: (Below threshold|[0-9]{1,15}us)\s*"),
    "samples recorded": re.compile(rf"Samples recorded: {_N}\s*"),
    "samples exceeding the threshold": re.compile(rf"Samples exceeding threshold: {_N}\s*"),
    "SMIs": re.compile(rf"SMIs during run: {_N}\s*"),
}  # fmt: skip
_OPTIONAL = {"CPU list", "SMIs"}
_STOPPED = "interrupted"


def read(source: Source) -> Reading:
    """Return the gaps.  Raises UsageError if they are not those that the report counts."""
    members: dict[str, tuple[int, str]] = {}
    gaps: list[int] = []
    last, stopped = (0, ""), False
    for number, line in source.lines():
        if sample := _SAMPLE.fullmatch(line):
            second, nanosecond, inner, outer = sample.groups()
            moment = int(second), nanosecond
            if moment < last:
                source.refuse(f"a sample of {second}.{nanosecond} s after a later one", number,
                              ONE_FILE)  # fmt: skip
            last = moment
            gaps.append(max(int(inner), int(outer)))
        elif line.startswith("ts:"):
            source.refuse_line(line, number, "sample")
        stopped = stopped or line.strip() == _STOPPED
        for name, pattern in _MEMBERS.items():
            if member := pattern.fullmatch(line):
                if name in members:
                    source.refuse("a second report", number, ONE_FILE)
                members[name] = number, member[1]
    source.check_end()
    if members:  # a report
        for name in _MEMBERS:
            if name not in members and name not in _OPTIONAL:
                source.cut(f"it has no {name}")
        for name in ("samples recorded", "samples exceeding the threshold"):
            number, text = members[name]
            if int(text) != len(gaps):
                source.refuse(f"{len(gaps)} samples, but {text} {name}", number)
        number, text = members["maximum"]
        largest = f"{max(gaps)}us" if gaps else "Below threshold"
        if text != largest:
            source.refuse(f"the largest sample is {largest}, but the report says {text}", number)
    elif not gaps:
        source.cut("no sample")
    return _reading(source, members, gaps, stopped)


def _reading(
    source: Source, members: dict[str, tuple[int, str]], gaps: list[int], stopped: bool
) -> Reading:
    numbers = {name: int(text) for name, (_, text) in members.items() if text.isdigit()}
    seconds = None if stopped else numbers.get("duration")
    evidence: dict[str, Value] = {"smi": numbers["SMIs"]} if "SMIs" in numbers else {}
    if seconds:
        evidence["section_ns"] = seconds * NS_PER_S
    line, cpus = members.get("CPU list", (0, "None"))
    if cpus != "None":
        try:
            evidence["cpus"] = [*sorted(cpu_set(cpus))]
        except UsageError as error:
            source.refuse(f"{error}", line)
    params: dict[str, Value] = {
        name: numbers[name] * 1000 for name in ("threshold", "window", "width") if name in numbers
    }
    series = Series(name="", n=len(gaps), counts=Counter(gaps),
                    min=min(gaps, default=None), max=max(gaps, default=None))  # fmt: skip
    return Reading(
        tool="hwlatdetect", benches=[_BENCH], duration_s=seconds,
        notes=["it was interrupted: for how long it measured is not known"] if stopped else [],
        results=[result(source, _BENCH.id, series, gaps=True, evidence=evidence, params=params)],
    )  # fmt: skip
