"""The first distribution of a run's page, and cases on several CPUs or under several loads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from rtstone.documents.run import Result
from rtstone.report.parts import shapes
from rtstone.report.parts.overlay import PERIODIC, Line, Plot, overlay, told_below
from rtstone.report.parts.typeset import count, quantity, typeset
from rtstone.report.run.findings import Subject, subjects_of
from rtstone.report.run.page import Page
from rtstone.stats.evaluate import RunEvaluation

_PLACES = ("cpu", "cpus")  # parameters that say where a case runs
_CPU = re.compile(r"(?:cpu|thread) ?\d+")  # series of results that repeat a case beside itself
_KIND = re.compile(r" ?(\([a-z0-9 ]+\))(?= load=|$)")  # of the CPU, at the end of a label
_TOLD = re.compile(rf"\s*(?:\bcpus?=\S+|{_CPU.pattern}$)")  # the same in a title
_ROWS = 24  # of the chart of ranges where there is no distribution to draw


def draw(page: Page, evaluated: RunEvaluation) -> None:
    """Fill in the page's first chart and its overlays, after the charts of its results."""
    subjects = subjects_of(evaluated.run)
    groups: dict[object, list[Subject]] = defaultdict(list)
    for subject in subjects:
        if subject.result.histogram:
            groups[_case(subject.result)].append(subject)
    several = {case: found for case, found in groups.items() if len(set(_names(found))) > 1}
    place = _telling(page, evaluated.standouts.wakeups, subjects)
    if place is not None and not (page.hartstone and place not in evaluated.standouts.wakeups):
        case = _case(subjects[place].result)
        if case in several:
            page.lead = _overlay(page, several.pop(case))
        else:
            page.lead = _single(page, subjects[place])
    elif not page.hartstone:
        page.lead = _ranges(page, subjects)
    page.overlays = [plot for found in several.values() if (plot := _overlay(page, found))]


def _case(r: Result) -> object:
    """Return what results of one case share, whatever their CPU and load."""
    series = "" if _CPU.fullmatch(r.series) else r.series
    params = ((name, str(value)) for name, value in r.params.items() if name not in _PLACES)
    return r.bench, r.unit, series, tuple(params)


def _telling(page: Page, woken: Sequence[int], subjects: Sequence[Subject]) -> int | None:
    """Return the index of the result to look at first, None if no distribution is known.

    That is the worst wake-up from a timer, else what the first finding about a distribution is
    about, else the result with most samples.
    """
    known = [s for s in subjects if s.result.histogram]
    wakeups = [s for s in known if s.place in woken]
    periodic = [s for s in wakeups if s.result.bench == PERIODIC] or wakeups
    if periodic:
        return max(periodic, key=lambda s: (s.result.max or 0, -s.place)).place
    named = [finding.evidence for finding in (*page.answer.worst, *page.answer.others)]

    def rank(s: Subject) -> tuple[int, int, int]:
        return named.index(s.place) if s.place in named else len(named), -s.result.n, s.place

    return min(known, key=rank).place if known else None


def _names(found: Sequence[Subject]) -> list[str]:
    """Return what tells results of one case apart: CPU and load."""
    loads, cpus = _loads(found), _cpus(found)
    several = len(set(loads)) > 1
    pairs = zip(cpus, loads, strict=True)
    return [
        ", ".join(filter(None, (cpu, f"load {load}" if several else ""))) for cpu, load in pairs
    ]


def _loads(found: Sequence[Subject]) -> list[str]:
    return [s.result.load for s in found]


def _cpus(found: Sequence[Subject]) -> list[str]:
    """Return the CPU of each, empty if no series names it and the parameters do not differ."""
    told = [next((str(s.result.params[n]) for n in _PLACES if n in s.result.params), "")
            for s in found]  # fmt: skip
    differ = len(set(told)) > 1
    pairs = zip(found, told, strict=True)
    names = [s.result.series or (f"CPU {cpu}" if differ and cpu else "") for s, cpu in pairs]
    kinds = [match[1] if (match := _KIND.search(s.label)) else "" for s in found]
    return [f"{name} {kind}".strip() for name, kind in zip(names, kinds, strict=True)]


def _by(found: Sequence[Subject]) -> str:
    cpus = set(_cpus(found))
    place = "thread" if all(cpu.startswith("thread") for cpu in cpus) else "CPU"
    kinds = {place: cpus, "load": set(_loads(found))}
    return " and ".join(name for name, values in kinds.items() if len(values) > 1)


def _overlay(page: Page, found: Sequence[Subject]) -> Plot | None:
    named: dict[str, list[Subject]] = defaultdict(list)
    for name, subject in zip(_names(found), found, strict=True):
        named[name].append(subject)
    first = found[0]
    lines = [Line(name, [s.result for s in those]) for name, those in named.items()]
    drawn = overlay(lines, first.result.unit)
    key = f"{page.key}-over-{first.place}"
    page.charts |= {f"{key}-{kind}": chart for kind, chart in drawn.items()}
    title = f"{_title(first)} by {_by(found)}"
    views = [f"{key}-{kind}" for kind in drawn]
    return Plot(title, views, page.link(first.place), told_below(lines)) if drawn else None


def _title(subject: Subject) -> str:
    """Return the bench with its parameters, without CPU and load."""
    return _TOLD.sub("", _KIND.sub("", subject.title))


def _single(page: Page, subject: Subject) -> Plot | None:
    """Return the plot of a result; None if its distribution cannot be drawn."""
    r, key = subject.result, f"{page.key}-{subject.place}"
    kinds = [kind for kind in ("histogram", "percentiles") if f"{key}-{kind}" in page.charts]
    marks = [f"{name} {quantity(value, r.unit)}" for name, value in shapes.marks_of(r)]
    note = (
        f"{', '.join(marks)}. {typeset(subject.circumstances.removeprefix(f'{subject.title}; '))}."
    )
    if not kinds:
        return None
    return Plot(subject.title, [f"{key}-{kind}" for kind in kinds], page.link(subject.place), note,
                corrected=_corrected(r))  # fmt: skip


def _corrected(r: Result) -> str:
    """Return what the orange part of a distribution is, empty if there is none."""
    if shapes.correction(r) is None:
        return ""
    if not r.missed:
        return "added by the correction"
    return f"what {count(r.missed)} missed activations add"


def _ranges(page: Page, subjects: Sequence[Subject]) -> Plot | None:
    """Draw the ranges of the first unit, where only statistics are known."""
    known = [s for s in subjects if s.result.n and s.result.max is not None]
    rows = [
        row
        for s in known[:_ROWS]
        if s.result.unit == known[0].result.unit
        and (row := shapes.range_row(s.result, id=f"{page.key}-{s.place}", label=s.title,
                                     load=s.result.load, time=None))
    ]  # fmt: skip
    if not rows:
        return None
    key = f"{page.key}-lead-ranges"
    page.charts[key] = shapes.range_chart(known[0].result.unit, rows)
    note = "No distribution is known, only these statistics."
    return Plot("Ranges", [key], page.link(known[0].place), note)
