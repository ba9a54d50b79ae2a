"""`rtstone export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtstone.cli.fetched import local
from rtstone.errors import UsageError
from rtstone.formats.table import WRITERS, writer
from rtstone.report.parts.output import write
from rtstone.store.index import find
from rtstone.store.rundir import load, samples


@click.command("export")
@click.argument("run", metavar="RUN")
@click.option(
    "--format", "form", metavar="F", required=True, help=f"Output format: {', '.join(WRITERS)}."
)
@click.option("-o", "output", metavar="FILE", help="Output file; default: standard output.")
def command(run: str, form: str, output: str | None) -> None:
    """Export a run for other tools.  What the format cannot hold is listed on standard error."""
    path = find(*local([run]))
    document = load(path)
    made = writer(form).write(document, lambda result: samples(path, document, result))
    for line in made.lost:
        click.echo(f"not in the file: {line}", err=True)
    if output is None:
        sys.stdout.buffer.write(made.data)
        return
    if not output:
        raise UsageError("empty file name, in -o; write -o FILE")
    try:
        write(made.data, Path(output))
    except OSError as error:
        raise UsageError(f"cannot write {output}: {error.strerror}") from error
