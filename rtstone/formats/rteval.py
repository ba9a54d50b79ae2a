"""rteval: the summary.xml of a run, which holds what its cyclictest found on each core.

Without a histogram in the file (one longer than the number of buckets), rteval told nothing.
Samples at or above the number of buckets are in no count of the file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rtstone.formats import cyclictest
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.source import Source
from rtstone.model.documents import Result, Value

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_SPANS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
_LOAD = "rteval"  # its own loads ran


def read(source: Source) -> Reading:
    """The histograms of the cores.  Raises UsageError."""
    root = _root(source)
    test = root.find(".//Measurements/cyclictest")
    if test is None:
        test = root.find(".//cyclictest")
    if test is None:
        source.refuse("no measurement of cyclictest")
    cores = test.findall("core")
    if not cores:
        source.refuse(
            "no histogram: rteval leaves it out if a latency lay beyond it",
            do="measure again with more buckets",
        )
    known = cyclictest.options(test.get("command_line", ""))
    duration_s = _duration(source, root)
    results = [_result(source, core, known, duration_s) for core in cores]
    _check_system(source, test, results)
    version = root.get("version")
    return Reading(
        tool=f"rteval {version}" if version else "rteval", command=test.get("command_line"),
        results=results, benches=[cyclictest.BENCH], conditions=_conditions(root),
        notes=_notes(test), duration_s=duration_s,
    )  # fmt: skip


def _root(source: Source) -> Element:
    """The document element.  Refuses entities, which rteval never writes."""
    from xml.etree import ElementTree

    if b"<!DOCTYPE" in source.data or b"<!ENTITY" in source.data:
        source.refuse("a document type, which rteval never writes")
    try:
        root = ElementTree.fromstring(source.data)
    except ElementTree.ParseError as error:
        line, _ = error.position
        if "no element found" in str(error) or "unclosed" in str(error):
            source.cut("an element has no end", line)
        source.refuse(f"no XML: {str(error).partition(':')[0]}", line)
    except (ValueError, LookupError):  # an encoding that nobody knows
        source.refuse("no XML that a tool would write")
    if root.tag != "rteval":
        source.refuse(f"<{root.tag[:40]}> in place of <rteval>")
    return root


def _duration(source: Source, root: Element) -> float | None:
    info = root.find("run_info")
    if info is None:
        return None
    parts = {name: info.get(name) for name in _SPANS}
    if None in parts.values():
        return None
    texts = {name: (text or "").partition(".")[0] for name, text in parts.items()}
    return sum(source.number(text, 1, name) * _SPANS[name] for name, text in texts.items()) or None


def _result(
    source: Source, core: Element, known: cyclictest.Options, duration_s: float | None
) -> Result:
    cpu = source.number(core.get("id", ""), 1, "core")
    name = f"cpu {cpu}"
    counts = _buckets(source, core, name)
    n = _whole(source, core, "samples", name)
    low = _whole(source, core, "minimum", name) if n else None
    high = _whole(source, core, "maximum", name) if n else None
    beyond = bool(counts) and high is not None and high > max(counts)
    series = Series(
        name=name, n=n, counts=counts, min=low, max=high, mean=_mean(source, core, name),
        mean_within=(0.005, 0.005), untold=beyond,
    )  # fmt: skip
    evidence = known.evidence() | {"cpus": [cpu]}
    if duration_s:
        evidence["section_ns"] = int(duration_s * 1e9)
    return result(
        source, cyclictest.BENCH.id, series, flags=cyclictest.flags(known), evidence=evidence,
        params={"interval": known.interval_ns}, load=_LOAD,
    )  # fmt: skip


def _buckets(source: Source, core: Element, name: str) -> Mapping[int, int]:
    counts: dict[int, int] = {}
    for bucket in core.findall("histogram/bucket"):
        value = source.number(bucket.get("index", ""), 1, f"{name}: bucket")
        if value in counts:
            source.refuse(f"{name}: bucket {value} is there twice")
        counts[value] = source.number(bucket.get("value", ""), 1, f"{name}: count")
    return {value: count for value, count in counts.items() if count}


def _whole(source: Source, core: Element, tag: str, name: str) -> int:
    text = core.findtext(f"statistics/{tag}")
    if text is None:
        source.refuse(f"{name}: no <{tag}>")
    return source.number(text.strip(), 1, f"{name}: {tag}")


def _mean(source: Source, core: Element, name: str) -> float | None:
    text = core.findtext("statistics/mean")
    if text is None:
        return None
    try:
        return float(text)
    except ValueError:
        source.refuse(f"{name}: mean '{text[:40]}' is no number")


def _check_system(source: Source, test: Element, results: list[Result]) -> None:
    """The whole must be the sum of the cores."""
    system = test.find("system")
    if system is None:
        source.cut("no <system>")
    whole = _whole(source, system, "samples", "system")
    if whole != sum(result.n for result in results):
        source.refuse(f"the cores do not add up to the {whole} samples of the system")
    counts: Counter[float] = Counter()
    for core in results:
        counts.update(dict(core.histogram))
    if counts != {1e3 * v: n for v, n in _buckets(source, system, "system").items()}:
        source.refuse("the histograms of the cores do not add up to that of the system")


def _notes(test: Element) -> list[str]:
    stopped = test.find("abort_report")
    return [] if stopped is None else [f"rteval stopped: {stopped.get('reason', 'no reason told')}"]


def _conditions(root: Element) -> dict[str, Value]:
    kernel = root.find(".//SystemInfo/uname/kernel")
    rt = None if kernel is None else kernel.get("is_RT")
    told: dict[str, Value] = {
        "kernel.name": "Linux",
        "kernel.release": None if kernel is None else kernel.text,
        "kernel.realtime": None if rt is None else rt == "1",
        "machine.arch": root.findtext(".//SystemInfo/uname/arch"),
        "machine.host": root.findtext(".//SystemInfo/uname/node"),
    }
    return {name: value for name, value in told.items() if value is not None}
