"""The report: runs as one HTML page that needs nothing but itself.

This module puts the page together: the templates hold the look, ``charts/`` holds the script that
draws and builds the details from the data embedded here.  Everything that comes from a run is
untrusted: text is escaped by jinja2, data is packed by ``embed``, and the page's own policy lets
no script run but the bundled one.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shlex
import zlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2

from rtstone import resources, units
from rtstone.documents.comparison import SIGNS
from rtstone.documents.imported import tool
from rtstone.documents.run import Result, Run, Value
from rtstone.errors import UsageError
from rtstone.report.comparison.html import Compared, compared
from rtstone.report.comparison.html_verdicts import verdicts
from rtstone.report.comparison.text import of_runs
from rtstone.report.comparison.text_verdicts import column as versus
from rtstone.report.parts import typeset, words
from rtstone.report.parts.output import write
from rtstone.report.parts.typeset import NARROW, count, counted, figure, quantity, seconds, split
from rtstone.report.parts.words import STATISTICS, labels
from rtstone.report.run.answer import answer
from rtstone.report.run.details import Forms, detail, flag_texts, why_no_max
from rtstone.report.run.loads import RULE, by_load
from rtstone.report.run.merit import merits
from rtstone.report.run.page import Family, Growth, Page, Row
from rtstone.report.run.shapes import (
    SPARK_HEIGHT,
    SPARK_WIDTH,
    TRACE_MOST,
    axis_of,
    charts,
    floor_of,
    short,
    spark_path,
    trace_budget,
)
from rtstone.stats.comparison.compare import compare

HERE = resources.path("report")
BUNDLE = HERE / "assets" / "charts.js"

# What a unit measures, as an axis is named.
AXES = {"ns": "time", "instructions": "instructions"}

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
    "dk": "Response of the whole system",
    "int": "Interrupts",
    "sync": "Synchronisation between tasks",
    "mq": "Message queues",
    "sig": "Signals",
    "posix": "Services and options of POSIX",
}

MOST = 200  # results that stand one by one below a comparison: with more, each run has its own page
NAMED = 4  # runs that are named in the bar

# Conditions worth a place at the top of the page.
CPU, MACHINE, VIRTUAL = "cpu.model", "machine.product", "machine.virtual"


class MissingBundleError(UsageError):
    """The charts have not been built, so that no page can be made."""

    def __init__(self) -> None:
        super().__init__(
            f"the report's charts are not built, {BUNDLE} is missing; run: make charts"
        )


def bundle() -> str:
    """The page's script.  Raises MissingBundleError."""
    try:
        return BUNDLE.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingBundleError from None


def embed(data: Any) -> str:
    """JSON, deflated and in base64: a tenth of its size, and no string in it can be markup."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode(), level=9)).decode()


def range_chart(rows: list[Row], family: str, unit: str) -> dict[str, Any] | None:
    """Minimum to maximum of every result of a family that shares a unit."""
    shown: list[tuple[Row, list[float | None]]] = []
    for row in rows:
        marks = [getattr(row.result, member) for member in STATISTICS]
        if row.result.unit == unit and row.result.n and any(v is not None for v in marks):
            shown.append((row, marks))
    if not shown:
        return None
    entries = [
        {
            "id": row.key,
            "label": row.title.removeprefix(f"{family}."),
            "n": row.result.n,
            "load": row.result.load,
            "time": row.observed,
            "at": [None if v is None else short(v) for v in marks],
        }
        for row, marks in shown
    ]
    floor = floor_of(v for _, marks in shown for v in marks if v is not None)
    return {"kind": "ranges", "unit": unit, "floor": floor, "rows": entries}


def families(page: Page, trace_rows: int, forms: Forms) -> None:
    """Fill in the page's families, their rows, details and charts."""
    run = page.run
    tables = {bench.id: bench for bench in run.benches}
    groups: dict[str, list[tuple[str, Result, str]]] = defaultdict(list)
    for index, (r, label) in enumerate(zip(run.results, labels(run), strict=True)):
        groups[r.bench.split(".")[0]].append((f"{page.key}-{index}", r, label))
    for name, members in groups.items():
        units = list(dict.fromkeys(r.unit for _, r, _ in members))
        axes = {unit: axis_of((r for _, r, _ in members), unit) for unit in units}
        rows = []
        for key, r, label in members:
            axis = axes[r.unit]
            row = Row(key, r, label, spark_path(r, axis) if axis else "", axis)
            drawn = charts(r, trace_rows)
            page.charts |= {f"{key}-{kind}": chart for kind, chart in drawn.items()}
            page.details[key] = detail(row, tables.get(r.bench), drawn, forms)
            rows.append(row)
        ranges = []
        for unit in units:
            if chart := range_chart(rows, name, unit):
                ranges.append(f"{page.key}-ranges-{len(page.charts)}")
                page.charts[ranges[-1]] = chart
        drawn_axes = [axis for axis in axes.values() if axis]
        page.families.append(Family(name, FAMILIES.get(name, ""), rows, drawn_axes, ranges))


def growths(page: Page) -> None:
    """Fill in the page's slopes and their charts."""
    tables = {bench.id: bench for bench in page.run.benches}
    told = words.growths(page.run)
    for index, (s, growth) in enumerate(zip(page.run.slopes, told, strict=True)):
        if not s.points:
            continue
        bench, chart = tables.get(s.bench), f"{page.key}-slope-{index}"
        page.growths.append(Growth(s, growth, chart))
        page.charts[chart] = {
            "kind": "slope",
            "unit": growth.unit,
            "over": s.over,
            "points": s.points,
            "names": [words.parameter(bench, s.over, whole(x)) for x, _ in s.points],
            "slope": s.slope,
            "ci95": s.ci95,
        }


def whole(value: float) -> float | int:
    """A whole number as such."""
    return int(value) if value == int(value) else value


# ---------------------------------------------------------------------------- the page


def condition(run: Run, name: str) -> str | None:
    """A condition as text, None if it is unknown."""
    value = run.conditions.get(name)
    return None if value in (None, "", []) else typeset.words(value)


def clock_of(run: Run) -> list[tuple[str, str | None]]:
    """The clock in a few words."""
    c = run.clock
    if c is None:
        return []
    rate = f"{c.source}, {c.hz / 1e6:.6g}{NARROW}MHz" if c.unit == "ns" else c.source
    return [
        ("Clock", rate),
        ("Clock overhead", f"{quantity(c.overhead_ns, c.unit)}, already subtracted"),
    ]


def facts(run: Run) -> list[tuple[str, str]]:
    """What was measured, where, when and how long; in the order of reading."""
    sampled = [r for r in run.results if r.n]
    loads = list(dict.fromkeys(r.load for r in sampled))
    found = [
        ("System", words.system(run)),
        ("CPU", condition(run, CPU)),
        ("Machine", condition(run, MACHINE)),
        ("Virtual machine", condition(run, VIRTUAL)),
        ("Target", run.target.name),
        ("Counted", words.emulated(run)),
        *clock_of(run),
        ("Load", ", ".join(loads)),
        *((f"Load {load}", rest) for load, _, rest in map(_parted, words.load_lines(run))),
        ("Begun", re.sub(r"(Z|\+00:00)$", " UTC", run.created).replace("T", " ", 1)),
        ("Duration", None if run.duration_s is None else seconds(run.duration_s)),
        ("Results", f"{sum(r.status == 'ok' for r in run.results)} ok of {len(run.results)}"),
        ("Samples", count(sum(r.n for r in sampled))),
    ]
    return [(name, value) for name, value in found if value]


def _parted(line: str) -> tuple[str, str, str]:
    return line.removeprefix("load ").partition(": ")


def title(run: Run) -> str:
    """What was measured, in a line."""
    parts = [part for part in (words.system(run), condition(run, CPU)) if part]
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


def alarms(run: Run) -> Iterable[tuple[str, str]]:
    """What the reader must know before any number: head and text."""
    if lacking := words.lacking_rights(run):
        total = len(words.measured(run))
        parts = [
            f"{n} of {counted(total, 'result')} ran without {right}"
            if n
            else f"The target gave no right to {right}"
            for right, n in lacking.items()
        ]
        meaning = "The numbers say how this system treats an ordinary program, not a real-time one."
        yield f"Measured without {' and '.join(lacking)}.", f"{'; '.join(parts)}. {meaning}"
    if model := words.model(run):
        title, label = model
        yield (
            "A simulation.",
            f"{title} was not measured: every number follows from a model ({label}).",
        )
    if run.status != "complete":
        reason = run.reason or "no reason was recorded"
        yield "This run is incomplete.", f"{reason}; what was measured before is kept."
    if units := words.counted_units(run):
        yield (
            f"Counted in {', '.join(units)}, not in time.",
            "These numbers come from an emulated target. They compare with other runs of the same "
            "kind, never with a clock.",
        )
    elif emulated := words.emulated(run):
        yield "An emulated board that ran freely.", f"Its {emulated}, not even with itself."


def page_of(run: Run, key: str, trace_rows: int = TRACE_MOST, forms: Forms | None = None) -> Page:
    """All that the page shows of one run."""
    page = brief_of(run, key)
    page.brief = False
    page.by_load = by_load(run)
    page.merits = merits(run)
    families(page, trace_rows, forms or Forms())
    growths(page)
    return page


def brief_of(run: Run, key: str) -> Page:
    """A run without its results one by one: its answer and its conditions."""
    return Page(
        key=key, run=run, title=title(run), facts=facts(run), answer=answer(run), brief=True
    )


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
        words=typeset.words,
        seconds=seconds,
        typeset=typeset.typeset,
        figure=figure,
        why_no_max=why_no_max,
        shell=shlex.join,
        tight=tight,
        versus=versus,
    )
    env.globals.update(
        alarms=alarms,
        grouped=grouped,
        usual_load=words.usual_load,
        spark=(SPARK_WIDTH, SPARK_HEIGHT),
        load_rule=RULE,
        most_figures=4,
        most_named=NAMED,
        of_runs=of_runs,
        signs=SIGNS,
        statistics=words.STATISTICS,
        tool=tool,
        columns=("n", words.OBSERVED, *words.STATISTICS.values(), "missed"),
    )
    return env


def framed(name: str, data: dict[str, Any], **shown: Any) -> str:
    """A page as text: a template in the frame that all share, with the data that its script reads.

    Raises MissingBundleError.
    """
    script = bundle()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    embedded = embed({"units": units.UNITS, "axes": AXES, **data})
    template = environment().get_template(name)
    return template.render(script=script, digest=digest, data=embedded, **shown)


def compose(named: Sequence[Run | Sequence[Run]]) -> str:
    """The page as text; runs of one system may be given as a list."""
    runs = [run for one in named for run in ([one] if isinstance(one, Run) else one)]
    forms, results = Forms(), [r for run in runs for r in run.results]
    rows = trace_budget(results)
    beside, why_not = side_by_side(named)
    brief = beside is not None and len(results) > MOST
    pages = [
        brief_of(run, f"r{index}") if brief else page_of(run, f"r{index}", rows, forms)
        for index, run in enumerate(runs)
    ]
    told = flag_texts(results)
    drawn: list[Page | Compared] = [*pages, beside] if beside else [*pages]
    data = {
        "charts": {key: chart for part in drawn for key, chart in part.charts.items()},
        "details": {key: detail for page in pages for key, detail in page.details.items()},
        "forms": forms.data,
        "flags": told,
    }
    causes = {name: cause for name, (cause, _) in told.items()}
    return framed(
        "page.html", data, pages=pages, causes=causes, compared=beside, uncompared=why_not,
        verdicts=verdicts(beside.comparison) if beside else None,
    )  # fmt: skip


def side_by_side(runs: Sequence[Run | Sequence[Run]]) -> tuple[Compared | None, str]:
    """The comparison of several runs, or why there is none; of one run neither."""
    if len(runs) < 2:
        return None, ""
    try:
        return compared(compare(runs)), ""
    except UsageError as error:
        return None, str(error)


def render(runs: Sequence[Run | Sequence[Run]], path: Path) -> int:
    """Write the runs as one page that needs nothing but itself; its size in bytes."""
    return write(compose(runs), path)
