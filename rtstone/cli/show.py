"""`rtstone show`."""

from __future__ import annotations

import sys

import click

from rtstone.store.index import find
from rtstone.store.rundir import load


@click.command("show")
@click.argument("run", metavar="RUN")
@click.option("--json", is_flag=True, help="Print the run document.")
def command(run: str, json: bool) -> None:
    """One run: its summary and conditions.

    RUN is a directory, a run id or the start of one, last, last~1.
    """
    path = find(run)
    document = load(path)
    if json:
        from rtstone.cli.output import print_document

        print_document(document)
        return
    from rtstone.report.terminal import conditions, console, summary

    out = console(sys.stdout)
    out.print(conditions(document), "", *summary(document, out.width, path), sep="\n")
