"""`rtstone compare`."""

from __future__ import annotations

import sys

import click

from rtstone.store.index import find
from rtstone.store.rundir import load


@click.command("compare")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--json", is_flag=True, help="Print the comparison document.")
def command(runs: tuple[str, ...], json: bool) -> None:
    """Several systems side by side, bench by bench.

    Runs that differ in nothing but the seed are one system. What differs in the circumstances is
    named. `rtstone report RUN...` draws the same.
    """
    from rtstone.stats.compare import compare

    comparison = compare([load(find(run)) for run in runs])
    if json:
        from rtstone.cli.output import print_document

        print_document(comparison)
        return
    from rtstone.report.comparison import lines
    from rtstone.report.terminal import console

    out = console(sys.stdout)
    out.print(*lines(comparison, out.width), sep="\n")
