"""Fixtures of the tests of the server."""

from __future__ import annotations

from tests.server.serving import served

__all__ = ["served"]
