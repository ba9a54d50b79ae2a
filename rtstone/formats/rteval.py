"""Import rteval's summary.xml, which has the samples of its cyclictest for each core.

rteval leaves out the histogram if a sample was beyond its last bucket.  No count in the file
includes samples at or above the number of buckets.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from rtstone.documents.run import Result, Value
from rtstone.formats import cyclictest
from rtstone.formats.reading import Reading, Series, result
from rtstone.formats.source import Source
from rtstone.units import NS_PER_S

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element, TreeBuilder

_SPANS = {"days": 86400, "hours": 3600, "minutes": 60, "seconds": 1}
_LOAD, _NO_LOAD = "rteval", "none"  # rteval runs loads of its own, unless its profile has none
_PIECE = 1 << 16  # bytes parsed at a time
_DEEPEST = 32  # nesting of elements
_MOST = 100_000  # elements other than buckets; rteval writes some thousands


class _File(NamedTuple):
    """The elements of the file but for buckets, whose counts are in ``counts`` by core."""

    root: Element
    counts: Mapping[Element, Mapping[int, int]]


class _Test(NamedTuple):
    """A measurement, its load, and its duration in s, None if unknown."""

    element: Element
    load: str
    duration_s: float | None


def read(source: Source) -> Reading:
    """Return the histograms of the cores.  Raises UsageError."""
    file = _file(source)
    root = file.root
    tests = _tests(source, root)
    results = [core for test in tests for core in _results(source, file, test)]
    version = root.get("version")
    parts = [root.findtext(f"run_info/{part}") for part in ("date", "time")]
    moment = "T".join(text.strip() for text in parts if text)  # of its machine's clock
    stopped = [report for test in tests for report in test.element.findall("abort_report")[:1]]
    kernel = root.find(".//SystemInfo/uname/kernel")
    rt = None if kernel is None else kernel.get("is_RT")
    conditions: dict[str, Value] = {
        "kernel.name": "Linux",
        "kernel.release": None if kernel is None else kernel.text,
        "kernel.realtime": None if rt is None else rt == "1",
        "machine.arch": root.findtext(".//SystemInfo/uname/arch"),
        "machine.host": root.findtext(".//SystemInfo/uname/node"),
    }
    return Reading(
        tool=f"rteval {version}" if version else "rteval",
        command=tests[0].element.get("command_line"), results=results,
        benches=[cyclictest.BENCH],
        conditions={name: value for name, value in conditions.items() if value is not None},
        notes=[f"rteval stopped: {report.get('reason', 'no reason given')}" for report in stopped],
        duration_s=_duration(source, root), measured=moment if all(parts) else None,
    )  # fmt: skip


def _tests(source: Source, root: Element) -> list[_Test]:
    """Return the measurements; versions since 3.7 have a profile of loads for each."""
    elements: dict[str, Element] = {}
    for profile in root.iterfind(".//Measurements/Profile"):
        load = _NO_LOAD if profile.get("loads") == "0" else _LOAD
        for test in profile.iterfind("cyclictest"):
            if load in elements:
                source.refuse(
                    "two measurements under the same load", do="measure them in runs of their own"
                )
            elements[load] = test
    for place in (".//Measurements/cyclictest", ".//cyclictest"):
        alone = root.find(place)
        if not elements and alone is not None:
            elements[_LOAD] = alone
    if not elements:
        source.refuse("no measurement of cyclictest")
    duration_s = _duration(source, root) if len(elements) == 1 else None
    return [_Test(element, load, duration_s) for load, element in elements.items()]


def _results(source: Source, file: _File, test: _Test) -> list[Result]:
    """Return the results of one measurement, of each core."""
    cores = test.element.findall("core")
    if not cores:
        source.refuse(
            "no histogram: rteval leaves it out if a latency lay beyond it",
            do="measure again with more buckets",
        )
    options = cyclictest.options(test.element.get("command_line", ""))
    results = cyclictest.lasting([_result(source, file, core, options, test) for core in cores])
    # The cores have to add up to the system as a whole.
    system = test.element.find("system")
    if system is None:
        source.cut("no <system>")
    whole = _statistic(source, system, "samples", "system")
    if whole != sum(core.n for core in results):
        source.refuse(f"the cores do not add up to the {whole} samples of the system")
    counts: Counter[float] = Counter()
    for core in results:
        counts.update(dict(core.histogram))
    if counts != {1e3 * v: n for v, n in _buckets(file, system).items()}:
        source.refuse("the histograms of the cores do not add up to that of the system")
    return results


def _file(source: Source) -> _File:
    """Parse the file piece by piece.  Refuses entities, which rteval never writes."""
    from xml.etree import ElementTree

    source.check_length()
    if b"<!DOCTYPE" in source.data or b"<!ENTITY" in source.data:
        source.refuse("a document type, which rteval never writes")
    try:
        collector = _Collector(source, ElementTree.TreeBuilder())
        parser = ElementTree.XMLParser(target=collector)
        for at in range(0, len(source.data), _PIECE):
            parser.feed(source.data[at : at + _PIECE])
        file = _File(parser.close(), collector.counts)
    except ElementTree.ParseError as error:
        line, _ = error.position
        if "no element found" in str(error) or "unclosed" in str(error):
            source.cut("an element has no end", line)
        source.refuse(f"no XML: {str(error).partition(':')[0]}", line)
    except (ValueError, LookupError):  # an unknown encoding
        source.refuse("no XML that a tool would write")
    if file.root.tag != "rteval":
        source.refuse(f"<{file.root.tag[:40]}> in place of <rteval>")
    return file


class _Collector:
    """A target of the XML parser that builds a tree of all elements but buckets."""

    def __init__(self, source: Source, tree: TreeBuilder) -> None:
        self.counts: dict[Element, dict[int, int]] = defaultdict(dict)
        self._source = source
        self._tree = tree
        self._within: list[Element | None] = []  # open elements; None: a bucket
        self._elements = 0

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Handle the start of an element."""
        if len(self._within) == _DEEPEST:
            self._source.refuse(f"elements {_DEEPEST} deep, which rteval never writes")
        if tag == "bucket":
            core, histogram = self._within[-2:] if len(self._within) > 1 else (None, None)
            if core is not None and histogram is not None and histogram.tag == "histogram":
                number = core.get("id")
                name = "system" if number is None else f"cpu {number}"
                counts = self.counts[core]
                value = self._source.number(attributes.get("index", ""), 1, f"{name}: bucket")
                if value in counts:
                    self._source.refuse(f"{name}: bucket {value} appears twice")
                text = attributes.get("value", "")
                counts[value] = self._source.number(text, 1, f"{name}: count")
            self._within.append(None)
            return
        self._elements += 1
        if self._elements > _MOST:
            self._source.refuse(f"more than {_MOST} elements, which rteval never writes")
        self._within.append(self._tree.start(tag, attributes))

    def data(self, text: str) -> None:
        """Handle text; between buckets there are only blanks."""
        last = self._within[-1]
        if last is not None and last.tag != "histogram":
            self._tree.data(text)

    def end(self, tag: str) -> None:
        """Handle the end of the innermost element."""
        if self._within.pop() is not None:
            self._tree.end(tag)

    def close(self) -> Element:
        """Return the root element."""
        return self._tree.close()


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
    source: Source, file: _File, core: Element, options: cyclictest.Options, test: _Test
) -> Result:
    cpu = source.number(core.get("id", ""), 1, "core")
    name = f"cpu {cpu}"
    counts = _buckets(file, core)
    n = _statistic(source, core, "samples", name)
    low = _statistic(source, core, "minimum", name)
    high = _statistic(source, core, "maximum", name)
    text = core.findtext("statistics/mean")
    try:
        mean = None if text is None else float(text)
    except ValueError:
        source.refuse(f"{name}: mean '{(text or '')[:40]}' is not a number")
    beyond = bool(counts) and high > max(counts)
    series = Series(
        name=name, n=n, counts=counts, min=low, max=high, mean=mean,
        mean_within=(0.005, 0.005), uncounted=beyond,
    )  # fmt: skip
    evidence = options.evidence() | {"cpus": [cpu]}
    if test.duration_s:
        evidence["section_ns"] = int(test.duration_s * NS_PER_S)
    return result(
        source, cyclictest.BENCH.id, series, flags=cyclictest.flags(options), evidence=evidence,
        params={"interval": options.period_ns()}, load=test.load,
        period_ns=options.period_ns() if options.periodic else None,
    )  # fmt: skip


def _buckets(file: _File, core: Element) -> Mapping[int, int]:
    return {value: count for value, count in file.counts.get(core, {}).items() if count}


def _statistic(source: Source, core: Element, tag: str, name: str) -> int:
    text = core.findtext(f"statistics/{tag}")
    if text is None:
        source.refuse(f"{name}: no <{tag}>")
    return source.number(text.strip(), 1, f"{name}: {tag}")
