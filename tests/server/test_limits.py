"""One client cannot keep the others out."""

from __future__ import annotations

import json
import signal
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import sqlalchemy as sql

from rtstone.server import audit, limits, parsing, schema
from rtstone.server.limits import Buckets, whose
from rtstone.server.settings import Settings
from rtstone.server.settings_file import Limits
from tests.server.conftest import Template
from tests.server.pushing import arriving, of_template, send, stored
from tests.server.serving import Served, serving
from tests.waiting import soon

ID = "20261101-000000.000-quick-ab12"


def _port(served: Served) -> int:
    return int(served.url.rpartition(":")[2])


def _sent(served: Served, text: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", _port(served)))
    connection.sendall(text)
    return connection


def _ended(connection: socket.socket) -> bytes:
    """Return what comes until the other side closes the connection."""
    connection.settimeout(20)
    received = b""
    with suppress(ConnectionError):
        while data := connection.recv(65536):
            received += data
    return received


def test_a_bucket_refills_and_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr(limits, "monotonic", lambda: now)
    bucket = Buckets(2.0, 4.0, remembered=10)
    assert [bucket.take("a") for _ in range(4)] == [0] * 4
    assert bucket.take("a") == 0.5
    assert bucket.take("b") == 0
    now += 0.5
    assert bucket.take("a") == 0
    assert bucket.take("a") > 0
    for number in range(100):
        bucket.take(str(number))
    assert len(bucket) == 10


def test_a_household_is_one_client() -> None:
    def client(address: str) -> str:
        return whose({"client": (address, 1)})

    assert client("2001:db8::1") == client("2001:db8::ffff:2")
    assert client("2001:db8::1") != client("2001:db8:0:1::1")
    assert client("192.0.2.1") != client("192.0.2.2")


@pytest.mark.parametrize(("host", "status"), [("localhost", 200), ("evil.example", 421)])
def test_too_many_requests_are_refused_for_a_while(tmp_path: Path, host: str, status: int) -> None:
    settings, headers = Settings(tmp_path, port=0, limits=Limits(requests=1)), {"Host": host}
    with serving(settings) as served:
        responses = [served.client.get("/healthz", headers=headers) for _ in range(10)]
        assert [response.status_code for response in responses] == [status] * 10
        tries = (served.client.get("/healthz", headers=headers) for _ in range(200))
        refused = next(response for response in tries if response.status_code == 429)
        assert 1 <= int(refused.headers["Retry-After"]) <= 2
        assert refused.text == "too many requests\n"


def test_who_guesses_tokens_fills_no_log_and_keeps_nobody_of_that_address_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 2**256 secrets none is guessed; what must not be is that the others pay for it."""
    headers = {"Authorization": f"Bearer rts_{'0' * 12}_{'A' * 43}"}
    where = "/api/v1/p/main/uploads"
    monkeypatch.setattr(limits, "monotonic", lambda: 1000.0)
    statuses = [served.client.post(where, headers=headers).status_code for _ in range(120)]
    assert set(statuses) == {401}
    assert served.client.post(where, headers=served.bearer()).status_code == 400
    with served.database.reading() as connection:
        rows = connection.execute(sql.select(sql.func.count()).select_from(schema.audit)).scalar()
    assert rows == audit.REFUSALS


def test_a_connection_without_a_request_is_closed(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEADER_S", 0.2)
    for text in (b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: "):
        with _sent(served, text) as connection:
            assert _ended(connection) == b"", text


def test_a_slow_second_request_is_closed_too(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "IDLE_S", 0.2)
    with _sent(served, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") as connection:
        connection.sendall(b"GET /noth")
        assert _ended(connection).count(b"HTTP/1.1 200") == 1


def test_many_idle_connections_keep_nobody_out(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "CONNECTIONS", 20)
    with ExitStack() as held:
        idle = [held.enter_context(_sent(served, b"GET ")) for _ in range(60)]
        assert served.client.get("/healthz").status_code == 200
        assert _ended(idle[0]) == b""
        assert len(limits.Protocol.waiting) <= 21


def test_a_body_that_comes_too_slowly_is_ended(
    served: Served, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What has come of it stays, and nobody has to wait for it."""
    monkeypatch.setattr(limits, "SILENT_S", 0.3)
    parcel, headers = of_template(template, ID), served.bearer()
    where = "/api/v1/p/main/uploads"
    number = served.client.post(where, json=parcel.manifest, headers=headers).json()["upload"]
    sent = {**headers, "Host": "localhost", "Upload-Offset": "0", "Content-Length": "3000"}
    head = f"PATCH {where}/{number} HTTP/1.1\r\n" + "".join(
        f"{k}: {v}\r\n" for k, v in sent.items()
    )
    with _sent(served, head.encode() + b"\r\n" + parcel.blob[:100]) as slow:
        assert b"408" in _ended(slow).partition(b"\r\n")[0]
    assert (
        served.client.head(f"{where}/{number}", headers=headers).headers["Upload-Offset"] == "100"
    )
    assert send(served.client, headers, parcel).status_code == 201


def test_too_large_bodies_are_refused_before_they_have_come(served: Served) -> None:
    headers = served.bearer()
    response = served.client.post("/api/v1/p/main/uploads", content=b"[" * 300_000, headers=headers)
    assert response.status_code == 413
    deep = served.client.post("/api/v1/p/main/uploads", content=b"[" * 200_000, headers=headers)
    assert deep.status_code == 400
    where = "/api/v1/p/main/campaigns/night"
    response = served.client.put(where, content=b"[" * (9 << 20), headers=headers)
    assert response.status_code == 413
    assert arriving(served.places.runs("main")) == []


@pytest.mark.parametrize("text", [
    b"\x00" * 100, b"GET " + b"/x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \x00\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
])  # fmt: skip
def test_what_is_no_request_gets_no_content(served: Served, text: bytes) -> None:
    with _sent(served, text) as connection:
        answer = b""
        try:
            while data := connection.recv(1 << 16):
                answer += data
                if b"\r\n\r\n" in answer:
                    break
        except ConnectionResetError:
            pass
    status = answer.split(b" ", 2)[1:2]
    assert status in ([], [b"400"], [b"404"], [b"405"], [b"414"], [b"421"], [b"431"])
    assert served.client.get("/healthz").status_code == 200


def test_each_request_is_a_line_of_the_log_without_secrets(
    served: Served, caplog: pytest.LogCaptureFixture
) -> None:
    from rtstone.server.serving import Line

    token = served.token()
    with caplog.at_level("INFO", "rtstone.access"):
        served.client.get("/no%1bthing", headers={"Authorization": f"Bearer {token}"})
        served.client.delete("/api/v1/p/main/runs/x", headers={"Authorization": f"Bearer {token}"})
        assert soon(lambda: len(caplog.records) > 1), "a line follows its answer"
    lines = [json.loads(Line().format(record)) for record in caplog.records]
    assert [line["status"] for line in lines] == [404, 403]
    assert lines[0]["path"] == "/no?thing"
    assert lines[1]["who"] == "a push token"
    assert token.split("_", 2)[2] not in str(lines)
    assert {"at", "client", "method", "ms", "bytes", "token"} <= lines[0].keys()


def test_a_defect_is_one_line_too(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyError("secret of the server")

    headers = served.bearer()
    monkeypatch.setattr("rtstone.server.uploads.note_campaign", broken)
    state = {"name": "night", "title": "n", "jobs": {}}
    response = served.client.put("/api/v1/p/main/campaigns/night", json=state, headers=headers)
    assert (response.status_code, response.text) == (
        500,
        "internal error; the server's log says more\n",
    )
    assert "Content-Security-Policy" in response.headers


def test_a_parser_that_takes_too_much_is_ended(served: Served, template: Template) -> None:
    """The next run is parsed by another one."""
    ask = parsing._Process.ask

    def stopped(process: parsing._Process, task: parsing.Task) -> parsing.Answer:
        process._process.send_signal(signal.SIGSTOP)
        return ask(process, task)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "WALL_S", 0.1)
        patch.setattr(parsing._Process, "ask", stopped)
        response = send(served.client, served.bearer(), of_template(template, ID))
    assert (response.status_code, "within the limits" in response.text) == (422, True)
    assert send(served.client, served.bearer(), of_template(template, ID)).status_code == 201
    assert stored(served.places.runs("main")) == {ID}
