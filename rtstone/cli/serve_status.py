"""`rtstone serve --status`."""

from __future__ import annotations

import sys
from contextlib import closing, nullcontext
from time import time
from typing import TYPE_CHECKING

import click

from rtstone.errors import RtstoneError, StoreError, UsageError
from rtstone.printable import line, shown
from rtstone.units import counted, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from rtstone.server.database import Database
    from rtstone.server.room import Upload
    from rtstone.server.settings import Settings
    from rtstone.server.status import ServerStatus


def show(asked: Settings) -> int:
    """Print how a server stands; return 1 if it is not well.  Raises UsageError."""
    from rtstone.report.parts.console import console
    from rtstone.server.database import saying_why
    from rtstone.server.status import status

    if not asked.store.is_dir():
        raise UsageError(f"no store, {asked.store}; name the server's with --store")
    database, fault = _opened(asked)
    try:
        with closing(database) if database else nullcontext(), saying_why():
            found = status(asked, database, fault)
    except StoreError as error:
        found = status(asked, None, str(error))
    click.echo(_first_line(found))
    to = console(sys.stdout)
    to.print(_projects(found))
    if any(own for _, own in found.tokens):
        to.print(_tokens(found))
    for limit in found.limits:
        click.echo(limit)
    return 1 if found.faults else 0


def _opened(asked: Settings) -> tuple[Database | None, str]:
    """Return the database as it is, or why it cannot be read."""
    from rtstone.server.database import Database

    try:
        return Database.as_it_is(asked.database, asked.store), ""
    except RtstoneError as error:
        return None, str(error)


def _first_line(found: ServerStatus) -> str:
    if found.faults:
        return line(f"not well: {'; '.join(found.faults)}")
    runs = counted(sum(one.runs for one in found.projects), "run")
    stored = size(sum(one.stored for one in found.projects))
    waiting = sum(len(one.waiting) for one in found.projects)
    parser = f"; {counted(waiting, 'run')} at the parsers or waiting for one" if waiting else ""
    where = counted(len(found.projects), "project")
    return f"well: {runs} of {stored} in {where}, {size(found.free)} free{parser}"


def _projects(found: ServerStatus) -> Table:
    from rich.table import Table

    made = Table("project", "runs", "indexed", "stored", "uploads open", "parsing", "waiting",
                 "for", box=None)  # fmt: skip
    for one in found.projects:
        parsed = sum(upload.parsed for upload in one.waiting)
        made.add_row(
            one.name, str(one.runs), "-" if one.indexed is None else str(one.indexed),
            size(one.stored), _open(one.uploads), str(parsed), str(len(one.waiting) - parsed),
            f"{time() - one.waiting[0].latest:.0f} s" if one.waiting else "",
        )  # fmt: skip
    return made


def _tokens(found: ServerStatus) -> Table:
    from rich.table import Table

    made = Table("token", "name", "scope", "project", "uploads open", box=None)
    for token, own in found.tokens:
        if own:
            made.add_row(
                token.id, shown(token.name), token.scope, token.project or "all", _open(own)
            )
    return made


def _open(uploads: Sequence[Upload]) -> str:
    """Return how many uploads there are, and how much of them has come."""
    if not uploads:
        return "0"
    from rtstone.server.status import to_come

    come = size(sum(one.come for one in uploads))
    return f"{len(uploads)}: {come} of {size(to_come(uploads))}"
