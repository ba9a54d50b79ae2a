"""The first distribution of a run's page, and cases on several CPUs or under several loads."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from rtstone.documents.run import Result
from rtstone.report.parts import shapes
from rtstone.report.parts.model import Chart
from rtstone.report.parts.overlay import Line, corrected_percentiles, overlay_chart
from rtstone.report.parts.typeset import count, quantity, typeset
from rtstone.report.run.findings import Subject, subjects_of
from rtstone.report.run.page import Page
from rtstone.stats.evaluate import RunEvaluation
from rtstone.stats.standouts import PERIODIC

_PLACES = ("cpu", "cpus")  # parameters that say where a case runs
_CPU = re.compile(r"(?:cpu|thread) ?\d+")  # series of results that repeat a case beside itself
_KIND = re.compile(r" ?(\([a-z0-9 ]+\))$")  # of the CPU, at the end of a series
_PLACE_IN_TITLE = re.compile(rf"\s*(?:\bcpus?=\S+|{_CPU.pattern}$)")  # the same in a title
_ROWS = 24  # of the chart of ranges where there is no distribution to draw
_WORDS = "Histogram of {}, both axes logarithmic"


def draw(page: Page, evaluated: RunEvaluation) -> list[Chart]:
    """Fill in the page's first chart, and return its overlays; both come after other charts."""
    subjects = subjects_of(evaluated.run)
    groups: dict[object, list[Subject]] = defaultdict(list)
    for subject in subjects:
        if subject.result.histogram:
            groups[_case(subject.result)].append(subject)
    several = {case: members for case, members in groups.items() if len(set(_names(members))) > 1}
    place = _telling(page, evaluated.standouts.wakeups, subjects)
    if place is not None and not (page.hartstone and place not in evaluated.standouts.wakeups):
        case = _case(subjects[place].result)
        if case in several:
            page.lead = _overlay(page, several.pop(case))
        else:
            page.lead = _single(page, subjects[place])
    elif not page.hartstone:
        page.lead = _ranges(page, subjects)
    return [chart for members in several.values() if (chart := _overlay(page, members))]


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
    drawable = [s for s in subjects if s.result.histogram]
    wakeups = [s for s in drawable if s.place in woken]
    periodic = [s for s in wakeups if s.result.bench == PERIODIC] or wakeups
    if periodic:
        return max(periodic, key=lambda s: (s.result.max or 0, -s.place)).place
    named = [finding.evidence for finding in (*page.answer.worst, *page.answer.other_findings)]

    def rank(s: Subject) -> tuple[int, int, int]:
        return named.index(s.place) if s.place in named else len(named), -s.result.n, s.place

    return min(drawable, key=rank).place if drawable else None


def _names(subjects: Sequence[Subject]) -> list[str]:
    """Return what distinguishes results of one case: CPU and load."""
    loads, cpus = [s.result.load for s in subjects], _cpus(subjects)
    several = len(set(loads)) > 1
    pairs = zip(cpus, loads, strict=True)
    return [
        ", ".join(filter(None, (cpu, f"load {load}" if several else ""))) for cpu, load in pairs
    ]


def _cpus(subjects: Sequence[Subject]) -> list[str]:
    """Return the CPU of each, empty if no series names it and the parameters do not differ."""
    cpus = [next((str(s.result.params[n]) for n in _PLACES if n in s.result.params), "")
            for s in subjects]  # fmt: skip
    differ = len(set(cpus)) > 1
    pairs = zip(subjects, cpus, strict=True)
    names = [s.result.series or (f"CPU {cpu}" if differ and cpu else "") for s, cpu in pairs]
    kinds = [match[1] if (match := _KIND.search(s.name.series)) else "" for s in subjects]
    return [f"{name} {kind}".strip() for name, kind in zip(names, kinds, strict=True)]


def _overlay(page: Page, subjects: Sequence[Subject]) -> Chart | None:
    """Add the chart of a case on several CPUs or under several loads; None if nothing is drawn."""
    groups: dict[str, list[Subject]] = defaultdict(list)
    for name, subject in zip(_names(subjects), subjects, strict=True):
        groups[name].append(subject)
    first = subjects[0]
    lines = [Line(name, [s.result for s in members]) for name, members in groups.items()]
    cpus = set(_cpus(subjects))
    place = "thread" if all(cpu.startswith("thread") for cpu in cpus) else "CPU"
    kinds = {place: cpus, "load": {s.result.load for s in subjects}}
    varied = " and ".join(name for name, values in kinds.items() if len(values) > 1)
    title = f"{_PLACE_IN_TITLE.sub('', _KIND.sub('', first.name.without_load))} by {varied}"
    chart = overlay_chart(
        lines, first.result.unit, key=f"{page.key}-over-{first.place}", title=title,
        words=_WORDS.format(title), link=page.link(first.place),
    )  # fmt: skip
    page.charts |= chart.drawings if chart else {}
    return chart


def _single(page: Page, subject: Subject) -> Chart | None:
    """Return the chart of a result; None if its distribution cannot be drawn."""
    r, title = subject.result, subject.name.without_load
    keys = [f"{page.key}-{subject.place}-{kind}" for kind in ("histogram", "percentiles")]
    drawn = [(key, page.charts[key]) for key in keys if key in page.charts]
    if not drawn:
        return None
    marks = [f"{name} {quantity(value, r.unit)}" for name, value in shapes.marks_of(r)]
    circumstances = typeset(subject.circumstances)
    corrected = ""  # what the orange part of the distribution is
    if (whole := shapes.correction(r)) is not None:
        corrected = f"what {count(r.missed)} missed activations add" if r.missed else (
            "added by the correction"
        )  # fmt: skip
        marks[-1] += f". With {corrected}: {', '.join(corrected_percentiles(whole, r.unit))}"
    (key, data), *views = drawn
    return Chart(
        key, _WORDS.format(title), data, title, views=dict(views), link=page.link(subject.place),
        note=f"{', '.join(marks)}. {circumstances}.", corrected=corrected,
    )  # fmt: skip


def _ranges(page: Page, subjects: Sequence[Subject]) -> Chart | None:
    """Draw the ranges of the first unit, where only statistics are known."""
    maxima = [s for s in subjects if s.result.n and s.result.max is not None]
    rows = [
        row
        for s in maxima[:_ROWS]
        if s.result.unit == maxima[0].result.unit
        and (row := shapes.range_row(
            s.result, id=f"{page.key}-{s.place}", label=s.name.without_load,
            load=s.result.load, time=None,
        ))
    ]  # fmt: skip
    if not rows:
        return None
    chart = Chart(
        f"{page.key}-lead-ranges", "Ranges from minimum to maximum of the results",
        shapes.range_chart(maxima[0].result.unit, rows), "Ranges",
        link=page.link(maxima[0].place), note="No distribution is known, only these statistics.",
    )  # fmt: skip
    page.charts |= chart.drawings
    return chart
