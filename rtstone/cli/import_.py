"""`rtstone import`."""

from __future__ import annotations

from collections.abc import Mapping

import click
from msgspec import structs

from rtstone.cli.working import working
from rtstone.documents.imported import tool
from rtstone.documents.plan import Plan
from rtstone.documents.run import Run
from rtstone.errors import UsageError
from rtstone.formats.reading import LOAD
from rtstone.formats.source import UNITS, Meaning
from rtstone.formats.table import READERS, imported
from rtstone.inputs.parameters import duration
from rtstone.printable import arguments, line
from rtstone.store.index import free_name
from rtstone.store.rundir import RunDirectory


@click.command("import")
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--format",
    "form",
    metavar="F",
    help=f"Input format, where the content does not identify it: {', '.join(READERS)}.",
)
@click.option("--name", metavar="NAME", help="Call the run so, as `rtstone run --name` does.")
@click.option(
    "--load", metavar="NAME", help="What loaded the system meanwhile, where the file does not say."
)
@click.option("--host", metavar="NAME", help="The machine, where the file does not say.")
@click.option(
    "--unit", type=click.Choice(list(UNITS)), help="Of samples and histograms of your own."
)
@click.option(
    "--period",
    metavar="NAME",
    help="Of the task whose lateness samples are, as 1ms: activations that it missed count.",
)
@click.option("--column", metavar="NAME", help="The column of the samples, by name or number.")
@click.option("--due", metavar="NAME", help="The column of when each activation was due.")
@click.option("--at", metavar="NAME", help="The column of when it ran, with --due.")
@click.option("--bench", metavar="NAME", help="What to call the measurement of these samples.")
@click.option("--json", is_flag=True, help="Print only the run document, as JSON.")
def command(
    *, files: tuple[str, ...], form: str | None, name: str | None, load: str | None,
    host: str | None, unit: str | None, period: str | None, column: str | None, due: str | None,
    at: str | None, bench: str | None, json: bool,
) -> None:  # fmt: skip
    """Import other tools' data as runs, one for each FILE (- is standard input).

    If any FILE cannot be read, no run is stored.
    """
    if len(files) > 1 and (json or name is not None):
        what = "--json prints one document" if json else "--name calls one run so"
        raise UsageError(f"{what}, not {len(files)}; name one file")
    words = {option: line(text) for option, text in (("load", load), ("host", host)) if text}
    if name is not None:
        free_name(name)
    period_ns = duration(period, "in --period") if period is not None else None
    if period_ns == 0:
        raise UsageError("a period of 0, in --period; write it as 1ms")
    meaning = Meaning(
        UNITS[unit] if unit else None, period_ns, column, due,
        at, bench and line(bench),
    )  # fmt: skip
    with working("reading"):
        documents = [imported(file, form, arguments(), meaning) for file in files]
    for plan, run in [_labelled(plan, run, name, words) for plan, run in documents]:
        try:
            RunDirectory(plan).finish(run)
        except UsageError as error:
            if not json:
                raise
            click.echo(f"rtstone: not stored: {error}", err=True)  # the document is the answer
        if json:
            from rtstone.cli.output import print_document

            print_document(run)
        else:
            _print(run)


def _labelled(plan: Plan, run: Run, name: str | None, words: Mapping[str, str]) -> tuple[Plan, Run]:
    """Return them with what a person says of the file, where that does not say it itself."""
    loads = {LOAD: words["load"]} if "load" in words else {}
    host = {"machine.host": words["host"]} if "host" in words else {}
    run = structs.replace(
        run, name=name, conditions=host | run.conditions,
        results=[structs.replace(r, load=loads.get(r.load, r.load)) for r in run.results],
    )  # fmt: skip
    return structs.replace(plan, name=name), run


def _print(run: Run) -> None:
    from rtstone.units import count, counted

    samples = count(sum(result.n for result in run.results))
    click.echo(f"{run.run_id}: {tool(run)}, {counted(len(run.results), 'result')}, n {samples}")
