"""The results of some benches in all runs, for `rtstone trend --store URL`.

A line of JSON each: first how many runs follow and how many were left out, then the runs, in the
order in which they came.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from rtstone.documents.case_key import is_named
from rtstone.documents.server import Observed, ObservedRun
from rtstone.errors import UsageError
from rtstone.server.pages import queries
from rtstone.server.pages.site import project_of
from rtstone.server.projects import Places
from rtstone.store.rundir import load

MOST = 2000  # newest runs that are sent
TYPE = "application/jsonl"


def observations(request: Request) -> Response:
    """Send the results of the benches named by ?bench=, or of families of them."""
    project = project_of(request)
    benches = request.query_params.getlist("bench")
    if not benches or len(benches) > 50:
        raise HTTPException(400, "name 1 to 50 benches, or families: ?bench=dk.periodic&bench=sem")
    with request.app.state.database.reading() as connection:
        names = queries.runs_with(connection, project, benches)
        followed = queries.followed(connection, project)
    sent = names[-MOST:]
    head = Observed(runs=len(sent), left=len(names) - len(sent), followed=followed)
    places: Places = request.app.state.places
    return StreamingResponse(_lines(places, project, sent, benches, head), media_type=TYPE)


def _lines(
    places: Places, project: str, names: Sequence[str], benches: Sequence[str], head: Observed
) -> Iterator[bytes]:
    encode = msgspec.json.encode
    yield encode(head) + b"\n"
    for name in names:
        try:
            run = load(places.run(project, name))
        except UsageError as error:  # removed or damaged meanwhile
            yield encode(ObservedRun(run_id=name, damaged=str(error))) + b"\n"
            continue
        results = [r for r in run.results if is_named(r.bench, benches, r.params)]
        ids = {result.bench for result in results}
        run = msgspec.structs.replace(  # without what a trend of these benches does not read
            run, results=results, slopes=[], notes=[], command=[],
            benches=[table for table in run.benches if table.id in ids],
        )  # fmt: skip
        yield encode(ObservedRun(run_id=name, run=run)) + b"\n"
