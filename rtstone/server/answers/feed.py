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
        changes = list(queries.worse(connection, project, _DAYS, _MOST))
    body = _document(project, base, events(project, changes))
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/atom+xml", headers=headers)


def _document(project: str, base: str, entries: list[Event]) -> bytes:
    Xml.register_namespace("", _ATOM)
    home = f"{base}/p/{project}/"
    top = Xml.Element(f"{{{_ATOM}}}feed")
    _add(top, "id", f"{home}feed.atom")
    _add(top, "title", f"rtstone {project}: what got worse")
    _add(
        top,
        "updated",
        max((_time(event.since) for event in entries), default="1970-01-01T00:00:00Z"),
    )
    _link(top, f"{home}feed.atom", "self")
    _link(top, home, "alternate")
    for event in entries:
        entry = _add(top, "entry")
        _add(entry, "id", event.id)
        _add(entry, "title", event.title)
        _add(entry, "updated", _time(event.since))
        _add(_add(entry, "author"), "name", "rtstone")
        _link(entry, event.link(base), "alternate")
        _add(entry, "content", "\n".join(event.lines)).set("type", "text")
    written: bytes = Xml.tostring(top, encoding="utf-8", xml_declaration=True)
    return written


def _add(to: Xml.Element, name: str, text: str = "") -> Xml.Element:
    element = Xml.SubElement(to, f"{{{_ATOM}}}{name}")
    element.text = text or None
    return element


def _link(to: Xml.Element, address: str, relation: str) -> None:
    _add(to, "link").attrib.update(href=address, rel=relation)


def _time(created: str) -> str:
    """Return a time in the format of RFC 3339; what is no time as 1970."""
    try:
        moment = datetime.fromisoformat(created)
    except ValueError:
        return "1970-01-01T00:00:00Z"
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
