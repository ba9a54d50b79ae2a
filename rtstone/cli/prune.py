"""`rtstone prune`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import click

from rtstone.cli.rm import tell
from rtstone.cli.streams import maybe_unread
from rtstone.errors import UsageError
from rtstone.store.layout import runs
from rtstone.store.prune import chosen
from rtstone.store.removal import GoesOn, Removed, remove, size
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
    runs stored elsewhere with --out.  The runs of one session of compare --run count as one.
    """
    choice = chosen(keep, None if older_than is None else _moment(older_than))
    kept = {why: len(entries) for why, entries in choice.stay.items() if entries}
    with maybe_unread():
        if dry_run:
            _announce(choice.go)
        else:
            gone, going_on = _removed(choice.go)
            tell(gone)
            kept |= {"going on": going_on} if going_on else {}
            if not gone:
                click.echo("nothing to remove")
        if kept:
            click.echo(
                "kept beside the last: " + ", ".join(f"{n} {why}" for why, n in kept.items())
            )
    return 0


def _moment(age: str) -> datetime:
    found = _AGE.fullmatch(age)
    if found is None:
        raise UsageError(f"bad age '{age}', in --older-than; write 12h, 30d or 8w")
    return datetime.now(UTC) - timedelta(hours=int(found[1]) * _HOURS[found[2]])


def _announce(go: Sequence[Entry]) -> None:
    sizes = [size(runs() / entry.run_id) for entry in go]
    for entry, number in zip(go, sizes, strict=True):
        click.echo(f"would remove {entry.run_id}, {in_bytes(number)}")
    click.echo(f"would remove {counted(len(go), 'run')}, {in_bytes(sum(sizes))} in all")


def _removed(go: Sequence[Entry]) -> tuple[list[Removed], int]:
    """Return what was removed, and how many runs still go on."""
    gone, going_on = [], 0
    for entry in go:
        try:
            gone.append(remove(runs() / entry.run_id))
        except GoesOn:
            going_on += 1
    return gone, going_on
