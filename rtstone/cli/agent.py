"""`rtstone agent`."""

from __future__ import annotations

import platform
import stat
import sys
from hashlib import sha256
from pathlib import Path

import click

from rtstone.cli.output import OutputFile, write_file
from rtstone.cli.parameters import ARCHITECTURE
from rtstone.errors import TargetError, UsageError
from rtstone.printable import shown
from rtstone.report.parts.console import console, plain_table
from rtstone.resources import Architecture, architecture, architectures, static_agent
from rtstone.units import file_size

_NAMES = ", ".join(one.name for one in architectures())


def _asked(name: str | None) -> Architecture:
    machine = name if name is not None else platform.machine()
    if found := architecture(machine):
        return found
    if name is None:
        raise UsageError(f"no agent for this machine, '{machine}'; write --arch A: {_NAMES}")
    raise UsageError(f"unknown architecture '{name}', in --arch; there are agents for {_NAMES}")


def _state(one: Architecture) -> str:
    try:
        return file_size(static_agent(one.name).stat().st_size)
    except TargetError:
        return "not built"


def _list() -> None:
    table = plain_table()
    table.add_column("arch", no_wrap=True, style="bold cyan")
    for name in ("uname -m", "Debian", "agent"):
        table.add_column(name, overflow="fold")
    for one in architectures():
        table.add_row(one.name, ", ".join(one.machines), one.debian, _state(one))
    console(sys.stdout).print(table)


def _make_executable(path: Path) -> None:
    """Let everyone run a file who may read it.  Raises UsageError."""
    try:
        mode = path.stat().st_mode
        path.chmod(stat.S_IMODE(mode | (mode & 0o444) >> 2))
    except OSError as error:
        raise UsageError(f"cannot make {path} executable: {error.strerror}") from error


@click.command("agent")
@click.option(
    "--arch", type=ARCHITECTURE,
    help=f"Architecture: {_NAMES}, or what `uname -m` says there; default: this machine's.",
)  # fmt: skip
@click.option(
    "-o", "output", type=OutputFile(), metavar="FILE",
    help="Write FILE; without it: list architectures.",
)  # fmt: skip
def command(*, arch: str | None, output: Path | None) -> None:
    """Write the agent for a Linux machine to a file, to copy it there by hand.

    It is one static program that needs nothing on the target.  Targets that rtstone reaches by
    itself do not need this: it copies the agent, and removes it afterwards.
    """
    if output is None and arch is None:
        return _list()
    wanted = _asked(arch)
    if output is None:
        raise UsageError(f"no file to write the agent to; write --arch {wanted.name} -o FILE")
    data = static_agent(wanted.name).read_bytes()
    size, regular = write_file("the agent", output, data)
    if regular:
        _make_executable(output)
    told = f"{shown(str(output))}: agent for {wanted.name}, {file_size(size)}"
    click.echo(f"{told}, SHA-256 {sha256(data).hexdigest()}", err=not regular)
    return None
