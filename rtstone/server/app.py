"""The application: routes of all modules, what they share, and what runs beside them."""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy.exc import OperationalError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from rtstone.errors import RtstoneError, StoreError, UsageError
from rtstone.printable import line
from rtstone.server import answers, pages, uploads
from rtstone.server.background import Background
from rtstone.server.database import Database
from rtstone.server.headers import Headers
from rtstone.server.parsing import Parser
from rtstone.server.places import Places
from rtstone.server.settings import Settings

_log = logging.getLogger("rtstone.server")


def build(settings: Settings) -> Starlette:
    """Return the application.

    Its state has ``settings``, and while it runs ``database``, ``places``, ``background`` and
    ``parser``.
    """
    app = Starlette(
        routes=[*pages.routes, *answers.routes, *uploads.routes],
        middleware=[Middleware(Headers)],
        exception_handlers={
            HTTPException: _refused,
            RtstoneError: _failed,
            OperationalError: _unavailable,
            Exception: _defect,
        },
        lifespan=_lifespan,
    )
    app.state.settings = settings
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
    state.parser = Parser()
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


# ---- errors: one line each ----------------------------------------------------------------------


def _told(text: str, status: int, headers: dict[str, str] | None = None) -> Response:
    return PlainTextResponse(line(text) + "\n", status, headers)


def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    headers = dict(error.headers) if error.headers else None
    if error.status_code in {204, 304}:
        return Response(status_code=error.status_code, headers=headers)
    return _told(error.detail, error.status_code, headers)


def _failed(request: Request, error: Exception) -> Response:
    return _told(str(error), 507 if isinstance(error, StoreError) else 400)


def _unavailable(request: Request, error: Exception) -> Response:
    _log.error("the database does not answer: %s", line(str(error)))
    return _told("the database does not answer; try again", 503, {"Retry-After": "5"})


def _defect(request: Request, error: Exception) -> Response:
    return _told("internal error; the server's log says more", 500)
