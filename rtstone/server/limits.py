"""Limits of what one client may cost the others: requests, connections, time.

All of it is bounded in memory too: a client that is forgotten begins anew.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter, OrderedDict
from time import monotonic
from typing import Any, ClassVar

from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from rtstone.server.settings import Settings

BURST_S = 10.0  # for how long a client may save up requests
AT_ONCE, OF_ONE = 200, 64  # requests that are carried out at a time: of all clients, of one
REMEMBERED = 10_000  # clients, and tokens
CONNECTIONS = 1000  # beyond them, the one goes that has waited longest for a request
HEADER_S = 10.0  # until a request has come as far as its body
IDLE_S = 15.0  # until the next request of a connection
SILENT_S = 30.0  # between two pieces of a body, or until one is taken
SLOWEST = 1024.0  # bytes per second of a body, and of what a client takes
_CLOSE = {"Connection": "close"}  # the rest of the body is not waited for


class Buckets:
    """Token buckets: each refills by ``rate`` per second up to ``most``."""

    def __init__(self, rate: float, most: float, remembered: int = REMEMBERED) -> None:
        self._rate, self._most, self._remembered = rate, most, remembered
        self._known: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, key: str) -> float:
        """Take one from a bucket; return 0, or if it is empty, after how many s it has one."""
        now = monotonic()
        left, since = self._known.get(key, (self._most, now))
        left = min(self._most, left + (now - since) * self._rate)
        if left < 1:
            return (1 - left) / self._rate
        self._known[key] = (left - 1, now)
        self._known.move_to_end(key)
        if len(self._known) > self._remembered:
            self._known.popitem(last=False)
        return 0.0

    def __len__(self) -> int:
        return len(self._known)


class Guard:
    """Counts the requests of each client, and of each token."""

    def __init__(self, settings: Settings) -> None:
        rate = settings.limits.requests or float("inf")
        self._settings = settings
        self._clients = Buckets(rate, rate * BURST_S)
        self._tokens = Buckets(rate, rate * BURST_S)
        self._running: Counter[str] = Counter()

    def fault(self, scope: Scope) -> tuple[int, str, float] | None:
        """Return why a request is refused now: status, words, when to try again in s; else None."""
        client = whose(scope)
        if self._settings.limits.requests and (wait := self._clients.take(client)):
            return 429, "too many requests", wait
        host = dict(scope["headers"]).get(b"host", b"").decode("latin-1")
        if not self._settings.serves(host):
            words = "this server is not called so; its name is 'url' in its server.toml"
            return 421, words, 0.0
        if self._running[client] >= OF_ONE or self._running.total() >= AT_ONCE:
            return 503, "too many requests at a time", 1.0
        return None

    def begin(self, scope: Scope) -> None:
        """Note that a request is carried out."""
        self._running[whose(scope)] += 1

    def end(self, scope: Scope) -> None:
        """Note that a request has been carried out."""
        client = whose(scope)
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]

    def count_token(self, token: str | None) -> None:
        """Count a request of a token.  Raises HTTPException 429 for too many."""
        if token and self._settings.limits.requests and (wait := self._tokens.take(token)):
            raise HTTPException(429, "too many requests", {"Retry-After": str(int(wait) + 1)})


def whose(scope: Scope) -> str:
    """Return the client that a request counts for: an address, of IPv6 its network of 64 bits."""
    client = scope.get("client")
    name = client[0] if client else ""
    if ":" not in name:
        return str(name)
    try:
        return str(ipaddress.ip_network(f"{name.partition('%')[0]}/64", strict=False))
    except ValueError:
        return str(name)


class Limited:
    """Refuses too many requests, and ends those that are too slow."""

    def __init__(self, app: ASGIApp, guard: Guard) -> None:
        self._app, self._guard = app, guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if fault := self._guard.fault(scope):
            status, words, wait = fault
            headers = {"Retry-After": str(int(wait) + 1)} if wait else None
            await PlainTextResponse(f"{words}\n", status, headers)(scope, receive, send)
            return
        self._guard.begin(scope)
        try:
            await self._app(scope, _Body(receive), _Taken(send))
        finally:
            self._guard.end(scope)


class _Body:
    """The body of a request, which must not come too slowly."""

    def __init__(self, receive: Receive) -> None:
        self._receive, self._begun, self._come = receive, monotonic(), 0
        self._over = False

    async def __call__(self) -> Message:
        """Return the next piece.  Raises HTTPException 408."""
        message = await self._next()
        cycle = getattr(self._receive, "__self__", None)
        if message["type"] != "http.disconnect" or not isinstance(cycle, RequestResponseCycle):
            return message
        if not cycle.body:
            return message
        # What had come before the connection ended, which uvicorn would drop.
        rest, cycle.body = bytes(cycle.body), bytearray()
        return {"type": "http.request", "body": rest, "more_body": cycle.more_body}

    async def _next(self) -> Message:
        if self._over:  # who asks now waits for the end of the connection
            return await self._receive()
        try:
            async with asyncio.timeout(SILENT_S):
                message = await self._receive()
        except TimeoutError as error:
            raise HTTPException(408, "nothing more has come", _CLOSE) from error
        self._come += len(message.get("body", b""))
        self._over = not message.get("more_body")
        if not self._over and self._come < (monotonic() - self._begun - SILENT_S) * SLOWEST:
            raise HTTPException(408, f"less than {SLOWEST:.0f} bytes come per second", _CLOSE)
        return message


class _Taken:
    """The response to a client, which must not take it too slowly."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def __call__(self, message: Message) -> None:
        """Send a piece.  Raises TimeoutError, which ends the connection."""
        async with asyncio.timeout(SILENT_S + len(message.get("body", b"")) / SLOWEST):
            await self._send(message)


class Protocol(H11Protocol):
    """A connection that is closed if no request comes: uvicorn itself waits for ever."""

    waiting: ClassVar[OrderedDict[Protocol, None]] = OrderedDict()  # for a request, oldest first
    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request; of too many connections the longest waiting is closed."""
        super().connection_made(transport)
        self._await(HEADER_S)
        if len(self.connections) > CONNECTIONS:
            oldest = next(iter(self.waiting), self)
            oldest.abort()

    def data_received(self, data: bytes) -> None:
        """Take what comes; once a request is there, wait no more."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._cease()

    def on_response_complete(self) -> None:
        """Wait for the next request, unless it is there."""
        super().on_response_complete()
        if not self.transport.is_closing() and (not self.cycle or self.cycle.response_complete):
            self._await(IDLE_S)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._cease()
        super().connection_lost(exc)

    def abort(self) -> None:
        """Close it at once."""
        self._cease()
        self.transport.abort()

    def _await(self, limit: float) -> None:
        self._cease()
        self._timer = self.loop.call_later(limit, self.abort)
        self.waiting[self] = None

    def _cease(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.waiting.pop(self, None)
