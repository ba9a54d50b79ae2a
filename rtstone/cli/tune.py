"""`rtstone tune`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rtstone.cli.parameters import JSON, SETTINGS, TARGET

if TYPE_CHECKING:
    from rtstone.system.tune import Entry

UNRESTORED = 4  # exit code when a value could not be put back

_TARGET = click.option(
    "--target", "place", type=TARGET, default="local",
    help="The system to tune: this one (default), or one that you can log in to.",
)  # fmt: skip


@click.group("tune")
def command() -> None:
    """Prepare a system for measuring, and restore it afterwards.

    Old values are saved to its disk before anything is changed (/var/lib/rtstone/tune.journal), so
    `restore` works after a crash too, and from another machine.  Nothing is tuned unless you ask
    for it.
    """


@command.command("apply")
@_TARGET
@click.option("--cpus", metavar="LIST", help="CPUs to be measured; default: the agent's choice.")
@click.option(
    "--only", type=SETTINGS,
    help="Only these settings; --dry-run lists their names.  rt_throttling and fair_server are "
    "changed only if named here: with RT throttling off (up to Linux 6.11), or with the deadline "
    "servers off (since 6.12), a runaway real-time task keeps its CPU for good.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only show what would be changed.")
@JSON
def apply_command(
    place: str, cpus: str | None, only: str | None, dry_run: bool, json: bool
) -> None:
    """Change what can be changed at run time; `restore` undoes it.

    What the kernel refuses is reported and left alone.  A second `apply` adds to the first.
    """
    from rtstone.system import tune
    from rtstone.targets import find

    chosen = tune.settings(None if only is None else only.split(","))
    carried_out = tune.dry_run if dry_run else tune.apply
    target = find(place)
    with target.examine(target.chosen_cpus(cpus)) as system:
        entries = _undisturbed(lambda: carried_out(system, chosen), place)
        measured, may_tune = sorted(system.measured), system.may_tune
    _print(entries, json, place, cpus=measured, dry_run=dry_run)
    if dry_run and not may_tune and not json:
        click.echo("rtstone tune apply needs root, and would be refused to you")


@command.command("restore")
@_TARGET
@click.option(
    "--force", is_flag=True, help="Also restore values that were changed by others since."
)
@JSON
def restore_command(place: str, force: bool, json: bool) -> int:
    """Restore all values in reverse order; exit code 4 if one could not be restored."""
    from rtstone.system import tune
    from rtstone.targets import find

    with find(place).examine() as system:
        entries = _undisturbed(lambda: tune.restore(system, force=force), place)
    _print(entries, json, place)
    stuck = [entry for entry in entries if entry.outcome in ("left", "failed")]
    if stuck:
        print(
            f"rtstone: {len(stuck)} of {len(entries)} values were not restored, see above; "
            "they stay in the journal",
            file=sys.stderr,
        )
    return UNRESTORED if stuck else 0


@command.command("status")
@_TARGET
@JSON
def status_command(place: str, json: bool) -> None:
    """Show what is tuned, since when, and whether it still holds."""
    from rtstone.system import tune
    from rtstone.targets import find

    with find(place).examine() as system:
        now = tune.status(system)
    _print(
        now.entries, json, place,
        journal=now.journal, since=now.since or None, cpus=now.cpus or None,
    )  # fmt: skip


def _undisturbed(work: Callable[[], list[Entry]], place: str) -> list[Entry]:
    """Do the work with signals held back; it takes seconds at most."""
    from rtstone.errors import TargetError
    from rtstone.interrupt import Interrupt

    with Interrupt():
        try:
            return work()
        except TargetError as error:
            raise TargetError(
                f"{error}; `rtstone tune restore --target {place}` restores what was changed"
            ) from error


def _print(entries: list[Entry], json: bool, place: str, **members: Any) -> None:
    if json:
        from rtstone.cli.output import print_document

        changes = [entry._asdict() for entry in entries]
        print_document({"schema": "rtstone.tune/1", "target": place, **members, "changes": changes})
        return
    from rtstone.cli.system_lines import tuned
    from rtstone.report.parts.console import console

    out = console(sys.stdout)
    if place != "local":
        click.echo(f"target: {place}")
    if members.get("since"):
        click.echo(f"CPU {members['cpus']}, since {members['since']}")
    if "journal" in members:
        click.echo(f"journal: {members['journal']}")
    out.print(*tuned(entries, out.width), sep="\n")
