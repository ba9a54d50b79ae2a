"""Receivers of webhooks that mean harm, and names that lead elsewhere."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import sqlalchemy as sql

from rtstone.errors import UsageError
from rtstone.server.answers import webhooks
from rtstone.server.database import Database
from rtstone.server.schema import deliveries
from rtstone.server.settings_file import Webhook, read

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@contextmanager
def receiver(answer: Callable[[socket.socket], object]) -> Iterator[int]:
    """Serve one connection, and yield the port."""
    with socket.create_server(("127.0.0.1", 0)) as on:

        def run() -> None:
            with suppress(OSError):
                connection, _ = on.accept()
                with connection:
                    if connection.recv(65536):
                        answer(connection)

        thread = threading.Thread(target=run)
        thread.start()
        yield on.getsockname()[1]
        on.shutdown(socket.SHUT_RDWR)
        thread.join()


def endless(begin: bytes, trickle: bytes) -> Callable[[socket.socket], None]:
    def answer(to: socket.socket) -> None:
        to.sendall(begin)
        while True:
            to.sendall(trickle)

    return answer


def trickle(to: socket.socket) -> None:
    to.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        to.sendall(b"X")
        threading.Event().wait(0.05)


@pytest.mark.parametrize("answer", [trickle, endless(b"", CONTINUE)])
def test_an_answer_without_end_is_ended(
    answer: Callable[[socket.socket], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "_WHOLE_S", 0.4)
    with receiver(answer) as port:
        failure = webhooks.post(Webhook("x", f"http://127.0.0.1:{port}", "s"), b"{}")
    assert failure == "its answer has not come within 0 s"


def test_what_comes_after_the_status_is_not_read() -> None:
    with receiver(endless(b"HTTP/1.1 200 OK\r\n\r\n", bytes(1 << 16))) as port:
        assert webhooks.post(Webhook("x", f"http://127.0.0.1:{port}", "s"), b"{}") is None


@pytest.mark.parametrize("text", [
    b"\x00\xff" * 100_000, b"HTTP/1.1 200 " + b"x" * 200_000, b"HTTP/1.1 999999 x\r\n\r\n", b"\r\n",
    b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000, b"HTTP/1.1 302 \r\nLocation: http://h/\r\n\r\n",
])  # fmt: skip
def test_what_is_no_good_answer_is_a_line(text: bytes) -> None:
    with receiver(lambda to: to.sendall(text)) as port:
        failure = webhooks.post(Webhook("x", f"http://127.0.0.1:{port}", "s"), b"{}")
    assert failure
    assert failure.isprintable()


@pytest.mark.parametrize(("address", "host", "fits"), [
    ("127.0.0.1", "hook.example", False), ("127.8.8.8", "hook.example", False),
    ("::1", "hook.example", False), ("::ffff:127.0.0.1", "hook.example", False),
    ("169.254.169.254", "hook.example", False), ("::ffff:169.254.169.254", "h", False),
    ("fe80::1%eth0", "hook.example", False), ("127.0.0.1", "2130706433", False),
    ("127.0.0.1", "0177.0.0.1", False), ("127.0.0.1", "localhost.hook.example", False),
    ("192.0.2.1", "hook.example", True), ("10.0.0.1", "chat.lan", True),
    ("127.0.0.1", "127.0.0.1", True), ("127.0.0.1", "localhost", True), ("::1", "::1", True),
    ("fe80::1%eth0", "fe80::1%eth0", True), ("2001:db8::1", "hook.example", True),
])  # fmt: skip
def test_a_name_does_not_lead_to_what_only_this_machine_reaches(
    address: str, host: str, fits: bool
) -> None:
    class To:
        def getpeername(self) -> tuple[str, int]:
            return address, 80

    failure = webhooks._elsewhere(host, To())  # type: ignore[arg-type]
    assert (failure is None) == fits, failure


def test_nothing_is_sent_to_where_a_name_leads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The second look-up of a name says another address than the first (DNS rebinding)."""
    got: list[socket.socket] = []
    look_up = socket.getaddrinfo
    with receiver(got.append) as port:
        monkeypatch.setattr(
            socket, "getaddrinfo", lambda host, *rest, **ways: look_up("127.0.0.1", *rest, **ways)
        )
        failure = webhooks.post(Webhook("x", f"http://hook.example:{port}", "s"), b"{}")
    assert failure == "its name leads to 127.0.0.1; write that address in its URL if it is meant"
    assert not got


def test_proxies_of_the_environment_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with receiver(lambda to: to.sendall(b"HTTP/1.1 204 \r\n\r\n")) as port:
        assert webhooks.post(Webhook("x", f"http://127.0.0.1:{port}", "s"), b"{}") is None


@pytest.mark.parametrize("url", [
    "http://[", "http://[::1", "http://ann:secret@hook.example/", "http://ann@hook.example/",
    "http://h:99999/", "http://h:x/", "http://h:0/", "http://h/a b", "http://h/é", "http:///x",
    "ftp://h/", "//h/", "http://h/" + "x" * 2000,
])  # fmt: skip
def test_a_url_that_cannot_be_used_is_refused_at_the_start(url: str, tmp_path: Path) -> None:
    file = tmp_path / "server.toml"
    file.write_text(f"[[webhook]]\nname = 'a'\nsecret = 's'\nurl = '{url}'\n")
    with pytest.raises(
        UsageError, match=r"^[^\n]*URL[^\n]*, in \[\[webhook\]\] of [^\n]*;"
    ) as failure:
        read(file)
    assert "secret@" not in str(failure.value)


def test_a_hook_that_fails_keeps_no_other_waiting(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def post(hook: Webhook, body: bytes) -> str | None:
        tried.append(hook.name)
        return "it hangs" if hook.name == "bad" else None

    monkeypatch.setattr(webhooks, "post", post)
    row = {"body": "{}", "made": 0.0, "tries": 0, "next": 0.0}
    with database.writing() as connection:
        rows = [{"hook": hook, **row} for hook in ["bad"] * 30 + ["good"] * 2]
        connection.execute(sql.insert(deliveries), rows)
    webhooks.deliver_due(
        database, [Webhook("bad", "http://x", "s"), Webhook("good", "http://y", "s")]
    )
    assert tried == ["bad", "good", "good"]
