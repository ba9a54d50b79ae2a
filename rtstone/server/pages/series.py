"""A series with its change points, and the series of a target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from msgspec import structs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rtstone.documents.server import Point, Seen, SeriesView
from rtstone.documents.trend import METRICS, Series
from rtstone.report.parts.shapes import short
from rtstone.report.trend.page import section
from rtstone.report.trend.text import metric as named
from rtstone.report.trend.text import switch
from rtstone.server.analysis import WINDOW
from rtstone.server.pages import queries
from rtstone.server.pages.overview import value
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.units import counted

_LISTED = 50  # newest results in the table
_CURVES = ("p50", "p99", "max")
_DECADE = 10  # an axis is logarithmic for values further apart


def of_target(request: Request) -> Response:
    """List the series of a target."""
    project = project_of(request)
    target = request.query_params.get("target", "")
    if not target:
        raise HTTPException(400, "no target named; write ?target=NAME")
    with request.app.state.database.reading() as connection:
        told = queries.series_list(connection, project, target)
    if wants_json(request):
        return document(told)
    identities = len({str(one.identity) for one in told.series}) > 1
    return page("server/series-list.html", site(project), told=told, identities=identities)


def series(request: Request) -> Response:
    """Show a series."""
    project = project_of(request)
    with request.app.state.database.reading() as connection:
        told = queries.series_view(connection, project, request.path_params["key"])
    if wants_json(request):
        return document(told)
    of = sorted(told.trends, key=lambda one: METRICS.index(one.metric))
    shown = [one for one in of if one.runs]
    sections = [section(one, named(one), f"t{number}", "time") for number, one in enumerate(shown)]
    charts = {chart.key: chart.data for part in sections for chart in part.drawn}
    long = told.of > WINDOW
    if long:
        charts["all"] = _all(told)
    return page(
        "server/series.html", site(project), charts, told=told, title=told.series.title,
        series=sections, window=min(WINDOW, max((one.runs for one in shown), default=0)),
        earlier=[_earlier(one) for one in told.earlier], long=long,
        newest=told.points[: -_LISTED - 1 : -1], grade=_grade(shown), says=_says(shown),
        basis=_basis(told, shown),
        target_link=f"/p/{project}/series?target={quote(told.series.target, safe='')}",
    )  # fmt: skip


def _grade(shown: Sequence[Series]) -> str:
    last = [one.changes[-1].effect.verdict for one in shown if one.changes]
    return "bad" if "worse" in last else "good" if shown else "info"


def _says(shown: Sequence[Series]) -> str:
    """Return where the series stands: its newest change of each metric, or that there is none."""
    if not shown:
        return "Not analysed yet."
    changed = [one for one in shown if one.changes]
    if not changed:
        runs, least = max(one.runs for one in shown), min(one.least for one in shown)
        if runs < least:
            return f"Too few runs to find a change: {runs}; it takes {least}."
        return f"No change found in the newest {counted(runs, 'run')}."
    told = [
        f"{named(one)} {one.changes[-1].effect.verdict} since {one.changes[-1].created[:10]}"
        for one in changed
    ]
    return f"{'; '.join(told)}."


def _basis(told: SeriesView, shown: Sequence[Series]) -> list[str]:
    lines = [f"Under load {told.series.load}; {counted(told.of, 'result')}."]
    if told.series.exact:
        lines.append("Its runs repeat exactly: any difference is a change of the system.")
    return lines if shown else lines[:1]


def _earlier(one: Seen) -> dict[str, Any]:
    return structs.asdict(one) | {
        "before": value(one.before, one.unit),
        "after": value(one.after, one.unit),
        "differs": switch(one.differences[0]) if one.differences else "",
    }


def _all(told: SeriesView) -> dict[str, Any]:
    """Return the chart of all listed results."""
    first = told.of - len(told.points) + 1
    drawn = {name: [_drawn(one, name) for one in told.points] for name in _CURVES}
    values = [y for curve in drawn.values() for y in curve if y is not None]
    log = bool(values) and 0 < _DECADE * min(values) < max(values)
    curves = [
        {"name": name, "points": [[first + n, y] for n, y in enumerate(curve)]}
        for name, curve in drawn.items()
    ]
    return {
        "kind": "curves", "over": "result", "unit": told.series.unit, "axis": "", "log": log,
        "series": curves,
    }  # fmt: skip


def _drawn(one: Point, name: str) -> float | None:
    number = getattr(one, name) if one.status == "ok" else None
    return None if number is None else short(number)
