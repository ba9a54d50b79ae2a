"""Import stress-ng --yaml: the metrics of each stressor.

It has no latencies of --cyclic, which stress-ng only prints.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from rtstone.documents.run import Figure, Value
from rtstone.formats.reading import Reading, figures_result
from rtstone.formats.source import ONE_FILE, Source
from rtstone.wire.records import Bench, Param

BENCH = Bench(
    "stress-ng.metrics",
    "What a stressor of stress-ng did",
    "stress-ng --metrics --yaml",
    "Operations of a stressor, the time they took, and what else it reports of itself.",
    params=[Param("stressor", "text", help="Its name.")],
)

_SECTION = re.compile(r"([a-z-]+):\s*")
_ITEM = re.compile(r" *- ([\w-]+): *(.*?)\s*")
_MEMBER = re.compile(r" +([\w./()%+ -]+?): *(.*?)\s*")
_NUMBER = re.compile(r"-?[0-9]{1,18}(?:\.[0-9]{1,9})?")
_UNITS = {"time": "s", "second": "/s", "rss": "KiB", "instance": "%", "nanosecs": "ns"}
_CONDITIONS = {
    "sysname": "kernel.name", "release": "kernel.release", "version": "kernel.version",
    "machine": "machine.arch", "nodename": "machine.host",
}  # fmt: skip


class _Line(NamedTuple):
    """A member of a section; ``item``: it begins a list's next entry."""

    number: int
    section: str
    item: bool
    name: str
    text: str


def read(source: Source) -> Reading:
    """Return a result for each stressor, of figures only.  Raises UsageError."""
    system: dict[str, str] = {}
    stressors: dict[str, dict[str, Figure]] = {}
    own: dict[str, Figure] | None = None
    for line in _lines(source):
        if line.section == "system-info":
            system[line.name] = line.text.strip("'\"")
        elif line.section == "metrics" and line.item:
            if line.name != "stressor" or line.text in stressors:
                source.refuse(f"'{line.name}: {line.text[:40]}' begins no stressor", line.number)
            own = stressors[line.text] = {}
        elif line.section == "metrics" and own is not None and _NUMBER.fullmatch(line.text):
            words = [word for word in re.split(r"\W+", line.name) if word in _UNITS]
            unit = _UNITS[words[-1]] if words else ""  # by the last word that has one
            if line.name.startswith("bogo-ops"):
                unit = "/s" if "second" in words else "ops"
            own[line.name.replace("-", " ")] = Figure(value=float(line.text), unit=unit)
    if not stressors or not all(stressors.values()):
        source.refuse("no metrics of a stressor", do="run stress-ng with --metrics --yaml FILE")
    conditions: dict[str, Value] = {
        ours: system[theirs] for theirs, ours in _CONDITIONS.items() if theirs in system
    }
    measured = [system[name] for name in ("date-yyyy-mm-dd", "time-hh-mm-ss") if name in system]
    return Reading(
        tool=f"stress-ng {system.get('stress-ng-version', '')}".strip(), benches=[BENCH],
        conditions=conditions, measured=" ".join(measured) or None,
        results=[
            figures_result(BENCH, {"stressor": name}, figures)
            for name, figures in stressors.items()
        ],
    )  # fmt: skip


def _lines(source: Source) -> Iterator[_Line]:
    """Yield the members of all sections.  Refuses a text without its end, or with more than one."""
    section, ended = "", False
    for number, line in source.lines():
        if ended and line.strip():
            source.refuse("a second document", number, ONE_FILE)
        ended = ended or line.rstrip() == "..."
        if match := _SECTION.fullmatch(line):
            section = match[1]
        elif (match := _ITEM.fullmatch(line)) or (match := _MEMBER.fullmatch(line)):
            yield _Line(number, section, line.lstrip().startswith("- "), match[1], match[2])
    source.check_end()
    if not ended:
        source.cut("no '...'")
