"""A server on a free port of loopback, in this process: for the fixture `served`."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest
import uvicorn
from starlette.applications import Starlette

from rtstone.server import app as application
from rtstone.server.access import Scope, new_token
from rtstone.server.app import build
from rtstone.server.database import Database
from rtstone.server.parsing import Parser
from rtstone.server.projects import Places
from rtstone.server.serving import config, listen
from rtstone.server.settings import Settings
from rtstone.server.settings_file import Limits


class _Shared(Parser):
    """Its processes take their time to start, so that all servers of these tests share them."""

    def close(self) -> None:
        pass

    def end(self) -> None:
        super().close()


@cache
def _parser() -> Parser:
    shared = _Shared()
    atexit.register(shared.end)
    return shared


class Served(NamedTuple):
    """A running server; ``client`` sends no token."""

    url: str
    app: Starlette
    client: httpx.Client

    @property
    def database(self) -> Database:
        database: Database = self.app.state.database
        return database

    @property
    def places(self) -> Places:
        places: Places = self.app.state.places
        return places

    def token(self, scope: Scope = "push", project: str | None = None, **options: Any) -> str:
        return new_token(self.database, f"a {scope} token", scope, project, **options)

    def bearer(self, scope: Scope = "push", project: str | None = None) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token(scope, project)}"}

    def settled(self) -> None:
        """Wait until the work in the background has nothing more to do."""
        self.app.state.background.settle()


@contextmanager
def serving(settings: Settings) -> Iterator[Served]:
    """Serve while the block lasts; ``settings.port`` 0: on a free port."""
    on = listen(settings)
    settings = settings._replace(port=on.getsockname()[1])
    app = build(settings)
    server = uvicorn.Server(config(settings, app))
    thread = threading.Thread(target=server.run, args=([on],))
    patch = pytest.MonkeyPatch()
    patch.setattr(application, "Parser", _parser)
    thread.start()
    try:
        while not server.started and thread.is_alive():
            thread.join(0.005)
        assert server.started, "the server did not start"
        with httpx.Client(base_url=settings.base, trust_env=False, timeout=120) as client:
            yield Served(settings.base, app, client)
    finally:
        server.should_exit = True
        thread.join()
        patch.undo()


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    """A server of an empty store, which all may read."""
    with serving(Settings(tmp_path / "store", port=0, limits=Limits(requests=0))) as server:
        yield server
