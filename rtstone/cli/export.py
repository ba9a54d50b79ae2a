"""`rtstone export`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtstone.cli.output import OutputFile, save
from rtstone.cli.parameters import LATEX, RUN, WRITER
from rtstone.cli.remote_runs import local
from rtstone.formats.registry import WRITERS, writer
from rtstone.printable import shown
from rtstone.store.rundir import load, samples
from rtstone.store.selection import chosen, sole


@click.command("export")
@click.argument("run", type=RUN)
@click.option(
    "--format", "form", type=WRITER, required=True,
    help=f"Output format: {', '.join(WRITERS)}, {LATEX}.",
)  # fmt: skip
@click.option(
    "-o", "output", type=OutputFile(), metavar="FILE",
    help="Output file; default: standard output.",
)  # fmt: skip
def command(run: str, form: str, output: Path | None) -> None:
    """Export a run for other tools.  What the format cannot hold is listed on standard error.

    `latex` is a table of the results for a paper; `rtstone compare` and `rtstone reproduce` write
    theirs with -o FILE.tex.
    """
    paths = chosen(local([run]))
    path = sole(paths, f"'{shown(run)}' is {len(paths)} runs, a file holds one")
    document = load(path)
    if form == LATEX:
        from rtstone.report.run.latex import latex

        _write(latex(document).encode(), output)
        return
    export = writer(form).write(document, lambda result: samples(path, document, result))
    for line in export.lost:
        click.echo(f"not in the file: {line}", err=True)
    _write(export.data, output)


def _write(data: bytes, output: Path | None) -> None:
    if output is None:
        sys.stdout.buffer.write(data)
    else:
        save("the export", output, data)
