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
    parameters = request.query_params
    wanted = {
        kind: parameters[kind].strip() for kind in queries.KINDS if parameters.get(kind, "").strip()
    }
    if any(len(value) > _LONGEST for value in wanted.values()):
        raise HTTPException(400, f"too long to be searched for: more than {_LONGEST} characters")
    with request.app.state.database.reading() as connection:
        matches = queries.search(connection, project, wanted, parameters.get("after"))
        if wants_json(request):
            return document(matches)
        values = queries.known_values(connection, project)
    which = "matching" if wanted else "all"
    many = "the first of more" if matches.after else counted(len(matches.runs), "run")
    return page(
        "server/search.html", site(project, "search"), matches=matches, kinds=queries.KINDS,
        values=values,
        says=f"Runs, {which}, newest first: {many}",
        further=f"/p/{project}/search?{urlencode(wanted | {'after': matches.after or ''})}",
    )  # fmt: skip
