"""The pages of the server, and the same as JSON."""

from __future__ import annotations

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rtstone.server import static
from rtstone.server.pages import campaigns, latencies, overview, runs, searching, series

_Handler = Callable[[Request], Response]
_P = "/p/{project}"


def _both(path: str, handler: _Handler) -> list[Route]:
    """Return the routes of a view: the page, and with .json at its end the document."""
    return [Route(f"{path}.json", handler), Route(path, handler)]


routes = [
    *static.routes,
    Route("/", overview.projects),
    *_both("/projects", overview.projects),
    Route(f"{_P}/", overview.overview),
    Route(f"{_P}/overview.json", overview.overview),
    *_both(f"{_P}/latencies", latencies.latencies),
    *_both(f"{_P}/series", series.target_series),
    *_both(f"{_P}/series/{{key}}", series.series),
    *_both(f"{_P}/runs/{{run_id}}", runs.run),
    Route(f"{_P}/runs/{{run_id}}/{{name}}", runs.file),
    *_both(f"{_P}/compare", runs.compare),
    *_both(f"{_P}/campaigns", campaigns.campaigns),
    *_both(f"{_P}/campaigns/{{name}}", campaigns.campaign),
    *_both(f"{_P}/search", searching.search),
]
