"""`rtstone lab`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from rtstone.cli.working import working

if TYPE_CHECKING:
    from rtstone.lab.systems import System

_PREFIX = "qemu:"  # of the targets


@click.group("lab")
def command() -> None:
    """Manage the emulated targets: systems on boards that count instructions.

    Their numbers are the same on every host.
    """


@command.command("list")
@click.option("--json", is_flag=True, help="Print only one document, as JSON.")
def list_command(json: bool) -> None:
    """List the targets: which are ready, what the others lack and how to get it."""
    from rtstone.lab.systems import SYSTEMS

    rows = [_row(system) for system in SYSTEMS.values()]
    if json:
        from rtstone.cli.output import print_document

        print_document({"schema": "rtstone.lab/1", "systems": rows})
        return
    from rtstone.report.parts.console import console, plain_table

    table = plain_table()
    table.add_column("target", no_wrap=True, style="bold cyan")
    for name in ("title", "board", "state"):
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(row["target"], row["title"], row["board"], _state(row))
    console(sys.stdout).print(table)


def _row(system: System) -> dict[str, Any]:
    from rtstone.lab.ready import missing

    lacking = missing(system)
    return {
        "target": _PREFIX + system.name,
        "title": system.title,
        "board": system.board.name,
        "preempt": list(system.preempt),
        "ready": not lacking,
        "missing": [lack._asdict() for lack in lacking],
    }


def _state(row: dict[str, Any]) -> str:
    if row["ready"]:
        choices = "|".join(row["preempt"])
        return "ready" + (f", also +preempt={choices}" if choices else "")
    return "; ".join(f"no {lack['what']}: {lack['command']}" for lack in row["missing"])


@command.command("fetch")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def fetch_command(names: tuple[str, ...]) -> None:
    """Fetch the Debian kernels of these targets, or of all; apt verifies them."""
    from rtstone.errors import UsageError
    from rtstone.lab import fetch, systems

    chosen = [systems.find(name.removeprefix(_PREFIX)) for name in names or systems.SYSTEMS]
    for system in chosen:
        if not system.kernel and names:
            raise UsageError(f"{system.name} is built, not fetched; run `rtstone lab build`")
    for system in chosen:
        if system.kernel:
            with working(f"fetching {system.name}") as line:
                kernel = fetch.fetch(system.kernel, system.board.arch, line.echo)
            click.echo(f"{system.name}: {kernel.package}, sha256 {kernel.sha256}")


@command.command("build")
def build_command() -> None:
    """Build the agents and images of the emulated targets, from rtstone's source."""
    from rtstone.lab.ready import build

    with working("building"):
        build()
