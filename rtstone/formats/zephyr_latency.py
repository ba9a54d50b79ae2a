"""Import the output of Zephyr's tests/benchmarks/latency_measure, and twister's recording.csv.

A line or row is the mean time of an operation, from many in a row, which the benchmark does not
count in its output.  Newer versions (after 3.5) begin it with a name such as
``semaphore.take.immediate.kernel``, older ones with a sentence; Zephyr 1, which wrote ``tcs``, is
not read.  After the benchmark's sources of 2021 to 2025.
"""

from __future__ import annotations

import csv
import re
from typing import NamedTuple

from rtstone.documents.run import Figure, Result, Value
from rtstone.formats.reading import Reading, figures_result
from rtstone.formats.source import ONE_OUTPUT, Source
from rtstone.wire.records import Bench, Param

BENCH = Bench(
    "zephyr.latency_measure", "An operation of Zephyr as latency_measure measures it",
    "zephyr tests/benchmarks/latency_measure", "Time of an operation, from many in a row.",
    params=[Param("metric", "text", help="What the benchmark calls it.")],
)  # fmt: skip

_LINE = re.compile(
    r"\s*(.*\S)\s*: *(?:([0-9]{1,15}) cycles|FAILED) *, *(?:([0-9]{1,15}) ns|FAILED)"
    r"(?: *:(.*)|\s*)"
)
_LIKE = re.compile(r".*: *[0-9]* *cycles\b")
_BOOT = re.compile(r".*\*\*\* Booting Zephyr OS(?: build| version)? (\S+)")
_OTHER = re.compile(r".*Time Measurements for \w+ (?:wait|sched) queues")  # prints alike
_END = re.compile(r".*PROJECT EXECUTION (SUCCESSFUL|FAILED)")
_COLUMNS = {"metric", "cycles", "nanoseconds"}
_WIDEST = 400  # characters; no line of the benchmark is as long


class _Row(NamedTuple):
    """What is printed of an operation, as text; cycles and ns are None if it failed."""

    metric: str
    cycles: str | None
    ns: str | None
    remark: str


def read(source: Source) -> Reading:
    """Return the figures that the benchmark printed.  Raises UsageError."""
    results: dict[str, Result] = {}
    version, end = "", ""
    for number, line in source.lines():
        if len(line) > _WIDEST:
            continue
        if match := _BOOT.match(line):
            version = match[1]
        elif _OTHER.match(line):
            source.refuse(
                "a file of another benchmark of Zephyr",
                number,
                "`rtstone import --help` names what it reads",
            )
        elif match := _END.match(line):
            end = match[1]
        elif match := _LINE.fullmatch(line):
            _add(source, number, results, _Row(match[1], match[2], match[3], match[4] or ""))
        elif _LIKE.match(line):
            source.refuse_line(line, number, "line of latency_measure")
    if not end:
        source.cut("no 'PROJECT EXECUTION SUCCESSFUL'")
    return _reading(source, results, version, ["the benchmark failed"] if end == "FAILED" else [])


def read_recording(source: Source) -> Reading:
    """Return the figures that twister recorded: rows of metric, cycles and ns, in any order.

    No total says how many rows there were.  Raises UsageError.
    """
    lines = [line for _, line in source.lines()]
    source.check_end()
    try:
        rows = list(csv.DictReader(lines, strict=True))
    except csv.Error as error:
        source.refuse(f"no CSV: {error}")
    results: dict[str, Result] = {}
    for number, row in enumerate(rows, 2):
        if not row.keys() >= _COLUMNS or None in row or None in row.values():
            source.refuse("a row without metric, cycles or nanoseconds, or with more", number)
        cells = _Row(row["metric"], row["cycles"], row["nanoseconds"], row.get("description", ""))
        _add(source, number, results, cells)
    return _reading(source, results, "", [])


def _add(source: Source, line: int, results: dict[str, Result], row: _Row) -> None:
    """Add the result of an operation.  Refuses one without a name, or with that of another."""
    name, _, description = (part.strip() for part in row.metric.partition(" - "))
    remark = row.remark.strip()
    if not name or name in results:
        source.refuse(f"'{name[:40]}' appears twice, or has no name", line,
                      ONE_OUTPUT)  # fmt: skip
    failed = row.cycles is None or row.ns is None
    cycles, ns = (
        None if failed else source.number((text or "").strip(), line, "number")
        for text in (row.cycles, row.ns)
    )
    description = description or remark
    evidence: dict[str, Value] = {"description": description} if description else {}
    figures = {"time": Figure(value=ns, unit="ns"), "cycles": Figure(value=cycles, unit="")}
    results[name] = figures_result(
        BENCH, {"metric": name}, figures, evidence=evidence, status="failed" if failed else "ok",
        reason=(remark or "the benchmark could not measure it") if failed else None,
    )  # fmt: skip


def _reading(source: Source, results: dict[str, Result], version: str, notes: list[str]) -> Reading:
    if not results:
        source.cut("no figure")
    system: dict[str, Value] = {"kernel.name": "Zephyr", "kernel.release": version or None}
    return Reading(
        tool=f"zephyr.latency_measure {version}".strip(), benches=[BENCH], notes=notes,
        results=list(results.values()), conditions=system,
    )  # fmt: skip
