"""The latencies of all targets in one plot, as OSADL's QA farm draws them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msgspec import structs
from starlette.requests import Request
from starlette.responses import Response

from rtstone.documents.observation import observed
from rtstone.documents.run import Result
from rtstone.documents.server import Latencies, MainCase, TargetLatencies
from rtstone.errors import UsageError
from rtstone.report.parts.model import Chart
from rtstone.report.parts.overlay import Line, overlay_chart
from rtstone.server.indexing import series_row
from rtstone.server.pages import queries
from rtstone.server.pages.overview import target_link
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.server.projects import Places
from rtstone.stats.trend.series import lines
from rtstone.store.decoding import uncollected
from rtstone.store.rundir import load
from rtstone.units import counted, quantity

MOST = 28  # targets that are drawn, as many as lines have looks


def latencies(request: Request) -> Response:
    """Show the newest histograms of the main cases of all targets on one axis for each unit."""
    project = project_of(request)
    with request.app.state.database.reading() as connection:
        state = queries.overview(connection, project)
    cases = [(target.name, target.main) for target in state.targets if target.main]
    places: Places = request.app.state.places
    with uncollected():
        drawn = [
            TargetLatencies(target=name, main=case, results=results)
            for name, case in cases[:MOST]
            if (results := _results(places, project, case))
        ]
    listing = Latencies(
        project=project, created=state.made, targets=drawn, total=len(state.targets)
    )
    if wants_json(request):
        return document(listing)
    charts = _charts(drawn)
    return page(
        "server/latencies.html", site(project, "latencies"),
        {key: data for chart in charts for key, data in chart.drawings.items()},
        state=listing, total=counted(listing.total, "target"), drawings=charts,
        rows=[_row(project, each) for each in drawn], says=_verdict(listing),
    )  # fmt: skip


def _results(places: Places, project: str, case: MainCase) -> list[Result]:
    """Return the results of a case in its newest run, none if that cannot be read any more."""
    try:
        run = load(places.run(project, case.run_id))
    except UsageError:  # removed or damaged since
        return []
    return [
        structs.replace(observation.result, worst=[], trace=None, blocks=None, batches=None)
        for line in lines(list(observed(run)), figures=False)
        if series_row(line)["key"] == case.series.key
        for observation in line.runs[0]
        if observation.result.status == "ok"
    ]


def _charts(drawn: Sequence[TargetLatencies]) -> list[Chart]:
    """Return a chart for each unit in which at least two targets are."""
    units = dict.fromkeys(each.main.series.unit for each in drawn)
    charts = []
    for number, unit in enumerate(units):
        own = [Line(each.target, each.results) for each in drawn if each.main.series.unit == unit]
        words = f"Histograms of {counted(len(own), 'target')}, both axes logarithmic"
        charts.append(overlay_chart(
            own, unit, key=f"latencies-{number}", title=_title(unit), words=words,
            link="#targets",
        ))  # fmt: skip
    return [chart for chart in charts if chart]


def _title(unit: str) -> str:
    return "Latencies" if unit == "ns" else f"Latencies in {unit}"


def _verdict(listing: Latencies) -> str:
    """Return which of the targets whose times are measured has the largest and smallest maximum."""
    timed = [
        each.main for each in listing.targets
        if each.main.series.unit == "ns" and not each.main.series.exact
    ]  # fmt: skip
    ordered = sorted(timed, key=lambda case: case.max or 0.0)
    if len(ordered) < 2:
        return f"{counted(len(listing.targets), 'target')} of {listing.total} with samples."
    best, worst = ordered[0], ordered[-1]
    models = len(ordered) < len(listing.targets)
    where = f" of {counted(len(ordered), 'machine')}" if models else ""
    least, most = (quantity(case.max or 0.0, case.series.unit) for case in (best, worst))
    return (
        f"Of the newest runs{where}, that on {worst.series.target} has the largest maximum, "
        f"{most}; that on {best.series.target} the smallest, {least}."
    )


def _row(project: str, each: TargetLatencies) -> dict[str, Any]:
    case = each.main
    return {
        "name": each.target,
        "link": target_link(project, each.target),
        "case": case.series.title,
        "series": f"/p/{project}/series/{case.series.key}",
        "run": f"/p/{project}/runs/{case.run_id}",
        "when": case.created,
        "n": case.n,
        "numbers": [("p50", case.p50), ("p99", case.p99), ("p99.9", case.p999), ("max", case.max)],
        "unit": case.series.unit,
        "missed": case.missed,
    }
