"""`rtstone report`."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.errors import UsageError
from rtstone.store.index import find
from rtstone.store.rundir import load


@click.command("report")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "-o", "output", required=True, type=click.Path(path_type=Path), metavar="FILE.html",
    help="The page to write.",
)  # fmt: skip
def command(runs: tuple[str, ...], output: Path) -> None:
    """One offline page of one or more runs."""
    documents = [load(find(run)) for run in runs]
    from rtstone.report.html import render

    try:
        render(documents, output)
    except OSError as error:
        raise UsageError(
            f"cannot write the report, {error.filename or output}: {error.strerror}"
        ) from error
    click.echo(f"{output}: {output.stat().st_size / 1e6:.1f} MB")
