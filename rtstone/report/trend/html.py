"""A trend as one self-contained page."""

from __future__ import annotations

from typing import Any

from rtstone.documents.trend import By, Series, Trend
from rtstone.report.parts.frame import framed
from rtstone.report.parts.shapes import short
from rtstone.report.parts.typeset import typeset
from rtstone.report.trend import text as plainly

_DECADE = 10  # an axis is logarithmic for values further apart


def compose(trend: Trend) -> str:
    """Return the page as text.  Raises MissingBundleError."""
    charts: dict[str, Any] = {}
    pairs = zip(trend.series, plainly.titles(trend), strict=True)
    ordered = sorted(pairs, key=lambda pair: not pair[0].changes)
    sections = [
        section(series, title, f"t{number}", trend.by, charts)
        for number, (series, title) in enumerate(ordered)
    ]
    changes = [one for series in trend.series for one in series.changes]
    return framed(
        "trend.html",
        {"charts": charts, "details": {}, "forms": {}, "flags": {}},
        title="Trend of " + ", ".join(dict.fromkeys(s.bench for s in trend.series)),
        series=sections,
        changes=len(changes),
        worse=sum(one.effect.verdict == "worse" for one in changes),
        remarks=[*trend.remarks, *filter(None, [plainly.resolution(trend)])],
        level=trend.level,
        shortest=trend.shortest,
    )


def section(series: Series, title: str, key: str, by: By, charts: dict[str, Any]) -> dict[str, Any]:
    """Return what the template shows of a series; its chart is added to ``charts``.

    ``key``: of the section and its chart on the page.  ``by``: what a point is.
    """
    if series.runs > 1:
        charts[key] = _chart(series, by)
    return {
        "key": key,
        "title": typeset(title),
        "summary": typeset(plainly.summary(series)),
        "drawn": series.runs > 1,
        "changes": [
            {
                "says": typeset(plainly.change(series, one, place)),
                "verdict": one.effect.verdict,
                "differences": [plainly.switch(each) for each in one.differences],
            }
            for place, one in enumerate(series.changes)
        ],
        "doubts": [f"{doubt.after}: {doubt.reason}" for doubt in series.doubts],
    }


def _chart(series: Series, by: By) -> dict[str, Any]:
    """Return the values over the number of the run, and the levels between changes."""
    points = [
        [place.first + 1, None if place.pooled.value is None else short(place.pooled.value)]
        for place in series.places
    ]
    ends = [*(one.at for one in series.changes), series.runs]
    levels = []
    for place in series.places:
        part = next(n for n, end in enumerate(ends) if place.first < end)
        level = series.segments[part].value
        levels.append([place.first + 1, None if level is None else short(level)])
    values = [y for _, y in (*points, *levels) if y is not None]
    name = "runs" if by == "time" else f"by {by}"
    return {
        "kind": "curves", "over": "run", "unit": series.unit, "axis": plainly.metric(series),
        "log": bool(values) and 0 < _DECADE * min(values) < max(values),
        "above": [[one.at + 1, str(number)] for number, one in enumerate(series.changes, 1)],
        "series": [{"name": name, "points": points}, {"name": "level", "points": levels}],
    }  # fmt: skip
