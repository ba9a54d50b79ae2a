"""`rtstone serve`."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.progress import working
from rtstone.cli.streams import say
from rtstone.errors import UsageError
from rtstone.printable import shown
from rtstone.units import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rtstone.server.database import Database
    from rtstone.server.settings import Reading, Settings

STORE = click.option(
    "--store", type=click.Path(path_type=Path), metavar="DIR",
    help="Where the runs are.  Default: where `rtstone run` stores them.",
)  # fmt: skip
DATABASE = click.option(
    "--database", metavar="URL",
    help="Database of the index: postgresql://user@host/name.  Default: that of server.toml in the "
    "store, else SQLite in the store.",
)  # fmt: skip


@click.command("serve")
@STORE
@click.option(
    "--listen", default="127.0.0.1:8420", metavar="HOST:PORT",
    help="Where to listen.  Default: 127.0.0.1:8420, which only this machine reaches.",
)  # fmt: skip
@DATABASE
@click.option(
    "--read", "reading", type=click.Choice(["open", "token"]),
    help="Who may read: everybody who reaches it, all projects, or those with a token, its "
    "project.  Default on loopback: open, to every user of this machine.  Pushing always takes a "
    "token.",
)  # fmt: skip
@click.option(
    "--verify", is_flag=True, help="Only check that the index agrees with the run directories."
)
@click.option("--rebuild", is_flag=True, help="Only rebuild the index from the run directories.")
@click.option(
    "--status", is_flag=True,
    help="Only show the state of the server, running or not; exit code 1 if it is not well.",
)  # fmt: skip
@click.option(
    "--demo",
    is_flag=True,
    help="Fill the store, an empty one that --store names, with a year of runs first.",
)
def command(
    *, store: Path | None, listen: str, database: str | None, reading: Reading | None,
    verify: bool, rebuild: bool, status: bool, demo: bool,
) -> int:  # fmt: skip
    """Serve a store's runs to browsers, and accept runs that are pushed.

    Other settings are in server.toml in the store (docs/guides/server.md).  TLS is left to a proxy
    in front of it.
    """
    needed()
    from rtstone.server.settings import is_own, settings

    server = settings(home(store), listen, reading, database)
    if status:
        from rtstone.cli.serve_status import show

        return show(server)
    if verify or rebuild:
        return _reconcile(server, verify, rebuild)
    if demo:
        if is_own(server.store):
            raise UsageError(
                f"{shown(str(server.store))} is where `rtstone run` stores your runs; "
                "give --demo a store of its own: --store DIR"
            )
        from rtstone.server.projects import Places

        with opened(server) as tables, working("making runs") as line:

            def steps(done: int, total: int) -> None:
                if not done:
                    line.echo("making a year of runs for the demonstration; 10 to 30 s")
                line.steps(done, total)

            import_module("rtstone.server.demo").fill(tables, Places(server.store), steps)
    _serve(server)
    return 0


def needed() -> None:
    """Raise UsageError unless what a server needs is installed.

    The driver of PostgreSQL is asked for where that is the database.
    """
    try:
        for name in ("sqlalchemy", "starlette", "uvicorn"):
            import_module(name)
    except ImportError as error:
        raise UsageError(f"{error.name} is not installed; pip install 'rtstone[server]'") from error


def home(store: Path | None) -> Path:
    """Return the directory of a store."""
    from rtstone.folders import results

    return (store or results()).absolute()


@contextmanager
def opened(settings: Settings) -> Iterator[Database]:
    """Open the database of a server while the block lasts.

    Raises UsageError, StoreError for one that cannot be used.
    """
    from rtstone.server.app import make_store
    from rtstone.server.database import Database, saying_why

    make_store(settings)
    store = settings.store
    with saying_why(store), closing(Database(settings.database, store)) as database:
        yield database


def _reconcile(server: Settings, verify: bool, rebuild: bool) -> int:
    """Rebuild the index, check that it agrees; return 1 if it does not."""
    from rtstone.server import reconcile
    from rtstone.server.database import Database, saying_why
    from rtstone.server.projects import Places

    places, store = Places(server.store), server.store

    @contextmanager
    def as_it_is() -> Iterator[Database]:
        with saying_why(store), closing(Database.as_it_is(server.database, store)) as database:
            yield database

    with opened(server) if rebuild else as_it_is() as database:
        if rebuild:
            with working("indexing the runs"):
                done = reconcile.rebuild(database, places)
            click.echo(f"indexed {counted(done.added, 'run')} anew")
        with working("comparing the index with the runs"):
            faults = reconcile.verify(database, places) if verify else []
    for fault in faults:
        click.echo(fault)
    if verify:
        click.echo(
            f"{counted(len(faults), 'fault')} found; `rtstone serve --rebuild` makes the index anew"
            if faults
            else "index and run directories agree"
        )
    return 1 if faults else 0


def _serve(server: Settings) -> None:
    """Print where it is, what of and for whom; serve until it is ended, closed to other users.

    Raises UsageError for a store that others can enter, where who may read needs a token.
    """
    from rtstone.server.projects import Places
    from rtstone.server.serving import listen, serve
    from rtstone.store.layout import RUN_ID

    os.umask(0o077)
    with suppress(OSError):  # it is yet to be made
        if server.reading == "token" and server.store.stat().st_mode & 0o007:
            raise UsageError(
                f"all users of this machine can enter {server.store}, past --read token; "
                f"chmod o-rwx {shlex.quote(str(server.store))}"
            )
    with opened(server):  # what is wrong with it is said here, not in the log
        pass
    listener = listen(server)
    server = server._replace(port=listener.getsockname()[1])
    places = Places(server.store)
    projects = places.projects()
    folders = [places.runs(name) for name in projects if places.runs(name).is_dir()]
    names = [path.name for folder in folders for path in folder.iterdir()]
    number = sum(bool(RUN_ID.fullmatch(name)) for name in names)
    many = f"{counted(number, 'run')} in {counted(len(projects), 'project')}"
    for text in (f"{server.base}/  {many}", f"  store  {server.store}", *_for_whom(server)):
        say(text)
    sys.stderr.flush()
    serve(server, listener)


def _for_whom(server: Settings) -> Iterator[str]:
    """Yield the lines that say who may read and push, and how."""
    from rtstone.server.settings import is_own, token_command

    here = server.is_private
    if server.reading == "token":
        yield "  read   with a token, the project that it is for"
    else:
        reach = "every user of this machine" if here else "everybody who reaches this address"
        yield f"  read   {reach}, all projects; --read token asks for a token"
    make = token_command(server)
    # The runs of the store that this machine measures into are there already, as those of main.
    url = f"{server.base}/p/{'team' if is_own(server.store) else 'main'}"
    if here:
        yield "  push   with a token; one that is made, and the last run, on this machine:"
        yield f"export RTSTONE_TOKEN=$({make}); rtstone push {url} last"
    else:
        yield "  push   with a token; this makes one, for RTSTONE_TOKEN where runs are pushed:"
        yield make
        yield f"         then, there: rtstone push {url} last"
