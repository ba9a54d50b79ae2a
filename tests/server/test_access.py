"""Who may do what: every route, every kind of token."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterator
from time import time
from typing import Any

import pytest
import sqlalchemy as sql
from starlette.routing import Route

from rtstone.server import access
from rtstone.server.access import all_tokens, new_token, revoke
from rtstone.server.database import Database
from rtstone.server.projects import Places
from rtstone.server.schema import audit, tokens
from rtstone.server.settings import Settings
from tests.conftest import Cli
from tests.server.conftest import Copied, counts
from tests.server.serving import Served, serving
from tests.waiting import soon

PUBLIC = {"/static/{name}", "/healthz"}  # part of rtstone, or without content
FILLED = {"project": "main", "name": "x", "key": "0" * 16, "run_id": "r", "upload": "0" * 32}


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Serve a store that is read by token."""
    store = tmp_path_factory.mktemp("store")
    with serving(Settings(store, port=0, reading="token")) as server:
        with server.database.writing() as connection:
            server.database.project(connection, "main")
        yield server


def routes(served: Served) -> list[tuple[str, str]]:
    """Return method and address of every route."""
    methods = []
    for route in served.app.routes:
        assert isinstance(route, Route)
        address = re.sub(r"\{(\w+)\}", lambda part: FILLED[part[1]], route.path)
        methods += [(method, address, route.path) for method in sorted(route.methods or {"GET"})]
    return [(method, address) for method, address, path in methods if path not in PUBLIC]


def test_without_a_token_nothing_is_open_but_what_is_meant_to_be(closed: Served) -> None:
    addresses = routes(closed)
    assert len(addresses) > 40
    for method, address in addresses:
        response = closed.client.request(method, address)
        assert response.status_code == 401, (method, address)
        assert "WWW-Authenticate" in response.headers
    assert closed.client.get("/healthz").text == "ok\n"


def test_a_browser_is_first_asked_for_what_it_can_give(closed: Served) -> None:
    """Chromium logs in nobody whose first challenge is of another scheme."""
    challenge = closed.client.get("/").headers["WWW-Authenticate"]
    assert challenge == 'Basic realm="rtstone", Bearer realm="rtstone"'


def test_a_login_window_that_is_closed_leaves_a_page_that_says_what_it_asks_for(
    closed: Served,
) -> None:
    for accept, kind in (("text/html", "text/html"), ("*/*", "text/plain")):
        answer = closed.client.get("/p/main/", headers={"Accept": accept})
        assert answer.status_code == 401
        assert answer.headers["Content-Type"].startswith(kind)
        assert "the password of the login window" in answer.text
        assert "WWW-Authenticate" in answer.headers


def test_where_reading_is_open_changing_is_not(places: Places) -> None:
    with serving(Settings(places.store, port=0)) as served:
        for method, address in routes(served):
            response = served.client.request(method, address)
            changes = method not in ("GET", "HEAD") or "/api/" in address
            assert (response.status_code == 401) == changes, (method, address)


def test_a_token_that_reads_changes_nothing(closed: Served) -> None:
    headers = closed.bearer("read")
    for method, address in routes(closed):
        response = closed.client.request(method, address, headers=headers)
        changes = method not in ("GET", "HEAD") or "/api/" in address
        assert (response.status_code == 403) == changes, (method, address)
    pushing = closed.bearer("push")
    assert closed.client.delete("/api/v1/p/main/runs/r", headers=pushing).status_code == 403


def test_tokens_that_are_not_valid(closed: Served) -> None:
    good = closed.token("read")
    number, secret = good.split("_", 2)[1:]
    expired = closed.token("read", expires=time() - 1)
    revoked = new_token(closed.database, "to be revoked", "read", None)
    assert closed.client.get("/p/main/", headers=bearer(revoked)).status_code == 200
    revoke(closed.database, "to be revoked")
    assert closed.client.get("/p/main/", headers=bearer(good)).status_code == 200
    bad = [
        expired, revoked, "x", good[:-1], good + "x", good.upper(), f"rts_{number}_", secret,
        f"rts_{number}_{secret[::-1]}", f"rts_{'0' * 12}_{secret}", good[:20], "rts_%_%",
        "rts_' OR 1=1 --_x", "a" * 8_000,
    ]  # fmt: skip
    for token in bad:
        response = closed.client.get("/p/main/", headers=bearer(token))
        assert response.status_code == 401, token
        assert token not in response.text or len(token) < 2


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_browser_reads_by_basic_and_never_changes_anything(closed: Served) -> None:
    admin = closed.token("admin")
    credentials = base64.b64encode(f"anybody:{admin}".encode()).decode()
    headers = {"Authorization": f"Basic {credentials}"}
    assert closed.client.get("/p/main/", headers=headers).status_code == 200
    deleted = closed.client.delete("/api/v1/p/main/runs/r", headers=headers)
    assert deleted.status_code == 401
    for bad in ("Basic", "Basic x", "Basic " + "=" * 50, "Digest x", f"Basic {credentials}x"):
        headers = {"Authorization": bad}
        assert closed.client.get("/p/main/", headers=headers).status_code == 401


def test_a_token_is_for_its_project(closed: Served, copied: Copied) -> None:
    headers = closed.bearer("push", "lab")
    for address in (
        "/p/main/",
        "/p/main/feed.atom",
        "/p/main/runs/r",
        "/p/main/observations?bench=x",
    ):
        assert closed.client.get(address, headers=headers).status_code == 403
    response = closed.client.post("/api/v1/p/main/uploads", json={}, headers=headers)
    assert response.status_code == 403
    assert closed.client.get("/p/lab/", headers=headers).status_code == 404  # it has no runs
    assert 'project="main"' not in closed.client.get("/metrics", headers=headers).text


def test_no_secret_is_stored_and_comparing_takes_the_same_time(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = new_token(database, "ci", "push", None)
    with database.reading() as connection:
        row = connection.execute(sql.select(tokens)).mappings().one()
    secret = token.split("_", 2)[2]
    assert all(secret not in str(value) for value in row.values())
    compared = []
    same = hmac.compare_digest

    def compare(a: str, b: str) -> bool:
        compared.append((a, b))
        return same(a, b)

    monkeypatch.setattr("rtstone.server.access.hmac.compare_digest", compare)
    assert access.principal(database, token)
    assert access.principal(database, token[:-1] + "_") is None
    assert access.principal(database, "rts_000000000000_" + "a" * 43) is None
    assert len(compared) == 3  # also where there is no such token
    assert {len(a) for a, _ in compared} == {len(b) for _, b in compared} == {64}


def test_tokens_are_made_listed_and_revoked_by_command(cli: Cli, places: Places) -> None:
    store = ["--store", str(places.store)]
    empty = cli("token", "list", *store)
    created = cli("token", "new", "ci", "--project", "lab", *store)
    assert created.status == 0
    assert f"for the server of {places.store}; " in created.err
    assert f"no tokens of the server of {places.store}; " in empty.out
    token = next(word for word in created.out.split() if word.startswith("rts_"))
    listed = cli("token", "list", *store)
    assert "ci" in listed.out
    assert "lab" in listed.out
    assert token.split("_", 2)[2] not in listed.out
    revoked = cli("token", "revoke", "ci", *store)
    assert (revoked.status, revoked.out.endswith(f", of ci, in {places.store}\n")) == (0, True)
    assert cli("token", "revoke", "ci", *store).status == 2
    assert cli("token", "new", "x", "--scope", "all", *store).status == 2
    assert cli("token", "new", "x", "--project", "../x", *store).status == 2
    database = Database(None, places.store)
    assert [entry.revoked is not None for entry in all_tokens(database)] == [True]
    assert counts(database)["audit"] >= 2
    database.close()


@pytest.mark.parametrize("host", [
    "evil.example", "127.0.0.1.evil.example", "", "localhost.evil", "[", "[::1", "]", "a[b]",
])  # fmt: skip
def test_the_name_of_another_site_is_refused(closed: Served, host: str) -> None:
    """A page elsewhere may have its own name lead to this address (DNS rebinding)."""
    assert closed.client.get("/healthz", headers={"Host": host}).status_code in (400, 421)
    assert closed.client.get("/healthz", headers={"Host": "localhost:1"}).status_code == 200


def test_a_token_of_another_project_opens_nothing_of_this_one(closed: Served) -> None:
    headers = bearer(closed.token("admin", "other"))
    for method, address in routes(closed):
        if "/p/main" in address:
            response = closed.client.request(method, address, headers=headers)
            assert response.status_code == 403, (method, address)


def test_tokens_that_are_refused_are_noted(places: Places) -> None:
    """A stolen one that was revoked is seen, and stands nowhere itself."""
    with serving(Settings(places.store, port=0, reading="token")) as served:
        stolen = served.token("push")
        revoke(served.database, stolen.split("_")[1])
        where = "/api/v1/p/main/uploads"
        assert served.client.post(where, headers=bearer(stolen)).status_code == 401
        assert served.client.post(where, headers=bearer(served.token("read"))).status_code == 403

        def noted() -> list[dict[str, Any]]:
            with served.database.reading() as connection:
                return [dict(row) for row in connection.execute(sql.select(audit)).mappings()]

        assert soon(lambda: len(noted()) > 1), "both are noted once the answer is on its way"
        rows = noted()
        outcomes = [(row["action"], row["what"], row["outcome"]) for row in rows]
        assert ("refused", f"POST {where}", "401") in outcomes
        assert ("refused", f"POST {where}", "403") in outcomes
    assert stolen.split("_", 2)[2] not in str(rows)
