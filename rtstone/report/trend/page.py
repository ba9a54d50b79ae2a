"""A trend: its series with their changes, on a terminal and as a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from rtstone.documents.trend import By, Series, Trend
from rtstone.report.parts.console import sentences
from rtstone.report.parts.model import Block, Chart, Finding, Findings, Notes, Page, Section
from rtstone.report.parts.model_html import write
from rtstone.report.parts.model_terminal import block_lines
from rtstone.report.parts.shapes import far_apart, short
from rtstone.report.trend import dates
from rtstone.report.trend import text as words
from rtstone.units import count, counted

FEW = 4  # series that are all drawn on a terminal; of more, only those that change
MOST = 5  # differences of conditions that a terminal shows of a change
_WIDEST = 110  # columns of a terminal
_STYLES = {"worse": "bold red", "better": "green"}


def compose(trend: Trend) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    changes, worse = _counts(trend)
    page = Page(
        title="Trend of " + ", ".join(dict.fromkeys(s.bench for s in trend.series)),
        verdict=f"{counted(changes, 'change')} in {count(len(trend.series))} series, "
        f"{count(worse)} for the worse.",
        remarks=_remarks(trend),
        sections=[Section("series", "Series", _sections(trend))],
        method={
            "Series": "One for each target, bench, parameters and load. A point is a run; "
            "percentiles of several runs are those of their merged histograms.",
            "Changes": "E-divisive means (Matteson and James, 2014) with a permutation test at "
            f"{100 * trend.level:g}%, confirmed by comparing the runs on both sides; at least "
            f"{trend.shortest} runs apart. Where neighbouring runs are correlated, levels have to "
            "lie further apart than such runs wander. Where runs repeat exactly, every difference "
            "is a change. Percentiles include omitted activations.",
            "Differences": "Conditions of up to ten runs on each side, first those that hold on "
            "the whole of their side, the most telling first. They are no proof of the cause.",
        },
    )
    return write(page)


def trend_lines(trend: Trend, width: int, encoding: str | None = None) -> Iterator[RenderableType]:
    """Yield a trend on a terminal: the series that change, with pictures, then the others."""
    width = min(width, _WIDEST)
    for number, section in enumerate(_sections(trend, MOST)):
        drawn = len(trend.series) <= FEW or any(isinstance(b, Findings) for b in section.blocks)
        if number and drawn:
            yield Text()
        style = "bold" if drawn else ""
        yield from sentences(Text(f"{section.title}: {section.text}", style), width)
        if drawn:
            yield from block_lines(section.blocks, width, encoding)
    yield Text()
    for remark in _remarks(trend):
        yield from sentences(Text(remark, "dim"), width)
    changes, worse = _counts(trend)
    yield Text(
        f"{count(len(trend.series))} series: "
        f"{counted(changes, 'change')}, {count(worse)} for the worse"
    )


def _counts(trend: Trend) -> tuple[int, int]:
    """Return the number of changes, and of those for the worse."""
    changes = [change for series in trend.series for change in series.changes]
    return len(changes), sum(change.effect.verdict == "worse" for change in changes)


def _remarks(trend: Trend) -> list[str]:
    return [*trend.remarks, *filter(None, [words.resolution(trend)])]


def _sections(trend: Trend, most: int | None = None) -> list[Section]:
    """Return a section for each series, first those that change."""
    pairs = zip(trend.series, words.titles(trend), strict=True)
    ordered = sorted(pairs, key=lambda pair: not pair[0].changes)
    return [
        section(series, title, f"t{number}", trend.by, most)
        for number, (series, title) in enumerate(ordered)
    ]


def section(series: Series, title: str, key: str, by: By, most: int | None = None) -> Section:
    """Return a series with its chart and changes; ``by``: what a point is.

    ``key``: of the section and its chart on the page.  ``most``: differences of conditions that are
    shown of a change; None: all.
    """
    blocks: list[Block] = []
    if series.runs > 1:
        blocks.append(Chart(key, title, _chart(series, by),
                            picture=partial(words.picture, series)))  # fmt: skip
    if series.changes:
        blocks.append(Findings([
            Finding(words.change(series, change, number), notes=words.switches(change, most),
                    style=_STYLES.get(change.effect.verdict, ""))
            for number, change in enumerate(series.changes)
        ], numbered=True))  # fmt: skip
    blocks.append(
        Notes([f"not confirmed at run {doubt.after}: {doubt.reason}" for doubt in series.doubts])
    )
    return Section(key, title, blocks, text=words.summary(series))


def _chart(series: Series, by: By) -> dict[str, Any]:
    """Return the values and the levels between changes: over time, or by kernel or commit."""
    times = by == "time"
    at = [
        dates.seconds(place.created) if times else float(place.first + 1) for place in series.places
    ]
    names = [
        f"{dates.minute(place.created)}, run {place.first + 1}" if times else place.label
        for place in series.places
    ]
    ends = [*(change.at for change in series.changes), series.runs]
    points, levels = [], []
    for x, place in zip(at, series.places, strict=True):
        part = next(n for n, end in enumerate(ends) if place.first < end)
        level = series.segments[part].value
        value = place.pooled.value
        points.append([x, None if value is None else short(value)])
        levels.append([x, None if level is None else short(level)])
    values = [y for _, y in (*points, *levels) if y is not None]
    above = [
        [dates.seconds(change.created) if times else change.at + 1, str(number)]
        for number, change in enumerate(series.changes, 1)
    ]
    return {
        "kind": "curves", "over": "begin (UTC)" if times else by, "unit": series.unit,
        "axis": words.metric(series), "log": far_apart(values), "names": names, "above": above,
        "ticks": dates.ticks(at[0], at[-1]) if times else _labels(at, names),
        "series": [{"name": "runs" if times else f"by {by}", "points": points},
                   {"name": "level", "points": levels, "bare": True}],
    }  # fmt: skip


def _labels(at: Sequence[float], names: Sequence[str]) -> list[dates.Tick]:
    """Return the names of some points, evenly spaced."""
    step = -(-len(at) // dates.MOST)
    return list(zip(at, names, strict=True))[::step]
