"""What the server sends programs: feed, webhooks, metrics, badges, observations."""

from __future__ import annotations

from collections.abc import Callable

from starlette.routing import Route

from rtstone.server.answers import badge, feed, metrics, observations, webhooks
from rtstone.server.database import Database
from rtstone.server.projects import Places
from rtstone.server.settings import Settings

_P = "/p/{project}"

routes: list[Route] = [
    Route(f"{_P}/feed.atom", feed.feed),
    Route(f"{_P}/badge/{{key}}.svg", badge.badge),
    Route(f"{_P}/metrics", metrics.project_metrics),
    Route("/metrics", metrics.all_metrics),
    Route(f"{_P}/observations", observations.observations),
]

# Called every few seconds, in the server's background thread.
tasks: list[Callable[[Database, Places, Settings], None]] = [webhooks.announce, webhooks.deliver]
