"""Who may do what."""

from __future__ import annotations

from tests.server.serving import Served


def test_a_server_starts_and_refuses_in_one_line(served: Served) -> None:
    found = served.client.get("/nothing")
    assert (found.status_code, found.text) == (404, "Not Found\n")
    assert "script-src 'self'" in found.headers["Content-Security-Policy"]
