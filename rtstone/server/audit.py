"""Who did what: a table of what changed or was refused, and a log line for each request."""

from __future__ import annotations

import getpass
from time import time

import sqlalchemy as sql
from starlette.requests import Request

from rtstone.printable import line
from rtstone.server.access import ANYBODY, Principal
from rtstone.server.database import Database
from rtstone.server.schema import audit

_LONGEST = 500  # characters of what is told


def note(
    database: Database, *, who: str, client: str, action: str, project: str | None,
    what: str, outcome: str,
) -> None:  # fmt: skip
    """Append a row to the table."""
    row = {
        "at": time(), "who": line(who)[:200], "client": client[:64], "action": action[:40],
        "project": None if project is None else line(project)[:64],
        "what": line(what)[:_LONGEST], "outcome": line(outcome)[:_LONGEST],
    }  # fmt: skip
    with database.writing() as connection:
        connection.execute(sql.insert(audit).values(row))


def of(request: Request, action: str, project: str | None, what: str, outcome: str) -> None:
    """Note what came of a request."""
    who: Principal = request.scope.get("principal") or ANYBODY
    client = request.client.host if request.client else "unknown"
    note(
        request.app.state.database, who=who.name, client=client, action=action, project=project,
        what=what, outcome=outcome,
    )  # fmt: skip


def by_command(database: Database, action: str, project: str | None, what: str) -> None:
    """Note what was done on the machine of the server."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = "unknown user"
    note(
        database, who=user, client="command line", action=action, project=project, what=what,
        outcome="done",
    )  # fmt: skip
