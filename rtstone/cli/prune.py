"""`rtstone prune`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import click

from rtstone.cli.rm import print_removed
from rtstone.cli.streams import maybe_unread
from rtstone.store.layout import runs
from rtstone.store.prune import chosen
from rtstone.store.removal import GoesOn, Removed, remove_together, size
from rtstone.units import counted
from rtstone.units import size as in_bytes


@click.command("prune")
@click.option(
    "--keep", type=click.IntRange(0), metavar="N", required=True, help="Keep the last N runs."
)
@click.option("--older-than", metavar="AGE", help="Remove only runs older than that: 12h, 30d, 8w.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
def command(keep: int, older_than: str | None, dry_run: bool) -> int:
    """Remove old runs from the store.

    Runs with a name stay, as do baselines of budgets that a check has used, runs that go on, and
    runs stored elsewhere with --out.  The runs of one session, of compare --run or of several
    targets, count as one, and stay or go together.
    """
    before = None
    if older_than is not None:
        from rtstone.server.settings_file import age

        before = datetime.now(UTC) - timedelta(seconds=age(older_than, "in --older-than"))
    choice = chosen(keep, before)
    stay = {reason: len(entries) for reason, entries in choice.stay.items()}
    with maybe_unread():
        if dry_run:
            run_ids = [entry.run_id for session in choice.go for entry in session]
            sizes = [size(runs() / run_id) for run_id in run_ids]
            for run_id, number in zip(run_ids, sizes, strict=True):
                click.echo(f"would remove {run_id}, {in_bytes(number)}")
            total = in_bytes(sum(sizes))
            click.echo(f"would remove {counted(len(run_ids), 'run')}, {total} in all")
        else:
            removed: list[Removed] = []
            stay["going on"] = 0
            for session in choice.go:
                try:
                    removed += remove_together([runs() / entry.run_id for entry in session])
                except GoesOn:
                    stay["going on"] += len(session)
            print_removed(removed)
            if not removed:
                click.echo("nothing to remove")
        reasons = [f"{number} {reason}" for reason, number in stay.items() if number]
        if reasons:
            click.echo(f"kept beside the last: {', '.join(reasons)}")
    return 0
