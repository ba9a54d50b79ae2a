"""A run as a part of a page: its answer, its results family by family, its conditions."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rtstone.documents import origin
from rtstone.documents.capacity import one_of_several
from rtstone.documents.case_name import CaseName, result_names, setting, usual_load
from rtstone.documents.explanation import Explanation
from rtstone.documents.imported import tool
from rtstone.documents.repetition import repeating, requirement
from rtstone.documents.run import INTERRUPTED, NO_REASON, Result, Run, Value
from rtstone.documents.sections import SectionsOfRun
from rtstone.report.explanation.page import ordered, section
from rtstone.report.parts import typeset, words
from rtstone.report.parts.model import (
    Block,
    Cell,
    Chart,
    Charts,
    Folded,
    Notes,
    Section,
    Special,
    Table,
    Text,
)
from rtstone.report.parts.shapes import (
    SPARK_HEIGHT,
    SPARK_WIDTH,
    TRACE_MOST,
    axis_of,
    charts,
    range_chart,
    range_row,
    spark_path,
)
from rtstone.report.parts.typeset import NARROW, count, counted, quantity, seconds
from rtstone.report.run.answer import answer
from rtstone.report.run.attribution import section as attribution
from rtstone.report.run.details import Forms, detail, why_no_max
from rtstone.report.run.loads import RULE, by_load
from rtstone.report.run.merit import curves, hartstone, rhealstone
from rtstone.report.run.overlays import draw
from rtstone.report.run.page import Family, Growth, Page, Row
from rtstone.report.sections.page import section as preempting
from rtstone.stats.evaluate import RunEvaluation
from rtstone.summary import COLUMNS, EXTREME

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

OVERLAYS = 6  # cases on several CPUs or under several loads that are not folded away

# Conditions shown at the top of the page.
CPU, MACHINE, VIRTUAL = "cpu.model", "machine.product", "machine.virtual"


def families(page: Page, trace_rows: int, forms: Forms) -> list[Family]:
    """Return the families with their rows; fill in the page's details and charts."""
    run, drawn_families = page.run, []
    tables = {bench.id: bench for bench in run.benches}
    groups: dict[str, list[tuple[str, Result, CaseName]]] = defaultdict(list)
    for index, (r, case) in enumerate(zip(run.results, result_names(run), strict=True)):
        groups[r.bench.split(".")[0]].append((f"{page.key}-{index}", r, case))
    for name, members in groups.items():
        units = list(dict.fromkeys(r.unit for _, r, _ in members))
        axes = {unit: axis_of((r for _, r, _ in members), unit) for unit in units}
        rows = []
        for key, r, case in members:
            axis = axes[r.unit]
            row = Row(key, r, case, spark_path(r, axis) if axis else "", axis)
            drawn = charts(r, trace_rows)
            page.charts |= {f"{key}-{kind}": chart for kind, chart in drawn.items()}
            page.details[key] = detail(row, tables.get(r.bench), drawn, forms)
            rows.append(row)
        ranges = []
        for unit in units:
            entries = [
                range_row(row.result, id=row.key, label=str(row.name).removeprefix(f"{name}."),
                          load=row.result.load, time=row.observed)
                for row in rows
                if row.result.unit == unit
            ]  # fmt: skip
            if entries := [entry for entry in entries if entry]:
                chart = Chart(
                    f"{page.key}-ranges-{len(page.charts)}",
                    f"Ranges from minimum to maximum of the results of {name}; the table of "
                    "results holds the same numbers",
                    range_chart(unit, entries),
                )
                page.charts |= chart.drawings
                ranges.append(chart)
        drawn_axes = [axis for axis in axes.values() if axis]
        drawn_families.append(Family(name, FAMILIES.get(name, ""), rows, drawn_axes, ranges))
    return drawn_families


def growths(page: Page) -> list[Growth]:
    """Return the slopes, and fill in their charts."""
    drawn = []
    tables = {bench.id: bench for bench in page.run.benches}
    worded = words.growths(page.run)
    for index, (s, growth) in enumerate(zip(page.run.slopes, worded, strict=True)):
        if not s.points:
            continue
        bench = tables.get(s.bench)
        data = {
            "kind": "slope",
            "unit": growth.unit,
            "over": s.over,
            "statistic": s.figure or s.statistic,
            "points": s.points,
            "names": [setting(bench, s.over, int(x) if x == int(x) else x) for x, _ in s.points],
            "slope": s.slope,
            "ci95": s.ci95,
        }
        statistic = {"mean": "Mean", "min": "Minimum", "figure": s.figure}[s.statistic]
        label = f"{statistic} of {growth.name} over {s.over}"
        chart = Chart(f"{page.key}-slope-{index}", label, data)
        page.charts |= chart.drawings
        drawn.append(Growth(s, growth, chart))
    return drawn


# ---------------------------------------------------------------------------- the page


def condition(run: Run, name: str) -> str | None:
    """Return a condition as text, None if it is unknown."""
    value = run.conditions.get(name)
    return None if value in (None, "", []) else typeset.words(value)


def facts(run: Run) -> list[tuple[str, str]]:
    """Return what was measured, where, when and how long; in the order of reading."""
    sampled = [r for r in run.results if r.n]
    loads = list(dict.fromkeys(r.load for r in sampled))
    clock = []
    if (c := run.clock) is not None:
        rate = f", {c.hz / 1e6:.6g}{NARROW}MHz" if c.unit == "ns" else ""
        overhead = f"{quantity(c.overhead_ns, c.unit)}, already subtracted"
        clock = [("Clock", f"{c.source}{rate}"), ("Clock overhead", overhead)]
    pairs = [
        ("System", origin.system(run)),
        ("CPU", condition(run, CPU)),
        ("Kind of CPU", one_of_several(run)),
        ("Machine", condition(run, MACHINE)),
        ("Virtual machine", condition(run, VIRTUAL)),
        ("Target", run.target.title),
        ("Counted", words.emulated(run)),
        *clock,
        ("Load", ", ".join(loads) if run.attribution is None else run.attribution.load),
        *(
            (f"Load {load}", typeset.typeset(rest))
            for load, _, rest in (
                line.removeprefix("load ").partition(": ") for line in words.load_lines(run)
            )
        ),
        ("Begun", re.sub(r"(Z|\+00:00)$", " UTC", run.created).replace("T", " ", 1)),
        ("Duration", None if run.duration_s is None else seconds(run.duration_s)),
        ("Results", f"{sum(r.status == 'ok' for r in run.results)} ok of {len(run.results)}"),
        ("Samples", count(sum(r.n for r in sampled))),
    ]
    return [(name, value) for name, value in pairs if value]


def title(run: Run) -> str:
    """Return what was measured, in a line, after the name of the run and that of the machine."""
    parts = [part for part in (origin.system(run), condition(run, CPU)) if part]
    measured = " on ".join(parts) or run.target.title
    names = [name for name in (run.name, run.host) if name]
    return f"{', '.join(names)}: {measured}" if names else measured


def grouped(conditions: Mapping[str, Value]) -> list[tuple[str, list[tuple[str, Value]]]]:
    """Return conditions by the first part of their names, single ones at the end."""
    groups: dict[str, list[tuple[str, Value]]] = defaultdict(list)
    for name, value in conditions.items():
        group, _, rest = name.partition(".")
        groups[group].append((rest or name, value))
    several = [(group, items) for group, items in groups.items() if len(items) > 1]
    single = [
        (name, v) for name, v in conditions.items() if len(groups[name.partition(".")[0]]) == 1
    ]
    return [*several, ("other", single)] if single else several


def alarms(run: Run) -> Iterator[Text]:
    """Yield warnings to show before any number."""
    if lacking := words.lacking_rights(run):
        total = len(words.measured(run))
        parts = [
            f"{n} of {counted(total, 'result')} ran without {right}"
            if n
            else f"The target gave no right to {right}"
            for right, n in lacking.items()
        ]
        meaning = "The numbers say how this system treats an ordinary program, not a real-time one."
        yield Text(f"{'; '.join(parts)}. {meaning}", f"Measured without {' and '.join(lacking)}.")
    if model := origin.model(run):
        title, label = model
        text = f"{title} was not measured: every number follows from a model ({label})."
        yield Text(text, "A simulation.")
    if run.interrupted:
        reason = (run.reason or "").removeprefix(f"{INTERRUPTED}; ")
        yield Text(f"{reason}; what was measured is valid.", "This run was interrupted.")
    elif run.status != "complete":
        reason = run.reason or NO_REASON
        yield Text(f"{reason}; what was measured before is kept.", "This run is incomplete.")
    if units := words.counted_units(run):
        yield Text(words.COUNTED, f"Counted in {', '.join(units)}, not in time.")
    elif emulated := words.emulated(run):
        yield Text(f"Its {emulated}, not even with itself.", "An emulated board that ran freely.")


def page_of(
    evaluated: RunEvaluation,
    key: str,
    trace_rows: int = TRACE_MOST,
    forms: Forms | None = None,
    explanations: Sequence[Explanation] = (),
    *,
    sections: Sequence[SectionsOfRun] = (),
    brief: bool = False,
    unfolded: bool = False,
) -> Page:
    """Return everything that the page shows of a run; without single results if it is brief."""
    run, explained = evaluated.run, ordered(explanations, evaluated.run)
    page = Page(
        key=key, run=run, title=title(run), facts=facts(run), answer=answer(evaluated),
        brief=brief, unfolded=unfolded, because=explained[0].sentence if explained else "",
        hartstone=None if brief else hartstone(run, key),
    )  # fmt: skip

    def add(part: str, title: str, *blocks: Block, text: str = "", short: str = "") -> None:
        page.sections.append(Section(f"{key}-{part}", title, blocks, text, short))

    if explained:
        page.sections.append(section(explained, run, f"{key}-why"))
    if sections:
        estimates = {
            (each.subject.result.case, each.subject.result.series): each.outcome
            for each in page.answer.estimates
        }
        page.sections.append(preempting(sections, run, estimates, f"{key}-sections"))
    if parts := attribution(run, key):
        page.sections.append(parts)
    if not brief:
        shown, slopes = families(page, trace_rows, forms or Forms()), growths(page)
        if drawn := curves(run, key, page.charts):
            page.sections.append(drawn)
        if overlays := draw(page, evaluated):
            blocks: list[Block] = [Charts(overlays[:OVERLAYS])]
            if rest := overlays[OVERLAYS:]:
                blocks.append(Folded(f"{len(rest)} more", [Charts(rest)]))
            text = (
                "The same case on each CPU and under each load. The names switch their lines off "
                "and on."
            )
            add("overlays", "CPUs and loads, one over the other", *blocks, text=text,
                short="Overlays")  # fmt: skip
        add("table", "Results", Special("run/results.html", shown))
        add("ranges", "Ranges", Special("run/ranges.html", shown))
        if page.answer.estimates:
            page.sections.append(_worst(page))
        if merits := rhealstone(run, key):
            page.sections.append(merits)
        if matrix := by_load(evaluated):
            text = (
                "What each load does to a case: p99 (p50 where there are too few samples) beside "
                f"that under load “{matrix.loads[0]}”, and the maximum below. Colour shows the "
                f"ratio, strongest at ten times. The verdict is {RULE}."
            )
            matrix_block = Special("run/loads.html", matrix)
            add("loads", "Bench by load", matrix_block, text=text, short="Loads")
        if slopes:
            text = (
                "Minima over a parameter (means in runs of earlier versions) with the "
                "least-squares line; the shaded wedge holds the slopes of the 95% interval. Where "
                "the interval contains 0 and a logarithm fits no better, no growth is seen."
            )
            add("growth", "Growth", Special("run/growth.html", slopes), text=text)
        add("details", "Details", Special("run/details.html", shown))
    text = "A worst case means nothing without the conditions it arose under."
    add("conditions", "Conditions", Special("run/conditions.html"), text=text)
    return page


def _worst(page: Page) -> Section:
    """Return the estimates of worst cases with their checks."""
    rows: list[list[str | Cell]] = []
    checks: list[Block] = []
    for estimate in page.answer.estimates:
        subject, case = estimate.subject, estimate.case
        span = "unknown" if case.unit == "ns" else "none"
        rows.append([
            Cell(subject.name.without_load, link=f"{page.key}-{subject.place}"),
            subject.result.load, quantity(case.observed_max, case.unit),
            seconds(case.section_s) if case.section_s else span, count(case.n), estimate.outcome,
        ])  # fmt: skip
        checks.append(Text("", subject.name.with_load))
        outcomes = {True: "passed", False: "failed", None: "not tested"}
        checks.append(Notes([
            f"{outcomes[check.passed]}: {check.name}, {check.detail}" for check in case.checks
        ], "list"))  # fmt: skip
    columns = ("bench", "load", "max seen", "time", "n", "estimate")
    lead = (
        "Of the tasks that a timer wakes, and of the results named at the top: the largest value "
        "seen, and what extreme-value analysis makes of it. There is a bound only if every check "
        "passed."
    )
    blocks: list[Block] = [Table(columns, rows, texts=(1, 5)), Folded("The checks", checks)]
    return Section(f"{page.key}-worst", "Worst cases", blocks, lead)


def template_values() -> dict[str, Any]:
    """Return the functions and constants that the templates of a run use."""
    return {
        "called": words.called,
        "alarms": alarms,
        "grouped": grouped,
        "usual_load": usual_load,
        "spark": (SPARK_WIDTH, SPARK_HEIGHT),
        "most_figures": 4,
        "shell": shlex.join,
        "repeating": repeating,
        "requirement": requirement,
        "statistics": COLUMNS,
        "of_singles": ("max", *EXTREME),
        "tool": tool,
        "why_no_max": why_no_max,
        "columns": ("n", words.OBSERVED, *COLUMNS.values(), "missed"),
    }
