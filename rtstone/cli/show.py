"""`rtstone show`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rtstone.cli.output import print_document
from rtstone.cli.parameters import RUN
from rtstone.cli.progress import working
from rtstone.cli.remote_runs import local
from rtstone.cli.stored_sections import stored_sections
from rtstone.documents.run import Run
from rtstone.documents.session import Session
from rtstone.printable import shown
from rtstone.store.layout import run_name
from rtstone.store.run_catalogue import session_of
from rtstone.store.rundir import load
from rtstone.store.selection import chosen, sole

if TYPE_CHECKING:
    from rich.console import Console


@click.command("show")
@click.argument("run", type=RUN)
@click.option("-q", "--quiet", is_flag=True, help="Print only the verdict.")
@click.option("--conditions", is_flag=True, help="Also show the conditions it was measured under.")
@click.option(
    "--worst-case", is_flag=True, help="Show the worst-case estimate of each case instead."
)
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(run: str, quiet: bool, conditions: bool, worst_case: bool, json: bool) -> None:
    """Show one run, or all of a session: verdict, findings and results.

    RUN is a directory, a run's name, its id or the beginning of one, last, or last~1: the last run
    with results, and the one before it; or a run's URL on a results server.  If the last run was
    measured with others at once, last is all of them.
    """
    paths = chosen(local([run]))
    if worst_case:
        sole(paths, "--worst-case is of a single run")
    documents = [load(path) for path in paths]
    if len(paths) > 1:
        _show_several(paths, documents, quiet=quiet, conditions=conditions, json=json)
        return
    (path,), (document,) = paths, documents
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

        with paged(sys.stdout) as out:
            _print(out, path, document, conditions=conditions)


def _show_several(
    paths: Sequence[Path], documents: Sequence[Run], *, quiet: bool, conditions: bool, json: bool
) -> None:
    """Show the runs of a session one after the other, as `rtstone run` does."""
    if json:
        session = session_of(documents[0]) or documents[0].run_id
        print_document(Session(session=session, runs=list(documents)))
    elif quiet:
        for document in documents:
            print(f"{shown(document.target.name)}: ", end="", flush=True)
            print_verdict(document)
    else:
        from rich.text import Text

        from rtstone.cli.pager import paged

        with paged(sys.stdout) as out:
            for number, (path, document) in enumerate(zip(paths, documents, strict=True)):
                if number:
                    out.print()
                out.print(Text(shown(document.target.name), "bold cyan"))
                _print(out, path, document, conditions=conditions)


def _print(out: Console, path: Path, document: Run, *, conditions: bool) -> None:
    from rtstone.report.run import terminal
    from rtstone.stats.evaluate import evaluate_run

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
