"""`rtstone show`."""

from __future__ import annotations

import sys

import click

from rtstone.cli.output import print_document
from rtstone.cli.parameters import RUN
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import local
from rtstone.cli.stored_sections import stored_sections
from rtstone.documents.run import Run
from rtstone.store.index import find
from rtstone.store.layout import run_name
from rtstone.store.rundir import load


@click.command("show")
@click.argument("run", type=RUN)
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--conditions", is_flag=True, help="Also show the conditions it was measured under.")
@click.option(
    "--worst-case", is_flag=True, help="Show the worst-case estimate of each case instead."
)
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(run: str, quiet: bool, conditions: bool, worst_case: bool, json: bool) -> None:
    """Show one run: its verdict, findings and results.

    RUN is a directory, a run's name, its id or the beginning of one, last, or last~1: the last run
    with results, and the one before it; or a run's URL on a results server.
    """
    path = find(*local([run]))
    document = load(path)
    if worst_case:
        from rtstone.stats.worstcase.guarantee import worst_cases

        with working("estimating"):
            estimates = worst_cases(document, stored_sections(path, document))
        if json:
            print_document(estimates)
        else:
            from rtstone.report.parts.console import console
            from rtstone.report.worstcase.text import worst_case_lines

            console(sys.stdout).print(*worst_case_lines(estimates, document), sep="\n")
    elif json:
        print_document(document)
    elif quiet:
        print_verdict(document)
    else:
        from rtstone.cli.pager import paged
        from rtstone.report.run import terminal
        from rtstone.stats.evaluate import evaluate_run

        with paged(sys.stdout) as out:
            out.print(*terminal.summary(evaluate_run(document), out.width, out.encoding), sep="\n")
            if conditions:
                out.print("", terminal.conditions(document), sep="\n")
            name = run_name(path, document.name)
            out.print(*terminal.stored(path, name, out.width), sep="\n")


def print_verdict(run: Run) -> None:
    """Print the verdict of a run."""
    from rtstone.report.parts.console import console
    from rtstone.report.run.brief import verdict_alone
    from rtstone.stats.evaluate import evaluate_run

    out = console(sys.stdout)
    out.print(*verdict_alone(evaluate_run(run), out.width), sep="\n")
