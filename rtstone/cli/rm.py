"""`rtstone rm`."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from rtstone.cli.parameters import RUN
from rtstone.cli.streams import maybe_unread
from rtstone.errors import UsageError
from rtstone.printable import shown
from rtstone.store.index import find, latest
from rtstone.store.layout import runs
from rtstone.store.prune import of_session
from rtstone.store.removal import Removed, remove, size
from rtstone.units import counted
from rtstone.units import size as in_bytes


@click.command("rm")
@click.argument("names", type=RUN, nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(names: tuple[str, ...], yes: bool) -> int:
    """Remove stored runs.

    RUN may also be a session of compare --run: then all its runs.  Only what rtstone has stored of
    a run is removed, and not while it goes on.
    """
    found = list(dict.fromkeys(path for name in names for path in _paths(name)))
    for path in found:
        click.echo(f"{shown(str(path.name))}  {in_bytes(size(path))}", err=True)
    if not yes and not _confirmed(len(found)):
        click.echo("nothing was removed", err=True)
        return 0
    with maybe_unread():
        tell([remove(path) for path in found])
    return 0


def _paths(name: str) -> list[Path]:
    """Return what RUN names.  Raises UsageError if `last` is not the last run there is."""
    if session := of_session(name):
        return [runs() / entry.run_id for entry in session]
    path, newest = find(name), latest()
    if name == "last" and path.parent == runs() and path != newest:
        raise UsageError(
            f"`last` is {path.name}, as {newest.name if newest else None} has no results; "
            "name the one to remove"
        )
    return [path]


def _confirmed(number: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nothing was removed: there is no terminal to ask on; give --yes")
    return click.confirm(f"Remove {counted(number, 'run')}?", err=True)


def tell(gone: Sequence[Removed]) -> None:
    """Print what was removed, and what was left."""
    for one in gone:
        click.echo(f"removed {one.run_id}, {in_bytes(one.size)}")
        if one.left:
            click.echo(f"left in {shown(str(one.path))}: {_named(one.left)}, not made by rtstone")
    if len(gone) > 1:
        total = in_bytes(sum(one.size for one in gone))
        click.echo(f"removed {counted(len(gone), 'run')}, {total} in all")


def _named(files: Sequence[str], most: int = 3) -> str:
    first: Iterable[str] = map(shown, files[:most])
    more = f" and {len(files) - most} more" if len(files) > most else ""
    return ", ".join(first) + more
