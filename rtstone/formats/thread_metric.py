"""Import Thread-Metric: how often a test did its work in each period, no latencies.

Periods have the same length, 30 s by default, and no total says how many there were.  After the
sources of 2024 and 2025 in Zephyr, and of two ports of Eclipse ThreadX's suite.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NamedTuple

from rtstone.documents.run import Figure, Result
from rtstone.formats.reading import Reading, figures_result
from rtstone.formats.source import Source
from rtstone.units import NS_PER_S
from rtstone.wire.records import Bench, Param

BENCH = Bench(
    "thread_metric", "How often an operation runs, as Thread-Metric counts it", "Thread-Metric",
    "Threads do the same again and again; a count is of those in a period.",
    params=[Param("test", "text", help="What Thread-Metric calls it.")],
)  # fmt: skip

_HEAD = re.compile(
    r".*\*{4} Thread-Metric (.{1,80}?)(?: Test)? \*{4} Relative Time: *([0-9]{1,9})\s*"
)
_TOTAL = re.compile(r".*Time Period Total: *([0-9]{1,18})\s*")
_ERROR = re.compile(r".*(ERROR: .*\S)\s*")
_LIKE = re.compile(r".*(Thread-Metric [^*]{1,99}\*|Time Period Total)")


class _Period(NamedTuple):
    """A period: the line that reports it, its end in s, and what was counted in it."""

    line: int
    end_s: int
    total: int


def read(source: Source) -> Reading:
    """Return a result for each test, of figures only.  Raises UsageError."""
    tests: dict[str, list[_Period]] = {}
    errors: dict[str, str] = {}
    head: re.Match[str] | None = None
    for number, line in source.lines():
        if match := _HEAD.fullmatch(line):
            if head is not None:
                source.refuse(f"no 'Time Period Total' of {head[1]} before this line", number)
            head = match
        elif match := _TOTAL.fullmatch(line):
            if head is None:
                source.refuse("a 'Time Period Total' without its test", number)
            period = _Period(number, int(head[2]), source.number(match[1], number))
            tests.setdefault(head[1], []).append(period)
            head = None
        elif _LIKE.match(line):
            source.refuse_line(line, number, "line of Thread-Metric")
        elif head is not None and (match := _ERROR.fullmatch(line)):
            errors.setdefault(head[1], match[1])
    source.check_end()
    if head is not None or not tests:
        source.cut("no 'Time Period Total'")
    return Reading(
        tool="Thread-Metric", benches=[BENCH],
        results=[_result(source, test, own, errors.get(test)) for test, own in tests.items()],
    )  # fmt: skip


def _result(source: Source, test: str, periods: list[_Period], error: str | None) -> Result:
    """Return the rates of a test.  Refuses periods that do not follow each other."""
    ends = [period.end_s for period in periods]
    length = ends[1] - ends[0] if len(ends) > 1 else ends[0]
    for last, period in pairwise(periods):
        if period.end_s - last.end_s != length or length <= 0:
            source.refuse(
                f"{test}: {period.end_s} s does not follow {last.end_s} s in steps of {length} s",
                period.line, "import one run's output, without gaps",
            )  # fmt: skip
    if length <= 0:
        source.refuse(f"{test}: a period of {length} s", periods[0].line)
    counts = [period.total for period in periods]
    rates = {
        "rate": sum(counts) / len(counts), "least rate": min(counts), "largest rate": max(counts),
    }  # fmt: skip
    figures = {name: Figure(value=round(n / length, 4), unit="/s") for name, n in rates.items()}
    return figures_result(
        BENCH, {"test": test}, figures | {"periods": Figure(value=len(counts), unit="")},
        status="failed" if error else "ok", reason=error,
        evidence={"section_ns": length * len(counts) * NS_PER_S},
    )  # fmt: skip
