"""The pages of the server, and the same as JSON."""

from __future__ import annotations

from starlette.routing import Route

routes: list[Route] = []
