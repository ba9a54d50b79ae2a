"""A run as a part of a page: its answer, its results family by family, its conditions."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from rtstone.documents.capacity import one_of_several
from rtstone.documents.case_name import CaseName, result_names, setting, usual_load
from rtstone.documents.imported import tool
from rtstone.documents.run import INTERRUPTED, NO_REASON, Result, Run, Value
from rtstone.report.parts import typeset, words
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
from rtstone.report.run.details import Forms, detail, why_no_max
from rtstone.report.run.loads import RULE, by_load
from rtstone.report.run.merit import hartstone, rhealstone
from rtstone.report.run.overlays import draw
from rtstone.report.run.page import Family, Growth, Page, Row
from rtstone.stats.evaluate import RunEvaluation
from rtstone.summary import COLUMNS

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

# Conditions shown at the top of the page.
CPU, MACHINE, VIRTUAL = "cpu.model", "machine.product", "machine.virtual"


def families(page: Page, trace_rows: int, forms: Forms) -> None:
    """Fill in the page's families, their rows, details and charts."""
    run = page.run
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
                ranges.append(f"{page.key}-ranges-{len(page.charts)}")
                page.charts[ranges[-1]] = range_chart(unit, entries)
        drawn_axes = [axis for axis in axes.values() if axis]
        page.families.append(Family(name, FAMILIES.get(name, ""), rows, drawn_axes, ranges))


def growths(page: Page) -> None:
    """Fill in the page's slopes and their charts."""
    tables = {bench.id: bench for bench in page.run.benches}
    worded = words.growths(page.run)
    for index, (s, growth) in enumerate(zip(page.run.slopes, worded, strict=True)):
        if not s.points:
            continue
        bench, chart = tables.get(s.bench), f"{page.key}-slope-{index}"
        page.growths.append(Growth(s, growth, chart))
        page.charts[chart] = {
            "kind": "slope",
            "unit": growth.unit,
            "over": s.over,
            "statistic": s.statistic,
            "points": s.points,
            "names": [setting(bench, s.over, whole(x)) for x, _ in s.points],
            "slope": s.slope,
            "ci95": s.ci95,
        }


def whole(value: float) -> float | int:
    """Return a whole number as such."""
    return int(value) if value == int(value) else value


# ---------------------------------------------------------------------------- the page


def condition(run: Run, name: str) -> str | None:
    """Return a condition as text, None if it is unknown."""
    value = run.conditions.get(name)
    return None if value in (None, "", []) else typeset.words(value)


def clock_of(run: Run) -> list[tuple[str, str | None]]:
    """Return the clock in a few words."""
    c = run.clock
    if c is None:
        return []
    rate = f"{c.source}, {c.hz / 1e6:.6g}{NARROW}MHz" if c.unit == "ns" else c.source
    return [
        ("Clock", rate),
        ("Clock overhead", f"{quantity(c.overhead_ns, c.unit)}, already subtracted"),
    ]


def facts(run: Run) -> list[tuple[str, str]]:
    """Return what was measured, where, when and how long; in the order of reading."""
    sampled = [r for r in run.results if r.n]
    loads = list(dict.fromkeys(r.load for r in sampled))
    pairs = [
        ("System", words.system(run)),
        ("CPU", condition(run, CPU)),
        ("Kind of CPU", one_of_several(run)),
        ("Machine", condition(run, MACHINE)),
        ("Virtual machine", condition(run, VIRTUAL)),
        ("Target", run.target.title),
        ("Counted", words.emulated(run)),
        *clock_of(run),
        ("Load", ", ".join(loads)),
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
    """Return what was measured, in a line, after the name of the run."""
    parts = [part for part in (words.system(run), condition(run, CPU)) if part]
    measured = " on ".join(parts) or run.target.title
    return f"{run.name}: {measured}" if run.name else measured


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


def alarms(run: Run) -> Iterable[tuple[str, str]]:
    """Yield warnings to show before any number: head and text."""
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
    if run.interrupted:
        reason = (run.reason or "").removeprefix(f"{INTERRUPTED}; ")
        yield "This run was interrupted.", f"{reason}; what was measured is valid."
    elif run.status != "complete":
        reason = run.reason or NO_REASON
        yield "This run is incomplete.", f"{reason}; what was measured before is kept."
    if units := words.counted_units(run):
        yield (
            f"Counted in {', '.join(units)}, not in time.",
            "These numbers come from an emulated target. They compare with other runs of the same "
            "kind, never with a clock.",
        )
    elif emulated := words.emulated(run):
        yield "An emulated board that ran freely.", f"Its {emulated}, not even with itself."


def page_of(
    evaluated: RunEvaluation,
    key: str,
    trace_rows: int = TRACE_MOST,
    forms: Forms | None = None,
    *,
    unfolded: bool = False,
) -> Page:
    """Return everything that the page shows of a run."""
    page = brief_of(evaluated, key)
    page.brief, page.unfolded = False, unfolded
    page.by_load = by_load(evaluated)
    page.hartstone, page.merits = hartstone(page.run), rhealstone(page.run)
    families(page, trace_rows, forms or Forms())
    growths(page)
    draw(page, evaluated)
    return page


def brief_of(evaluated: RunEvaluation, key: str) -> Page:
    """Return the answer and conditions of a run, without single results."""
    run = evaluated.run
    return Page(
        key=key, run=run, title=title(run), facts=facts(run), answer=answer(evaluated), brief=True
    )


def template_values() -> dict[str, Any]:
    """Return the functions and constants that the templates of a run use."""
    return {
        "called": words.called,
        "alarms": alarms,
        "grouped": grouped,
        "usual_load": usual_load,
        "spark": (SPARK_WIDTH, SPARK_HEIGHT),
        "load_rule": RULE,
        "most_figures": 4,
        "most_overlays": 6,
        "shell": shlex.join,
        "statistics": COLUMNS,
        "tool": tool,
        "why_no_max": why_no_max,
        "columns": ("n", words.OBSERVED, *COLUMNS.values(), "missed"),
    }
