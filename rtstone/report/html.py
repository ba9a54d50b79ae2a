"""The report: runs as one HTML page that needs nothing but itself.

This module turns run documents into what the page shows (text, short paths, chart data); the
templates hold the words and the look, ``charts/`` holds the drawing.  Everything that comes from a
run is untrusted: text is escaped by jinja2, data by ``embed``, and the page's own policy lets no
script run but the bundled one.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import os
import re
import shlex
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from rtstone.model import flags
from rtstone.model.documents import Distribution, Result, Run, Slope, Value

HERE = Path(__file__).parent
BUNDLE = HERE / "assets" / "charts.js"

MINUS = "\N{MINUS SIGN}"

# Units of a result's values, largest first; the charts get the same table.
UNITS: dict[str, list[tuple[str, float]]] = {
    "ns": [("s", 1e9), ("ms", 1e6), ("µs", 1e3), ("ns", 1)],
    "instructions": [("G instr", 1e9), ("M instr", 1e6), ("k instr", 1e3), ("instr", 1)],
}
AXES = {"ns": "time", "instructions": "instructions"}

# What a page may hold so that it stays light; the extremes survive any thinning.
COLUMNS = 160  # of a histogram
CURVE_STEPS = 20  # points of a percentile curve per decade
TRACE_ROWS = 5000  # of all traces together
TRACE_LEAST, TRACE_MOST = 50, 400  # of one trace
SPARK_WIDTH, SPARK_HEIGHT, SPARK_BINS = 200, 26, 66
FINEST = math.log10(1 + 1 / 64)  # width of a column, in decades: twice the recorder's own
WIDEST_DECADES = 9.0

FAMILIES = {
    "null": "Nothing between two clock reads: the floor of every other number",
    "clk": "Clock",
    "env": "Set-up",
    "mem": "Memory",
    "proc": "Creating and ending tasks",
    "ipc": "Messages between tasks",
    "sched": "Scheduler",
    "ctx": "Context switch",
    "sem": "Semaphores",
    "det": "Determinism",
    "dk": "Periodic wake-up",
    "irq": "Interrupts",
    "sig": "Signals",
    "timer": "Timers",
}

# Units of parameters that are an amount of work: that time grows with them is no finding.
WORK = {"B", "KiB", "MiB", "byte"}

# Conditions worth a place at the top of the page.
KERNEL, CPU, MACHINE, VIRTUAL = "kernel.release", "cpu.model", "machine.product", "machine.virtual"


class MissingBundleError(Exception):
    """The charts have not been built."""

    def __init__(self) -> None:
        super().__init__(
            f"the report's charts are not built: {BUNDLE} is missing; run: make charts"
        )


# ---------------------------------------------------------------------------- numbers and words


def count(n: float) -> str:
    """A whole number with its digits in groups of three."""
    return f"{n:,.0f}".replace(",", "\u202f").replace("-", MINUS)


def plain(value: float) -> str:
    """A number of no particular kind, short, without loss for whole numbers."""
    if isinstance(value, int) or (math.isfinite(value) and value == int(value)):
        return count(value) if abs(value) < 1e15 else f"{value:.6g}"
    return f"{value:.4g}".replace("-", MINUS)


def split(value: float, unit: str) -> tuple[str, str]:
    """Three significant digits of a value and the unit that suits it."""
    if not math.isfinite(value):
        return str(value), unit
    size = float(f"{abs(value):.3g}")
    scale = UNITS.get(unit, [(unit, 1)])
    name, factor = next((s for s in scale if size >= s[1]), scale[-1])
    digits = size / factor
    if digits == 0:
        return "0", name
    places = max(0, 2 - math.floor(math.log10(digits)))
    text = f"{digits:.{places}f}" if 1e-4 <= digits < 1e6 else f"{digits:.3g}"
    return (MINUS if value < 0 else "") + text, name


def quantity(value: float | None, unit: str) -> str:
    """A value with its unit, as text."""
    return "unknown" if value is None else "\u202f".join(split(value, unit))


def seconds(value: float) -> str:
    """A span of time as a person says it."""
    if value < 1:
        return quantity(value * 1e9, "ns")
    if value < 120:
        return f"{value:.3g}\u202fs"
    hours, rest = divmod(round(value), 3600)
    minutes, left = divmod(rest, 60)
    parts = [(hours, "h"), (minutes, "min"), (left, "s")]
    return " ".join(f"{n}\u202f{u}" for n, u in parts if n)


def words(value: Value) -> str:
    """A value of a condition, a parameter or a piece of evidence, as text."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return plain(value)
    if isinstance(value, list):
        return ", ".join(words(v) for v in value) if value else "none"
    return value


def number_word(n: int, noun: str) -> str:
    """``1 result``, ``2 results``."""
    return f"{count(n)} {noun}" + ("" if n == 1 else "s")


def embed(data: Any) -> str:
    """JSON that may stand inside a script element whatever its strings hold."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def short(value: float) -> float | int:
    """Five significant digits: more than a screen can show, and half the bytes."""
    number = float(f"{value:.5g}")
    return int(number) if number == int(number) else number


# ---------------------------------------------------------------------------- distributions


def floor_of(values: Iterable[float]) -> float:
    """Where a logarithmic axis ends below: values at or below zero are drawn there."""
    known = list(values)
    positive = [v for v in known if v > 0]
    if not positive:
        return 0.1
    least = min(positive) / 2
    if len(positive) < len(known):
        least = min(least, 0.5)
    return max(least, max(positive) / 10**WIDEST_DECADES)


def exponent(value: float, floor: float) -> float:
    """The place of a value on a logarithmic axis that ends at ``floor``."""
    return math.log10(max(value, floor))


def samples(of: Result | Distribution) -> list[tuple[float, int]]:
    """The histogram in rising order; what did not fit into it stands at the maximum."""
    pairs = sorted((v, c) for v, c in of.histogram if c > 0)
    rest = of.n - sum(c for _, c in pairs)
    if pairs and rest > 0 and of.max is not None:
        pairs.append((of.max, rest))
    return pairs


def correction(result: Result) -> Distribution | None:
    """The corrected distribution, where it differs: where activations were omitted."""
    more = result.corrected
    return more if more and more.n != result.n and more.histogram else None


def columns(pairs: list[tuple[float, int]], start: float, width: float, floor: float) -> list[Any]:
    """Counts per column of a logarithmic grid, as pairs of index and count."""
    found: dict[int, int] = defaultdict(int)
    for value, n in pairs:
        found[math.floor((exponent(value, floor) - start) / width + 1e-9)] += n
    return [[i, found[i]] for i in sorted(found)]


def curve(pairs: list[tuple[float, int]]) -> list[list[float]]:
    """Points (1/(1-q), value of percentile q), evenly spaced on a logarithmic axis, to the max."""
    total = sum(c for _, c in pairs)
    last = math.log10(total)
    steps = [i / CURVE_STEPS for i in range(math.ceil(last * CURVE_STEPS))]
    points: list[list[float]] = []
    running, at = 0, iter(pairs)
    value = pairs[0][0]
    for step in steps:
        below = total * (1 - 10**-step)
        while running <= below:
            value, n = next(at)
            running += n
        points.append([short(10**step), short(value)])
    points.append([total, short(pairs[-1][0])])
    return points


def thin(rows: Sequence[tuple[float, int, float, float, float]], most: int) -> list[list[float]]:
    """Rows (start, min, mean, max) of at most ``most`` windows; extremes and means stay exact."""
    each = math.ceil(len(rows) / most)
    merged = []
    for i in range(0, len(rows), each):
        part = rows[i : i + each]
        n = sum(r[1] for r in part)
        mean = sum(r[1] * r[3] for r in part) / n if n else part[0][3]
        merged.append(
            [short(v) for v in (part[0][0], min(r[2] for r in part), mean, max(r[4] for r in part))]
        )
    return merged


@dataclass(frozen=True)
class Axis:
    """The logarithmic axis that the small distributions of a family share."""

    low: float
    high: float
    floor: float
    unit: str

    def x(self, value: float) -> float:
        """Where a value stands, in the coordinates of the little picture."""
        share = (exponent(value, self.floor) - self.low) / (self.high - self.low)
        return round(4 + share * (SPARK_WIDTH - 8), 1)

    def ticks(self) -> list[tuple[float, str]]:
        """Whole decades: place and text."""
        decades = list(range(math.ceil(self.low - 1e-9), math.floor(self.high + 1e-9) + 1))
        every = max(1, math.ceil((self.high - self.low) * 0.22))
        return [
            (round(self.x(10.0**d) / SPARK_WIDTH * 100, 1), tick_text(10.0**d, self.unit))
            for d in decades[::every]
        ]


def tick_text(value: float, unit: str) -> str:
    """A power of ten with its unit: ``10 µs``."""
    digits, name = split(value, unit)
    return f"{float(digits):g}\u202f{name.removesuffix('instr').strip()}".strip()


def axis_of(results: Iterable[Result], unit: str) -> Axis | None:
    """The axis for all distributions of one unit."""
    values = [v for r in results if r.unit == unit for v, c in samples(r) if c]
    if not values:
        return None
    floor = floor_of(values)
    low, high = (exponent(v, floor) for v in (min(values), max(values)))
    short_by = max(0.0, 1.0 - (high - low)) / 2
    return Axis(low - short_by - 0.02, high + short_by + 0.02, floor, unit)


def spark_path(result: Result, axis: Axis) -> str:
    """The outline of a distribution, counts logarithmic, as an SVG path."""
    pairs = samples(result)
    if not pairs:
        return ""
    width = (axis.high - axis.low) / SPARK_BINS
    bins = columns(pairs, axis.low, width, axis.floor)
    most = math.log1p(max(c for _, c in bins))
    step = (SPARK_WIDTH - 8) / SPARK_BINS
    path = []
    for i, n in bins:
        top = SPARK_HEIGHT - 1 - (SPARK_HEIGHT - 3) * math.log1p(n) / most
        left = 4 + i * step
        path.append(f"M{left:.1f} {SPARK_HEIGHT - 1}V{top:.1f}h{step:.1f}V{SPARK_HEIGHT - 1}z")
    return "".join(path)


# ---------------------------------------------------------------------------- what a page shows


@dataclass(frozen=True)
class Flag:
    """A flag of a result with its explanation."""

    name: str
    cause: str
    advice: str


@dataclass(frozen=True)
class Row:
    """One result as the table and its own section show it."""

    key: str
    result: Result
    label: str
    spark: str
    axis: Axis | None
    observed: str | None
    flags: list[Flag]
    at_zero: int
    corrected: Distribution | None
    charts: dict[str, str]

    @property
    def title(self) -> str:
        """The bench with what tells this result from others of it."""
        return f"{self.result.bench} {self.label}".strip()


@dataclass(frozen=True)
class Finding:
    """A sentence at the top of the page: how grave, what, the details, and where to read on."""

    grade: str
    head: str
    text: str
    key: str | None = None


@dataclass(frozen=True)
class Family:
    """Results whose ids begin alike."""

    name: str
    title: str
    rows: list[Row]
    axes: list[Axis]
    ranges: list[str]


@dataclass(frozen=True)
class Growth:
    """A slope and its chart."""

    slope: Slope
    chart: str
    label: str
    unit: str
    per: str


@dataclass
class Page:
    """One run as the template reads it."""

    key: str
    run: Run
    title: str
    facts: list[tuple[str, str]]
    findings: list[Finding] = field(default_factory=list)
    families: list[Family] = field(default_factory=list)
    growths: list[Growth] = field(default_factory=list)
    charts: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> list[Row]:
        """All results in the order of the page."""
        return [row for family in self.families for row in family.rows]


def labels(results: Sequence[Result]) -> list[str]:
    """What tells apart the results of each bench: the parameters that differ, series, load."""
    loads = {r.load for r in results}
    by_bench: dict[str, list[Result]] = defaultdict(list)
    for r in results:
        by_bench[r.bench].append(r)
    differing = {
        bench: [
            name
            for name in dict.fromkeys(itertools.chain.from_iterable(r.params for r in group))
            if len({repr(r.params.get(name)) for r in group}) > 1
        ]
        for bench, group in by_bench.items()
    }

    def label(r: Result) -> str:
        parts = [f"{p}={words(r.params[p])}" for p in differing[r.bench] if p in r.params]
        if r.series:
            parts.append(r.series)
        if len(loads) > 1 and r.load != "none":
            parts.append(f"load {r.load}")
        return " ".join(parts)

    return [label(r) for r in results]


def observed(result: Result) -> str | None:
    """How long was measured: without it no worst case is told.  Instructions have no time."""
    if result.unit != "ns":
        return None
    section = result.evidence.get("section_ns")
    if isinstance(section, int | float) and not isinstance(section, bool) and section > 0:
        return seconds(section / 1e9)
    if result.trace and result.trace.rows:
        rows = result.trace.rows
        return seconds(rows[-1][0] - rows[0][0] + result.trace.width_s)
    return None


def circumstances(row: Row) -> str:
    """n, time and load, as every worst case must be told."""
    r = row.result
    unknown = "over a time that was not recorded" if r.unit == "ns" else f"in {r.unit}, not in time"
    span = f"over {row.observed}" if row.observed else unknown
    return f"{row.title}; n = {count(r.n)}, {span}, load {r.load}"


def flag_of(name: str) -> Flag:
    """A flag explained; one that this version does not know is shown by its name alone."""
    known = flags.BY_NAME.get(name)
    return Flag(name, known.cause if known else "", known.advice if known else "")


def distribution_charts(row_key: str, r: Result, trace_rows: int) -> dict[str, Any]:
    """Chart data of one result, by chart id."""
    pairs = samples(r)
    charts: dict[str, Any] = {}
    axis = AXES.get(r.unit, r.unit)
    if pairs:
        both = [("observed", "observed", pairs)]
        if corrected := correction(r):
            both.insert(0, ("with omitted activations", "corrected", samples(corrected)))
        values = [v for _, _, p in both for v, _ in p]
        floor = floor_of(values)
        start = exponent(min(values), floor)
        width = max((exponent(max(values), floor) - start) / COLUMNS, FINEST)
        start -= width / 2
        names = {"p50": "p50", "p99": "p99", "p999": "p99.9", "max": "max"}
        charts[f"{row_key}-histogram"] = {
            "kind": "histogram",
            "unit": r.unit,
            "axis": axis,
            "grid": {"start": round(start, 6), "width": round(width, 6), "floor": floor},
            "series": [
                {"name": n, "color": c, "pairs": columns(p, start, width, floor)}
                for n, c, p in both
            ],
            "marks": [{"name": n, "value": getattr(r, m)} for m, n in names.items()],
        }
        if r.n > 1:
            charts[f"{row_key}-percentiles"] = {
                "kind": "percentiles",
                "unit": r.unit,
                "axis": axis,
                "floor": floor,
                "series": [
                    {"name": n, "color": c, "n": sum(k for _, k in p), "points": curve(p)}
                    for n, c, p in both
                ],
            }
    if r.trace and len(r.trace.rows) > 1:
        rows = thin(r.trace.rows, trace_rows)
        charts[f"{row_key}-trace"] = {
            "kind": "trace",
            "unit": r.unit,
            "axis": axis,
            "width": r.trace.width_s,
            "seconds": "s" if r.unit == "ns" else "",
            "floor": floor_of(v for row in rows for v in row[1:]),
            "rows": rows,
        }
    return charts


def range_chart(rows: list[Row], family: str, unit: str) -> dict[str, Any] | None:
    """Minimum to maximum of every result of a family that shares a unit."""
    shown = [row for row in rows if row.result.unit == unit and row.result.n]
    marks = ("min", "p50", "p99", "p999", "max")
    entries = [
        {
            "id": row.key,
            "label": row.title.removeprefix(f"{family}."),
            "n": row.result.n,
            "load": row.result.load,
            "time": row.observed,
            **{m: getattr(row.result, m) for m in marks},
        }
        for row in shown
    ]
    entries = [e for e in entries if any(e[m] is not None for m in marks)]
    if not entries:
        return None
    return {
        "kind": "ranges",
        "unit": unit,
        "axis": AXES.get(unit, unit),
        "floor": floor_of(e[m] for e in entries for m in marks if e[m] is not None),
        "rows": entries,
    }


def families(page: Page, results: Sequence[Result]) -> None:
    """Fill in the page's families, rows and their charts."""
    lengths = [len(r.trace.rows) for r in results if r.trace]
    trace_rows = TRACE_MOST
    while trace_rows > TRACE_LEAST and sum(min(n, trace_rows) for n in lengths) > TRACE_ROWS:
        trace_rows //= 2
    groups: dict[str, list[tuple[str, Result, str]]] = defaultdict(list)
    for index, (r, label) in enumerate(zip(results, labels(results), strict=True)):
        groups[r.bench.split(".")[0]].append((f"{page.key}-{index}", r, label))
    for name, members in groups.items():
        units = list(dict.fromkeys(r.unit for _, r, _ in members))
        axes = {u: axis_of((r for _, r, _ in members), u) for u in units}
        rows = []
        for key, r, label in members:
            axis = axes[r.unit]
            charts = distribution_charts(key, r, trace_rows)
            page.charts.update(charts)
            rows.append(
                Row(
                    key=key,
                    result=r,
                    label=label,
                    spark=spark_path(r, axis) if axis else "",
                    axis=axis,
                    observed=observed(r),
                    flags=[flag_of(f) for f in r.flags],
                    at_zero=sum(c for v, c in r.histogram if v <= 0),
                    corrected=correction(r),
                    charts={c["kind"]: i for i, c in charts.items()},
                )
            )
        drawn = []
        for unit in units:
            if chart := range_chart(rows, name, unit):
                drawn.append(f"{page.key}-ranges-{len(page.charts)}")
                page.charts[drawn[-1]] = chart
        title = FAMILIES.get(name, "")
        page.families.append(Family(name, title, rows, [a for a in axes.values() if a], drawn))


def growths(page: Page, slopes: Sequence[Slope]) -> None:
    """Fill in the page's slopes and their charts."""
    for index, s in enumerate(slopes):
        if not s.points:
            continue
        unit, _, per = s.unit.partition(" per ")
        chart = f"{page.key}-slope-{index}"
        parts = [f"{k}={words(v)}" for k, v in differing_params(s, slopes)]
        page.growths.append(Growth(s, chart, " ".join([s.bench, *parts]), unit, per or s.over))
        page.charts[chart] = {
            "kind": "slope",
            "unit": unit,
            "over": s.over,
            "points": s.points,
            "slope": s.slope,
            "ci95": s.ci95,
        }


def differing_params(slope: Slope, slopes: Sequence[Slope]) -> list[tuple[str, Value]]:
    """Parameters that tell a slope from the others of its bench."""
    others = [s for s in slopes if s.bench == slope.bench]
    return [
        (k, v) for k, v in slope.params.items() if len({repr(s.params.get(k)) for s in others}) > 1
    ]


# ---------------------------------------------------------------------------- findings


def without_rights(run: Run) -> list[str]:
    """What real-time rights the results lacked, by their own evidence."""
    measured = [r for r in run.results if r.n]
    other = sum(1 for r in measured if r.evidence.get("sched") == "other")
    unlocked = sum(1 for r in measured if r.evidence.get("locked") is False)
    lacking = []
    if other:
        lacking.append(f"{other} of {len(measured)} results ran under SCHED_OTHER")
    if unlocked:
        lacking.append(f"{unlocked} of {len(measured)} without locked memory")
    return lacking


def emulated(run: Run) -> list[str]:
    """Units of the run's results that are not time."""
    return sorted({r.unit for r in run.results if r.n and r.unit != "ns"})


def largest(rows: Iterable[Row], value: Callable[[Result], float | None]) -> Row | None:
    """The row with the largest value, of those that have one."""
    known = [(v, -i, row) for i, row in enumerate(rows) if (v := value(row.result)) is not None]
    return max(known, key=lambda k: k[:2])[2] if known else None


def worst_wakeup(page: Page) -> Iterable[Finding]:
    """The largest maximum among the periodic cases, which are the ones woken by a timer."""
    periodic = [row for row in page.rows if row.result.missed is not None]
    if row := largest(periodic, lambda r: r.max):
        r = row.result
        yield Finding(
            "note", f"Worst wake-up {quantity(r.max, r.unit)}", circumstances(row), row.key
        )


def longest_delay(page: Page) -> Iterable[Finding]:
    """Among the rest, the sample that lies furthest above the median of its kind."""

    def delay(r: Result) -> float | None:
        known = r.missed is None and r.max is not None and r.p50 is not None
        return r.max - r.p50 if known else None  # type: ignore[operator]

    for unit in dict.fromkeys(row.result.unit for row in page.rows):
        row = largest((row for row in page.rows if row.result.unit == unit), delay)
        if row and (excess := delay(row.result)) is not None:
            head = f"Longest delay of one sample {quantity(excess, unit)}"
            text = f"so far above the median of {quantity(row.result.p50, unit)}; "
            yield Finding("note", head, text + circumstances(row), row.key)


def least_predictable(page: Page) -> Iterable[Finding]:
    """Where p99.9 stands furthest above the median."""

    def spread(r: Result) -> float | None:
        return r.p999 / r.p50 if r.p999 is not None and r.p50 is not None and r.p50 > 0 else None

    row = largest(page.rows, spread)
    ratio = spread(row.result) if row else None
    if row and ratio is not None and ratio >= 3:
        r = row.result
        yield Finding(
            "note",
            f"Least predictable: p99.9 is {ratio:.3g} times the median",
            f"{quantity(r.p999, r.unit)} against {quantity(r.p50, r.unit)}; {circumstances(row)}",
            row.key,
        )


def missed_activations(page: Page) -> Iterable[Finding]:
    """Activations that never happened."""
    periodic = [row for row in page.rows if row.result.missed is not None]
    total = sum(row.result.missed or 0 for row in periodic)
    row = largest(periodic, lambda r: r.missed)
    if row and total:
        several = [row for row in periodic if row.result.missed]
        share = (
            f"{count(row.result.missed or 0)} of them in "
            if len(several) > 1
            else "all of them in "
        )
        noun = "activation" if total == 1 else "activations"
        yield Finding("bad", f"{count(total)} missed {noun}", share + circumstances(row), row.key)
    elif periodic:
        n = sum(row.result.n for row in periodic)
        text = f"{number_word(len(periodic), 'periodic result')}, n = {count(n)} activations in all"
        yield Finding("good", "No activation missed", text)


def growth_with_tasks(page: Page) -> Iterable[Finding]:
    """Times that grow with a number of tasks, not with work: of those, the steepest."""

    def relative(g: Growth) -> float:
        least = min(y for _, y in g.slope.points)
        reach = max(x for x, _ in g.slope.points) - min(x for x, _ in g.slope.points)
        return g.slope.slope * reach / max(abs(least), 1e-9)

    fitted = [g for g in page.growths if g.per not in WORK]
    growing = [g for g in fitted if not g.slope.constant and g.slope.slope > 0]
    if growing:
        g = max(growing, key=relative)
        low, high = (quantity(v, g.unit) for v in g.slope.ci95)
        head = f"{g.label} grows by {quantity(g.slope.slope, g.unit)} per {g.per}"
        text = (
            f"95% interval {low} to {high}, from {len(g.slope.points)} points, load {g.slope.load}"
        )
        if len(growing) > 1:
            text += f"; {len(growing)} of {len(fitted)} such slopes rise"
        yield Finding("note", head, text, f"{page.key}-growth")
    elif fitted:
        over = ", ".join(dict.fromkeys(g.slope.over for g in fitted))
        text = f"{number_word(len(fitted), 'slope')} over {over}, no 95% interval above 0"
        yield Finding("good", "No growth found", text, f"{page.key}-growth")


def not_ok(page: Page) -> Iterable[Finding]:
    """Results that are missing, by status."""
    for status, grade in (("failed", "bad"), ("incomplete", "bad"), ("unsupported", "info")):
        rows = [row for row in page.rows if row.result.status == status]
        if rows:
            names = list(dict.fromkeys(row.result.bench for row in rows))
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            head = f"{number_word(len(rows), 'result')} {status}"
            yield Finding(grade, head, ", ".join(names[:4]) + more, rows[0].key)


RULES: list[Callable[[Page], Iterable[Finding]]] = [
    worst_wakeup,
    missed_activations,
    longest_delay,
    least_predictable,
    growth_with_tasks,
    not_ok,
]


# ---------------------------------------------------------------------------- the page


def system_of(run: Run) -> str | None:
    """The operating system with its version."""
    name, release = run.agent.os if run.agent else "", condition(run, KERNEL) or ""
    return (name if release in name else f"{name} {release}".strip()) or None


def condition(run: Run, name: str) -> str | None:
    """A condition as text, None if it is unknown."""
    value = run.conditions.get(name)
    return None if value in (None, "", []) else words(value)


def clock_of(run: Run) -> list[tuple[str, str | None]]:
    """The clock in a few words."""
    c = run.clock
    if c is None:
        return []
    rate = f"{c.source}, {c.hz / 1e6:.6g}\u202fMHz" if c.unit == "ns" else c.source
    return [
        ("Clock", rate),
        ("Clock overhead", f"{quantity(c.overhead_ns, c.unit)}, already subtracted"),
    ]


def facts(run: Run) -> list[tuple[str, str]]:
    """What was measured, where, when and how long; in the order of reading."""
    measured = [r for r in run.results if r.n]
    loads = list(dict.fromkeys(r.load for r in measured))
    found = [
        ("System", system_of(run)),
        ("CPU", condition(run, CPU)),
        ("Machine", condition(run, MACHINE)),
        ("Virtual machine", condition(run, VIRTUAL)),
        ("Target", run.target.name),
        *clock_of(run),
        ("Load", ", ".join(loads)),
        ("Begun", re.sub(r"(Z|\+00:00)$", " UTC", run.created).replace("T", " ", 1)),
        ("Duration", None if run.duration_s is None else seconds(run.duration_s)),
        ("Results", f"{sum(r.status == 'ok' for r in run.results)} ok of {len(run.results)}"),
        ("Samples", count(sum(r.n for r in measured))),
    ]
    return [(name, value) for name, value in found if value]


def title(run: Run) -> str:
    """What was measured, in a line."""
    parts = [part for part in (system_of(run), condition(run, CPU)) if part]
    return " on ".join(parts) or run.target.name


def grouped(conditions: Mapping[str, Value]) -> list[tuple[str, list[tuple[str, Value]]]]:
    """Conditions by the part of their name before the first dot; the single ones at the end."""
    groups: dict[str, list[tuple[str, Value]]] = defaultdict(list)
    for name, value in conditions.items():
        group, _, rest = name.partition(".")
        groups[group].append((rest or name, value))
    several = [(group, items) for group, items in groups.items() if len(items) > 1]
    single = [
        (name, v) for name, v in conditions.items() if len(groups[name.partition(".")[0]]) == 1
    ]
    return [*several, ("other", single)] if single else several


def tight(text: str) -> str:
    """Markup without the templates' indentation."""
    return re.sub(r"\s*\n\s*", "\n", text)


def page_of(run: Run, key: str) -> Page:
    """All that the page shows of one run."""
    page = Page(key=key, run=run, title=title(run), facts=facts(run))
    families(page, run.results)
    growths(page, run.slopes)
    page.findings = [finding for rule in RULES for finding in rule(page)]
    return page


def environment() -> jinja2.Environment:
    """The templates with the filters they use."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters.update(
        count=count,
        quantity=quantity,
        split=split,
        words=words,
        seconds=seconds,
        shell=shlex.join,
        tight=tight,
    )
    env.globals.update(
        without_rights=without_rights,
        emulated=emulated,
        grouped=grouped,
        spark=(SPARK_WIDTH, SPARK_HEIGHT),
    )
    return env


def compose(runs: Sequence[Run]) -> str:
    """The page as text."""
    try:
        script = BUNDLE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingBundleError from None
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pages = [page_of(run, f"r{index}") for index, run in enumerate(runs)]
    charts = {i: chart for page in pages for i, chart in page.charts.items()}
    return (
        environment()
        .get_template("page.html")
        .render(
            pages=pages,
            script=script,
            digest=digest,
            data=embed({"units": UNITS, "charts": charts}),
        )
    )


def render(runs: list[Run], path: Path) -> None:
    """Write the runs as one self-contained HTML page; the file appears whole or not at all."""
    text = compose(runs)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    part = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        part.chmod(0o644)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
