"""`rtstone sections`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from rtstone.cli.output import print_document
from rtstone.cli.parameters import BENCH, RUN
from rtstone.cli.progress import working
from rtstone.documents.run import Run
from rtstone.documents.sections import SectionsOfRun, defects
from rtstone.errors import Inconclusive, StoreError
from rtstone.interrupt import Interrupt
from rtstone.printable import shown
from rtstone.store.index import find
from rtstone.store.rundir import load


@click.command("sections")
@click.argument("run", type=RUN)
@click.argument("bench", type=BENCH, required=False)
@click.option("--series", metavar="S", help="The series, of a case with several, such as 'task1'.")
@click.option(
    "--against", type=RUN, metavar="RUN",
    help="Another run, as of another kernel: show which sections became longer since.",
)  # fmt: skip
@click.option("--json", is_flag=True, help="Print only the document, as JSON.")
def command(
    *, run: str, bench: str | None, series: str | None, against: str | None, json: bool
) -> None:
    """Rank the sections of a run in which nothing could preempt, by what began and ended them.

    A sample shows such a section only if something was due in it; this finds every one, on an
    emulated board, by repeating the run: with interrupts masked, with preemption off, in a critical
    section, with the scheduler suspended.  Counted are those between the first and the last sample
    of BENCH, a bench or a family of the run, chosen as `rtstone explain` does.

    Of them a bound is composed of the time from when a wake-up was due until the first switch to
    its task.  A wake-up above it, or an interrupt while they were masked, is a defect: exit code 3.

    All figures are of what ran: code that did not run may hold longer ones.  They are kept with the
    run; `rtstone show --worst-case` and `rtstone guarantee` have the bound beside the estimates.
    """
    path = find(run)
    document = load(path)
    with working("repeating the run") as line:
        sections = _sections(path, document, bench, series)
        if against is not None:
            line.steps(1, 2)
            place = find(against)
            other = _sections(place, load(place), bench, series)
    from rtstone.cli.pager import paged
    from rtstone.report.sections.text import change_lines, sections_lines

    if against is not None:
        from rtstone.stats.section_changes import section_changes

        changes = section_changes(sections, other)
        if json:
            print_document(changes)
            return
        with paged(sys.stdout) as out:
            out.print(*change_lines(changes, out.width), sep="\n")
        return
    if json:
        print_document(sections)
    else:
        with paged(sys.stdout) as out:
            out.print(*sections_lines(sections, document, out.width), sep="\n")
    if wrong := defects(sections):
        raise Inconclusive(f"{'; '.join(wrong)}: a defect of rtstone, please report it")


def _sections(path: Path, run: Run, bench: str | None, series: str | None) -> SectionsOfRun:
    """Return the sections of the result of a run that is chosen, and print which of several it is.

    They are kept with the run.

    Raises UsageError, TargetError, Inconclusive, Interrupted.
    """
    from rtstone.explain.sections import sections_of
    from rtstone.stats.explainable import choose
    from rtstone.store.sections import keep

    chosen = choose(run, bench, series)
    if chosen.among > 1:
        from rtstone.documents.case_name import result_names

        label = shown(result_names(run)[run.results.index(chosen.result)].with_load)
        click.echo(f"{label}: the largest maximum of {chosen.among} results", err=True)
    with Interrupt() as interrupt:
        sections = sections_of(path, run, chosen.result, interrupt=interrupt)
    try:
        keep(path, sections)
    except StoreError as error:  # no reason not to show them
        click.echo(f"warning: {error}", err=True)
    return sections
