"""The application: routes of all modules, what they share, and what runs beside them."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import sqlalchemy as sql
from sqlalchemy.exc import DatabaseError, OperationalError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from rtstone.errors import RtstoneError, StoreError, UsageError
from rtstone.printable import line
from rtstone.server import answers, pages, uploads
from rtstone.server.audit import Logged
from rtstone.server.background import Background
from rtstone.server.database import FULL_DISK, Database, is_of_full_disk
from rtstone.server.headers import Headers
from rtstone.server.limits import Guard, Limited
from rtstone.server.pages.site import error_page, wants_json
from rtstone.server.parsing import AT_ONCE, Parser
from rtstone.server.projects import Places, is_full
from rtstone.server.settings import Settings
from rtstone.server.turns import Turns

_log = logging.getLogger("rtstone.server")


def build(settings: Settings) -> Starlette:
    """Return the application.

    Its state has ``settings`` and ``guard``, and while it runs ``database``, ``places``,
    ``background``, ``parser`` and ``turns``.
    """
    guard = Guard(settings)
    app = Starlette(
        routes=[*pages.routes, *answers.routes, *uploads.routes, Route("/healthz", health)],
        middleware=[Middleware(Headers), Middleware(Logged), Middleware(Limited, guard=guard)],
        exception_handlers={
            HTTPException: _refused,
            RtstoneError: _failed,
            DatabaseError: _unavailable,
        },
        lifespan=_lifespan,
    )
    app.state.settings, app.state.guard, app.state.sending = settings, guard, {}
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncIterator[None]:
    """Open the database, and begin the work in the background; end both."""
    state = app.state
    make_store(state.settings)
    state.places = Places(state.settings.store)
    state.database = Database(state.settings.database, state.settings.store)
    state.background = Background(state.database, state.places, state.settings)
    state.background.start()
    state.parser, state.turns = Parser(), Turns(AT_ONCE)
    try:
        yield
    finally:
        state.parser.close()
        state.background.stop()
        state.database.close()


def make_store(settings: Settings) -> None:
    """Make the store's directory, if there is none.  Raises UsageError."""
    try:
        settings.store.mkdir(parents=True, exist_ok=True, mode=0o700)
        if not os.access(settings.store, os.W_OK | os.X_OK):
            raise PermissionError(13, "it cannot be written")
    except OSError as error:
        raise UsageError(f"not a store, {settings.store}: {error.strerror}") from error


def health(request: Request) -> Response:
    """Return whether the database answers and the store can be written, for monitoring."""
    state = request.app.state
    if is_full(state.settings.store):
        return _line_response(FULL_DISK, 503)
    with state.database.reading() as connection:
        connection.execute(sql.select(sql.literal(1)))
    if not os.access(state.settings.store, os.W_OK | os.X_OK):
        return _line_response("the store cannot be written", 503)
    return _line_response("ok", 200)


# ---- errors: one line each ----------------------------------------------------------------------


def _line_response(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(line(text) + "\n", status, headers)


def _refused(request: Request, error: Exception) -> Response:
    """Return a refusal: as a page for browsers, else as a line."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers) if error.headers else None
    if error.status_code in {204, 304}:
        return Response(status_code=error.status_code, headers=headers)
    return _answered(request, error.detail, error.status_code, headers)


def _failed(request: Request, error: Exception) -> Response:
    return _answered(request, str(error), 507 if isinstance(error, StoreError) else 400)


def _answered(
    request: Request, text: str, status: int, headers: dict[str, str] | None = None
) -> Response:
    if "text/html" not in request.headers.get("accept", "") or wants_json(request):
        return _line_response(text, status, headers)
    response = error_page(status, line(text))
    response.headers.update(headers or {})
    return response


def _unavailable(request: Request, error: Exception) -> Response:
    assert isinstance(error, DatabaseError)
    if type(error) not in {OperationalError, DatabaseError}:  # as a broken rule of the tables
        raise error
    _log.error("the database does not answer: %s", line(str(error)))
    if is_of_full_disk(error, request.app.state.settings.store):
        return _answered(request, FULL_DISK, 503 if request.method in {"GET", "HEAD"} else 507)
    return _line_response("the database does not answer; try again", 503, {"Retry-After": "5"})
