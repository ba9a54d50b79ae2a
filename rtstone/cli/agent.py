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
from rtstone.resources import architecture, architectures, static_agent
from rtstone.units import file_size

_NAMES = ", ".join(arch.name for arch in architectures())


@click.command("agent")
@click.option(
    "--arch", type=ARCHITECTURE,
    help=f"Architecture: {_NAMES}, or the output of `uname -m` there; default: this machine's.",
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
        table = plain_table()
        table.add_column("arch", no_wrap=True, style="bold cyan")
        for name in ("uname -m", "Debian", "agent"):
            table.add_column(name, overflow="fold")
        for row in architectures():
            try:
                state = file_size(static_agent(row.name).stat().st_size)
            except TargetError:
                state = "not built"
            table.add_row(row.name, ", ".join(row.machines), row.debian, state)
        console(sys.stdout).print(table)
        return
    machine = platform.machine()
    target = architecture(machine if arch is None else arch)
    if target is None and arch is None:
        raise UsageError(f"no agent for this machine, '{machine}'; write --arch A: {_NAMES}")
    if target is None:
        raise UsageError(f"unknown architecture '{arch}', in --arch; there are agents for {_NAMES}")
    if output is None:
        raise UsageError(f"no file to write the agent to; write --arch {target.name} -o FILE")
    data = static_agent(target.name).read_bytes()
    size, regular = write_file("the agent", output, data)
    if regular:  # everyone may run it who may read it
        try:
            mode = output.stat().st_mode
            output.chmod(stat.S_IMODE(mode | (mode & 0o444) >> 2))
        except OSError as error:
            raise UsageError(f"cannot make {output} executable: {error.strerror}") from error
    summary = f"{shown(str(output))}: agent for {target.name}, {file_size(size)}"
    click.echo(f"{summary}, SHA-256 {sha256(data).hexdigest()}", err=not regular)
