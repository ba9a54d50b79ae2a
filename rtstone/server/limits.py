"""What one client may take: requests per second, time to send them, connections."""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from time import monotonic
from typing import Any

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from rtstone.server.settings import Settings

HEADER_S = 10.0  # within which the head of a request has to come
REST_S = 20.0  # without a byte of its body
FLOOR = 1024.0  # bytes per second of a body, after GRACE_S
GRACE_S = 30.0
MOST = 4000  # connections; further ones are closed
CLIENTS = 10_000  # addresses whose rates are known
_BURST = 2.0  # times the requests of a second that may come at once
_log = logging.getLogger("rtstone.server.requests")


class Rates:
    """How many requests each client may still make: a bucket that fills by and by."""

    def __init__(self, rate: float) -> None:
        """``rate``: requests per second, 0: as many as they like."""
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def takes(self, client: str, now: float, cost: float = 1.0) -> bool:
        """Return whether a client may make a request, which then counts."""
        if not self._rate:
            return True
        most = self._rate * _BURST
        left, then = self._left.pop(client, (most, now))
        left = min(most, left + (now - then) * self._rate)
        may = left >= cost
        self._left[client] = (left - cost if may else left), now
        if len(self._left) > CLIENTS:
            self._left.popitem(last=False)
        return may

    def __len__(self) -> int:
        """Return how many clients are known."""
        return len(self._left)


class Guard:
    """Lets requests through that keep the limits, and logs each of them."""

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._rates = Rates(settings.limits.requests)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it in a line."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = monotonic(), 0

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            refused = self._refused(scope)
            if refused:
                await refused(scope, receive, told)
            else:
                await self._app(scope, _bounded(receive), told)
        except _TooSlowError:
            answer = PlainTextResponse("too slow\n", 408, {"Connection": "close"})
            if not status:
                await answer(scope, receive, told)
        finally:
            _write(scope, status, monotonic() - began)

    def _refused(self, scope: Scope) -> PlainTextResponse | None:
        client = scope["client"][0] if scope.get("client") else "unknown"
        if not self._rates.takes(client, monotonic()):
            told = "too many requests; make fewer\n"
            return PlainTextResponse(told, 429, {"Retry-After": "1"})
        host = next((value for name, value in scope["headers"] if name == b"host"), b"")
        if not self._settings.serves(host.decode("latin-1")):
            return PlainTextResponse("not a name of this server; set url in server.toml\n", 421)
        return None


class _TooSlowError(Exception):
    """A body comes too slowly."""


def _bounded(receive: Receive) -> Receive:
    """Return what receives a body, but not for ever."""
    began, size = monotonic(), 0

    async def receiving() -> Message:
        nonlocal size
        try:
            message = await asyncio.wait_for(receive(), REST_S)
        except TimeoutError:
            raise _TooSlowError from None
        if message["type"] == "http.request":
            size += len(message.get("body", b""))
            taken = monotonic() - began
            if message.get("more_body") and taken > GRACE_S and size < FLOOR * taken:
                raise _TooSlowError
        return message

    return receiving


def _write(scope: Scope, status: int, took_s: float) -> None:
    """Log a request: who, what, and what came of it; no token, and no query."""
    who = scope.get("principal")
    told = {
        "client": scope["client"][0] if scope.get("client") else "unknown",
        "who": who.name if who else None, "method": scope["method"], "path": scope["path"][:400],
        "status": status, "ms": round(1000 * took_s),
    }  # fmt: skip
    _log.info("request", extra={"told": told})


class Bounded(H11Protocol):
    """A connection that is closed if no head of a request comes in time, or of too many."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._limit: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Take what comes; a head that begins after a response has its time, too."""
        if self._limit is None and self._is_idle():
            self._wait()
        super().data_received(data)
        if self._limit is not None and not self._is_idle():
            self._limit.cancel()
            self._limit = None

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        super().connection_lost(exc)

    def _is_idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self._limit = self.loop.call_later(HEADER_S, self.transport.abort)
