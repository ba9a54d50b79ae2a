"""A small client of HTTP for results servers: one connection, kept; a token; time limits; retries.

A redirection is not followed, as it would take the token elsewhere.
"""

from __future__ import annotations

import http.client
import ssl
import time
from collections.abc import Mapping
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, TypeVar

import msgspec

from rtstone import __version__
from rtstone.errors import TargetError, UsageError
from rtstone.printable import line, parsed
from rtstone.server.client.address import Address, token

TIMEOUT_S = 30.0  # without a byte
LARGEST = 256 << 20  # bytes of a response
PATIENCE_S = 60.0  # for a server that does not answer, or is busy
_FIRST_S, _LONGEST_S = 0.2, 5.0  # between two tries
_BUSY = {408, 423, 429, 502, 503, 504, 507}  # what passes by itself
_SHOWN = 300  # characters of a refusal that are shown
_T = TypeVar("_T")


class Unreachable(TargetError):  # noqa: N818  no fault of the program
    """The server does not answer, or is busy: what was to be sent can be sent later."""


class Refused(UsageError):  # noqa: N818
    """The server refuses, and would again.  ``status``: of HTTP."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


class Response(NamedTuple):
    """An answer; the names of its headers in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """The beginning of the body as one line: of a refusal, its reason."""
        return line(self.body[:_SHOWN].decode("utf-8", "replace"))

    def json(self, kind: type[_T]) -> _T:
        """Return the body as a document.  Raises TargetError."""
        try:
            return parsed(self.body, kind)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise TargetError(f"the server sends no {kind.__name__}: {error}") from error


class Server:
    """A server, for one project of it."""

    def __init__(
        self, address: Address, *, timeout_s: float = TIMEOUT_S, patience_s: float = PATIENCE_S
    ) -> None:
        """``patience_s``: for how long a request is tried again.  Raises UsageError."""
        self.address, self.patience_s = address, patience_s
        self._token = token(address)
        self._timeout_s = timeout_s
        self._connection: http.client.HTTPConnection | None = None

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        self.close()

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def get(self, path: str, headers: Mapping[str, str] | None = None) -> Response:
        """Return what is at a path.  Raises Unreachable, Refused unless it is there."""
        return self.checked(self.request("GET", path, headers=headers))

    def request(
        self, method: str, path: str, body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:  # fmt: skip
        """Send a request, again while the server does not answer or is busy.

        Only for requests that may be carried out twice.  Raises Unreachable.
        """
        end, pause = time.monotonic() + self.patience_s, _FIRST_S
        while True:
            try:
                response = self.once(method, path, body, headers)
                if response.status not in _BUSY:
                    return response
                why, wait = response.text or str(response.status), 0.0
                text = response.headers.get("retry-after", "")
                if text.isdigit() and len(text) < 6:
                    wait = float(text)
            except Unreachable as error:
                why, wait = str(error), 0.0
            pause = max(pause, min(wait, _LONGEST_S))
            if time.monotonic() + pause > end:
                raise Unreachable(why if why.startswith(self.where) else f"{self.where}: {why}")
            time.sleep(pause)
            pause = min(2 * pause, _LONGEST_S)

    @property
    def where(self) -> str:
        """The name of the server in messages."""
        return self.address.server

    def once(
        self, method: str, path: str, body: memoryview | bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Response:  # fmt: skip
        """Send a request once, and return the answer.  Raises Unreachable."""
        reused = self._connection is not None
        if self._connection is None:
            host, port, limit = self.address.host, self.address.port, self._timeout_s
            if self.address.scheme == "https":
                self._connection = http.client.HTTPSConnection(
                    host, port, timeout=limit, context=ssl.create_default_context()
                )
            else:
                self._connection = http.client.HTTPConnection(host, port, timeout=limit)
        connection = self._connection
        sent = {"User-Agent": f"rtstone/{__version__}", **(headers or {})}
        if self._token:
            sent["Authorization"] = f"Bearer {self._token}"
        try:
            with suppress(BrokenPipeError, ConnectionResetError):  # it may have answered already
                connection.request(method, path, body, sent)
            response = connection.getresponse()
            answer = response.read(LARGEST + 1)
            if len(answer) > LARGEST:
                raise http.client.HTTPException(f"it sends more than {LARGEST} bytes")
        except (OSError, http.client.HTTPException) as error:
            self.close()
            if reused and isinstance(error, http.client.RemoteDisconnected) and body is None:
                return self.once(method, path, body, headers)  # it was idle for too long
            text: Any = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise Unreachable(f"{self.where} does not answer: {line(str(text))}") from error
        answered = {name.lower(): value for name, value in response.getheaders()}
        if connection.sock is None or answered.get("connection", "").lower() == "close":
            self.close()
        return Response(response.status, answered, answer)

    def checked(self, response: Response) -> Response:
        """Return a response of success.  Raises Refused for any other."""
        if 200 <= response.status < 300:
            return response
        raise self.refusal(response)

    def refusal(self, response: Response) -> Refused:
        """Return why the server refuses, and what to do."""
        text = response.text or f"status {response.status}"
        advice = ""
        if response.status == 401:
            advice = "; put a valid token in RTSTONE_TOKEN or tokens.toml"
        elif 300 <= response.status < 400:
            text = f"it is elsewhere, at {line(response.headers.get('location', '?'))[:_SHOWN]}"
        return Refused(f"{self.where}: {text}{advice}", response.status)
