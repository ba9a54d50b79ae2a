"""`rtstone tune`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from rtstone.system.tune import Told

UNRESTORED = 4  # exit code when a value could not be put back

_JSON = click.option("--json", is_flag=True, help="Print one document, and nothing else.")


@click.group("tune")
def command() -> None:
    """Make the system fit to be measured, and put it back.

    Old values are on the disk before anything is changed (/var/lib/rtstone/tune.journal);
    `restore` finds them after a crash too.  Nothing is tuned without being asked.
    """


@command.command("apply")
@click.option("--cpus", metavar="LIST", help="CPUs to be measured; default: the agent's choice.")
@click.option(
    "--only", metavar="NAME,...",
    help="Only these settings; see --dry-run for their names. rt_throttling is one that must be "
    "asked for here: with RT throttling off, a runaway real-time task takes the machine for good.",
)  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Only say what would be changed.")
@_JSON
def apply_command(cpus: str | None, only: str | None, dry_run: bool, json: bool) -> None:
    """Change what can be changed at run time; `restore` puts it back.

    What the kernel refuses is told and left.  A second apply adds to the first.
    """
    from rtstone.system import tune
    from rtstone.system.facts import System

    chosen = tune.settings(None if only is None else only.split(","))
    system = System(cpus=cpus)
    carried_out = tune.dry_run if dry_run else tune.apply
    told = _undisturbed(lambda: carried_out(system, chosen))
    _print(told, json, cpus=sorted(system.measured), dry_run=dry_run)


@command.command("restore")
@click.option("--force", is_flag=True, help="Put back also what somebody else changed since.")
@_JSON
def restore_command(force: bool, json: bool) -> int:
    """Put everything back, in reverse order; exit code 4 if something could not be."""
    from rtstone.system import tune
    from rtstone.system.facts import System

    told = _undisturbed(lambda: tune.restore(System(), force=force))
    _print(told, json)
    stuck = [one for one in told if one.outcome in ("left", "failed")]
    if stuck:
        print(
            f"rtstone: {len(stuck)} of {len(told)} values are not put back, see above; "
            "they stay in the journal",
            file=sys.stderr,
        )
    return UNRESTORED if stuck else 0


@command.command("status")
@_JSON
def status_command(json: bool) -> None:
    """What is tuned, since when, and whether it still holds."""
    from rtstone.system import tune
    from rtstone.system.facts import System

    now = tune.status(System())
    _print(now.told, json, journal=str(now.journal), since=now.since or None, cpus=now.cpus or None)


def _undisturbed(work: Callable[[], list[Told]]) -> list[Told]:
    """Signals wait until all is done: it takes less than a second."""
    from rtstone.interrupt import Interrupt

    with Interrupt():
        return work()


def _print(told: list[Told], json: bool, **more: Any) -> None:
    if json:
        from rtstone.cli.output import print_document

        changes = [one._asdict() for one in told]
        print_document({"schema": "rtstone.tune/1", **more, "changes": changes})
        return
    from rtstone.cli.system_lines import tuned
    from rtstone.report.parts.console import console

    out = console(sys.stdout)
    if more.get("since"):
        click.echo(f"CPU {more['cpus']}, since {more['since']}")
    if "journal" in more:
        click.echo(f"journal: {more['journal']}")
    out.print(*tuned(told, out.width), sep="\n")
