"""Search for runs by what they have."""

from __future__ import annotations

from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from rtstone.server.pages import queries
from rtstone.server.pages.site import document, page, project_of, site, wants_json
from rtstone.units import counted

_LONGEST = 400


def search(request: Request) -> Response:
    """List the runs that match, newest first."""
    project = project_of(request)
    given = request.query_params
    asked = {kind: given[kind].strip() for kind in queries.KINDS if given.get(kind, "").strip()}
    if any(len(value) > _LONGEST for value in asked.values()):
        raise HTTPException(400, f"too long to be searched for: more than {_LONGEST} characters")
    with request.app.state.database.reading() as connection:
        told = queries.search(connection, project, asked, given.get("after"))
        if wants_json(request):
            return document(told)
        known = queries.known_values(connection, project)
    which = "matching" if asked else "all"
    many = "the first of more" if told.after else counted(len(told.runs), "run")
    return page(
        "server/search.html", site(project, "search"), told=told, kinds=queries.KINDS, known=known,
        says=f"Runs, {which}, newest first: {many}",
        further=f"/p/{project}/search?{urlencode(asked | {'after': told.after or ''})}",
    )  # fmt: skip
