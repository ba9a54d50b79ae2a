"""Webhooks: changes for the worse are posted to the addresses in STORE/server.toml, signed.

X-Rtstone-Timestamp has the time in s since 1970, X-Rtstone-Signature "sha256=" and the HMAC-SHA256
of that number, a dot and the body, keyed with the hook's secret.  A receiver compares in constant
time, and refuses times that are long past.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import ipaddress
import logging
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from time import time
from urllib.parse import urlsplit

import msgspec
import sqlalchemy as sql

from rtstone import __version__
from rtstone.printable import line
from rtstone.server.answers.events import events
from rtstone.server.database import Database, log_failure, one_writer
from rtstone.server.pages import queries
from rtstone.server.projects import Places
from rtstone.server.schema import changes, deliveries
from rtstone.server.settings import Settings, is_address
from rtstone.server.settings_file import EVERY, Webhook

TRIES = 12
_FIRST_S, _LONGEST_S = 10.0, 6 * 3600.0  # between two tries
_TIMEOUT_S = 10.0  # without a byte
_WHOLE_S = 30.0  # in which all of an answer has to come
_AT_ONCE = 20  # messages of a hook
_MEANWHILE_S = 120.0  # for which no other server tries what one is delivering
_SENDING = threading.Lock()
_log = logging.getLogger("rtstone.server")


def announce(database: Database, places: Places, settings: Settings) -> None:
    """Queue for delivery what got worse and has not been announced yet."""
    for project in places.projects():
        with database.reading() as connection:
            if not queries.unannounced(connection, project):
                continue
        with database.writing() as connection:
            one_writer(connection, database.project(connection, project))
            fresh = queries.unannounced(connection, project)
            if not fresh:
                continue
            hooks = [hook for hook in settings.webhooks if hook.project in (project, EVERY)]
            news = [change.seen for change in fresh if change.news]
            bodies = [
                msgspec.json.encode({
                    "event": "worse", "id": event.id, "project": project, "target": event.target,
                    "since": event.since, "run": event.at_run, "title": event.title,
                    "text": "\n".join(event.lines), "link": event.link(settings.base),
                    "changes": event.changes,
                }).decode()
                for event in events(project, news)
            ]  # fmt: skip
            rows = [
                {"hook": hook.name, "body": body, "made": time(), "tries": 0, "next": 0.0}
                for body in bodies
                for hook in hooks
            ]
            if rows:
                connection.execute(sql.insert(deliveries), rows)
            numbers = [change.number for change in fresh]
            update = sql.update(changes).where(changes.c.id.in_(numbers))
            connection.execute(update.values(notified=time()))


def deliver(database: Database, places: Places, settings: Settings) -> None:
    """Post what is due, in a thread of its own: a hook that hangs delays nothing else."""
    if settings.webhooks and not _SENDING.locked():
        threading.Thread(target=_deliver_all, args=(database, settings), daemon=True).start()


def _deliver_all(database: Database, settings: Settings) -> None:
    with _SENDING:
        try:
            deliver_due(database, settings.webhooks)
        except Exception as error:
            log_failure("delivering", error, settings.store)


def deliver_due(database: Database, hooks: Sequence[Webhook]) -> None:
    """Post what is due, each at most once.

    After a message that fails the hook has to wait for the next round: it keeps no other waiting.
    """
    for hook in hooks:
        query = sql.select(deliveries).where(
            deliveries.c.next <= time(), deliveries.c.hook == hook.name, deliveries.c.tries < TRIES
        )
        with database.reading() as connection:
            due = connection.execute(query.order_by(deliveries.c.id).limit(_AT_ONCE)).all()
        for row in due:
            mine = deliveries.c.id == row.id, deliveries.c.next == row.next
            claim = sql.update(deliveries).where(*mine).values(next=time() + _MEANWHILE_S)
            with database.writing() as connection:
                claimed = connection.execute(claim).rowcount
            if not claimed:
                continue
            failed = post(hook, row.body.encode())
            message, tries = deliveries.c.id == row.id, row.tries + 1
            with database.writing() as connection:
                if failed is None:
                    connection.execute(sql.delete(deliveries).where(message))
                    continue
                pause = min(_FIRST_S * 2**row.tries, _LONGEST_S)
                values = {"tries": tries, "next": time() + pause, "failed": failed[:500]}
                connection.execute(sql.update(deliveries).where(message).values(**values))
            _log.warning("webhook %s: %s; try %d of %d", hook.name, failed, tries, TRIES)
            break


def signature(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a message."""
    key, text = secret.encode(), timestamp.encode() + b"." + body
    return "sha256=" + hmac.new(key, text, hashlib.sha256).hexdigest()


def post(hook: Webhook, body: bytes) -> str | None:
    """Post a message, and return why it failed, None if it did not.

    A redirection is a failure: it would take the message elsewhere.
    """
    parts, now = urlsplit(hook.url), str(int(time()))
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    headers = {
        "Content-Type": "application/json", "User-Agent": f"rtstone/{__version__}",
        "X-Rtstone-Timestamp": now, "X-Rtstone-Signature": signature(hook.secret, now, body),
    }  # fmt: skip
    try:
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_S)
        with closing(connection):
            connection.connect()
            if why := _elsewhere(parts.hostname or "", connection.sock):
                return why
            with _ended_after(_WHOLE_S, connection.sock) as over:
                status = 0
                try:
                    connection.request("POST", path, body, headers)
                    status = connection.getresponse().status
                except (OSError, http.client.HTTPException):
                    if not over.is_set():
                        raise
                if over.is_set():  # a head that was cut off may look whole
                    return f"its answer has not come within {_WHOLE_S:.0f} s"
    except (OSError, http.client.HTTPException, ValueError) as error:
        return line(f"it does not answer: {error}")
    return None if 200 <= status < 300 else f"it answers with status {status}"


def _elsewhere(host: str, to: socket.socket) -> str | None:
    """Return why nothing may be sent to where a host's name leads, None if it may.

    Whoever has the name has it lead where he likes, also to what only this machine reaches, as the
    services on its loopback and the metadata of a cloud on a link-local address.  The address of
    the connection itself is checked, so that no second look-up of the name matters.
    """
    address = ipaddress.ip_address(to.getpeername()[0].partition("%")[0])
    address = getattr(address, "ipv4_mapped", None) or address
    meant = host == "localhost" or is_address(host)
    if meant or not (address.is_loopback or address.is_link_local):
        return None
    return f"its name leads to {address}; write that address in its URL if it is meant"


@contextmanager
def _ended_after(limit_s: float, connection: socket.socket) -> Iterator[threading.Event]:
    """End a connection after a time, however it trickles; yield an event that is set if it was."""
    over = threading.Event()

    def end() -> None:
        over.set()
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()
    try:
        yield over
    finally:
        timer.cancel()
