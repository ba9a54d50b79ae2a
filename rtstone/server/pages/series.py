"""A series with its change points, and the series of a target."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rtstone.documents.server import Point, SeriesView
from rtstone.documents.trend import METRICS, Series
from rtstone.report.parts.model import Chart
from rtstone.report.parts.shapes import far_apart, short
from rtstone.report.trend import dates
from rtstone.report.trend.page import section
from rtstone.report.trend.text import metric as named
from rtstone.report.trend.text import switch, value
from rtstone.server.analysis import WINDOW
from rtstone.server.pages import queries
from rtstone.server.pages.overview import LABELS, size, target_link, too_few
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.units import counted

_LISTED = 50  # newest results in the table
_CURVES = ("p50", "p99", "max")


def target_series(request: Request) -> Response:
    """List the series of a target."""
    project = project_of(request)
    target = request.query_params.get("target", "")
    if not target:
        raise HTTPException(400, "no target named; write ?target=NAME")
    with request.app.state.database.reading() as connection:
        listing = queries.series_list(connection, project, target)
    if wants_json(request):
        return document(listing)
    identities = len({str(head.identity) for head in listing.series}) > 1
    worse = {
        key: {
            "size": size(change),
            "metric": LABELS.get(change.metric, change.metric),
            "since": change.since,
        }
        for key, change in listing.worse.items()
    }
    return page(
        "server/series-list.html", site(project), listing=listing, identities=identities,
        worse=worse,
        lacking={key: too_few(*numbers) for key, numbers in listing.lacking.items()},
    )  # fmt: skip


def series(request: Request) -> Response:
    """Show a series."""
    project = project_of(request)
    with request.app.state.database.reading() as connection:
        view = queries.series_view(connection, project, request.path_params["key"])
    if wants_json(request):
        return document(view)
    trends = sorted(view.trends, key=lambda trend: METRICS.index(trend.metric))
    shown = [trend for trend in trends if trend.runs]
    sections = [
        section(trend, named(trend), f"t{number}", "time") for number, trend in enumerate(shown)
    ]
    charts = {chart.key: chart.data for part in sections for chart in part.drawn}
    last = [trend.changes[-1].effect.verdict for trend in shown if trend.changes]
    enough = [trend for trend in shown if trend.runs >= trend.least]
    grade = "bad" if "worse" in last else "good" if enough else "info"
    basis = [f"Under load {view.series.load}; {counted(view.of, 'result')}."]
    if shown and view.series.exact:
        basis.append("Its runs repeat exactly: any difference is a change of the system.")
    earlier = [
        structs.asdict(change) | {
            "before": value(change.before, change.unit),
            "after": value(change.after, change.unit),
            "differs": switch(change.differences[0]) if change.differences else "",
        }
        for change in view.earlier
    ]  # fmt: skip
    everything = _chart(view) if view.of > WINDOW else None
    charts |= everything.drawings if everything else {}
    return page(
        "server/series.html", site(project), charts, view=view, title=view.series.title,
        series=sections, window=_window(shown),
        earlier=earlier, everything=everything, newest=view.points[: -_LISTED - 1 : -1],
        grade=grade, says=_verdict(shown), basis=basis,
        target_link=target_link(project, view.series.target),
    )  # fmt: skip


def _window(shown: Sequence[Series]) -> str:
    """Return how many runs were analysed, as a heading."""
    runs = min(WINDOW, max((trend.runs for trend in shown), default=0))
    return "The newest run" if runs == 1 else f"The newest {counted(runs, 'run')}"


def _verdict(shown: Sequence[Series]) -> str:
    """Return the state of a series: the newest change of each metric, or that there is none."""
    if not shown:
        return "Not analysed yet."
    changed = [trend for trend in shown if trend.changes]
    if not changed:
        runs, least = max(trend.runs for trend in shown), min(trend.least for trend in shown)
        if runs < least:
            return f"Too few runs to find a change: {runs}; it takes {least}."
        return f"No change found in the newest {counted(runs, 'run')}."
    changes = [
        f"{named(trend)} {trend.changes[-1].effect.verdict} since {trend.changes[-1].created[:10]}"
        for trend in changed
    ]
    return f"{'; '.join(changes)}."


def _chart(view: SeriesView) -> Chart:
    """Return the chart of all listed results."""

    def height(point: Point, name: str) -> float | None:
        number = getattr(point, name) if point.status == "ok" else None
        return None if number is None else short(number)

    at = [dates.seconds(point.created) for point in view.points]
    drawn = {name: [height(point, name) for point in view.points] for name in _CURVES}
    values = [y for curve in drawn.values() for y in curve if y is not None]
    curves = [
        {"name": name, "points": [[x, y] for x, y in zip(at, curve, strict=True)]}
        for name, curve in drawn.items()
    ]
    return Chart("all", "Median, 99th percentile and maximum of each run", {
        "kind": "curves", "over": "begin (UTC)", "unit": view.series.unit, "axis": "",
        "log": far_apart(values),
        "series": curves, "ticks": dates.ticks(at[0], at[-1]),
        "names": [dates.minute(point.created) for point in view.points],
    })  # fmt: skip
