"""`rtstone rm`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rtstone.cli.parameters import RUN
from rtstone.cli.streams import maybe_unread
from rtstone.errors import UsageError
from rtstone.printable import shown
from rtstone.store.index import entries, latest
from rtstone.store.layout import runs
from rtstone.store.removal import Removed, remove_together, size
from rtstone.store.selection import directories
from rtstone.units import counted
from rtstone.units import size as in_bytes

_MOST = 3  # files left that are named


@click.command("rm")
@click.argument("names", type=RUN, nargs=-1, required=True)
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(names: tuple[str, ...], yes: bool) -> int:
    """Remove stored runs.

    RUN may also be a session, of compare --run or of several targets, whose runs are only removed
    together.  Only files that rtstone stored are removed, and no run that is being measured.
    """
    newest = latest()
    paths: dict[Path, None] = {}  # each once
    for name in names:
        named = directories(name)
        if name == "last" and named[0].parent == runs() and named[0] != newest:
            raise UsageError(
                f"`last` is {named[0].name}, as {newest.name if newest else None} has no results; "
                "name the one to remove"
            )
        paths |= dict.fromkeys(named)
    # Runs of a session are removed together.
    ids = {path.name for path in paths if path.absolute().parent == runs().absolute()}
    stored = entries()
    for session in {entry.session for entry in stored if entry.run_id in ids and entry.session}:
        members = [entry.run_id for entry in stored if entry.session == session]
        if not ids.issuperset(members):
            run_id = next(run_id for run_id in members if run_id in ids)
            raise UsageError(
                f"run {run_id} is one of {counted(len(members), 'run')} of a session, which are "
                f"removed together: `rtstone rm {shlex.quote(session)}`"
            )
    for path in paths:
        click.echo(f"{shown(str(path.name))}  {in_bytes(size(path))}", err=True)
    if not yes:
        if not sys.stdin.isatty():
            raise UsageError("nothing was removed: there is no terminal to ask on; give --yes")
        if not click.confirm(f"Remove {counted(len(paths), 'run')}?", err=True):
            click.echo("nothing was removed", err=True)
            return 0
    with maybe_unread():
        print_removed(remove_together(list(paths)))
    return 0


def print_removed(removed: Sequence[Removed]) -> None:
    """Print what was removed, and what was left."""
    for run in removed:
        click.echo(f"removed {run.run_id}, {in_bytes(run.size)}")
        if run.left:
            files = ", ".join(map(shown, run.left[:_MOST]))
            if len(run.left) > _MOST:
                files += f" and {len(run.left) - _MOST} more"
            click.echo(f"left in {shown(str(run.path))}: {files}, not made by rtstone")
    if len(removed) > 1:
        total = in_bytes(sum(run.size for run in removed))
        click.echo(f"removed {counted(len(removed), 'run')}, {total} in all")
