"""Script and style of the pages, under names with a hash of their content."""

from __future__ import annotations

import hashlib
from functools import cache

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rtstone.report.parts import frame

_FOR_EVER = "public, max-age=31536000, immutable"
_TYPES = {"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}


@cache
def _files() -> dict[str, bytes]:
    """Return the files by name.  Raises MissingBundleError."""
    style = (frame.HERE / "templates" / "style.css").read_bytes()
    files = (("charts", "js", frame.bundle().encode()), ("style", "css", style))
    return {
        f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.{ending}": content
        for name, ending, content in files
    }


def address(ending: str) -> str:
    """Return the address of the script ("js") or the style ("css")."""
    return next(f"/static/{name}" for name in _files() if name.endswith(f".{ending}"))


def serve(request: Request) -> Response:
    """Return a file; everybody may read it, as it is part of rtstone."""
    name = request.path_params["name"]
    content = _files().get(name)
    if content is None:
        raise HTTPException(404, "no such file; load the page again")
    kind = _TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers={"Cache-Control": _FOR_EVER})


routes = [Route("/static/{name}", serve)]
