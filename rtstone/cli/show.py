"""`rtstone show`."""

from __future__ import annotations

import sys

import click

from rtstone.documents.run import Run
from rtstone.store.index import find
from rtstone.store.places import run_name
from rtstone.store.rundir import load


@click.command("show")
@click.argument("run", metavar="RUN")
@click.option(
    "--worst-case", is_flag=True, help="Show the worst-case estimate of each case instead."
)
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(run: str, worst_case: bool, json: bool) -> None:
    """Show one run: its summary and conditions.

    RUN is a directory, a run's name, its id or the beginning of one, last, or last~1: the last run
    with results, and the one before it.
    """
    path = find(run)
    document = load(path)
    if worst_case:
        _worst_cases(document, json)
    elif json:
        from rtstone.cli.output import print_document

        print_document(document)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.run.terminal import conditions, stored, summary
        from rtstone.stats.evaluate import evaluate_run

        out = console(sys.stdout)
        parts = summary(evaluate_run(document), out.width)
        place = stored(path, run_name(path))
        out.print(conditions(document), "", *parts, *place, sep="\n")


def _worst_cases(run: Run, json: bool) -> None:
    from rtstone.stats.worstcase.guarantee import worst_cases

    found = worst_cases(run)
    if json:
        from rtstone.cli.output import print_document

        print_document(found)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.worstcase.text import worst_case_lines

        console(sys.stdout).print(*worst_case_lines(found, run), sep="\n")
