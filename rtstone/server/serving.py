"""Run a server until a signal ends it."""

from __future__ import annotations

import ctypes
import logging
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import time
from types import FrameType

import msgspec
import uvicorn
from starlette.applications import Starlette

from rtstone.errors import StoreError, UsageError
from rtstone.server.app import build
from rtstone.server.limits import IDLE_S, Protocol
from rtstone.server.settings import Settings

GRACE_S = 30  # for requests to end, before they are ended
_MMAP_THRESHOLD, _ARENA_MAX = -3, -8  # of glibc's mallopt


def listen(settings: Settings) -> socket.socket:
    """Return the socket to serve on; port 0 becomes a free one.  Raises UsageError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # Named, for asyncio to send small answers at once (TCP_NODELAY).
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((settings.host, settings.port))
        listener.listen(2048)
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen on {settings.host}:{settings.port}: {error.strerror}; "
            "give another address with --listen"
        ) from error
    return listener


def serve(settings: Settings, on: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT, then let requests end.  Raises StoreError."""
    log_to_stderr()
    with suppress(OSError, ValueError):  # each connection is an open file
        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    bound_heap()
    server = _Server(config(settings, build(settings)))
    server.run([on])
    if not server.started:  # uvicorn has logged why
        raise StoreError("the server could not start; the lines above say why")


def bound_heap() -> None:
    """Have glibc give pages back to the system when they are freed.

    By default it learns to take blocks as large as a page of ours, some 100 kB, from a heap of each
    thread, where they leave holes between what stays: memory grows for tens of thousands of
    requests.  Another C library has no such function.
    """
    with suppress(AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_ARENA_MAX, 1)
        mallopt(_MMAP_THRESHOLD, 128 << 10)


def config(settings: Settings, app: Starlette) -> uvicorn.Config:
    """Return how uvicorn serves the application."""
    return uvicorn.Config(
        app, host=settings.host, port=settings.port, http=Protocol, ws="none", lifespan="on",
        log_config=None, access_log=False, server_header=False, timeout_keep_alive=int(IDLE_S),
        timeout_graceful_shutdown=GRACE_S, proxy_headers=bool(settings.proxies),
        forwarded_allow_ips=list(settings.proxies), h11_max_incomplete_event_size=16 << 10,
    )  # fmt: skip


class _Server(uvicorn.Server):
    """A server for which a signal to end is no failure."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on SIGTERM and SIGINT; a second SIGINT ends it at once."""
        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, self._end_serving) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _end_serving(self, number: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and number == signal.SIGINT
        self.should_exit = True


class Line(logging.Formatter):
    """A line of JSON for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the record as JSON."""
        entry = {"at": round(time(), 3), "level": record.levelname.lower()}
        entry |= getattr(record, "record", None) or {"message": record.getMessage()}
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(entry).decode()


def log_to_stderr() -> None:
    """Write what is logged to stderr, a line of JSON each."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Line())
    logging.getLogger("rtstone").setLevel(logging.INFO)
    for name in ("rtstone", "uvicorn"):
        logging.getLogger(name).handlers = [handler]
        logging.getLogger(name).propagate = False
    logging.getLogger("uvicorn").setLevel(logging.WARNING)
