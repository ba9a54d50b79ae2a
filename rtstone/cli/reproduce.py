"""`rtstone reproduce`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from msgspec import structs

from rtstone.cli import run as running
from rtstone.cli.measuring import Options, assignments, refuse_empty, without_result
from rtstone.cli.output import OutputFile, print_document, save
from rtstone.cli.parameters import LOAD, PUBLICATION, RUN, TARGET
from rtstone.cli.progress import working
from rtstone.documents.plan import NONE, load_name
from rtstone.documents.run import LOCAL
from rtstone.errors import Interrupted, RtstoneError, UsageError, unknown
from rtstone.interrupt import Interrupt
from rtstone.measure import suite
from rtstone.store.measurements import before
from rtstone.store.rundir import load
from rtstone.store.selection import chosen

if TYPE_CHECKING:
    from rtstone.documents.run import Run


@click.command("reproduce")
@click.argument("source", type=PUBLICATION)
@click.argument("runs", type=RUN, nargs=-1)
@click.option(
    "--target", "targets", multiple=True, type=TARGET,
    help="Target to run the publication's suite on; repeat the option for one column per target. "
    "Default: local, unless runs are named.",
)  # fmt: skip
@click.option(
    "--time",
    metavar="S",
    help="Time limit of every case, in seconds without a unit; 0: none. As in `run`.",
)
@click.option(
    "--load", "loads", multiple=True, type=LOAD,
    help="A load of the publication's suite with other parameters, wherever the suite uses it: "
    "driver:device=/dev/sdb.",
)  # fmt: skip
@click.option(
    "-p", "params", multiple=True, callback=assignments, metavar="KEY=VALUE",
    help="Set a parameter of every case that has it, with units. As in `run`.",
)  # fmt: skip
@click.option(
    "--yes",
    is_flag=True,
    help="Allow loads to switch the machine's console, to set its disk's settings, and to read a "
    "removable device.",
)
@click.option("--json", is_flag=True, help="Print only the reproduction document, as JSON.")
@click.option(
    "-o",
    "output",
    type=OutputFile(".html", ".md", ".tex"),
    metavar="FILE",
    help="Also write a page, FILE.html or FILE.md, or its tables for a paper, FILE.tex.",
)
def command(  # noqa: PLR0917
    source: str,
    runs: tuple[str, ...],
    targets: tuple[str, ...],
    time: str | None,
    loads: tuple[str, ...],
    params: dict[str, str],
    yes: bool,
    json: bool,
    output: Path | None,
) -> int:
    """Reproduce a publication's tables and figures, with this system's numbers beside them.

    SOURCE is sjoblom, gutsalov, obenland, golatowski or dankwardt.  Each RUN is a column, and so is
    each target, on which the publication's suite is run.
    """
    from rtstone.explain.live import explanations
    from rtstone.report.parts.words import measured
    from rtstone.stats.published.layout import layout
    from rtstone.stats.reproduce import reproduce

    laid = layout(source)
    suites = laid.suites
    options = {"--time": time, "--load": loads, "-p": params, "--yes": yes}
    if runs and not targets and (excess := [name for name, value in options.items() if value]):
        raise UsageError(
            f"{excess[0]} applies only when measuring, not to stored runs; leave it out"
        )
    shipped = suite.shipped()
    cases = [case for name in suites for case in suite.load(shipped[name]).cases]
    theirs = list(
        dict.fromkeys(load_name(spec) for case in cases for spec in case.loads or (NONE,))
    )
    instead: dict[str, str] = {}
    for spec in loads:
        if (name := load_name(spec)) not in theirs:
            raise unknown("load of the publication's suite", name, theirs)
        if name in instead:
            raise UsageError(f"load '{name}' is given twice, in --load; give each load once")
        instead[name] = spec
    html = output is not None and output.suffix.lower() == ".html"
    if html:
        from rtstone.report.parts import frame

        frame.bundle()
    directories = chosen(runs)
    documents = [load(directory) for directory in directories]
    request = Options(names=suites, instead=instead, params=params, time=time, yes=yes)
    fresh, errors = _measure(request, targets if documents or targets else (LOCAL,))
    every = [*documents, *fresh]
    if not errors and not any(map(measured, every)):
        refuse_empty(every)
    errors += without_result(documents if errors else every)  # it loses its column only
    with working("reproducing"):
        pairs = zip(directories, documents, strict=True) if laid.traced else ()
        traces = [trace for pair in pairs for trace in explanations(*pair)]
        reproduction = reproduce(source, every, before, traces)
    if json:
        print_document(reproduction.document)
    else:
        from rtstone.report.parts.console import console
        from rtstone.report.reproduction.page import reproduction_lines

        screen = console(sys.stdout)
        screen.print(*reproduction_lines(reproduction.document, screen.width), sep="\n")
    if output:
        from rtstone.report.reproduction.page import compose, latex, markdown

        text = latex if output.suffix.lower() == ".tex" else markdown
        page = compose(reproduction) if html else text(reproduction.document)
        save("the page", output, page, quiet=json)
    for error in errors:
        print(f"rtstone: {error}", file=sys.stderr)
    return max((error.exit_code for error in errors), default=0)


def _measure(request: Options, targets: tuple[str, ...]) -> tuple[list[Run], list[RtstoneError]]:
    """Run on each target; return the runs and the errors.  A failed target loses its column."""
    runs: list[Run] = []
    errors: list[RtstoneError] = []
    if not targets:
        return runs, errors
    with Interrupt() as interrupt:
        for target in targets:
            options = structs.replace(request, target=target)
            try:
                run, _, error = running.carry_out(options, interrupt)
            except UsageError:
                raise
            except RtstoneError as failed:
                error = failed
            else:
                runs.append(run)
            errors += [error] if error else []
            if interrupt.requested:
                errors.append(Interrupted("interrupted"))
                break
    return runs, errors
