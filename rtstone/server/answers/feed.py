"""An Atom feed (RFC 4287) of what got worse."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from xml.etree import ElementTree as Xml

from starlette.requests import Request
from starlette.responses import Response

from rtstone.server.answers.events import Event, events
from rtstone.server.pages import queries
from rtstone.server.pages.site import project_of

_ATOM = "http://www.w3.org/2005/Atom"
_DAYS = 90
_MOST = 500  # changes


def feed(request: Request) -> Response:
    """Return the feed of a project."""
    project, base = project_of(request), request.app.state.settings.base
    with request.app.state.database.reading() as connection:
        found = list(queries.worse(connection, project, _DAYS, _MOST))
    body = _written(project, base, events(project, found))
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/atom+xml", headers=headers)


def _written(project: str, base: str, found: list[Event]) -> bytes:
    Xml.register_namespace("", _ATOM)
    home = f"{base}/p/{project}/"
    top = Xml.Element(f"{{{_ATOM}}}feed")
    _add(top, "id", f"{home}feed.atom")
    _add(top, "title", f"rtstone {project}: what got worse")
    _add(top, "updated", max((_time(one.since) for one in found), default="1970-01-01T00:00:00Z"))
    _link(top, f"{home}feed.atom", "self")
    _link(top, home, "alternate")
    for one in found:
        entry = _add(top, "entry")
        _add(entry, "id", one.id)
        _add(entry, "title", one.title)
        _add(entry, "updated", _time(one.since))
        _add(_add(entry, "author"), "name", "rtstone")
        _link(entry, one.link(base), "alternate")
        _add(entry, "content", "\n".join(one.lines)).set("type", "text")
    written: bytes = Xml.tostring(top, encoding="utf-8", xml_declaration=True)
    return written


def _add(to: Xml.Element, name: str, text: str = "") -> Xml.Element:
    found = Xml.SubElement(to, f"{{{_ATOM}}}{name}")
    found.text = text or None
    return found


def _link(to: Xml.Element, address: str, relation: str) -> None:
    _add(to, "link").attrib.update(href=address, rel=relation)


def _time(created: str) -> str:
    """Return a point in time as RFC 3339 has it; one that is none as the oldest."""
    try:
        found = datetime.fromisoformat(created)
    except ValueError:
        return "1970-01-01T00:00:00Z"
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    return found.strftime("%Y-%m-%dT%H:%M:%SZ")
