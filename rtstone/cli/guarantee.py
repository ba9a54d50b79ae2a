"""`rtstone guarantee`."""

from __future__ import annotations

from pathlib import Path

import click

from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import BENCH, RUN
from rtstone.cli.progress import working
from rtstone.cli.stored_sections import stored_sections
from rtstone.errors import Inconclusive
from rtstone.printable import shown
from rtstone.store.rundir import load
from rtstone.store.selection import chosen, sole


@click.command("guarantee")
@click.argument("runs", type=RUN, nargs=-1, required=True)
@click.option(
    "--bench",
    metavar="ID",
    type=BENCH,
    help="Bench to state it for; default: the latency from a request to the task.",
)
@click.option("--json", is_flag=True, help="Print only the guarantee document, as JSON.")
@click.option(
    "-o", "output", type=OutputFile(), metavar="FILE.md", help="Write the text to a file."
)
def command(runs: tuple[str, ...], bench: str | None, json: bool, output: Path | None) -> None:
    """State a guaranteed latency, from runs of one system under all its loads.

    Without a bound under every load there is no guarantee: the text says why, and the exit code
    is 3.
    """
    from rtstone.report.worstcase.guarantee import guarantee_markdown
    from rtstone.stats.worstcase.guarantee import guarantee

    with working("estimating"):
        paths = chosen(runs)
        documents = [load(path) for path in paths]
        if len(runs) == 1 and len({document.target.name for document in documents}) > 1:
            sole(paths, f"'{shown(runs[0])}' is {len(paths)} runs, a guarantee is of one system")
        sections = [
            each for pair in zip(paths, documents, strict=True) for each in stored_sections(*pair)
        ]
        statement = guarantee(documents, bench, sections)
    text = guarantee_markdown(statement, [bench for run in documents for bench in run.benches])
    if output is not None:
        save("the statement", output, text, quiet=json)
    if json:
        print_document(statement)
    elif output is None:
        click.echo(text, nl=False)
    if statement.verdict == "inconclusive":
        further = len(statement.reasons) - 1
        rest = f"; and {further} more" if further else ""
        raise Inconclusive(f"no guarantee, {statement.reasons[0]}{rest}")
