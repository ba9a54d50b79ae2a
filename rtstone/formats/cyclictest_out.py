"""Export of wake-up latencies as the JSON of cyclictest 2.10, but always valid JSON.

Each result of a bench that measures what cyclictest does becomes a thread.  Values are in µs if all
of them are whole, else in ns, as with -N.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

from rtstone import __version__
from rtstone.documents.imported import tool
from rtstone.documents.run import Result, Run, Value
from rtstone.formats import rows
from rtstone.formats.cyclictest import BENCH
from rtstone.formats.cyclictest_json import OF_RTSTONE, moment
from rtstone.formats.reading import NS, US
from rtstone.formats.table import Written, refused

WAKE_UPS = (BENCH.id, "dk.periodic")
_VERSION = f"2.10 {OF_RTSTONE} {__version__})"


def write(run: Run) -> Written:
    """Export the wake-up latencies of a run.  Raises UsageError if it has none in ns."""
    known = [r for r in run.results if r.bench in WAKE_UPS and r.n and r.unit == "ns"]
    if not known:
        raise refused(run, f"no samples of {' or '.join(WAKE_UPS)} in ns")
    whole = all(_whole_us(result) for result in known)
    threads, lost = {}, _left(run, known)
    for number, result in enumerate(known):
        threads[str(number)], more = _thread(result, US if whole else NS)
        what = [result.bench, rows.params(result.params), result.load, result.series]
        lost.append(f"thread {number} is {' '.join(filter(None, what))}")
        lost += [f"thread {number}: {what}" for what in more]
    document = {
        "file_version": 1,
        "cmdline:": _text(run.conditions, "tool.command") or " ".join(run.command),
        "rt_test_version:": _version(run),
        **_times(run),
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
    return Written((json.dumps(document, indent=2) + "\n").encode(), lost)


def _whole_us(result: Result) -> bool:
    values = [value for value, _ in result.histogram]
    values += [value for value in (result.min, result.max) if value is not None]
    return all(value % US == 0 for value in values)


def _thread(result: Result, unit: int) -> tuple[Mapping[str, Any], list[str]]:
    """Return a thread, and what is lost of its samples."""
    lost = []
    counts: Counter[int] = Counter()
    below = 0
    for value, count in _exact_ends(result):
        if value < 0:
            below += count
        else:
            counts[round(value / unit)] += count
    if below:
        lost.append(f"{below} negative samples")
    if unit == NS and any(value % 1 for value, _ in result.histogram):
        lost.append("fractions of ns")
    if result.missed:
        lost.append(f"{result.missed} missed activations")
    cpus = result.evidence.get("cpus")
    return {
        "histogram": {str(value): count for value, count in sorted(counts.items())},
        "cycles": result.n - below,
        "min": min(counts, default=0) if below else round((result.min or 0) / unit),
        "max": round((result.max or 0) / unit),
        "avg": round((result.mean or 0) / unit, 2),
        "cpu": cpus[0] if isinstance(cpus, list) and len(cpus) == 1 else -1,
        "node": -1,
    }, lost


def _exact_ends(result: Result) -> list[tuple[float, int]]:
    """Return the histogram with the exact smallest and largest sample as points of their own."""
    points = list(result.histogram)
    if points and result.min is not None:
        first, count = points[0]
        points[:1] = [(result.min, 1), (first, count - 1)]
    if points and result.max is not None and not result.overflow:
        last, count = points[-1]
        points[-1:] = [(last, count - 1), (result.max, 1)]
    return [(value, count) for value, count in points if count]


def _version(run: Run) -> str:
    """Return the version of the cyclictest that took the samples, else one that names rtstone."""
    name, _, version = (tool(run) or "").partition(" ")
    return version if name == BENCH.id and version else _VERSION


def _left(run: Run, known: list[Result]) -> list[str]:
    others = Counter(r.bench for r in run.results if r not in known)
    told = ["percentiles, evidence, flags, traces, worst samples and most conditions"]
    return told + [f"{count} results of {bench}" for bench, count in others.items()]


def _times(run: Run) -> dict[str, str]:
    """Return when the run began and ended, as far as that is known."""
    measured = str(run.conditions.get("tool.measured", run.created))
    try:
        start = datetime.fromisoformat(measured)
        known = {} if run.duration_s is None else {"end_time": run.duration_s}
        ends = {name: moment(start + timedelta(seconds=s)) for name, s in known.items()}
    except (ValueError, OverflowError):
        return {"start_time": measured}
    return {"start_time": moment(start), **ends}


def _text(conditions: Mapping[str, Value], name: str) -> str:
    value = conditions.get(name)
    return "" if value is None else str(value)
