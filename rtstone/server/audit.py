"""The audit: a table of what was changed or refused, by whom; a log line for each request.

No token is in either, and of a request no more than its path.
"""

from __future__ import annotations

import getpass
import logging
from contextlib import suppress
from time import monotonic, time

import sqlalchemy as sql
from anyio import to_thread
from sqlalchemy.exc import SQLAlchemyError
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rtstone.printable import line
from rtstone.server.access import ANYBODY, Principal
from rtstone.server.database import Database
from rtstone.server.limits import Buckets
from rtstone.server.schema import audit

_LONGEST = 500  # characters of a text
_KEPT_S = 400 * 86400.0  # how long rows are kept
REFUSALS, _REFUSAL_S = 100, 1.0  # rows of refusals: at once, and one more every so many s
_log = logging.getLogger("rtstone.access")


def note(
    database: Database, *, who: str, client: str, action: str, project: str | None,
    subject: str, outcome: str,
) -> None:  # fmt: skip
    """Append a row to the table."""
    row = {
        "at": time(), "who": line(who)[:200], "client": client[:64], "action": action[:40],
        "project": None if project is None else line(project)[:64],
        "what": line(subject)[:_LONGEST], "outcome": line(outcome)[:_LONGEST],
    }  # fmt: skip
    with database.writing() as connection:
        connection.execute(sql.insert(audit).values(row))


def by_request(
    request: Request, action: str, project: str | None, subject: str, outcome: str
) -> None:
    """Note what came of a request."""
    who: Principal = request.scope.get("principal") or ANYBODY
    note(
        request.app.state.database, who=who.name, client=_client(request.scope), action=action,
        project=project, subject=subject, outcome=outcome,
    )  # fmt: skip


def by_command(database: Database, action: str, project: str | None, subject: str) -> None:
    """Note what was done on the machine of the server."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown user"
    note(
        database, who=user, client="command line", action=action, project=project,
        subject=subject,
        outcome="done",
    )  # fmt: skip


def sweep(database: Database) -> None:
    """Remove rows of more than a year ago."""
    with database.writing() as connection:
        connection.execute(sql.delete(audit).where(audit.c.at < time() - _KEPT_S))


class Logged:
    """Logs each request, notes those that are refused, and answers for a defect."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._refusals = Buckets(1 / _REFUSAL_S, REFUSALS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, status, size = monotonic(), 0, 0

        async def seen(message: Message) -> None:
            nonlocal status, size
            status = message.get("status", status)
            size += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, seen)
        except TimeoutError:  # the client takes nothing: uvicorn ends the connection
            raise
        except Exception:
            _log.exception("defect", extra={"record": {"defect": line(scope["path"])[:_LONGEST]}})
            if not status:
                text = "internal error; the server's log says more\n"
                await PlainTextResponse(text, 500)(scope, receive, seen)
        finally:
            who: Principal = scope.get("principal") or ANYBODY
            record = {
                "who": who.name, "token": who.token, "client": _client(scope),
                "method": scope["method"], "path": line(scope["path"])[:_LONGEST],
                "status": status, "bytes": size, "ms": round(1000 * (monotonic() - begun), 1),
            }  # fmt: skip
            _log.info("request", extra={"record": record})
        refused = status == 403 or scope.get("refused")
        if refused and not self._refusals.take(""):  # a flood of them must not fill the table
            with suppress(SQLAlchemyError):
                await to_thread.run_sync(_note_refusal, scope, status)


def _note_refusal(scope: Scope, status: int) -> None:
    who: Principal = scope.get("principal") or ANYBODY
    note(
        scope["app"].state.database, who=who.name, client=_client(scope), action="refused",
        project=scope.get("path_params", {}).get("project"),
        subject=f"{scope['method']} {scope['path']}", outcome=str(status),
    )  # fmt: skip


def _client(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else "unknown"
