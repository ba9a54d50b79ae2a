"""`rtstone prune`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import click

from rtstone.cli.rm import print_removed
from rtstone.cli.streams import maybe_unread
from rtstone.errors import UsageError
from rtstone.store.layout import runs
from rtstone.store.prune import chosen
from rtstone.store.removal import GoesOn, Removed, remove_together, size
from rtstone.store.run_catalogue import Entry
from rtstone.units import counted
from rtstone.units import size as in_bytes

_AGE = re.compile(r"(\d{1,5})(h|d|w)")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


@click.command("prune")
@click.option(
    "--keep", type=click.IntRange(0), metavar="N", required=True, help="Keep the last N runs."
)
@click.option("--older-than", metavar="AGE", help="Remove only runs older than that: 12h, 30d, 8w.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
def command(keep: int, older_than: str | None, dry_run: bool) -> int:
    """Remove old runs from the store.

    Runs with a name stay, as do baselines of budgets that a check has used, runs that go on, and
    runs stored elsewhere with --out.  The runs of one session, of compare --run or of several
    targets, count as one, and stay or go together.
    """
    choice = chosen(keep, None if older_than is None else _moment(older_than))
    stay = {reason: len(entries) for reason, entries in choice.stay.items()}
    with maybe_unread():
        if dry_run:
            _announce([entry for session in choice.go for entry in session])
        else:
            removed, going_on = _removed(choice.go)
            print_removed(removed)
            stay["going on"] = going_on
            if not removed:
                click.echo("nothing to remove")
        reasons = [f"{number} {reason}" for reason, number in stay.items() if number]
        if reasons:
            click.echo(f"kept beside the last: {', '.join(reasons)}")
    return 0


def _moment(age: str) -> datetime:
    match = _AGE.fullmatch(age)
    if match is None:
        raise UsageError(f"bad age '{age}', in --older-than; write 12h, 30d or 8w")
    return datetime.now(UTC) - timedelta(hours=int(match[1]) * _HOURS[match[2]])


def _announce(go: Sequence[Entry]) -> None:
    sizes = [size(runs() / entry.run_id) for entry in go]
    for entry, number in zip(go, sizes, strict=True):
        click.echo(f"would remove {entry.run_id}, {in_bytes(number)}")
    click.echo(f"would remove {counted(len(go), 'run')}, {in_bytes(sum(sizes))} in all")


def _removed(sessions: Sequence[Sequence[Entry]]) -> tuple[list[Removed], int]:
    """Return what was removed, and how many runs are of sessions that still go on."""
    removed: list[Removed] = []
    going_on = 0
    for session in sessions:
        try:
            removed += remove_together([runs() / entry.run_id for entry in session])
        except GoesOn:
            going_on += len(session)
    return removed, going_on
