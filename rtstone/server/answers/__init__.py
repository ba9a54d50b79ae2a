"""What the server tells programs: feed, webhooks, metrics, badges, observations."""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route

from rtstone.server.database import Database
from rtstone.server.places import Places
from rtstone.server.settings import Settings

routes: list[Route] = []

# Called every few seconds, in the server's background thread.
tasks: list[Callable[[Database, Places, Settings], None]] = []
