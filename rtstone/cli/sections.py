"""`rtstone sections`."""

from __future__ import annotations

import sys

import click

from rtstone.cli.output import print_document
from rtstone.cli.parameters import BENCH, RUN
from rtstone.cli.progress import working
from rtstone.interrupt import Interrupt
from rtstone.printable import shown
from rtstone.store.index import find
from rtstone.store.rundir import load


@click.command("sections")
@click.argument("run", type=RUN)
@click.argument("bench", type=BENCH, required=False)
@click.option("--series", metavar="S", help="The series, of a case with several, such as 'task1'.")
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(*, run: str, bench: str | None, series: str | None, json: bool) -> None:
    """Rank the sections of a run in which nothing could preempt, by what began and ended them.

    A sample shows such a section only if something was due in it; this finds every one, on an
    emulated board, by repeating the run: with interrupts masked, in a critical section, with the
    scheduler suspended.  Counted are those between the first and the last sample of BENCH, a
    bench or a family of the run, chosen as `rtstone explain` does.

    All figures are of what ran: code that did not run may hold longer ones.
    """
    from rtstone.explain.sections import sections_of
    from rtstone.stats.explainable import choose

    path = find(run)
    document = load(path)
    chosen = choose(document, bench, series)
    with working("repeating the run"), Interrupt() as interrupt:
        sections = sections_of(path, document, chosen.result, interrupt=interrupt)
    if chosen.among > 1:
        from rtstone.documents.case_name import result_names

        place = document.results.index(chosen.result)
        label = shown(result_names(document)[place].with_load)
        click.echo(f"{label}: the largest maximum of {chosen.among} results", err=True)
    if json:
        print_document(sections)
        return
    from rtstone.cli.pager import paged
    from rtstone.report.sections.text import sections_lines

    with paged(sys.stdout) as out:
        out.print(*sections_lines(sections, document, out.width), sep="\n")
