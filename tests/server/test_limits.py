"""A client that takes too much is refused, and keeps nobody else out."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator

import httpx
import pytest

from rtstone.inputs.server import Limits
from rtstone.server import limits
from rtstone.server.limits import Rates
from rtstone.server.places import Places
from rtstone.server.serving import Line
from rtstone.server.settings import Settings
from tests.server.serving import Served, serving


@pytest.fixture
def served(places: Places) -> Iterator[Served]:
    with serving(Settings(places.store, port=0, limits=Limits(requests=0))) as found:
        yield found


def test_a_bucket_lets_through_its_rate_and_a_burst() -> None:
    rates = Rates(10.0)
    assert [rates.takes("a", 0.0) for _ in range(25)] == 20 * [True] + 5 * [False]
    assert rates.takes("b", 0.0)
    assert sum(rates.takes("a", 1.0) for _ in range(20)) == 10
    assert sum(rates.takes("a", 1.0 + n / 100) for n in range(100)) == pytest.approx(10, abs=1)
    assert all(Rates(0).takes("a", 0.0) for _ in range(1000))


def test_the_memory_of_rates_is_bounded() -> None:
    rates = Rates(10.0)
    for number in range(3 * limits.CLIENTS):
        rates.takes(str(number), 0.0)
    assert len(rates) == limits.CLIENTS


def test_who_asks_too_often_is_told_to_wait(places: Places) -> None:
    with serving(Settings(places.store, port=0, limits=Limits(requests=5))) as served:
        found = [served.client.get("/healthz") for _ in range(30)]
        refused = [one for one in found if one.status_code == 429]
        assert 10 <= len(refused) < 30
        assert refused[0].headers["Retry-After"] == "1"
        assert refused[0].text.count("\n") == 1


def connect(served: Served) -> socket.socket:
    host, port = served.url.removeprefix("http://").split(":")
    found = socket.create_connection((host, int(port)), 10)
    found.settimeout(10)
    return found


def test_heads_and_bodies_that_do_not_come_end_the_connection(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "HEADER_S", 0.3)
    monkeypatch.setattr(limits, "REST_S", 0.3)
    token = served.bearer("push")["Authorization"]
    sent = (
        b"", b"GET / HT", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ",
        f"POST /api/v1/p/main/uploads HTTP/1.1\r\nHost: localhost\r\nAuthorization: {token}\r\n"
        "Content-Length: 100\r\n\r\n{".encode(),
    )  # fmt: skip
    for text in sent:
        with connect(served) as one:
            one.sendall(text)
            while one.recv(1 << 16):
                pass
    with connect(served) as one:  # one that drips its head has no more time
        one.sendall(b"GET / HTTP/1.1\r\n")
        with pytest.raises(OSError):
            for _ in range(200):
                one.sendall(b"X: y\r\n")
                time.sleep(0.01)
    assert served.client.get("/healthz").status_code == 200


def test_idle_connections_keep_nobody_out(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST", 60)
    many = [connect(served) for _ in range(150)]
    try:
        closed = 0
        for one in many[60:]:
            one.settimeout(2)
            with_data = b"x"
            try:
                with_data = one.recv(1)
            except ConnectionResetError:
                with_data = b""
            closed += with_data == b""
        assert closed >= 85
    finally:
        for one in many:
            one.close()
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert client.get("/healthz").status_code == 200


@pytest.mark.parametrize("text", [
    b"\x00" * 100, b"GET " + b"/x" * 20_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 50_000 + b"\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \x00\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
])  # fmt: skip
def test_what_is_no_request_gets_no_content(served: Served, text: bytes) -> None:
    with connect(served) as one:
        one.sendall(text)
        answer = b""
        try:
            while data := one.recv(1 << 16):
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
    token = served.token("read")
    with caplog.at_level(logging.INFO, "rtstone.server.requests"):
        served.client.get("/metrics?x=hidden", headers={"Authorization": f"Bearer {token}"})
    (record,) = [one for one in caplog.records if one.name == "rtstone.server.requests"]
    text = Line().format(record)
    told = json.loads(text)
    assert (told["path"], told["status"], told["who"]) == ("/metrics", 200, "a read token")
    assert token not in text
    assert "hidden" not in text
