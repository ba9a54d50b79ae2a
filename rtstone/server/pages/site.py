"""What all views share: who may read, the navigation, a page or the same as JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from rtstone.report.parts.frame import Link, Site, framed
from rtstone.server import static
from rtstone.server.access import require


def project_of(request: Request) -> str:
    """Return the project of a request that may be read.  Raises HTTPException 401, 403."""
    project: str = request.path_params["project"]
    require(request, "read", project)
    return project


def site(project: str | None, here: str = "", *, refresh_s: int | None = None) -> Site:
    """Return the frame of a page; ``here``: the view that it is."""
    home = "/" if project is None else f"/p/{project}/"
    views = (
        ("Overview", ""),
        ("Latencies", "latencies"),
        ("Search", "search"),
        ("Campaigns", "campaigns"),
    )
    links = [Link(text, f"{home}{view}", view == here) for text, view in views if project]
    if project:
        links.append(Link("All projects", "/projects"))
    return Site(
        script=static.address("js"), style=static.address("css"),
        title=f"rtstone {project}" if project else "rtstone", home=home, links=links,
        feed=f"{home}feed.atom" if project else None, refresh_s=refresh_s,
    )  # fmt: skip


def page(name: str, frame: Site, charts: dict[str, Any] | None = None, **shown: Any) -> Response:
    """Return a page made of a template."""
    return HTMLResponse(framed(name, {"charts": charts or {}}, frame, **shown))


def document(content: msgspec.Struct) -> Response:
    """Return a document as JSON."""
    return Response(msgspec.json.encode(content), media_type="application/json")


def wants_json(request: Request) -> bool:
    """Return whether the view was asked for as JSON."""
    return request.url.path.endswith(".json")


def error_page(status: int, says: str) -> Response:
    """Return an error as a page: one line, and the way back."""
    text = framed("server/error.html", {}, site(None), status=status, says=says)
    return HTMLResponse(text, status)
