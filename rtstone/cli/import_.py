"""`rtstone import`."""

from __future__ import annotations

import click

from rtstone.cli.working import working
from rtstone.documents.imported import tool
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.formats.table import READERS, imported
from rtstone.printable import arguments
from rtstone.store.rundir import RunDirectory


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    metavar="F",
    help=f"Input format, where the content does not identify it: {', '.join(READERS)}.",
)
@click.option("--json", is_flag=True, help="Print only the run document, as JSON.")
def command(files: tuple[str, ...], form: str | None, json: bool) -> None:
    """Import other tools' data as runs, one for each FILE (- is standard input).

    If any FILE cannot be read, no run is stored.
    """
    if json and len(files) > 1:
        raise UsageError(f"--json prints one document, not {len(files)}; name one file")
    with working("reading"):
        made = [imported(file, form, arguments()) for file in files]
    for plan, run in made:
        try:
            RunDirectory(plan).finish(run)
        except UsageError as error:
            if not json:
                raise
            click.echo(f"rtstone: not stored: {error}", err=True)  # the document is the answer
        if not json:
            _print(run)
    if json:
        from rtstone.cli.output import print_document

        print_document(made[0][1])


def _print(run: Run) -> None:
    from rtstone.units import count, counted

    samples = count(sum(result.n for result in run.results))
    click.echo(f"{run.run_id}: {tool(run)}, {counted(len(run.results), 'result')}, n {samples}")
