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

    from rtstone.server.room import Upload
    from rtstone.server.settings import Settings
    from rtstone.server.status import ServerStatus


def show(settings: Settings) -> int:
    """Print the state of a server; return 1 if it is not well.  Raises UsageError."""
    from rtstone.report.parts.console import console
    from rtstone.server.database import Database, saying_why
    from rtstone.server.status import status

    if not settings.store.is_dir():
        raise UsageError(f"no store, {settings.store}; name the server's with --store")
    database, fault = None, ""
    try:
        database = Database.as_it_is(settings.database, settings.store)
    except RtstoneError as error:
        fault = str(error)
    try:
        with closing(database) if database else nullcontext(), saying_why(settings.store):
            standing = status(settings, database, fault)
    except StoreError as error:
        standing = status(settings, None, str(error))
    click.echo(_first_line(standing))
    screen = console(sys.stdout)
    screen.print(_projects(standing))
    if any(uploads for _, uploads in standing.tokens):
        screen.print(_tokens(standing))
    for limit in standing.limits:
        click.echo(limit)
    return 1 if standing.faults else 0


def _first_line(standing: ServerStatus) -> str:
    if standing.faults:
        return line(f"not well: {'; '.join(standing.faults)}")
    runs = counted(sum(project.runs for project in standing.projects), "run")
    stored = size(sum(project.stored for project in standing.projects))
    waiting = sum(len(project.waiting) for project in standing.projects)
    parser = f"; {counted(waiting, 'run')} at the parsers or waiting for one" if waiting else ""
    where = counted(len(standing.projects), "project")
    return f"well: {runs} of {stored} in {where}, {size(standing.free)} free{parser}"


def _projects(standing: ServerStatus) -> Table:
    from rich.table import Table

    table = Table("project", "runs", "indexed", "stored", "uploads open", "parsing", "waiting",
                 "for", box=None)  # fmt: skip
    for project in standing.projects:
        parsed = sum(upload.parsed for upload in project.waiting)
        table.add_row(
            project.name, str(project.runs),
            "-" if project.indexed is None else str(project.indexed), size(project.stored),
            _open(project.uploads), str(parsed), str(len(project.waiting) - parsed),
            f"{time() - project.waiting[0].latest:.0f} s" if project.waiting else "",
        )  # fmt: skip
    return table


def _tokens(standing: ServerStatus) -> Table:
    from rich.table import Table

    table = Table("token", "name", "scope", "project", "uploads open", box=None)
    for token, uploads in standing.tokens:
        if uploads:
            table.add_row(
                token.id, shown(token.name), token.scope, token.project or "all", _open(uploads)
            )
    return table


def _open(uploads: Sequence[Upload]) -> str:
    """Return how many uploads there are, and how much of them has come."""
    if not uploads:
        return "0"
    from rtstone.server.status import to_come

    come = size(sum(upload.come for upload in uploads))
    return f"{len(uploads)}: {come} of {size(to_come(uploads))}"
