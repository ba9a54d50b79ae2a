"""Export wake-up latencies as cyclictest writes them: JSON of 2.10, but always valid, or text.

Each result of a bench that measures what cyclictest does becomes a thread.  Values of JSON are in
µs if all of them are whole, else in ns, as with -N; those of the text of -h (2.4) are whole µs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from rtstone import __version__
from rtstone.documents.case_name import case_names
from rtstone.documents.imported import tool
from rtstone.documents.run import Distribution, Result, Run, Value
from rtstone.formats import rows
from rtstone.formats.cyclictest import BENCH
from rtstone.formats.cyclictest_json import OF_RTSTONE, OWN
from rtstone.formats.reading import NS, US
from rtstone.formats.registry import Written, refused
from rtstone.formats.rt_tests_document import moment
from rtstone.results.flags import FLAGS
from rtstone.units import counted

WAKE_UPS = (BENCH.id, "dk.periodic")
_VERSION = f"2.10 {OF_RTSTONE} {__version__})"


def _wake_ups(run: Run) -> list[Result]:
    results = [r for r in run.results if r.bench in WAKE_UPS and r.n and r.unit == "ns"]
    if not results:
        raise refused(run, f"no samples of {' or '.join(WAKE_UPS)} in ns")
    return results


def write(run: Run) -> Written:
    """Export the wake-up latencies of a run.  Raises UsageError if it has none in ns."""
    results = _wake_ups(run)
    whole = all(_whole_us(result) for result in results)
    threads, losses = {}, []
    for number, result in enumerate(results):
        threads[str(number)], missing = _thread(result, US if whole else NS)
        losses.append(missing)
    name, _, version = (tool(run) or "").partition(" ")
    measured = str(run.conditions.get("tool.measured", run.created))
    try:
        start = datetime.fromisoformat(measured)
        times = {"start_time": moment(start)}
        if run.duration_s is not None:
            times["end_time"] = moment(start + timedelta(seconds=run.duration_s))
    except (ValueError, OverflowError):
        times = {"start_time": measured}
    document = {
        "file_version": 1,
        "cmdline:": _text(run.conditions, "tool.command") or " ".join(run.command),
        "rt_test_version:": version if name == BENCH.id and version else _VERSION,
        **times,
        "return_code": 0,
        "sysinfo": {
            "sysname": _text(run.conditions, "kernel.name"),
            "nodename": _text(run.conditions, "machine.host"),
            "release": _text(run.conditions, "kernel.release"),
            "version": _text(run.conditions, "kernel.version"),
            "machine": _text(run.conditions, "machine.arch"),
            "realtime": int(run.conditions.get("kernel.realtime") in (True, "1")),
        },
        "num_threads": len(threads),
        "resolution_in_ns": 0 if whole else 1,
        "thread": threads,
    }
    lost = [*_left(run, results), *_of_threads(run, results, losses)]
    return Written((json.dumps(document, indent=2) + "\n").encode(), lost)


def _of_threads(
    run: Run, results: Sequence[Result], losses: Sequence[Sequence[str]]
) -> Iterator[str]:
    """Yield which result each thread is, and what is lost of their samples, each loss once."""
    names = case_names([(r.bench, r.params, r.series, r.load) for r in results], run.benches)
    for number, name in enumerate(names):
        yield f"thread {number} is {name.with_load}"
    threads: dict[str, list[str]] = {}
    for number, own in enumerate(losses):
        for loss in own:
            threads.setdefault(loss, []).append(str(number))
    for loss, numbers in threads.items():
        yield f"thread{'s' * (len(numbers) > 1)} {', '.join(numbers)}: {loss}"


def _whole_us(result: Result) -> bool:
    values = [value for value, _ in result.histogram]
    values += [value for value in (result.min, result.max) if value is not None]
    return all(value % US == 0 for value in values)


def _thread(result: Result, unit: int) -> tuple[Mapping[str, Any], list[str]]:
    """Return a thread, and what is lost of its samples."""
    lost = []
    counts, below = _counts(result, result.overflow, unit)
    if below:
        lost.append(counted(below, "negative sample"))
    if unit == NS and any(value % 1 for value, _ in result.histogram):
        lost.append("fractions of ns")
    if result.missed:
        lost.append(f"{counted(result.missed, 'missed activation')}, but for import by rtstone")
    cpus = result.evidence.get("cpus")
    return {
        "histogram": {str(value): count for value, count in sorted(counts.items())},
        "cycles": result.n - below,
        "min": min(counts, default=0) if below else round((result.min or 0) / unit),
        "max": round((result.max or 0) / unit),
        "avg": round((result.mean or 0) / unit, 2),
        "cpu": cpus[0] if isinstance(cpus, list) and len(cpus) == 1 else -1,
        "node": -1,
        OWN: {
            "interval_ns": _period(result), "load": result.load, "series": result.series,
            "missed": result.missed, "corrected": _corrected(result, unit),
            "flags": [flag.name for flag in FLAGS if flag.voids and flag.name in result.flags],
        },
    }, lost  # fmt: skip


def _corrected(result: Result, unit: int) -> Mapping[str, Any] | None:
    """Return the distribution that includes omitted activations, None if it is not known."""
    whole = result.corrected
    if not result.missed or whole is None or whole.mean is None:
        return None
    counts, below = _counts(whole, result.overflow, unit)
    if counts.total() + below + result.overflow != whole.n:
        return None
    return {
        "histogram": {str(value): count for value, count in sorted(counts.items())},
        "avg": round(whole.mean / unit, 4),
    }


def _counts(samples: Result | Distribution, overflow: int, unit: int) -> tuple[Counter[int], int]:
    """Return the counts of samples by whole units, and how many samples are negative."""
    return rows.whole_counts(_exact_ends(samples, overflow), lambda value: round(value / unit))


def _period(result: Result) -> int | None:
    """Return the period of a task in ns, None if it is not known."""
    period = result.params.get("interval" if result.bench == BENCH.id else "period")
    return period if isinstance(period, int) else None


def _exact_ends(result: Result | Distribution, overflow: int) -> list[tuple[float, int]]:
    """Return the histogram with the exact smallest and largest sample as points of their own.

    ``overflow``: samples beyond the histogram, of which the largest is one.
    """
    points = list(result.histogram)
    if points and result.min is not None:
        first, count = points[0]
        points[:1] = [(result.min, 1), (first, count - 1)]
    if points and result.max is not None and not overflow:
        last, count = points[-1]
        points[-1:] = [(last, count - 1), (result.max, 1)]
    return [(value, count) for value, count in points if count]


def _left(run: Run, exported: list[Result]) -> list[str]:
    counts = Counter(r.bench for r in run.results if r not in exported)
    lost = ["percentiles, evidence, flags, traces, worst samples and most conditions"]
    return lost + [f"{counted(count, 'result')} of {bench}" for bench, count in counts.items()]


def _text(conditions: Mapping[str, Value], name: str) -> str:
    value = conditions.get(name)
    return "" if value is None else str(value)


# ---- text ---------------------------------------------------------------------------------------

_TOP = 1_000_000  # µs: the longest histogram that cyclictest has


class _Column(NamedTuple):
    """A thread of the text, in whole µs, cut off as cyclictest does."""

    counts: Mapping[int, int]
    over: int  # samples beyond the histogram
    min: int
    mean: int
    max: int


def write_histogram(run: Run) -> Written:
    """Export the histograms of a run, a column each.

    Raises UsageError if it has no wake-up latencies in ns, or not their distribution.
    """
    results = _wake_ups(run)
    if without := next((r for r in results if not r.histogram), None):
        raise refused(run, f"only statistics of {without.bench} {without.series}".rstrip())
    columns, losses = zip(*map(_column, results), strict=True)
    lost = [*_left(run, results), *_of_threads(run, results, losses)]
    return Written("".join(f"{line}\n" for line in _text_lines(run, columns)).encode(), lost)


def _column(result: Result) -> tuple[_Column, list[str]]:
    counts, below = rows.whole_counts(
        _exact_ends(result, result.overflow), lambda value: int(value // US)
    )
    over = result.overflow + sum(counts.pop(us) for us in list(counts) if us >= _TOP)
    lost = []
    if below:
        lost.append(counted(below, "negative sample"))
    if not _whole_us(result):
        lost.append("fractions of µs, which are cut off as cyclictest does")
    if over:
        were = "was" if over == 1 else "were"
        lost.append(f"at which cycles {counted(over, 'sample')} beyond the histogram {were}")
    if result.missed:
        lost.append(counted(result.missed, "missed activation"))
    n = sum(counts.values())
    mean = (result.mean or 0) / US if over or not n else sum(v * c for v, c in counts.items()) / n
    low = min(counts, default=0) if below else int((result.min or 0) // US)
    return _Column(counts, over, low, int(mean), int((result.max or 0) // US)), lost


def _text_lines(run: Run, columns: Sequence[_Column]) -> Iterator[str]:
    """Yield a row for each µs up to the largest, and the summary."""

    def each(head: str, width: int, values: Iterable[int]) -> str:
        return f"# {head}: " + " ".join(f"{value:0{width}}" for value in values)

    yield f"# run {run.run_id}, written by rtstone {__version__}"
    yield "# Histogram"
    for value in range(max(max(column.counts, default=-1) for column in columns) + 1):
        yield f"{value:06} " + "\t".join(f"{column.counts.get(value, 0):06}" for column in columns)
    yield each("Total", 9, (sum(column.counts.values()) for column in columns))
    yield each("Min Latencies", 5, (column.min for column in columns))
    yield each("Avg Latencies", 5, (column.mean for column in columns))
    yield each("Max Latencies", 5, (column.max for column in columns))
    yield each("Histogram Overflows", 5, (column.over for column in columns))
    yield "# Histogram Overflow at cycle number:"
    for number, column in enumerate(columns):
        yield f"# Thread {number}:" + (f" # {column.over:05} others" if column.over else "")
    yield ""
