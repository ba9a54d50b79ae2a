"""`rtstone token`."""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.parameters import JSON
from rtstone.cli.serve import DATABASE, STORE, home, needed, opened
from rtstone.cli.streams import say
from rtstone.errors import UsageError
from rtstone.printable import shown

if TYPE_CHECKING:
    from rtstone.server.access import Scope, Token
    from rtstone.server.database import Database


@click.group("token")
def command() -> None:
    """Manage the tokens for pushing runs to a server and reading them.

    Use these commands on the server's machine; the server may be running.
    """


@command.command("new")
@click.argument("name", metavar="NAME")
@click.option("--project", metavar="P", help="The only project it is for.  Default: all of them.")
@click.option(
    "--scope", type=click.Choice(["read", "push", "admin"]), default="push",
    help="What it allows: reading, pushing as well, or deleting runs as well.  Default: push.",
)  # fmt: skip
@click.option("--expires", metavar="AGE", help="When it expires: 12h, 90d or 52w from now.")
@STORE
@DATABASE
def new_command(
    *, name: str, project: str | None, scope: Scope, expires: str | None,
    store: Path | None, database: str | None,
) -> None:  # fmt: skip
    """Make a token for NAME, the person or program that is to use it.

    It is printed once and stored as a hash only: if it is lost, make a new one.
    """
    from rtstone.server.settings_file import age

    needed()
    from rtstone.server.access import new_token
    from rtstone.server.audit import by_command

    until = None
    if expires is not None:
        until = datetime.now(UTC).timestamp() + age(expires, "in --expires")
    with _database(store, database) as tables:
        token = new_token(tables, name, scope, project, until)
        by_command(tables, "token new", project, f"{token.split('_')[1]} {name} {scope}")
    say(f"for the server of {shown(str(home(store)))}; --store names another one's")
    say("keep it in RTSTONE_TOKEN or in ~/.config/rtstone/tokens.toml; it is not shown again:")
    click.echo(token)


@command.command("list")
@STORE
@DATABASE
@JSON
def list_command(store: Path | None, database: str | None, json: bool) -> None:
    """List the tokens: whose they are, what they allow, when they were last used."""
    needed()
    from rtstone.server.access import all_tokens

    with _database(store, database) as tables:
        tokens = all_tokens(tables)
    if json:
        from rtstone.cli.output import print_document

        print_document([token._asdict() for token in tokens])
        return
    from rich.table import Table

    from rtstone.report.parts.console import console

    table = Table("id", "name", "scope", "project", "last used", "state", box=None)
    for token in tokens:
        table.add_row(
            token.id,
            shown(token.name),
            token.scope,
            token.project or "all",
            _day(token.used),
            _state(token),
        )
    none = f"no tokens of the server of {shown(str(home(store)))}; `rtstone token new` makes one"
    console(sys.stdout).print(table if tokens else none)


@command.command("revoke")
@click.argument("name", metavar="ID or NAME")
@STORE
@DATABASE
def revoke_command(name: str, store: Path | None, database: str | None) -> None:
    """Revoke a token: it is refused from now on."""
    needed()
    from rtstone.server.access import revoke
    from rtstone.server.audit import by_command

    with _database(store, database) as tables:
        gone = revoke(tables, name)
        by_command(tables, "token revoke", gone.project, f"{gone.id} {gone.name}")
    click.echo(f"revoked {gone.id}, of {shown(gone.name)}, in {shown(str(home(store)))}")


def _database(store: Path | None, database: str | None) -> AbstractContextManager[Database]:
    """Return the database of the server of a store, to be opened.  Raises UsageError."""
    from rtstone.server.settings import Settings, configured

    where = home(store)
    if not where.is_dir():
        raise UsageError(f"no store, {where}; name the server's with --store")
    return opened(Settings(where, database=database or configured(where).database))


def _day(moment: float | None) -> str:
    """Return the date of a moment in s since 1970, in UTC."""
    return "never" if moment is None else f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"


def _state(token: Token) -> str:
    """Return whether a token is valid, and until or since when."""
    if token.revoked is not None:
        return f"revoked {_day(token.revoked)}"
    if token.expires is None:
        return "valid"
    over = token.expires <= datetime.now(UTC).timestamp()
    return f"{'expired' if over else 'valid until'} {_day(token.expires)}"
