"""`rtstone search`."""

from __future__ import annotations

import sys

import click
from msgspec import structs

from rtstone.cli.measuring import report_error
from rtstone.cli.output import print_document
from rtstone.cli.parameters import BENCH, JSON, TARGET
from rtstone.cli.progress import working
from rtstone.cli.streams import maybe_unread, say
from rtstone.documents.search import Candidate, SearchResult
from rtstone.errors import Inconclusive, Interrupted
from rtstone.interrupt import Interrupt

PROGRAMS = 64
MOST_HOURS = 1000.0


@click.command("search")
@click.argument("bench", type=BENCH)
@click.option("--target", required=True, type=TARGET, help="The emulated board, as qemu:linux-6.1.")
@click.option(
    "--programs", type=click.IntRange(1, 1_000_000), metavar="N",
    help=f"Measure so many programs of actions; default: {PROGRAMS}, unless --hours limits them.",
)  # fmt: skip
@click.option(
    "--hours", type=click.FloatRange(0, MOST_HOURS, min_open=True), metavar="H",
    help="Begin no more programs after H hours.",
)  # fmt: skip
@click.option(
    "--seed", type=click.IntRange(0, 2**31 - 1), default=1, show_default=True, metavar="N",
    help="Of the search: the same seed proposes the same programs.",
)  # fmt: skip
@JSON
def command(
    *, bench: str, target: str, programs: int | None, hours: float | None, seed: int, json: bool
) -> int:
    """Search for what other processes or tasks do that delays BENCH most.

    A program does up to six actions of `rtstone provoke`, each at its time of a cycle.  New ones
    are bred from those that delayed most, and from those with sections in which nothing can preempt
    (`rtstone sections`) that none had before, or longer ones.  Programs that were measured are not
    measured again: the same command goes on where it was interrupted, and --programs 100 goes on
    after --programs 50.
    At the end the best program loses the steps that it does not need, and its worst sample is
    explained.  A search that is interrupted prints what it has found until then.
    """
    from rtstone.campaign.search import Search
    from rtstone.report.parts.console import console
    from rtstone.report.search.text import answer, search_lines, step_words
    from rtstone.units import quantity

    if programs is None and hours is None:
        programs = PROGRAMS

    def show(candidate: Candidate, longest: float | None, unit: str) -> None:
        if candidate.longest is None:
            say(f"program {candidate.number}: no result: {candidate.reason}")
        elif longest is None or candidate.longest > longest:
            value = quantity(candidate.longest, unit)
            say(f"program {candidate.number}: {value}, {step_words(candidate)}")

    with Interrupt() as interrupt:
        search = Search(bench, target, seed, interrupt, show)
        result = search.run(programs, None if hours is None else hours * 3600)
        error = search.error
        if result.least is not None and error is None:
            try:
                with working("explaining"):
                    result = structs.replace(result, cause=_cause(result, interrupt))
            except Interrupted:
                error = Interrupted("interrupted")
                result = structs.replace(result, early=str(error))
    if json:
        print_document(result)
    else:
        with maybe_unread():
            out = console(sys.stdout)
            out.print(*search_lines(result, out.width), sep="\n")
    if error:
        return report_error(error)
    if not result.records:
        raise Inconclusive(answer(result))
    if result.defects:
        raise Inconclusive(f"{result.defects[0]}: a defect of rtstone, please report it")
    return 0


def _cause(result: SearchResult, interrupt: Interrupt) -> str:
    from rtstone.cli.causes import cause_of_worst
    from rtstone.store.index import find
    from rtstone.store.rundir import load

    assert result.least is not None and result.least.run is not None
    path = find(result.least.run)
    run = load(path)
    worst = max(run.results, key=lambda each: each.max or 0.0)
    return cause_of_worst(path, run, worst, interrupt)
