"""A badge of a series: its latest value, and whether it got worse.

It is green only where that is known: changes of p99.9 and the maximum are not sought, and with too
few runs none can be found.
"""

from __future__ import annotations

from html import escape

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rtstone.report.trend.text import value
from rtstone.server.answers.events import short
from rtstone.server.pages import queries
from rtstone.server.pages.overview import LABELS
from rtstone.server.pages.site import project_of

_METRICS = ("p50", "p99", "p999", "max", "missed")
_LETTER = 6.6  # width of one, at 11 px: digits and lower-case letters of the usual fonts
_PAD = 12
_GREEN, _RED, _GREY = "#00755a", "#b3400a", "#5b636b"  # white on each has a contrast above 4.5


def badge(request: Request) -> Response:
    """Return the badge of a series; ?metric= is p50 (default), p99, p999, max or missed."""
    project, key = project_of(request), request.path_params["key"]
    metric = request.query_params.get("metric", "p50")
    if metric not in _METRICS:
        raise HTTPException(400, f"unknown metric; write one of {', '.join(_METRICS)}")
    with request.app.state.database.reading() as connection:
        standing = queries.standing(connection, project, key, metric)
    name = f"{short(standing.title)} {LABELS.get(metric, metric)}"
    says, colour = value(standing.latest, standing.unit), _GREEN
    if standing.latest is None:
        says, colour = "unknown", _GREY
    elif standing.worse_since:
        says, colour = f"{says}, worse since {standing.worse_since[:10]}", _RED
    elif not standing.followed:
        colour = _GREY
    left, right = (round(_LETTER * len(text)) + _PAD for text in (name, says))
    name, says = escape(name), escape(says)
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" '
        f'aria-label="{name}: {says}"><title>{name}: {says}</title>'
        f'<rect width="{left}" height="20" fill="#333"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{colour}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" '
        f'text-anchor="middle"><text x="{left / 2}" y="14" textLength="{left - _PAD}">{name}</text>'
        f'<text x="{left + right / 2}" y="14" textLength="{right - _PAD}">{says}</text></g></svg>'
    )
    headers = {"Cache-Control": "no-cache", "Cross-Origin-Resource-Policy": "cross-origin"}
    return Response(svg, media_type="image/svg+xml", headers=headers)
