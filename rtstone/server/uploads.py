"""Receive runs over HTTP, and the progress of campaigns; delete runs.

    POST   /api/v1/p/PROJECT/uploads         a manifest: what is to come
    HEAD   /api/v1/p/PROJECT/uploads/ID      how much has come
    PATCH  /api/v1/p/PROJECT/uploads/ID      the next bytes; the last one completes it
    PUT    /api/v1/p/PROJECT/campaigns/NAME  how far a campaign has come
    DELETE /api/v1/p/PROJECT/runs/RUN_ID

What is received is the wire with its plan; the document is made from them here.  A run appears in
the store as a whole, or not at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from time import time
from typing import Any, TypeVar

import msgspec
import sqlalchemy as sql
from anyio import CancelScope, move_on_after, sleep, to_thread
from sqlalchemy.exc import SQLAlchemyError
from starlette.datastructures import State
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rtstone import structures
from rtstone.documents.campaign import CampaignState
from rtstone.errors import StoreError, UsageError
from rtstone.printable import parsed
from rtstone.server import access, audit, retention, room
from rtstone.server.arrival import Appending, Arrival, Manifest, Other, is_stored
from rtstone.server.database import Database, log_failure
from rtstone.server.indexing import IndexEntry, add, fingerprint
from rtstone.server.projects import Places
from rtstone.server.schema import campaigns, deletions, projects, runs
from rtstone.server.turns import WAITING, Turns
from rtstone.store.intake import take_in
from rtstone.store.layout import LARGEST, PLAN, UNREADABLE, regular

MANIFEST_LARGEST = 256 << 10  # bytes
CAMPAIGN_LARGEST = 8 << 20
_STEP = 1 << 20  # bytes that are written at a time
_AHEAD_S = 86_400.0  # by which the clock of another machine may be ahead of the server's
_YIELD_S = 2.0  # within which a request that is ended has written what it has
_CAMPAIGN = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}", re.ASCII)
_T = TypeVar("_T")


async def begin(request: Request) -> Response:
    """Begin an upload, or continue it."""
    project = await _project(request)
    manifest = _decoded(await _body(request, MANIFEST_LARGEST), Manifest)
    return await to_thread.run_sync(_begun, request, project, manifest)


def _begun(request: Request, project: str, manifest: Manifest) -> Response:
    state = request.app.state
    if fault := manifest.fault():
        raise HTTPException(400, f"not a run: {fault}")
    if fault := manifest.too_large(state.settings.limits):
        raise HTTPException(413, f"too large: {fault}")
    with state.database.reading() as connection:
        query = sql.select(deletions.c.by, deletions.c.why).where(
            deletions.c.project == _number(connection, project),
            deletions.c.run_id == manifest.run_id,
        )
        gone = connection.execute(query).first()
    if gone is not None:
        raise HTTPException(410, f"run {manifest.run_id} was deleted, by {gone.by}: {gone.why}")
    arrival = Arrival.by_id(state.places, project, manifest.id(project))
    try:
        if is_stored(state.places, project, manifest):
            arrival.drop()  # of a server that was killed when it was stored
            return _stored(request, project, manifest.run_id, 200)
    except Other as other:
        raise HTTPException(409, str(other)) from other
    token = request.scope["principal"].token
    if not arrival.path.exists():
        largest = state.settings.limits.upload
        room.make_room(state.places, project, token, manifest.blob.size, largest)
    arrival.begin(manifest, token)
    content = {"state": "open", "upload": arrival.path.name, "offset": arrival.offset()}
    return JSONResponse(content, 201)


def _number(connection: sql.Connection, project: str) -> Any:
    return connection.execute(sql.select(projects.c.id).where(projects.c.name == project)).scalar()


async def offset(request: Request) -> Response:
    """Return how much of an upload has come."""
    project = await _project(request)
    arrival, manifest = await to_thread.run_sync(_open_upload, request, project)
    return Response(headers=_at(arrival.offset()) | {"Upload-Length": str(manifest.blob.size)})


async def append(request: Request) -> Response:
    """Append to an upload; complete it with its last byte."""
    project = await _project(request)
    arrival, manifest = await to_thread.run_sync(_open_upload, request, project)
    text = request.headers.get("upload-offset", "")
    if not re.fullmatch(r"\d{1,12}", text, re.ASCII):
        raise HTTPException(400, "no Upload-Offset, with which place in the upload this begins")
    sending: dict[str, CancelScope] = request.app.state.sending
    key = str(arrival.path)
    await _displace(sending, key)
    with arrival.appending() as held:
        if held is None:
            why = "another request sends it, or it has ended; try again"
            raise HTTPException(423, why, {"Retry-After": "1"})
        if held.offset != int(text):
            raise HTTPException(409, f"{held.offset} bytes are here", _at(held.offset))
        with CancelScope() as scope:
            sending[key] = scope
            try:
                await _appended(request, held, manifest)
            finally:
                if sending.get(key) is scope:
                    del sending[key]
        if scope.cancelled_caught:
            raise HTTPException(423, "another request goes on with it", {"Connection": "close"})
        if held.offset < manifest.blob.size:
            return Response(status_code=204, headers=_at(held.offset))
        turns: Turns = request.app.state.turns
        if (number := turns.waiting(project)) >= WAITING:
            why = f"{number} runs of project {project} wait to be parsed; try again"
            raise HTTPException(503, why, {"Retry-After": "5"})
        async with turns.turn(project, manifest.unpacked):
            return await to_thread.run_sync(_completed, request, project, arrival, held, manifest)


async def _displace(sending: dict[str, CancelScope], key: str) -> None:
    """End a request that still waits for bytes of an upload that another request continues.

    Its connection is lost, which this end of it may learn much later.
    """
    if scope := sending.get(key):
        scope.cancel()
        with move_on_after(_YIELD_S):
            while sending.get(key) is scope:
                await sleep(0.01)


async def _appended(request: Request, held: Appending, manifest: Manifest) -> None:
    """Append the body of a request; what has come when the connection ends stays."""
    waiting = bytearray()
    room = manifest.blob.size - held.offset
    try:
        async for data in request.stream():
            room -= len(data)
            if room < 0:
                raise HTTPException(413, f"more than the {manifest.blob.size} bytes declared")
            waiting += data
            if len(waiting) >= _STEP:
                piece, waiting = waiting, bytearray()
                await to_thread.run_sync(held.append, piece)
    except ClientDisconnect as error:
        raise HTTPException(400, "it has not come as a whole") from error
    finally:
        if waiting and room >= 0:
            held.append(waiting)


def _completed(
    request: Request, project: str, arrival: Arrival, held: Appending, manifest: Manifest
) -> Response:
    """Store a run that has come as a whole, or refuse it."""
    name = manifest.run_id
    try:
        if not held.fits(manifest.blob):
            raise UsageError("the upload has another SHA-256 than its manifest declares")
        _take_in(request.app.state, project, held, manifest)
    except UsageError as fault:  # sending it again would change nothing
        arrival.drop()
        why = f"run {name} is refused: {fault}"
        audit.by_request(request, "push", project, name, why)
        raise HTTPException(409 if isinstance(fault, Other) else 422, why) from fault
    arrival.drop()
    audit.by_request(request, "push", project, name, "stored")
    return _stored(request, project, name, 201)


def _take_in(state: State, project: str, held: Appending, manifest: Manifest) -> None:
    """Parse the run, move it into the store, index it.

    ``state``: of the application.  Raises UsageError for what is no run, Other if a different run
    has its id, StoreError.
    """
    database, places = state.database, state.places
    with held.unpacked(manifest) as staged:
        entry: IndexEntry = state.parser.parse(staged, manifest.unpacked, state.settings.limits.run)
        entry.row["arrived"] = time()
        if entry.row["begun"] > time() + _AHEAD_S:
            raise UsageError(
                f"it begins at {entry.row['created']}, which is to come, and would be the newest "
                "until then; set the clock of the machine that started it, and measure again"
            )
        try:
            number = _next_arrival(database, places, project)
            fresh = take_in(staged, number, places.runs(project))
        except StoreError as error:
            raise StoreError("runs cannot be stored; make room on the server") from error
    if not fresh:
        stored = fingerprint(places.run(project, manifest.run_id))
        if stored != entry.row["fingerprint"]:
            raise Other("there is another one of that id, with other results")
    try:
        with database.writing() as connection:
            add(connection, database.project(connection, project), [entry])
    except SQLAlchemyError as error:  # it is in the store: the background finds it
        log_failure(f"indexing run {manifest.run_id}, which is stored,", error, places.store)
    state.background.wake()


def _next_arrival(database: Database, places: Places, project: str) -> int:
    """Return the number of arrival for the next run of a project: one more than the newest has."""
    with database.reading() as connection:
        mine = runs.c.project == _number(connection, project)
        query = sql.select(runs.c.run_id).where(mine).order_by(runs.c.id.desc()).limit(1)
        newest = connection.execute(query).scalar()
    if newest is None:
        return 1
    try:
        plan = regular(places.run(project, newest) / PLAN, LARGEST)
        return structures.decode(plan, _Arrived).arrival + 1
    except (OSError, *UNREADABLE):
        return 1


class _Arrived(msgspec.Struct):
    arrival: int = 0


def _stored(request: Request, project: str, run_id: str, status: int) -> Response:
    url = f"{request.app.state.settings.base}/p/{project}/runs/{run_id}"
    return JSONResponse({"state": "stored", "url": url}, status)


# ---- campaigns, deleting ------------------------------------------------------------------------


async def put_campaign(request: Request) -> Response:
    """Store how far a campaign has come."""
    project, name = await _project(request), request.path_params["name"]
    text = await _body(request, CAMPAIGN_LARGEST)
    state = await to_thread.run_sync(_decoded, text, CampaignState)
    if not _CAMPAIGN.fullmatch(name) or state.name != name:
        raise HTTPException(400, "not the campaign of that name")
    await to_thread.run_sync(note_campaign, request.app.state.database, project, state)
    return Response(status_code=204)


def note_campaign(database: Database, project: str, state: CampaignState) -> None:
    """Store the state of a campaign, in place of its last one."""
    values = {"told": time(), "state": msgspec.json.encode(state).decode()}
    with database.writing() as connection:
        number = database.project(connection, project)
        mine = sql.and_(campaigns.c.project == number, campaigns.c.name == state.name)
        if not connection.execute(sql.update(campaigns).where(mine).values(values)).rowcount:
            row = {"project": number, "name": state.name, **values}
            connection.execute(sql.insert(campaigns).values(row))


def delete_run(request: Request) -> Response:
    """Delete a run; the record of who deleted it stays."""
    project, run_id = request.path_params["project"], request.path_params["run_id"]
    who = access.require(request, "admin", project)
    state = request.app.state
    if not state.places.run(project, run_id).exists():
        raise HTTPException(404, f"no run {run_id}, in project {project}")
    retention.remove(state.database, state.places, project, run_id, by=who.name, why="on request")
    audit.by_request(request, "delete", project, run_id, "deleted")
    return Response(status_code=204)


# ---- requests -----------------------------------------------------------------------------------


async def _project(request: Request) -> str:
    """Return the project of a request, whose token may push to it.  Raises HTTPException."""
    project: str = request.path_params["project"]
    request.app.state.places.home(project)  # raises UsageError for what is no name of one
    await to_thread.run_sync(access.require, request, "push", project)
    return project


def _open_upload(request: Request, project: str) -> tuple[Arrival, Manifest]:
    arrival = Arrival.by_id(request.app.state.places, project, request.path_params["upload"])
    manifest = arrival.manifest()
    if manifest is None:
        raise HTTPException(404, "no such upload; begin it again")
    return arrival, manifest


async def _body(request: Request, largest: int) -> bytes:
    """Return the body of a request.  Raises HTTPException 413 before it is too large."""
    body = bytearray()
    try:
        async for data in request.stream():
            body += data
            if len(body) > largest:
                raise HTTPException(413, f"more than {largest} bytes")
    except ClientDisconnect as error:
        raise HTTPException(400, "it has not come as a whole") from error
    return bytes(body)


def _decoded(text: bytes, kind: type[_T]) -> _T:
    try:
        return parsed(text, kind)
    except UNREADABLE as error:
        raise HTTPException(400, f"not a {kind.__name__}: {error}") from error


def _at(number: int) -> dict[str, str]:
    return {"Upload-Offset": str(number)}


_Handler = Callable[[Request], Any]
_UPLOADS = "/api/v1/p/{project}/uploads"
_WHERE: tuple[tuple[str, str, _Handler], ...] = (
    ("POST", _UPLOADS, begin),
    ("HEAD", _UPLOADS + "/{upload}", offset),
    ("PATCH", _UPLOADS + "/{upload}", append),
    ("PUT", "/api/v1/p/{project}/campaigns/{name}", put_campaign),
    ("DELETE", "/api/v1/p/{project}/runs/{run_id}", delete_run),
)
routes = [Route(path, handler, methods=[method]) for method, path, handler in _WHERE]
